#include "client/controls.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace salient {
namespace {

constexpr char kSelectionForms[] = "dense, learned, ratio:0.05, mass:0.95 or window:20";
constexpr char kDepthForms[] =
    "full, verify:2[,4], fixed:3, sequence, multinomial, geometric[:0.5] or confidence[:0.9]";

struct Typed {
  std::string policy;  // in capitals, as the .proto spells it
  std::vector<double> values;
};

absl::Status Malformed(const char* flag, std::string_view text, const char* forms) {
  return absl::InvalidArgumentError(absl::StrCat(flag, ": '", std::string(text), "' is not ", forms));
}

bool IsInteger(double value) { return value == std::floor(value) && std::abs(value) <= 1e6; }

// "policy" or "policy:value,value"; nothing if it is neither.
std::optional<Typed> Split(std::string_view text) {
  Typed typed;
  const size_t colon = text.find(':');
  typed.policy = absl::AsciiStrToUpper(std::string(text.substr(0, colon)));
  if (colon == std::string_view::npos) return typed;
  for (const auto& part : absl::StrSplit(std::string(text.substr(colon + 1)), ',')) {
    double value = 0;
    if (!absl::SimpleAtod(part, &value) || !std::isfinite(value)) return std::nullopt;
    typed.values.push_back(value);
  }
  return typed;
}

std::string Describe(const std::string& policy, const std::vector<double>& values) {
  return absl::StrCat(absl::AsciiStrToLower(policy), values.empty() ? "" : ":", absl::StrJoin(values, ","));
}

}  // namespace

absl::StatusOr<v1::SelectionControls> ParseSelection(std::string_view text) {
  const auto typed = Split(text);
  v1::SelectionControls controls;
  v1::SelectionControls::Policy policy;
  if (!typed.has_value() || !v1::SelectionControls::Policy_Parse(typed->policy, &policy) ||
      policy == v1::SelectionControls::POLICY_UNSPECIFIED) {
    return Malformed("--selection", text, kSelectionForms);
  }
  const bool takes_value = policy != v1::SelectionControls::DENSE && policy != v1::SelectionControls::LEARNED;
  const size_t count = typed->values.size();
  if (takes_value ? (count != 1 && count != 3) : count != 0) {
    return Malformed("--selection", text,
                     takes_value
                         ? "a policy with one value, or three for encoder, decoder and cross-attention, such as "
                           "ratio:0.05 or ratio:0.1,0.02,0.05"
                         : "right: dense and learned take no value");
  }
  controls.set_policy(policy);
  if (count == 1) controls.set_value(typed->values[0]);
  if (count == 3) {
    controls.set_encoder_value(typed->values[0]);
    controls.set_decoder_value(typed->values[1]);
    controls.set_cross_value(typed->values[2]);
  }
  return controls;
}

absl::StatusOr<v1::DepthControls> ParseDepth(std::string_view text) {
  const auto typed = Split(text);
  v1::DepthControls controls;
  v1::DepthControls::Policy policy;
  if (!typed.has_value() || !v1::DepthControls::Policy_Parse(typed->policy, &policy) ||
      policy == v1::DepthControls::POLICY_UNSPECIFIED) {
    return Malformed("--exit", text, kDepthForms);
  }
  controls.set_policy(policy);
  const std::vector<double>& values = typed->values;
  switch (policy) {
    case v1::DepthControls::FIXED:
      if (values.size() != 1 || !IsInteger(values[0])) {
        return Malformed("--exit", text, "fixed with the number of a layer, such as fixed:3");
      }
      controls.set_fixed_exit(static_cast<int32_t>(values[0]));
      break;
    case v1::DepthControls::VERIFY:
      if (values.empty() || values.size() > 2 || !IsInteger(values[0]) || !IsInteger(values.back())) {
        return Malformed("--exit", text,
                         "verify with the layer that drafts, and how many tokens, such as verify:2 or "
                         "verify:2,4");
      }
      controls.set_draft_exit(static_cast<int32_t>(values[0]));
      if (values.size() == 2) controls.set_draft_tokens(static_cast<int32_t>(values[1]));
      break;
    case v1::DepthControls::GEOMETRIC:
    case v1::DepthControls::CONFIDENCE:
      controls.mutable_thresholds()->Add(values.begin(), values.end());
      break;
    default:
      if (!values.empty()) return Malformed("--exit", text, "right: full, sequence and multinomial take no value");
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
  return Describe(v1::SelectionControls::Policy_Name(controls.policy()), values);
}

std::string Describe(const v1::DepthControls& controls) {
  std::vector<double> values(controls.thresholds().begin(), controls.thresholds().end());
  if (controls.policy() == v1::DepthControls::FIXED) values = {static_cast<double>(controls.fixed_exit())};
  if (controls.policy() == v1::DepthControls::VERIFY) {
    values = {static_cast<double>(controls.draft_exit())};
    if (controls.has_draft_tokens()) values.push_back(controls.draft_tokens());
  }
  return Describe(v1::DepthControls::Policy_Name(controls.policy()), values);
}

}  // namespace salient
