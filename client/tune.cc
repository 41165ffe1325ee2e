#include "client/tune.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/call.h"
#include "client/chrf.h"
#include "client/connection.h"
#include "client/controls.h"
#include "client/documents.h"
#include "client/report.h"
#include "client/settings.h"
#include "client/tune_report.h"
#include "grpcpp/client_context.h"

namespace salient {
namespace {

constexpr char kProbe[] = "Hello.";
constexpr std::chrono::seconds kModelWithin(30);  // the server answers from memory

struct Inputs {
  std::vector<std::string> names;
  std::vector<v1::Document> documents;
  std::vector<std::string> references;  // one for each document, or none
};

absl::StatusOr<Inputs> ReadInputs(const TuneFlags& flags) {
  const auto files = ListDocuments(flags.files);
  if (!files.ok()) return files.status();
  if (!flags.references.empty() && flags.references.size() != files->size()) {
    return absl::InvalidArgumentError(absl::StrCat("--reference: references: ", flags.references.size(),
                                                   ", documents: ", files->size(),
                                                   "; give one for each document, in their order"));
  }
  Inputs inputs;
  const auto named = [](const std::string& file, const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(file, ": ", std::string(status.message())));
  };
  for (const auto& [path, name] : *files) {
    absl::StatusOr<const Format*> format = flags.format;
    if (flags.format == nullptr) format = FormatOfDocument(path);
    if (!format.ok()) return named(path, format.status());
    if (!flags.references.empty() && (*format)->name != "text") {
      return absl::InvalidArgumentError(
          absl::StrCat("--reference: ", path, " is not plain text; store its text and the text of its translation as ",
                       ".txt files, or leave out --reference"));
    }
    const absl::Status read = ReadInto(inputs.documents.emplace_back(), path, **format);
    if (!read.ok()) return named(path, read);
    inputs.names.push_back(path);
  }
  for (const std::string& path : flags.references) {
    auto text = ReadDocument(path);
    if (!text.ok()) return named(absl::StrCat("--reference: ", path), text.status());
    inputs.references.push_back(*std::move(text));
  }
  return inputs;
}

// The translation as one text: that of plain text, otherwise its segments.
std::string TextOf(const v1::TranslateDocumentResponse& response) {
  if (!response.text().empty()) return response.text();
  std::string text;
  for (const v1::TranslatedSegment& segment : response.segments()) absl::StrAppend(&text, segment.text(), "\n");
  return text;
}

// One pass of a setting over documents.
struct Pass {
  double seconds = 0;
  double source_tokens = 0, target_tokens = 0;
  double attention = 0, exits = 0;  // sums over source and target tokens
  std::vector<std::string> texts;

  void Add(const v1::TranslateDocumentResponse& response) {
    const v1::CostReport& report = response.report();
    seconds += report.total_seconds() - report.queue_seconds();
    source_tokens += report.source_tokens();
    target_tokens += report.target_tokens();
    attention += report.attention_cost_ratio() * report.source_tokens();
    exits += report.mean_exit() * report.target_tokens();
    texts.push_back(TextOf(response));
  }
};

struct Candidate {
  v1::TranslateDocumentRequest setting;
  std::vector<double> seconds;  // of each round
  Pass last;
  absl::Status failure;
};

class Tuning {
 public:
  Tuning(const TuneFlags& flags, const Inputs& inputs, v1::Translation::Stub& stub, std::ostream& err)
      : flags_(flags), inputs_(inputs), stub_(stub), err_(err) {}

  absl::StatusOr<std::vector<Candidate>> Candidates() {
    auto settings = flags_.settings.empty() ? SettingsOfTheModel() : ReadSettings(flags_.settings);
    if (!settings.ok()) return settings.status();
    if (settings->empty())
      return absl::InvalidArgumentError(absl::StrCat("--settings: ", flags_.settings, " has no settings"));
    std::vector<Candidate> candidates;
    for (v1::TranslateDocumentRequest& setting : *settings) candidates.push_back({.setting = std::move(setting)});
    return candidates;
  }

  // The first document once with each, which warms up; then all in rounds. Candidates that fail are left out of what
  // follows. An error if the first one fails, or the server is gone.
  absl::Status Measure(std::vector<Candidate>& candidates) {
    for (int round = 0; round <= flags_.rounds; ++round) {
      const bool warms_up = round == 0;
      const std::string when = warms_up ? "warm-up" : absl::StrFormat("round %d of %d", round, flags_.rounds);
      for (size_t i = 0; i < candidates.size(); ++i) {
        const size_t number = (i + static_cast<size_t>(round)) % candidates.size();
        Candidate& candidate = candidates[number];
        if (!candidate.failure.ok()) continue;
        auto pass = Over(candidate.setting, warms_up ? 1 : inputs_.documents.size());
        const std::string flags = FlagsOf(candidate.setting);
        if (!pass.ok()) {
          const bool ends = number == 0 || absl::IsUnavailable(pass.status());
          if (ends) return absl::Status(pass.status().code(), absl::StrCat(flags, ": ", pass.status().message()));
          candidate.failure = pass.status();
          err_ << "salient: left out: " << flags << ": " << std::string(pass.status().message()) << "\n";
          continue;
        }
        if (!flags_.quiet) {
          err_ << absl::StrFormat("%s, setting %d of %d: %.3f s, %s\n", when, number + 1, candidates.size(),
                                  pass->seconds, flags);
        }
        if (!warms_up) candidate.seconds.push_back(pass->seconds);
        candidate.last = *std::move(pass);
      }
    }
    return absl::OkStatus();
  }

 private:
  // The server says which model the requests get.
  absl::StatusOr<std::vector<v1::TranslateDocumentRequest>> SettingsOfTheModel() {
    v1::Document probe;
    probe.set_text(kProbe);
    const auto reply = Translate(DenseAtFullDepth(), probe);
    if (!reply.ok()) return reply.status();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kModelWithin);
    v1::GetModelRequest request;
    request.set_name(reply->response.model());
    v1::Model model;
    const grpc::Status status = stub_.GetModel(&context, request, &model);
    if (!status.ok()) return Explain(status, flags_.connection.server);
    return SettingsOf(model);
  }

  absl::StatusOr<Pass> Over(const v1::TranslateDocumentRequest& setting, size_t documents) {
    Pass pass;
    for (size_t i = 0; i < documents; ++i) {
      const auto translation = Translate(setting, inputs_.documents[i]);
      if (!translation.ok()) {
        return absl::Status(translation.status().code(),
                            absl::StrCat(inputs_.names[i], ": ", std::string(translation.status().message())));
      }
      pass.Add(translation->response);
    }
    return pass;
  }

  absl::StatusOr<Translation> Translate(const v1::TranslateDocumentRequest& setting, const v1::Document& document) {
    v1::TranslateDocumentRequest request = flags_.request;
    request.set_guard(v1::GUARD_OFF);
    request.MergeFrom(setting);
    request.mutable_document()->MergeFrom(document);
    CallOptions options{.server = flags_.connection.server};
    if (flags_.timeout_seconds > 0) options.timeout = absl::Seconds(flags_.timeout_seconds);
    return TranslateOne(stub_, request, options, [](const DocumentProgress&) {});
  }

  const TuneFlags& flags_;
  const Inputs& inputs_;
  v1::Translation::Stub& stub_;
  std::ostream& err_;
};

TuneRow RowOf(const Candidate& candidate, const std::vector<std::string>& references) {
  const Pass& pass = candidate.last;
  const auto ratio = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
  const double seconds = Median(candidate.seconds);
  return {.setting = candidate.setting,
          .seconds = seconds,
          .seconds_per_1000_tokens = ratio(1000 * seconds, pass.source_tokens),
          .attention_cost_ratio = ratio(pass.attention, pass.source_tokens),
          .mean_exit = ratio(pass.exits, pass.target_tokens),
          .chrf = Chrf(pass.texts, references)};
}

}  // namespace

int RunTune(const TuneFlags& flags, std::ostream& out, std::ostream& err) {
  const auto fail = [&err](const absl::Status& status) {
    err << "salient: " << std::string(status.message()) << "\n";
    return 1;
  };
  const auto inputs = ReadInputs(flags);
  if (!inputs.ok()) return fail(inputs.status());
  auto stub = Connect(flags.connection);
  if (!stub.ok()) return fail(stub.status());
  Tuning tuning(flags, *inputs, **stub, err);
  auto candidates = tuning.Candidates();
  if (!candidates.ok()) return fail(candidates.status());
  if (const absl::Status status = tuning.Measure(*candidates); !status.ok()) return fail(status);

  const bool has_references = !inputs->references.empty();
  const std::vector<std::string>& references = has_references ? inputs->references : candidates->front().last.texts;
  std::vector<TuneRow> rows;
  for (const Candidate& candidate : *candidates) {
    if (candidate.failure.ok()) rows.push_back(RowOf(candidate, references));
  }
  rows = Compare(std::move(rows), flags.tolerance);
  if (flags.report == ReportFormat::kTable) {
    out << TuneTable(rows, flags.tolerance, has_references);
  } else {
    for (const TuneRow& row : rows) out << TuneJson(row, has_references).dump() << "\n";
  }
  if (!out.flush()) return fail(absl::UnavailableError("cannot write the report"));
  return 0;
}

}  // namespace salient
