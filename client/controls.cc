#include "client/controls.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "engine/api/module.h"
#include "engine/api/policies.h"
#include "google/protobuf/util/json_util.h"

namespace salient {
namespace {

struct Typed {
  std::string policy;  // in lower case
  std::vector<double> values;
};

// `expected`: what would be right.
absl::Status Malformed(const char* flag, std::string_view text, std::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": '", std::string(text), "' is not right; it takes ", std::string(expected)));
}

template <typename Info, size_t kCount>
std::string Forms(const std::array<Info, kCount>& table) {
  return absl::StrJoin(table, ", ", [](std::string* out, const Info& info) { out->append(info.example); });
}

// Null if it is none of the policies.
template <typename Info, size_t kCount>
const Info* Find(const std::array<Info, kCount>& table, const std::optional<Typed>& typed) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Info& info) { return typed.has_value() && typed->policy == info.name; });
  return found == table.end() ? nullptr : &*found;
}

bool IsInteger(double value) { return value == std::floor(value) && std::abs(value) <= 1e6; }

// "policy" or "policy:value,value"; nothing if it is neither.
std::optional<Typed> Split(std::string_view text) {
  Typed typed;
  const size_t colon = text.find(':');
  typed.policy = absl::AsciiStrToLower(std::string(text.substr(0, colon)));
  if (colon == std::string_view::npos) return typed;
  for (const auto& part : absl::StrSplit(std::string(text.substr(colon + 1)), ',')) {
    double value = 0;
    if (!absl::SimpleAtod(part, &value) || !std::isfinite(value)) return std::nullopt;
    typed.values.push_back(value);
  }
  return typed;
}

std::string Named(const std::string& policy, const std::vector<double>& values) {
  return absl::StrCat(absl::AsciiStrToLower(policy), values.empty() ? "" : ":", absl::StrJoin(values, ","));
}

// In quotation marks for the shell, if it needs them.
std::string ForShell(const std::string& text) {
  constexpr char kSpecial[] = " \t\n'\"\\`$&|;<>()[]{}*?!~#";
  if (text.find_first_of(kSpecial) == std::string::npos) return text;
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", R"('\'')"}}), "'");
}

}  // namespace

std::string SelectionForms() { return Forms(kSelectionPolicies); }
std::string DepthForms() { return Forms(kDepthPolicies); }

absl::StatusOr<v1::SelectionControls> ParseSelection(std::string_view text) {
  const auto typed = Split(text);
  const SelectionPolicyInfo* info = Find(kSelectionPolicies, typed);
  if (info == nullptr) return Malformed("--selection", text, SelectionForms());
  const std::vector<double>& values = typed->values;
  if (info->value == SelectionValue::kNone) {
    if (!values.empty()) return Malformed("--selection", text, absl::StrCat(info->name, " without a value"));
  } else if (values.size() != 1 && values.size() != kModules) {
    return Malformed("--selection", text,
                     absl::StrCat(info->name, " with one value, such as ", info->example,
                                  ", or three: for encoder, decoder and cross-attention"));
  }
  v1::SelectionControls controls;
  controls.set_policy(static_cast<v1::SelectionControls::Policy>(info->policy));
  if (values.size() == 1) controls.set_value(values[0]);
  if (values.size() == kModules) {
    controls.set_encoder_value(values[0]);
    controls.set_decoder_value(values[1]);
    controls.set_cross_value(values[2]);
  }
  return controls;
}

absl::StatusOr<v1::DepthControls> ParseDepth(std::string_view text) {
  const auto typed = Split(text);
  const DepthPolicyInfo* info = Find(kDepthPolicies, typed);
  if (info == nullptr) return Malformed("--exit", text, DepthForms());
  const std::vector<double>& values = typed->values;
  v1::DepthControls controls;
  controls.set_policy(static_cast<v1::DepthControls::Policy>(info->policy));
  switch (info->values) {
    case DepthValues::kNone:
      if (!values.empty()) return Malformed("--exit", text, absl::StrCat(info->name, " without a value"));
      break;
    case DepthValues::kFixedExit:
      if (values.size() != 1 || !IsInteger(values[0])) {
        return Malformed("--exit", text, absl::StrCat(info->name, " with the number of a layer: ", info->example));
      }
      controls.set_fixed_exit(static_cast<int32_t>(values[0]));
      break;
    case DepthValues::kDrafts:
      if (values.empty() || values.size() > 2 || !IsInteger(values[0]) || !IsInteger(values.back())) {
        return Malformed("--exit", text,
                         absl::StrCat(info->name, " with the layer that drafts, and if you like how ",
                                      "many tokens it drafts: ", info->example));
      }
      controls.set_draft_exit(static_cast<int32_t>(values[0]));
      if (values.size() == 2) controls.set_draft_tokens(static_cast<int32_t>(values[1]));
      break;
    case DepthValues::kThresholds:
      controls.mutable_thresholds()->Add(values.begin(), values.end());
      break;
  }
  return controls;
}

std::string Describe(const v1::SelectionControls& controls) {
  std::vector<double> values;
  if (controls.has_encoder_value() || controls.has_decoder_value() || controls.has_cross_value()) {
    const auto or_common = [&controls](bool has, double value) { return has ? value : controls.value(); };
    values = {or_common(controls.has_encoder_value(), controls.encoder_value()),
              or_common(controls.has_decoder_value(), controls.decoder_value()),
              or_common(controls.has_cross_value(), controls.cross_value())};
  } else if (controls.has_value()) {
    values = {controls.value()};
  }
  return Named(v1::SelectionControls::Policy_Name(controls.policy()), values);
}

std::string Describe(const v1::DepthControls& controls) {
  std::vector<double> values(controls.thresholds().begin(), controls.thresholds().end());
  if (controls.has_fixed_exit()) values = {static_cast<double>(controls.fixed_exit())};
  if (controls.has_draft_exit()) values = {static_cast<double>(controls.draft_exit())};
  if (controls.has_draft_tokens()) values.push_back(controls.draft_tokens());
  return Named(v1::DepthControls::Policy_Name(controls.policy()), values);
}

std::string FlagsOf(v1::TranslateDocumentRequest request) {
  std::vector<std::string> flags;
  const auto tell = [&flags](const char* flag, const auto& value) { flags.push_back(absl::StrCat(flag, " ", value)); };
  const auto tell_text = [&tell](const char* flag, const std::string& text) {
    if (!text.empty()) tell(flag, ForShell(text));
  };
  tell_text("--model", request.model());
  tell_text("--from", request.source_language());
  tell_text("--to", request.target_language());
  tell_text("--operating-point", request.operating_point());
  if (request.has_latency_target_seconds()) tell("--latency", request.latency_target_seconds());

  const v1::SelectionControls& selection = request.selection();
  if (selection.policy() != v1::SelectionControls::POLICY_UNSPECIFIED) tell("--selection", Describe(selection));
  if (selection.has_min_keys()) tell("--min-keys", selection.min_keys());
  const v1::DepthControls& depth = request.depth();
  if (depth.policy() != v1::DepthControls::POLICY_UNSPECIFIED) tell("--exit", Describe(depth));
  if (depth.has_min_exit()) tell("--min-exit", depth.min_exit());
  if (depth.has_max_exit()) tell("--max-exit", depth.max_exit());

  const v1::SearchControls& search = request.search();
  if (search.has_beam()) tell("--beam", search.beam());
  if (search.has_length_penalty()) tell("--length-penalty", search.length_penalty());
  if (search.has_max_length_ratio()) tell("--max-length-ratio", search.max_length_ratio());
  if (search.has_n_best()) tell("--n-best", search.n_best());
  if (search.has_no_repeat()) tell("--no-repeat", search.no_repeat());
  tell_text("--prefix", search.prefix());
  if (search.shortlist()) flags.push_back("--shortlist");
  if (request.guard() != v1::GUARD_UNSPECIFIED) {
    tell("--guard", absl::AsciiStrToLower(v1::Guard_Name(request.guard()).substr(sizeof("GUARD_") - 1)));
  }

  for (const char* told : {"model", "source_language", "target_language", "operating_point", "latency_target_seconds",
                           "selection", "depth", "search", "guard"}) {
    request.GetReflection()->ClearField(&request, request.GetDescriptor()->FindFieldByName(told));
  }
  if (request.ByteSizeLong() > 0) {
    std::string& rest = flags.emplace_back();
    google::protobuf::util::MessageToJsonString(request, &rest);
  }
  return flags.empty() ? "no flags" : absl::StrJoin(flags, " ");
}

}  // namespace salient
