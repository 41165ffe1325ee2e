#include "server/request/proto.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"

namespace salient {
namespace {

absl::Status UnknownValue(const std::string& field, int value, const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 1; i < type.value_count(); ++i) {  // all but UNSPECIFIED
    names.push_back(absl::StrCat(type.value(i)->name(), " (", type.value(i)->number(), ")"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", value, " is none of the values that this server knows: ", absl::StrJoin(names, ", ")));
}

// The engine's policies have the API's numbers; 0 is unspecified.
template <typename Policy, typename Wire>
std::optional<Policy> PolicyFromWire(Wire policy) {
  if (policy == 0) return std::nullopt;
  return static_cast<Policy>(policy);
}

template <typename Wire, typename Policy>
Wire PolicyToWire(const std::optional<Policy>& policy) {
  return policy.has_value() ? static_cast<Wire>(*policy) : static_cast<Wire>(0);
}

v1::TokenTrace ToProto(TokenTrace trace) {
  v1::TokenTrace wire;
  wire.set_piece(std::move(trace.piece));
  wire.set_exit_layer(trace.exit_layer);
  wire.set_probability(trace.probability);
  wire.mutable_selected()->Add(trace.selected.begin(), trace.selected.end());
  return wire;
}

v1::OperatingPoint ToProto(const OperatingPoint& point) {
  v1::OperatingPoint wire;
  wire.set_name(point.name);
  *wire.mutable_selection() = ToProto(point.options.selection);
  *wire.mutable_depth() = ToProto(point.options.depth);
  *wire.mutable_search() = ToProto(point.options.search);
  wire.set_bleu(point.bleu);
  wire.set_attention_cost_ratio(point.attention_cost_ratio);
  wire.set_mean_exit(point.mean_exit);
  wire.set_seconds_per_1000_tokens(point.seconds_per_1000_tokens);
  return wire;
}

}  // namespace

absl::StatusOr<SelectionOptions> FromProto(const v1::SelectionControls& controls) {
  if (!v1::SelectionControls::Policy_IsValid(controls.policy())) {
    return UnknownValue("selection.policy", controls.policy(), *v1::SelectionControls::Policy_descriptor());
  }
  SelectionOptions options;
  options.policy = PolicyFromWire<SelectionPolicy>(controls.policy());
  if (controls.has_value()) options.value = controls.value();
  const auto module_value = [&options](Module module) -> std::optional<double>& {
    return options.module_value[static_cast<int>(module)];
  };
  if (controls.has_encoder_value()) module_value(Module::kEncoder) = controls.encoder_value();
  if (controls.has_decoder_value()) module_value(Module::kDecoder) = controls.decoder_value();
  if (controls.has_cross_value()) module_value(Module::kCross) = controls.cross_value();
  if (controls.has_min_keys()) options.min_keys = controls.min_keys();
  return options;
}

absl::StatusOr<DepthOptions> FromProto(const v1::DepthControls& controls) {
  if (!v1::DepthControls::Policy_IsValid(controls.policy())) {
    return UnknownValue("depth.policy", controls.policy(), *v1::DepthControls::Policy_descriptor());
  }
  DepthOptions options;
  options.policy = PolicyFromWire<DepthPolicy>(controls.policy());
  if (controls.has_fixed_exit()) options.fixed_exit = controls.fixed_exit();
  options.thresholds.assign(controls.thresholds().begin(), controls.thresholds().end());
  if (controls.has_min_exit()) options.min_exit = controls.min_exit();
  if (controls.has_max_exit()) options.max_exit = controls.max_exit();
  if (controls.has_draft_exit()) options.draft_exit = controls.draft_exit();
  if (controls.has_draft_tokens()) options.draft_tokens = controls.draft_tokens();
  return options;
}

SearchOptions FromProto(const v1::SearchControls& controls) {
  SearchOptions options;
  if (controls.has_beam()) options.beam = controls.beam();
  if (controls.has_length_penalty()) options.length_penalty = controls.length_penalty();
  if (controls.has_max_length_ratio()) options.max_length_ratio = controls.max_length_ratio();
  if (controls.has_n_best()) options.n_best = controls.n_best();
  options.prefix = controls.prefix();
  if (controls.has_shortlist()) options.shortlist = controls.shortlist();
  if (controls.has_no_repeat()) options.no_repeat = controls.no_repeat();
  return options;
}

absl::StatusOr<Segmentation> FromProto(v1::Segmentation segmentation) {
  switch (segmentation) {
    case v1::SEGMENTATION_UNSPECIFIED:
    case v1::SEGMENTATION_SENTENCES:
      return Segmentation::kSentences;
    case v1::SEGMENTATION_LINES:
      return Segmentation::kLines;
    default:
      return UnknownValue("document.segmentation", segmentation, *v1::Segmentation_descriptor());
  }
}

absl::StatusOr<GuardMode> FromProto(v1::Guard guard, GuardMode unspecified) {
  switch (guard) {
    case v1::GUARD_UNSPECIFIED:
      return unspecified;
    case v1::GUARD_OFF:
      return GuardMode::kOff;
    case v1::GUARD_REPORT:
      return GuardMode::kReport;
    case v1::GUARD_RETRY:
      return GuardMode::kRetry;
    default:
      return UnknownValue("guard", guard, *v1::Guard_descriptor());
  }
}

v1::SelectionControls ToProto(const SelectionOptions& options) {
  v1::SelectionControls wire;
  wire.set_policy(PolicyToWire<v1::SelectionControls::Policy>(options.policy));
  if (options.value.has_value()) wire.set_value(*options.value);
  const auto module_value = [&options](Module module) { return options.module_value[static_cast<int>(module)]; };
  if (const auto value = module_value(Module::kEncoder)) wire.set_encoder_value(*value);
  if (const auto value = module_value(Module::kDecoder)) wire.set_decoder_value(*value);
  if (const auto value = module_value(Module::kCross)) wire.set_cross_value(*value);
  if (options.min_keys.has_value()) wire.set_min_keys(*options.min_keys);
  return wire;
}

v1::DepthControls ToProto(const DepthOptions& options) {
  v1::DepthControls wire;
  wire.set_policy(PolicyToWire<v1::DepthControls::Policy>(options.policy));
  if (options.fixed_exit.has_value()) wire.set_fixed_exit(*options.fixed_exit);
  wire.mutable_thresholds()->Add(options.thresholds.begin(), options.thresholds.end());
  if (options.min_exit.has_value()) wire.set_min_exit(*options.min_exit);
  if (options.max_exit.has_value()) wire.set_max_exit(*options.max_exit);
  if (options.draft_exit.has_value()) wire.set_draft_exit(*options.draft_exit);
  if (options.draft_tokens.has_value()) wire.set_draft_tokens(*options.draft_tokens);
  return wire;
}

v1::SearchControls ToProto(const SearchOptions& options) {
  v1::SearchControls wire;
  if (options.beam.has_value()) wire.set_beam(*options.beam);
  if (options.length_penalty.has_value()) wire.set_length_penalty(*options.length_penalty);
  if (options.max_length_ratio.has_value()) wire.set_max_length_ratio(*options.max_length_ratio);
  if (options.n_best.has_value()) wire.set_n_best(*options.n_best);
  wire.set_prefix(options.prefix);
  if (options.shortlist.has_value()) wire.set_shortlist(*options.shortlist);
  if (options.no_repeat.has_value()) wire.set_no_repeat(*options.no_repeat);
  return wire;
}

v1::TokenLink ToProto(const TokenLink& link) {
  v1::TokenLink wire;
  wire.set_source_begin(link.source_begin);
  wire.set_source_end(link.source_end);
  wire.set_target_begin(link.target_begin);
  wire.set_target_end(link.target_end);
  return wire;
}

v1::TranslatedSegment ToProto(TranslatedSegment segment) {
  v1::TranslatedSegment wire;
  wire.set_index(segment.index);
  wire.set_source(std::move(segment.source));
  wire.set_text(std::move(segment.text));
  wire.set_score(segment.score);
  wire.set_source_tokens(segment.source_tokens);
  wire.set_target_tokens(segment.target_tokens);
  wire.set_length_limited(segment.length_limited);
  for (TokenTrace& trace : segment.trace) *wire.add_trace() = ToProto(std::move(trace));
  for (const TokenLink& link : segment.alignment) *wire.add_alignment() = ToProto(link);
  return wire;
}

v1::Progress ToProto(const TranslationProgress& progress) {
  v1::Progress wire;
  wire.set_segments_done(progress.segments_done);
  wire.set_segments_total(progress.segments_total);
  wire.set_target_tokens(progress.target_tokens);
  wire.set_queued(progress.queued);
  wire.set_share_done(progress.share_done);
  return wire;
}

v1::CostReport ToProto(const CostReport& report) {
  v1::CostReport wire;
  wire.set_source_tokens(report.source_tokens);
  wire.set_target_tokens(report.target_tokens);
  wire.set_segments(report.segments);
  wire.set_chunks(report.chunks);
  wire.set_queue_seconds(report.queue_seconds);
  wire.set_encode_seconds(report.encode_seconds);
  wire.set_decode_seconds(report.decode_seconds);
  wire.set_total_seconds(report.total_seconds);
  wire.set_attention_cost_ratio(report.attention_cost_ratio);
  wire.set_attention_executed_ratio(report.attention_executed_ratio);
  const auto kept = [&report](Module module) { return report.keys_selected_ratio[static_cast<int>(module)]; };
  wire.mutable_keys_selected_ratio()->set_encoder(kept(Module::kEncoder));
  wire.mutable_keys_selected_ratio()->set_decoder(kept(Module::kDecoder));
  wire.mutable_keys_selected_ratio()->set_cross(kept(Module::kCross));
  wire.set_mean_exit(report.mean_exit);
  wire.mutable_exit_histogram()->Add(report.exit_histogram.begin(), report.exit_histogram.end());
  wire.set_decoder_flops(report.decoder_flops);
  wire.set_decoder_flops_full_depth(report.decoder_flops_full_depth);
  wire.set_peak_kv_bytes(report.peak_kv_bytes);
  wire.set_mean_documents_per_step(report.mean_documents_per_step);
  wire.set_peak_documents_per_step(report.peak_documents_per_step);
  wire.set_draft_acceptance(report.draft_acceptance);
  return wire;
}

v1::Guard ToProto(GuardMode mode) {
  return mode == GuardMode::kOff ? v1::GUARD_OFF : mode == GuardMode::kReport ? v1::GUARD_REPORT : v1::GUARD_RETRY;
}

// Faults and outcomes have the API's numbers.
v1::SegmentCheck ToProto(const GuardVerdict& verdict) {
  v1::SegmentCheck wire;
  for (const Fault fault : verdict.check.faults) wire.add_faults(static_cast<v1::Fault>(fault));
  wire.set_quality(verdict.check.quality);
  wire.set_retry(static_cast<v1::Retry>(verdict.retry));
  for (const Fault fault : verdict.first_faults) wire.add_first_faults(static_cast<v1::Fault>(fault));
  return wire;
}

v1::TranslateDocumentResponse ToProto(TranslationResult result) {
  v1::TranslateDocumentResponse wire;
  wire.set_text(std::move(result.text));
  for (TranslatedSegment& segment : result.segments) *wire.add_segments() = ToProto(std::move(segment));
  *wire.mutable_report() = ToProto(result.report);
  *wire.mutable_selection() = ToProto(result.used.selection);
  *wire.mutable_depth() = ToProto(result.used.depth);
  *wire.mutable_search() = ToProto(result.used.search);
  for (std::string& alternative : result.alternatives) wire.add_alternatives(std::move(alternative));
  return wire;
}

v1::Model ToProto(const ModelInfo& info) {
  const ModelConfig& config = info.config;
  v1::Model wire;
  wire.set_name(config.name);
  wire.set_source_language(config.source_language);
  wire.set_target_language(config.target_language);
  wire.set_encoder_layers(config.encoder.layers);
  wire.set_decoder_layers(config.decoder.layers);
  wire.set_d_model(config.d_model);
  wire.set_parameters(info.parameters);
  wire.set_chunk_tokens(config.chunk_tokens);

  for (const SelectionPolicy policy : info.policies.selection) {
    wire.add_selection_policies(PolicyToWire<v1::SelectionControls::Policy>(std::optional(policy)));
  }
  for (const DepthPolicy policy : info.policies.depth) {
    wire.add_depth_policies(PolicyToWire<v1::DepthControls::Policy>(std::optional(policy)));
  }
  if (config.has_exits) {
    for (int layer = 1; layer <= config.decoder.layers; ++layer) wire.add_exits(layer);
  } else {
    wire.add_exits(config.decoder.layers);
  }
  for (const OperatingPoint& point : info.operating_points) *wire.add_operating_points() = ToProto(point);
  wire.set_device(info.device);
  wire.set_description(info.description);
  wire.set_has_shortlist(info.config.has_shortlist);
  const std::vector<std::string> from = {config.source_language}, to = {config.target_language};
  for (const std::string& language : config.has_languages ? config.languages.source : from) {
    wire.add_source_languages(language);
  }
  for (const std::string& language : config.has_languages ? config.languages.target : to) {
    wire.add_target_languages(language);
  }
  return wire;
}

}  // namespace salient
