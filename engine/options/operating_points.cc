#include "engine/options/operating_points.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/model/json.h"
#include "engine/options/resolve.h"

namespace salient {
namespace {

constexpr char kFile[] = "operating_points.json";
constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxPoints = 1000;
constexpr size_t kMaxNameBytes = 64;
constexpr double kMaxDouble = std::numeric_limits<double>::max();
constexpr int32_t kLeastInt = std::numeric_limits<int32_t>::min(), kMaxInt = std::numeric_limits<int32_t>::max();

// Ranges are Resolve's business: here only the type is checked.
std::optional<double> NumberIfThere(JsonObject& object, const std::string& name) {
  if (!object.Has(name)) return std::nullopt;
  return object.Number(name, -kMaxDouble, kMaxDouble);
}

std::optional<int32_t> IntegerIfThere(JsonObject& object, const std::string& name) {
  if (!object.Has(name)) return std::nullopt;
  return static_cast<int32_t>(object.Integer(name, kLeastInt, kMaxInt));
}

template <typename Info, size_t kCount>
std::optional<decltype(Info::policy)> PolicyIfThere(JsonObject& object, const std::array<Info, kCount>& table) {
  if (!object.Has("policy")) return std::nullopt;
  const std::string name = object.String("policy");
  for (const Info& info : table) {
    if (name == info.name) return info.policy;
  }
  const std::string known =
      absl::StrJoin(table, ", ", [](std::string* out, const Info& info) { out->append(info.name); });
  object.Fail("policy", absl::StrCat("it must be one of ", known));
  return std::nullopt;
}

SelectionOptions ReadSelection(JsonObject object) {
  SelectionOptions selection;
  selection.policy = PolicyIfThere(object, kSelectionPolicies);
  selection.value = NumberIfThere(object, "value");
  for (int module = 0; module < kModules; ++module) {
    selection.module_value[module] =
        NumberIfThere(object, absl::StrCat(ModuleName(static_cast<Module>(module)), "_value"));
  }
  selection.min_keys = IntegerIfThere(object, "min_keys");
  object.Finish();
  return selection;
}

DepthOptions ReadDepth(JsonObject object) {
  DepthOptions depth;
  depth.policy = PolicyIfThere(object, kDepthPolicies);
  depth.fixed_exit = IntegerIfThere(object, "fixed_exit");
  if (object.Has("thresholds")) depth.thresholds = object.Numbers("thresholds");
  depth.min_exit = IntegerIfThere(object, "min_exit");
  depth.max_exit = IntegerIfThere(object, "max_exit");
  depth.draft_exit = IntegerIfThere(object, "draft_exit");
  depth.draft_tokens = IntegerIfThere(object, "draft_tokens");
  object.Finish();
  return depth;
}

SearchOptions ReadSearch(JsonObject object) {
  SearchOptions search;
  search.beam = IntegerIfThere(object, "beam");
  search.length_penalty = NumberIfThere(object, "length_penalty");
  search.max_length_ratio = NumberIfThere(object, "max_length_ratio");
  search.n_best = IntegerIfThere(object, "n_best");
  if (object.Has("prefix")) search.prefix = object.String("prefix");
  if (object.Has("shortlist")) search.shortlist = object.Boolean("shortlist");
  search.no_repeat = IntegerIfThere(object, "no_repeat");
  object.Finish();
  return search;
}

OperatingPoint ReadPoint(JsonObject object) {
  OperatingPoint point;
  point.name = object.String("name");
  const bool printable = std::all_of(point.name.begin(), point.name.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (point.name.empty() || point.name.size() > kMaxNameBytes || !printable) {
    object.Fail("name", absl::StrCat("it must be 1 to ", kMaxNameBytes, " printable ASCII characters without spaces"));
  }
  if (object.Has("selection")) point.options.selection = ReadSelection(object.Object("selection"));
  if (object.Has("depth")) point.options.depth = ReadDepth(object.Object("depth"));
  if (object.Has("search")) point.options.search = ReadSearch(object.Object("search"));
  point.bleu = object.Number("bleu", 0, 100);
  point.attention_cost_ratio = object.Number("attention_cost_ratio", 0, kMaxDouble);
  point.mean_exit = object.Number("mean_exit", 0, kMaxDouble);
  point.seconds_per_1000_tokens = object.Number("seconds_per_1000_tokens", 0, kMaxDouble);
  object.Finish();
  return point;
}

}  // namespace

absl::StatusOr<std::vector<OperatingPoint>> ParseOperatingPoints(std::string_view json, const ModelConfig& config) {
  absl::StatusOr<Json> parsed = ParseJson(json, kFile, {.bytes = kMaxBytes});
  if (!parsed.ok()) return parsed.status();
  absl::Status status;
  const std::string prefix = absl::StrCat(kFile, ": ");
  JsonObject object(*parsed, prefix, "", status);
  const Json::array_t& entries = object.Array("points");
  if (entries.size() > kMaxPoints) object.Fail("points", absl::StrCat("at most ", kMaxPoints, " are read"));
  object.Finish();
  std::vector<OperatingPoint> points;
  for (size_t i = 0; i < entries.size() && status.ok(); ++i) {
    const std::string path = absl::StrCat("points[", i, "]");
    OperatingPoint point = ReadPoint(JsonObject(entries[i], prefix, path, status));
    if (!status.ok()) break;
    if (FindOperatingPoint(points, point.name).ok()) {
      status = absl::InvalidArgumentError(absl::StrCat(prefix, path, ".name is ", point.name, ", as is another's"));
    } else if (const auto resolved = Resolve(point.options, config); !resolved.ok()) {
      status =
          absl::InvalidArgumentError(absl::StrCat(prefix, path, " (", point.name, "): ", resolved.status().message()));
    }
    points.push_back(std::move(point));
  }
  if (!status.ok()) return status;
  return points;
}

absl::StatusOr<const OperatingPoint*> FindOperatingPoint(const std::vector<OperatingPoint>& points,
                                                         const std::string& name) {
  for (const OperatingPoint& point : points) {
    if (point.name == name) return &point;
  }
  if (points.empty()) {
    return absl::NotFoundError(absl::StrCat("operating_point is ", name, "; this model has no measured points"));
  }
  const std::string names =
      absl::StrJoin(points, ", ", [](std::string* out, const OperatingPoint& point) { out->append(point.name); });
  return absl::NotFoundError(absl::StrCat("operating_point is ", name, "; this model has ", names));
}

absl::StatusOr<const OperatingPoint*> PointForLatency(const std::vector<OperatingPoint>& points, double seconds,
                                                      int64_t source_tokens, const Expectation& expected) {
  if (points.empty()) {
    return absl::FailedPreconditionError(
        "latency_target_seconds needs measured points, and this model has none; set selection and depth instead");
  }
  const OperatingPoint* best = nullptr;
  const OperatingPoint* fastest = &points.front();
  for (const OperatingPoint& point : points) {
    if (point.seconds_per_1000_tokens < fastest->seconds_per_1000_tokens) fastest = &point;
    if (expected(point.SecondsAlone(source_tokens)) > seconds) continue;
    // Of equally good ones the faster.
    if (best == nullptr || point.bleu > best->bleu ||
        (point.bleu == best->bleu && point.seconds_per_1000_tokens < best->seconds_per_1000_tokens)) {
      best = &point;
    }
  }
  return best != nullptr ? best : fastest;
}

}  // namespace salient
