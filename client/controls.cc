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
#include "absl/strings/str_split.h"
#include "engine/api/module.h"
#include "engine/api/policies.h"

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

}  // namespace salient
