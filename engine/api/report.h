// The cost of a translation, counted while it runs. Field names and meanings are those of CostReport in the API.

#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace salient {

struct CostReport {
  int32_t source_tokens = 0, target_tokens = 0, segments = 0, chunks = 0;
  double queue_seconds = 0, encode_seconds = 0, decode_seconds = 0, total_seconds = 0;
  double attention_cost_ratio = 1, attention_executed_ratio = 1;
  double dense_attention = 0;  // multiply-adds of dense attention at full depth: what these ratios divide by
  std::array<double, 3> keys_selected_ratio = {1, 1, 1};  // by Module
  double mean_exit = 0;
  std::vector<int64_t> exit_histogram;  // [decoder layers]
  double draft_acceptance = 0;
  double decoder_flops = 0, decoder_flops_full_depth = 0;
  int64_t peak_kv_bytes = 0;
  double mean_documents_per_step = 0;
  int32_t peak_documents_per_step = 0;
};

}  // namespace salient
