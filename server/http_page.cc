#include "server/http_page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace salient {
namespace {

std::string Escape(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string ModelRow(const v1::Model& model) {
  return absl::StrCat("<tr><td><a href=\"/v1/models/", Escape(model.name()), "\">", Escape(model.name()),
                      "</a></td><td>", Escape(model.source_language()), " to ", Escape(model.target_language()),
                      "</td><td>", model.encoder_layers(), " + ", model.decoder_layers(), "</td><td>",
                      absl::StrFormat("%.1f M", model.parameters() / 1e6), "</td><td>", Escape(model.device()),
                      "</td><td>", Escape(model.description()), "</td></tr>\n");
}

constexpr char kHead[] = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Salient</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
pre { background: #f4f4f4; padding: .8rem; overflow-x: auto; }
</style>
</head>
<body>
<h1>Salient</h1>
<p>This server translates whole documents. Each request chooses how sparse the attention and how deep the decoder is,
and each reply says what the translation cost.</p>
<h2>Models</h2>
<table>
<tr><th>name</th><th>languages</th><th>layers</th><th>parameters</th><th>device</th><th></th></tr>
)";

constexpr char kTail[] = R"(</table>
<h2>Ask it</h2>
<pre>curl -s http://HOST:PORT/v1/translate -d '{"document": {"text": "Good morning."},
  "selection": {"policy": "RATIO", "value": 0.05}, "depth": {"policy": "GEOMETRIC"}}'</pre>
<p>The fields are those of <code>salient.v1.TranslateDocumentRequest</code>. Over gRPC there are also streaming replies
and many documents a call; the command <code>salient translate</code> uses it.</p>
<p><a href="/v1/models">/v1/models</a> &middot;
<a href="/healthz">/healthz</a> &middot; <a href="/readyz">/readyz</a></p>
</body>
</html>
)";

}  // namespace

std::string FrontPage(const v1::ListModelsResponse& models) {
  std::string page = kHead;
  for (const v1::Model& model : models.models()) page += ModelRow(model);
  return page + kTail;
}

}  // namespace salient
