// The shortlist: the target tokens that a source text makes likely. The output layer computes only these.
//
// The optional file shortlist.safetensors of a model folder (`python -m salient.shortlist` writes it):
//
//   shortlist.tokens  U16 or U32 [source vocabulary, width]  the likeliest target tokens of each source token, best
//                                                            first, padded with 0 or pad
//   shortlist.common  U16 or U32 [count]                     tokens that belong to every list
//
// If the best token of every step is in the list, the greedy translation is the same as over the vocabulary. Log
// probabilities are over the list.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/model/config.h"
#include "engine/model/safetensors.h"

namespace salient {

// Immutable.
class Shortlist {
 public:
  static constexpr char kFile[] = "shortlist.safetensors";

  // Null if `folder` has no such file. INVALID_ARGUMENT names the file, the tensor and the error. `memory` as
  // TensorFile's.
  static absl::StatusOr<std::unique_ptr<Shortlist>> Load(const std::string& folder, const ModelConfig& config,
                                                         int64_t& memory);
  static absl::StatusOr<std::unique_ptr<Shortlist>> Parse(std::string_view bytes, const ModelConfig& config);

  // The tokens that a translation of `source` with the forced beginning `prefix` may use: ascending, without
  // duplicates, including the separator, the end token and the prefix.
  std::vector<int32_t> TokensFor(std::span<const int32_t> source, std::span<const int32_t> prefix) const;

 private:
  Shortlist() = default;

  static absl::StatusOr<std::unique_ptr<Shortlist>> FromTensors(const Tensors& tensors, const ModelConfig& config);

  int32_t width_ = 0;
  std::vector<int32_t> tokens_;  // [vocabulary, width]
  std::vector<int32_t> always_;  // common, separator and end
  SpecialTokens special_;
};

}  // namespace salient
