// Which target tokens a source text makes likely, so that the output layer need not compute the others.
//
// The optional file shortlist.safetensors of a model folder (`python -m salient.shortlist` writes it):
//
//   shortlist.tokens  U16 or U32 [source vocabulary, width]  a source token's likeliest target tokens, best first; 0 or
//                                                            pad where fewer
//   shortlist.common  U16 or U32 [count]                     tokens that any text may need: in every list
//
// A translation over a list is the translation over the vocabulary wherever the best token of every step is in the
// list; log probabilities are over the list.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/model/config.h"

namespace salient {

// Immutable.
class Shortlist {
 public:
  static constexpr char kFile[] = "shortlist.safetensors";

  // Null if `folder` has no such file. INVALID_ARGUMENT names the file, the tensor and what is wrong.
  static absl::StatusOr<std::unique_ptr<Shortlist>> Load(const std::string& folder, const ModelConfig& config);
  static absl::StatusOr<std::unique_ptr<Shortlist>> Parse(std::string_view bytes, const ModelConfig& config);

  // What a translation of `source` that begins with `prefix` may say: ascending, each once; the separator, the end and
  // the prefix are among them.
  std::vector<int32_t> TokensFor(std::span<const int32_t> source, std::span<const int32_t> prefix) const;

 private:
  Shortlist() = default;

  int32_t width_ = 0;
  std::vector<int32_t> tokens_;  // [vocabulary, width]
  std::vector<int32_t> always_;  // common, separator and end
  SpecialTokens special_;
};

}  // namespace salient
