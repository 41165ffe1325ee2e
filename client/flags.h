// The client's command line.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "documents/formats/registry.h"
#include "salient/v1/translation.pb.h"

namespace salient {

enum class ReportFormat { kTable, kJson };

struct ConnectionFlags {
  std::string server = "localhost:50051";
  bool tls = false;
  std::string tls_ca;                    // PEM file; empty: the CAs that this machine trusts
  std::string tls_certificate, tls_key;  // PEM files of the client's certificate, if the server requires one
  std::string api_key;
};

struct TranslateFlags {
  ConnectionFlags connection;
  std::vector<std::string> files;        // "-" is standard input
  v1::TranslateDocumentRequest request;  // all but the document's text
  const Format* format = nullptr;        // of all documents; null: by each file's extension
  std::string out;                       // a file or a folder; empty: standard output
  ReportFormat report = ReportFormat::kTable;
  double timeout_seconds = 0;  // 0: none
  int parallel = 8;
  bool quiet = false;
};

struct ModelsFlags {
  ConnectionFlags connection;
  ReportFormat report = ReportFormat::kTable;
};

struct BenchFlags {
  ConnectionFlags connection;
  std::vector<std::string> files;  // documents to choose from
  std::string settings;            // file of TranslateDocumentRequests in JSON, one a line; empty: `request` alone
  v1::TranslateDocumentRequest request;  // all but the document's text
  double rate = 1, end_rate = 1;         // documents per second, at the start and at the end
  double seconds = 60;
  double timeout_seconds = 0;  // 0: none
  int in_flight = 10000;       // the most in flight; further documents are counted, but not sent
  uint64_t seed = 1;
  ReportFormat report = ReportFormat::kTable;
  bool quiet = false;
};

struct TuneFlags {
  ConnectionFlags connection;
  std::vector<std::string> files;
  v1::TranslateDocumentRequest request;  // the model and the languages
  const Format* format = nullptr;        // of all documents; null: by each file's extension
  std::string settings;                  // as BenchFlags::settings; empty: made from the model
  std::vector<std::string> references;   // a human translation of each document; none: the baseline's translations
  int rounds = 3;
  double tolerance = 0.5;      // chrF
  double timeout_seconds = 0;  // of a document; 0: none
  ReportFormat report = ReportFormat::kTable;
  bool quiet = false;
};

// The parsed command. Exactly one member is set: `exit_code` if help was requested or an option is invalid; then the
// message is already printed.
struct ParsedClientFlags {
  std::optional<TranslateFlags> translate;
  std::optional<ModelsFlags> models;
  std::optional<BenchFlags> bench;
  std::optional<TuneFlags> tune;
  std::optional<int> exit_code;
};
ParsedClientFlags ParseClientFlags(int argc, const char* const* argv);

}  // namespace salient
