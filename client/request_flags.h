// Options that several commands share: how they are declared, and where what was typed goes.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "client/flags.h"

namespace salient {

// As typed, before the parts go where they belong.
struct RawFlags {
  std::string report = "table";
  std::string selection, exit, model, from, to, operating_point, prefix;
  std::string format = "auto";
  std::vector<std::string> keep, terms, memory_files;
  std::string glossary, glossary_file, markup;
  bool memory = false, repeats = false;
  std::optional<int> beam, n_best, min_keys, min_exit, max_exit;
  std::optional<double> length_penalty, max_length_ratio, latency;
  bool lines = false;
  std::optional<int> no_repeat;
  std::string guard;
  bool shortlist = false;
  bool trace = false;
};

// The server, and --report.
void AddCommon(CLI::App& app, ConnectionFlags& connection, std::string& report);

// Which of the server's models translates.
void AddModel(CLI::App& app, RawFlags& raw);
void FillModel(const RawFlags& raw, v1::TranslateDocumentRequest* request);

CLI::Option* AddFiles(CLI::App& app, std::vector<std::string>& files, const std::string& description);

void AddFormat(CLI::App& app, RawFlags& raw);
const Format* ReadFormat(const RawFlags& raw);  // null: by each file's extension

// A control that was not typed stays unset, for then the server's or the model's default holds.
void AddControls(CLI::App& app, RawFlags& raw);
void FillControls(const RawFlags& raw, v1::TranslateDocumentRequest* request);
void AddSearch(CLI::App& app, RawFlags& raw);
void FillSearch(const RawFlags& raw, v1::SearchControls* search);

ReportFormat ReadReport(const std::string& name);

template <typename T>
T OrThrow(absl::StatusOr<T> value) {
  if (!value.ok()) throw CLI::ValidationError(std::string(value.status().message()));
  return *std::move(value);
}

}  // namespace salient
