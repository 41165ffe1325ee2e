#include "client/report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/controls.h"
#include "google/protobuf/descriptor.h"

namespace salient {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using nlohmann::ordered_json;

std::string Percent(double ratio) { return absl::StrFormat("%.1f %%", 100 * ratio); }

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Columns of a terminal that the text takes: its code points, for the names of files and models.
size_t Width(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

std::vector<std::string> Cells(const std::string& name, const v1::CostReport& report) {
  const v1::ModuleRatios& kept = report.keys_selected_ratio();
  return {name,
          absl::StrCat(report.segments()),
          absl::StrFormat("%d > %d", report.source_tokens(), report.target_tokens()),
          absl::StrFormat("%.2f", report.total_seconds()),
          absl::StrFormat("%.2f", report.queue_seconds()),
          absl::StrFormat("%.0f", Ratio(report.target_tokens(), report.total_seconds())),
          Percent(report.attention_cost_ratio()),
          absl::StrFormat("%.0f/%.0f/%.0f %%", 100 * kept.encoder(), 100 * kept.decoder(), 100 * kept.cross()),
          absl::StrFormat("%.2f of %d", report.mean_exit(), report.exit_histogram_size()),
          Percent(Ratio(report.decoder_flops(), report.decoder_flops_full_depth())),
          absl::StrFormat("%.1f MiB", static_cast<double>(report.peak_kv_bytes()) / (1 << 20))};
}

// The counts add up; the ratios do not, and are left out.
std::vector<std::string> SumCells(const std::vector<ReportRow>& rows) {
  int segments = 0, source = 0, target = 0;
  for (const ReportRow& row : rows) {
    const v1::CostReport& report = row.translation.response.report();
    segments += report.segments();
    source += report.source_tokens();
    target += report.target_tokens();
  }
  return {absl::StrCat(rows.size(), " documents"), absl::StrCat(segments), absl::StrFormat("%d > %d", source, target)};
}

ordered_json Scalar(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.GetUInt64(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.GetFloat(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.GetEnum(message, &field)->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetString(message, &field);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(reflection.GetMessage(message, &field));
  }
  return nullptr;
}

ordered_json Element(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetRepeatedInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetRepeatedInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetRepeatedUInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.GetRepeatedUInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetRepeatedDouble(message, &field, index);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.GetRepeatedFloat(message, &field, index);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetRepeatedBool(message, &field, index);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.GetRepeatedEnum(message, &field, index)->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection.GetRepeatedString(message, &field, index);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(reflection.GetRepeatedMessage(message, &field, index));
  }
  return nullptr;
}

}  // namespace

std::string AlignColumns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - Width(row[i]), ' ');
      const bool last = i + 1 == row.size();
      absl::StrAppend(&text, i == 0 ? row[i] : padding, i == 0 ? (last ? "" : padding) : row[i], last ? "\n" : "  ");
    }
  }
  return text;
}

std::string CostTable(const std::vector<ReportRow>& rows) {
  if (rows.empty()) return "";
  std::vector<std::vector<std::string>> table = {{"document", "segments", "tokens", "seconds", "queued", "tokens/s",
                                                  "attention", "keys enc/dec/cross", "exit", "decoder FLOPs", "KV"}};
  for (const ReportRow& row : rows) table.push_back(Cells(row.file, row.translation.response.report()));
  if (rows.size() > 1) table.push_back(SumCells(rows));
  const v1::TranslateDocumentResponse& first = rows.front().translation.response;
  std::string settings = absl::StrCat("model ", first.model(), ", selection ", Describe(first.selection()), ", exit ",
                                      Describe(first.depth()), ", beam ", first.search().beam());
  if (!first.operating_point().empty()) absl::StrAppend(&settings, ", operating point ", first.operating_point());
  return absl::StrCat(settings, "\n", AlignColumns(table));
}

ordered_json ToJson(const Message& message) {
  ordered_json json = ordered_json::object();
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_repeated()) {
      ordered_json list = ordered_json::array();
      const int size = message.GetReflection()->FieldSize(message, &field);
      for (int k = 0; k < size; ++k) list.push_back(Element(message, field, k));
      json[field.name()] = std::move(list);
    } else if (!field.has_presence() || message.GetReflection()->HasField(message, &field)) {
      json[field.name()] = Scalar(message, field);
    }
  }
  return json;
}

ordered_json DocumentJson(const std::string& file, const Translation& translation, bool with_text) {
  const v1::TranslateDocumentResponse& response = translation.response;
  ordered_json json = {{"file", file}, {"model", response.model()}};
  if (!response.operating_point().empty()) json["operating_point"] = response.operating_point();
  json["selection"] = ToJson(response.selection());
  json["depth"] = ToJson(response.depth());
  json["search"] = ToJson(response.search());
  json["segments_in"] = translation.segments_expected;
  json["segments_out"] = response.segments_size();
  json.update(ToJson(response.report()));
  std::vector<int> length_limited;
  ordered_json checks = ordered_json::array();  // of segments that have or had faults
  bool has_trace = false;
  for (const v1::TranslatedSegment& segment : response.segments()) {
    if (segment.length_limited()) length_limited.push_back(segment.index());
    has_trace = has_trace || segment.trace_size() > 0;
    if (segment.check().faults_size() + segment.check().first_faults_size() == 0) continue;
    checks.push_back({{"index", segment.index()}});
    checks.back().update(ToJson(segment.check()));
  }
  json["length_limited_segments"] = length_limited;
  json["guard"] = v1::Guard_Name(response.guard());
  json["checks"] = std::move(checks);
  if (has_trace) {
    ordered_json trace = ordered_json::array();
    for (const v1::TranslatedSegment& segment : response.segments()) trace.push_back(ToJson(segment));
    json["trace"] = std::move(trace);
  }
  if (response.alternatives_size() > 0) {
    json["alternatives"] = std::vector<std::string>(response.alternatives().begin(), response.alternatives().end());
  }
  if (with_text) json["text"] = response.text();
  return json;
}

ordered_json FailureJson(const std::string& file, const absl::Status& status) {
  return {{"file", file},
          {"error", {{"code", absl::StatusCodeToString(status.code())}, {"message", std::string(status.message())}}}};
}

}  // namespace salient
