#include "engine/model/shortlist.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace salient {
namespace {

constexpr char kTokens[] = "shortlist.tokens";
constexpr char kCommon[] = "shortlist.common";

template <typename... What>
absl::Status Bad(const What&... what) {
  return absl::InvalidArgumentError(absl::StrCat(Shortlist::kFile, ": ", what...));
}

// The tokens in a tensor that has `dimensions` dimensions.
absl::StatusOr<std::vector<int32_t>> TokensOf(const Tensors& tensors, const std::string& name, size_t dimensions,
                                              int32_t vocabulary) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) return Bad("tensor ", name, " is missing; python -m salient.shortlist writes it");
  const Tensor& tensor = found->second;
  if (tensor.shape.size() != dimensions) {
    return Bad("tensor ", name, " has ", tensor.shape.size(), " dimensions; it must have ", dimensions);
  }
  std::vector<int32_t> tokens;
  tokens.reserve(tensor.values.size());
  for (const float value : tensor.values) {
    // NaN fails these comparisons, too.
    const bool is_token = value >= 0 && value < static_cast<float>(vocabulary) &&
                          value == static_cast<float>(static_cast<int32_t>(value));
    if (!is_token) return Bad("tensor ", name, " holds ", value, "; tokens are 0 to ", vocabulary - 1);
    tokens.push_back(static_cast<int32_t>(value));
  }
  return tokens;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Shortlist>> Shortlist::Parse(std::string_view bytes, const ModelConfig& config) {
  const absl::StatusOr<Tensors> tensors = TensorFile::Parse(bytes, kFile);
  if (!tensors.ok()) return tensors.status();
  return FromTensors(*tensors, config);
}

absl::StatusOr<std::unique_ptr<Shortlist>> Shortlist::FromTensors(const Tensors& tensors, const ModelConfig& config) {
  absl::StatusOr<std::vector<int32_t>> tokens = TokensOf(tensors, kTokens, 2, config.vocab_size);
  if (!tokens.ok()) return tokens.status();
  absl::StatusOr<std::vector<int32_t>> common = TokensOf(tensors, kCommon, 1, config.vocab_size);
  if (!common.ok()) return common.status();
  const std::vector<int64_t>& shape = tensors.at(kTokens).shape;
  if (shape[0] != config.source_vocab_size || shape[1] > config.vocab_size) {
    return Bad("tensor ", kTokens, " has shape [", shape[0], ", ", shape[1], "]; it must have a row for each of the ",
               config.source_vocab_size, " source tokens, and at most as many columns as there are target tokens");
  }
  if (common->size() > static_cast<size_t>(config.vocab_size)) {
    return Bad("tensor ", kCommon, " has ", common->size(), " tokens; the vocabulary has ", config.vocab_size);
  }
  std::unique_ptr<Shortlist> made(new Shortlist);
  made->width_ = static_cast<int32_t>(shape[1]);
  made->tokens_ = *std::move(tokens);
  made->always_ = *std::move(common);
  if (config.tokens.has_separator()) made->always_.push_back(config.tokens.separator);
  made->always_.push_back(config.tokens.end);
  made->special_ = config.tokens;
  return made;
}

absl::StatusOr<std::unique_ptr<Shortlist>> Shortlist::Load(const std::string& folder, const ModelConfig& config,
                                                           int64_t& memory) {
  constexpr int kCopies = 2;  // as floats, and as tokens
  const absl::StatusOr<Tensors> tensors = TensorFile::Read(folder, kFile, kCopies, memory);
  if (absl::IsNotFound(tensors.status())) return nullptr;
  if (!tensors.ok()) return tensors.status();
  return FromTensors(*tensors, config);
}

std::vector<int32_t> Shortlist::TokensFor(std::span<const int32_t> source, std::span<const int32_t> prefix) const {
  std::vector<int32_t> tokens = always_;
  tokens.insert(tokens.end(), prefix.begin(), prefix.end());
  std::vector<int32_t> kinds(source.begin(), source.end());
  std::sort(kinds.begin(), kinds.end());
  kinds.erase(std::unique(kinds.begin(), kinds.end()), kinds.end());
  for (const int32_t kind : kinds) {
    if (special_.MarkerOf(kind) >= 0) tokens.push_back(kind);
    const auto row = tokens_.begin() + static_cast<ptrdiff_t>(kind) * width_;
    tokens.insert(tokens.end(), row, row + width_);
  }
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  // The pad token is no output: it only fills up shorter rows of the tensor. It stays if the prefix contains it.
  if (std::find(prefix.begin(), prefix.end(), special_.pad) == prefix.end()) std::erase(tokens, special_.pad);
  return tokens;
}

}  // namespace salient
