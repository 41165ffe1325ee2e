// The log, on standard error: text, or JSON with one object on each line.

#pragma once

#include <string>

#include "absl/status/status.h"
#include "engine/api/report.h"
#include "server/admission/client.h"

namespace salient {

enum class LogFormat { kText, kJson };

// Call it before the first line is logged, and once. The log takes what gRPC and protobuf have to say, too.
void StartLog(const std::string& level, LogFormat format);

// The log line of a finished or failed document, or of a refused call.
struct DocumentLine {
  CallInfo call;
  std::string model, operating_point;
  bool bulk = false;
  absl::StatusCode outcome = absl::StatusCode::kOk;
  std::string refusal;       // the reason, as in the metric; empty: the document was accepted
  CostReport report;         // if it is finished
  double total_seconds = 0;  // since its arrival
};
void LogDocument(const DocumentLine& line);

// The line as LogDocument writes it, without the time.
std::string ToText(const DocumentLine& line, LogFormat format);

}  // namespace salient
