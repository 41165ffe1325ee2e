#include "server/telemetry/log.h"

#include <atomic>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"
#include "nlohmann/json.hpp"
#include "spdlog/pattern_formatter.h"
#include "spdlog/sinks/stdout_color_sinks.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace salient {
namespace {

using nlohmann::ordered_json;

std::atomic<LogFormat> log_format = LogFormat::kText;

std::string Dump(const ordered_json& json) { return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace); }

// %* is what is beside time and level: `"message":"..."`, or the fields of a line that is JSON already.
class JsonFields final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string payload(message.payload.data(), message.payload.size());
    std::string fields = absl::StrCat("\"message\":", Dump(payload));
    if (payload.size() > 2 && payload.front() == '{' && payload.back() == '}') {
      fields = payload.substr(1, payload.size() - 2);
    }
    out.append(fields.data(), fields.data() + fields.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<JsonFields>(); }
};

// What protobuf complains of is what a client has sent, who is told by the call's status.
void LogOfProtobuf(google::protobuf::LogLevel, const char*, int, const std::string& message) {
  spdlog::debug("protobuf: {}", message);
}

void LogOfGrpc(gpr_log_func_args* args) {
  const auto level = args->severity == GPR_LOG_SEVERITY_ERROR  ? spdlog::level::warn
                     : args->severity == GPR_LOG_SEVERITY_INFO ? spdlog::level::info
                                                               : spdlog::level::debug;
  spdlog::log(level, "gRPC: {}", args->message);
}

ordered_json FieldsOf(const DocumentLine& line) {
  const CostReport& report = line.report;
  ordered_json fields = {{"event", "document"},
                         {"request_id", line.call.request_id},
                         {"transport", line.call.transport},
                         {"client", line.call.client.name},
                         {"client_kind", line.call.client.KindName()},
                         {"model", line.model},
                         {"setting", line.operating_point},
                         {"priority", line.bulk ? "bulk" : "interactive"},
                         {"outcome", absl::AsciiStrToLower(absl::StatusCodeToString(line.outcome))},
                         {"seconds", line.total_seconds}};
  if (!line.call.traceparent.empty()) fields["traceparent"] = line.call.traceparent;
  if (!line.refusal.empty()) fields["refusal"] = line.refusal;
  if (line.outcome != absl::StatusCode::kOk) return fields;
  fields["source_tokens"] = report.source_tokens;
  fields["target_tokens"] = report.target_tokens;
  fields["queue_seconds"] = report.queue_seconds;
  fields["encode_seconds"] = report.encode_seconds;
  fields["decode_seconds"] = report.decode_seconds;
  fields["attention_cost_ratio"] = report.attention_cost_ratio;
  fields["mean_exit"] = report.mean_exit;
  return fields;
}

}  // namespace

void StartLog(const std::string& level, LogFormat format) {
  log_format = format;
  if (format == LogFormat::kJson) {
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<JsonFields>('*').set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%*})");
    spdlog::set_default_logger(spdlog::stderr_logger_mt("salient"));
    spdlog::set_formatter(std::move(formatter));
  } else {
    spdlog::set_default_logger(spdlog::stderr_color_mt("salient"));
    spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  }
  spdlog::set_level(spdlog::level::from_str(level));
  google::protobuf::SetLogHandler(LogOfProtobuf);
  gpr_set_log_function(LogOfGrpc);
}

std::string ToText(const DocumentLine& line, LogFormat format) {
  const ordered_json fields = FieldsOf(line);
  if (format == LogFormat::kJson) return Dump(fields);
  std::string text;
  for (const auto& [name, value] : fields.items()) {
    if (value == "") continue;
    absl::StrAppend(&text, text.empty() ? "" : " ", name == "event" ? "" : name + "=",
                    name == "event" ? "document" : Dump(value));
  }
  return text;
}

void LogDocument(const DocumentLine& line) {
  if (!spdlog::should_log(spdlog::level::info)) return;
  spdlog::info("{}", ToText(line, log_format));
}

}  // namespace salient
