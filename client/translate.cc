#include "client/translate.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/call.h"
#include "client/connection.h"
#include "client/documents.h"
#include "client/progress.h"
#include "client/report.h"

namespace salient {
namespace {

// A line of the report. The name of a file need not be UTF-8.
template <typename Json>
std::string Line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A name may have any byte. Control characters, of ASCII and after it (C2 80 to C2 9F), would command the terminal.
std::string ShownName(const std::string& file) {
  if (file == "-") return "standard input";
  std::string shown;
  for (size_t i = 0; i < file.size(); ++i) {
    const auto byte = static_cast<unsigned char>(file[i]);
    const bool after_ascii = i > 0 && file[i - 1] == '\xC2' && byte >= 0x80 && byte < 0xA0;
    shown += absl::ascii_iscntrl(byte) || after_ascii ? '?' : file[i];
  }
  return shown;
}

std::vector<std::string> ShownNames(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files) names.push_back(ShownName(file));
  return names;
}

constexpr size_t kMostPlaces = 10;

// "too long" for FAULT_TOO_LONG.
std::string FaultWords(v1::Fault fault) {
  constexpr size_t kPrefix = sizeof("FAULT_") - 1;
  std::string words = absl::AsciiStrToLower(v1::Fault_Name(fault).substr(kPrefix));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

// The server's error, with a hint if --glossary names a file that is here.
absl::Status WithHint(const absl::Status& status, const std::string& glossary) {
  std::error_code error;
  const bool is_file = !glossary.empty() && std::filesystem::is_regular_file(glossary, error);
  if (!is_file || !absl::IsNotFound(status) || !absl::StartsWith(status.message(), "glossary.name:")) return status;
  return absl::NotFoundError(
      absl::StrCat(std::string(status.message()), "; to send the file ", glossary, ", give it as --glossary-file"));
}

// One run of the command: workers translate and store, several documents at once; the calling thread reports the
// results in the order of the command line.
class Run {
 public:
  // paths: where each translation is stored; "" is `out`.
  Run(const TranslateFlags& flags, const std::vector<std::string>& paths, std::ostream& out, Progress& progress)
      : flags_(flags), paths_(paths), out_(out), progress_(progress), results_(flags.files.size()) {}

  int All(v1::Translation::Stub& stub) {
    std::vector<std::thread> workers;
    const size_t count = std::min(flags_.files.size(), static_cast<size_t>(flags_.parallel));
    for (size_t i = 0; i < count; ++i) workers.emplace_back([this, &stub] { Work(stub); });
    for (size_t i = 0; i < results_.size(); ++i) Emit(i, results_[i].get_future().get());
    for (std::thread& worker : workers) worker.join();
    return failed_ == 0 ? 0 : 1;
  }

  const std::vector<ReportRow>& rows() const { return rows_; }

 private:
  void Work(v1::Translation::Stub& stub) {
    for (size_t i = next_++; i < flags_.files.size(); i = next_++) {
      results_[i].set_value(Stored(i, Translate(stub, i)));
      progress_.Finish(i);
    }
  }

  absl::StatusOr<Translation> Translate(v1::Translation::Stub& stub, size_t index) {
    const auto found = FormatOf(index);
    if (!found.ok()) return found.status();
    const Format& format = **found;
    if (paths_[index].empty() && format.is_binary) {
      return absl::InvalidArgumentError("its translation is not text; name a file for it with --out");
    }
    v1::TranslateDocumentRequest request = flags_.request;
    const absl::Status read = ReadInto(*request.mutable_document(), flags_.files[index], format);
    if (!read.ok()) return read;
    // --markup is for all documents, but has no meaning for such a text.
    if (format.name == "text" && request.document().keep_terms().empty() && !request.has_glossary()) {
      request.mutable_document()->clear_markup();
    }
    CallOptions options{.server = flags_.connection.server};
    if (flags_.timeout_seconds > 0) options.timeout = absl::Seconds(flags_.timeout_seconds);
    auto translation = TranslateOne(
        stub, request, options, [this, index](const DocumentProgress& progress) { progress_.Update(index, progress); });
    if (!translation.ok()) return WithHint(translation.status(), request.glossary().name());
    return translation;
  }

  // The translation, whose text is in its file if it has one: nothing that ends the program later loses it.
  absl::StatusOr<Translation> Stored(size_t index, absl::StatusOr<Translation> translation) {
    if (!translation.ok()) return translation;
    v1::TranslateDocumentResponse& response = translation->response;
    if (!response.mime_type().empty()) response.set_text(std::move(*response.mutable_content()));
    if (paths_[index].empty()) return translation;
    std::lock_guard<std::mutex> lock(storing_);  // an unfinished file must not be taken for another translation's
    const absl::Status status = WriteTranslation(paths_[index], response.text());
    if (!status.ok()) return status;
    response.clear_text();
    return translation;
  }

  absl::StatusOr<const Format*> FormatOf(size_t index) const {
    if (flags_.format != nullptr) return flags_.format;
    return FormatOfDocument(flags_.files[index]);
  }

  void Emit(size_t index, absl::StatusOr<Translation> translation) {
    const std::string& file = flags_.files[index];
    if (!translation.ok()) return EmitFailure(file, translation.status());
    progress_.Clear();
    if (flags_.report == ReportFormat::kJson) {
      out_ << Line(DocumentJson(file, *translation, /*with_text=*/paths_[index].empty()));
    } else {
      out_ << translation->response.text();
    }
    out_.flush();
    WarnOfLimits(file, translation->response);
    WarnOfFaults(file, translation->response);
    // The table needs the counts, not the words.
    translation->response.clear_text();
    translation->response.clear_segments();
    rows_.push_back({ShownName(file), *std::move(translation)});
  }

  void EmitFailure(const std::string& file, const absl::Status& status) {
    ++failed_;
    progress_.Say(absl::StrCat("salient: ", ShownName(file), ": ", std::string(status.message())));
    if (flags_.report == ReportFormat::kJson) {
      out_ << Line(FailureJson(file, status));
      out_.flush();
    }
  }

  // Nothing is cut off without a word.
  void WarnOfLimits(const std::string& file, const v1::TranslateDocumentResponse& response) {
    const auto limited = std::count_if(response.segments().begin(), response.segments().end(),
                                       [](const v1::TranslatedSegment& segment) { return segment.length_limited(); });
    if (limited == 0 || flags_.quiet) return;
    progress_.Say(absl::StrCat("salient: ", ShownName(file), ": ", limited, limited == 1 ? " segment" : " segments",
                               " reached the length limit and may end early; raise --max-length-ratio"));
  }

  // What the guard still finds fault with.
  void WarnOfFaults(const std::string& file, const v1::TranslateDocumentResponse& response) {
    std::vector<std::string> places;
    for (const v1::TranslatedSegment& segment : response.segments()) {
      if (segment.check().faults_size() == 0) continue;
      std::vector<std::string> names;
      for (const int fault : segment.check().faults()) names.push_back(FaultWords(static_cast<v1::Fault>(fault)));
      places.push_back(absl::StrCat(segment.index() + 1, " (", absl::StrJoin(names, ", "), ")"));
    }
    if (places.empty() || flags_.quiet) return;
    const size_t count = places.size();
    if (count > kMostPlaces) places.resize(kMostPlaces);
    progress_.Say(absl::StrCat("salient: ", ShownName(file), ": look at segment", count == 1 ? " " : "s ",
                               absl::StrJoin(places, ", "),
                               count > kMostPlaces ? absl::StrCat(" and ", count - kMostPlaces, " more") : ""));
  }

  const TranslateFlags& flags_;
  const std::vector<std::string>& paths_;
  std::ostream& out_;
  Progress& progress_;
  std::vector<std::promise<absl::StatusOr<Translation>>> results_;
  std::atomic<size_t> next_ = 0;
  std::mutex storing_;
  std::vector<ReportRow> rows_;
  int failed_ = 0;
};

}  // namespace

int RunTranslate(TranslateFlags flags, std::ostream& out, std::ostream& err, bool err_is_terminal) {
  const auto fail = [&err](const absl::Status& status) {
    err << "salient: " << std::string(status.message()) << "\n";
    return 1;
  };
  if (std::count(flags.files.begin(), flags.files.end(), "-") > 1) {
    return fail(absl::InvalidArgumentError("standard input can be read once only; name - once"));
  }
  const auto documents = ListDocuments(flags.files, flags.out);
  if (!documents.ok()) return fail(documents.status());
  auto paths = PlanOutputs(*documents, flags.out, flags.request.target_language());
  if (!paths.ok()) return fail(paths.status());
  auto stub = Connect(flags.connection);
  if (!stub.ok()) return fail(stub.status());

  flags.files.clear();
  for (const NamedFile& document : *documents) flags.files.push_back(document.path);
  Progress progress(ShownNames(flags.files), err, err_is_terminal, flags.quiet);
  Run run(flags, *paths, out, progress);
  const int exit_status = run.All(**stub);
  progress.Clear();
  if (flags.report == ReportFormat::kTable && !flags.quiet) err << CostTable(run.rows());
  if (!out) return fail(absl::UnavailableError("cannot write to standard output"));
  return exit_status;
}

}  // namespace salient
