#include "engine/search/align.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/core/bf16.h"

namespace salient {
namespace {

// The dot product of one head of a query with one position's key.
template <typename T, typename ToFloat>
float Dot(const float* query, const T* key, int32_t width, ToFloat to_float) {
  float sum = 0;
  for (int32_t c = 0; c < width; ++c) sum += query[c] * to_float(key[c]);
  return sum;
}

float Score(const AlignArgs& args, const KeyView& view, int32_t position, int32_t head, const float* query) {
  const int32_t width = args.store.layout.width / args.heads, first = head * width;
  switch (args.store.layout.type) {
    case ElementType::kF32:
      break;
    case ElementType::kBF16:
      return Dot(query + first, args.store.Key<uint16_t>(args.layer, view.pages, position) + first, width,
                 [](uint16_t x) { return BF16ToFloat(x); });
    case ElementType::kInt8:
      return args.store.Scales(args.layer, view.pages, position)[head] *
             Dot(query + first, args.store.Key<int8_t>(args.layer, view.pages, position) + first, width,
                 [](int8_t x) { return static_cast<float>(x); });
  }
  return Dot(query + first, args.store.Key<float>(args.layer, view.pages, position) + first, width,
             [](float x) { return x; });
}

}  // namespace

void Align(const AlignArgs& args) {
  const int32_t width = args.store.layout.width;
  const float scale = 1.0f / std::sqrt(static_cast<float>(width / args.heads));
  std::vector<float> mean, weights;
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    if (!args.scripts[row]->aligns) continue;
    const ScriptPiece& piece = args.scripts[row]->pieces[args.segments[row]];
    const int32_t count = std::min(piece.source_length, kMostAligned);
    mean.assign(count, 0);
    weights.resize(count);
    for (int32_t head = 0; head < args.heads; ++head) {
      for (int32_t j = 0; j < count; ++j) {
        weights[j] = scale * Score(args, args.views[row], piece.source_start + j, head,
                                   args.queries + static_cast<size_t>(i) * width);
      }
      const float largest = *std::max_element(weights.begin(), weights.end());
      float total = 0;
      for (float& weight : weights) total += weight = std::exp(weight - largest);
      for (int32_t j = 0; j < count; ++j) mean[j] += weights[j] / total;
    }
    args.aligned[row] =
        piece.source_start + static_cast<int32_t>(std::max_element(mean.begin(), mean.end()) - mean.begin());
  }
}

}  // namespace salient
