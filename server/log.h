// The log, on standard error: text for people, or JSON, a line an event, for machines.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "engine/api/report.h"
#include "server/admission/client.h"

namespace salient {

enum class LogFormat { kText, kJson };

// Before the first line.
void StartLog(const std::string& level, LogFormat format);

// What became of a document, or of a call that was refused before there was one: a line each.
struct DocumentLine {
  CallInfo call;
  std::string model, operating_point;
  bool bulk = false;
  absl::StatusCode outcome = absl::StatusCode::kOk;
  std::string refusal;       // why it was not taken, as the metric names it; empty: it was
  CostReport report;         // where it is finished
  double total_seconds = 0;  // since it arrived
};
void LogDocument(const DocumentLine& line);

// As LogDocument writes it, without the time.
std::string ToText(const DocumentLine& line, LogFormat format);

}  // namespace salient
