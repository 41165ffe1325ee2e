#include "client/request_flags.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/controls.h"
#include "documents/formats/registry.h"

namespace salient {
namespace {

const std::map<std::string, v1::Guard>& Guards() {
  static const auto* guards = new std::map<std::string, v1::Guard>{
      {"off", v1::GUARD_OFF}, {"report", v1::GUARD_REPORT}, {"retry", v1::GUARD_RETRY}};
  return *guards;
}

}  // namespace

void AddCommon(CLI::App& app, ConnectionFlags& connection, std::string& report) {
  app.add_option("--server", connection.server,
                 "HOST:PORT of the server; if the name of the host has several "
                 "addresses, all of them are used")
      ->type_name("ADDRESS")
      ->capture_default_str()
      ->group("Server");
  app.add_flag("--tls", connection.tls, "Connect with TLS")->group("Server");
  app.add_option("--tls-ca", connection.tls_ca,
                 "PEM file of the CA that signs the server's certificate, if this machine does not trust it already")
      ->type_name("FILE")
      ->group("Server");
  app.add_option("--tls-cert", connection.tls_certificate,
                 "PEM file of a client certificate, if the server requires one")
      ->type_name("FILE")
      ->group("Server");
  app.add_option("--tls-key", connection.tls_key, "PEM file of that certificate's private key")
      ->type_name("FILE")
      ->group("Server");
  app.add_option("--api-key", connection.api_key,
                 "API key. Prefer the variable SALIENT_API_KEY, because other users can see command lines")
      ->type_name("KEY")
      ->group("Server");
  app.add_option("--report", report, "Format of the report: table or json")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str()
      ->group("Output");
}

void AddModel(CLI::App& app, RawFlags& raw) {
  app.add_option("--from", raw.from, "Language of the documents, such as en")->type_name("TAG")->group("Languages");
  app.add_option("--to", raw.to, "Language of the translations, such as de")->type_name("TAG")->group("Languages");
  app.add_option("--model", raw.model, "Name of a model, if the server has several for the languages")
      ->type_name("NAME")
      ->group("Languages");
}

// Where CLI11 allows extra arguments, it takes the name "[a,b]" for a list of two. Where it allows none, it takes only
// as many as are expected at least. So more are expected than a command line has, and as many as there are will do.
CLI::Option* AddFiles(CLI::App& app, std::vector<std::string>& files, const std::string& description) {
  constexpr int kMoreThanThereAre = 1 << 20;
  return app.add_option("FILE", files, description)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->expected(kMoreThanThereAre, -1)
      ->allow_extra_args(false)
      ->configurable(false);
}

void AddFormat(CLI::App& app, RawFlags& raw) {
  app.add_option("--format", raw.format,
                 "Format of the documents: text, markdown, html, docx, pptx, xlsx, odt, xliff, po, srt, vtt, json, "
                 "yaml, xml; auto: by the extension; standard input and names without an extension are text")
      ->capture_default_str()
      ->group("Languages");
}

void AddControls(CLI::App& app, RawFlags& raw) {
  constexpr char kGroup[] = "Quality against cost";
  app.add_option("--selection", raw.selection,
                 absl::StrCat("Which keys attention reads: ", SelectionForms(), "; three values, such as ",
                              "ratio:0.05,0.1,0.2, are for encoder, decoder and cross-attention. Default: learned if "
                              "the model is trained for it, otherwise dense"))
      ->type_name("POLICY")
      ->group(kGroup);
  app.add_option("--min-keys", raw.min_keys, "The least number of keys that a query reads. Default: the model's")
      ->group(kGroup);
  app.add_option(
         "--exit", raw.exit,
         absl::StrCat("After which decoder layer a token is predicted: ", DepthForms(), ". verify:2 gives the ",
                      "output of full, with tokens drafted at layer 2. Without thresholds: 0.5 for geometric, the "
                      "model's for confidence. Default: full"))
      ->type_name("POLICY")
      ->group(kGroup);
  app.add_option("--min-exit", raw.min_exit, "No exit before this layer")->type_name("LAYER")->group(kGroup);
  app.add_option("--max-exit", raw.max_exit, "No layer beyond this one")->type_name("LAYER")->group(kGroup);
  auto* point = app.add_option("--operating-point", raw.operating_point,
                               "One of the model's measured settings by name, instead of --selection and --exit")
                    ->type_name("NAME")
                    ->group(kGroup);
  app.add_option("--latency", raw.latency,
                 "The time that a document may take; the server chooses the best setting that is expected to keep it, "
                 "with the load that it has, or the fastest")
      ->type_name("SECONDS")
      ->excludes(point)
      ->group(kGroup);
  app.add_option("--guard", raw.guard,
                 "What happens to translations that look faulty: off, report, or retry (translate these segments "
                 "again, and keep the better translation). Default: the server's")
      ->type_name("MODE")
      ->check(CLI::IsMember(Guards()))
      ->group(kGroup);
}

void AddSearch(CLI::App& app, RawFlags& raw) {
  constexpr char kGroup[] = "Search";
  app.add_option("--beam", raw.beam, "Hypotheses kept, 1 to 16; 1 is greedy. Default: 1")->group(kGroup);
  app.add_option("--length-penalty", raw.length_penalty, "Score / length^penalty. Default: the model's, mostly 1")
      ->group(kGroup);
  app.add_option("--max-length-ratio", raw.max_length_ratio,
                 "The most target tokens for each source token of a segment, which may have 16 more. Default: 3")
      ->group(kGroup);
  app.add_option("--n-best", raw.n_best, "Translations of each document, 1 to --beam; needs --report json")
      ->group(kGroup);
  app.add_option("--prefix", raw.prefix, "Text that the translation must begin with")->type_name("TEXT")->group(kGroup);
  app.add_option("--no-repeat", raw.no_repeat,
                 "With a beam: no sequence of so many tokens is written twice in a segment. Default: no such bound")
      ->type_name("TOKENS")
      ->group(kGroup);
  app.add_flag("--shortlist", raw.shortlist,
               "Consider only the tokens that the source makes likely: faster, and nearly always the same translation")
      ->group(kGroup);
}

ReportFormat ReadReport(const std::string& name) { return name == "json" ? ReportFormat::kJson : ReportFormat::kTable; }

const Format* ReadFormat(const RawFlags& raw) {
  return raw.format == "auto" ? nullptr : OrThrow(FormatNamed(raw.format));
}

void FillSearch(const RawFlags& raw, v1::SearchControls* search) {
  if (raw.beam.has_value()) search->set_beam(*raw.beam);
  if (raw.length_penalty.has_value()) search->set_length_penalty(*raw.length_penalty);
  if (raw.max_length_ratio.has_value()) search->set_max_length_ratio(*raw.max_length_ratio);
  if (raw.n_best.has_value()) search->set_n_best(*raw.n_best);
  search->set_prefix(raw.prefix);
  if (raw.shortlist) search->set_shortlist(true);
  if (raw.no_repeat.has_value()) search->set_no_repeat(*raw.no_repeat);
}

void FillControls(const RawFlags& raw, v1::TranslateDocumentRequest* request) {
  if (!raw.selection.empty()) *request->mutable_selection() = OrThrow(ParseSelection(raw.selection));
  if (raw.min_keys.has_value()) request->mutable_selection()->set_min_keys(*raw.min_keys);
  if (!raw.exit.empty()) *request->mutable_depth() = OrThrow(ParseDepth(raw.exit));
  if (raw.min_exit.has_value()) request->mutable_depth()->set_min_exit(*raw.min_exit);
  if (raw.max_exit.has_value()) request->mutable_depth()->set_max_exit(*raw.max_exit);
  if (!raw.operating_point.empty()) request->set_operating_point(raw.operating_point);
  if (raw.latency.has_value()) request->set_latency_target_seconds(*raw.latency);
  if (!raw.guard.empty()) request->set_guard(Guards().at(raw.guard));
}

void FillModel(const RawFlags& raw, v1::TranslateDocumentRequest* request) {
  request->set_model(raw.model);
  request->set_source_language(raw.from);
  request->set_target_language(raw.to);
}

}  // namespace salient
