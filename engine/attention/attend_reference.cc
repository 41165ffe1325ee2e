// Attention one key after the other in double precision: the oracle.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/attention/attend.h"
#include "engine/attention/quantise.h"
#include "engine/core/bf16.h"

namespace salient {
namespace {

// Element `offset` of a position's K row; V follows at `width`.
double Load(const AttendArgs& args, const KeyView& view, int32_t position, int32_t offset) {
  switch (args.store.layout.type) {
    case ElementType::kF32:
      break;
    case ElementType::kBF16:
      return BF16ToFloat(args.store.Key<uint16_t>(args.layer, view.pages, position)[offset]);
    case ElementType::kInt8: {
      const int32_t head = offset / (args.store.layout.width / args.heads);
      return static_cast<double>(args.store.Key<int8_t>(args.layer, view.pages, position)[offset]) *
             args.store.Scales(args.layer, view.pages, position)[head];
    }
  }
  return args.store.Key<float>(args.layer, view.pages, position)[offset];
}

std::vector<int32_t> KeysOf(const KeyView& view, const KeyList& list) {
  if (list.count != kEveryKey) return std::vector<int32_t>(list.positions, list.positions + list.count);
  std::vector<int32_t> positions;
  for (int32_t i = 0; i < view.length; ++i) positions.push_back(view.Position(i));
  return positions;
}

void AttendHead(const AttendArgs& args, const KeyView& view, const std::vector<int32_t>& keys, const float* query,
                int32_t first_component, float* output) {
  const int32_t width = args.store.layout.width;
  const int32_t head_width = width / args.heads;
  std::vector<double> weights;
  double largest = -std::numeric_limits<double>::infinity();
  for (int32_t position : keys) {
    double dot = 0;
    for (int32_t c = 0; c < head_width; ++c) dot += query[c] * Load(args, view, position, first_component + c);
    weights.push_back(dot / std::sqrt(static_cast<double>(head_width)));
    largest = std::max(largest, weights.back());
  }
  double total = 0;
  for (double& weight : weights) total += weight = std::exp(weight - largest);
  for (int32_t c = 0; c < head_width; ++c) {
    double sum = 0;
    for (size_t j = 0; j < keys.size(); ++j) {
      sum += weights[j] * Load(args, view, keys[j], width + first_component + c);
    }
    output[c] = keys.empty() ? 0.0f : static_cast<float>(sum / total);
  }
}

void StoreInt8(const float* key_value, const KvLayout& layout, int8_t* components, float* scales) {
  const int32_t head_width = layout.width / layout.heads;
  for (int32_t i = 0; i < 2 * layout.heads; ++i) {
    float largest = 0;
    for (int32_t c = 0; c < head_width; ++c) largest = std::max(largest, std::fabs(key_value[i * head_width + c]));
    for (int32_t c = i * head_width; c < (i + 1) * head_width; ++c) {
      components[c] = QuantiseComponent(key_value[c], QuantisationFactor(largest));
    }
    scales[i] = QuantisationStep(largest);
  }
}

}  // namespace

void AppendKeyValueReference(const AppendKeyValueArgs& args) {
  const int32_t elements = 2 * args.store.layout.width;
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i], position = args.positions[row];
    const float* source = args.key_value + static_cast<size_t>(i) * elements;
    const int32_t* pages = args.views[row].pages;
    switch (args.store.layout.type) {
      case ElementType::kF32:
        std::copy(source, source + elements, args.store.Key<float>(args.layer, pages, position));
        break;
      case ElementType::kBF16:
        std::transform(source, source + elements, args.store.Key<uint16_t>(args.layer, pages, position), FloatToBF16);
        break;
      case ElementType::kInt8:
        StoreInt8(source, args.store.layout, args.store.Key<int8_t>(args.layer, pages, position),
                  args.store.Scales(args.layer, pages, position));
        break;
    }
  }
}

void AttendReference(const AttendArgs& args) {
  const int32_t width = args.store.layout.width;
  const int32_t head_width = width / args.heads;
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    const KeyView& view = args.views[row];
    const std::vector<int32_t> keys = KeysOf(view, args.lists == nullptr ? KeyList() : args.lists[row]);
    for (int32_t head = 0; head < args.heads; ++head) {
      const size_t at = static_cast<size_t>(i) * width + head * head_width;
      AttendHead(args, view, keys, args.queries + at, head * head_width, args.output + at);
    }
    if (args.tallies != nullptr) {
      args.tallies[row].visible += view.length;
      args.tallies[row].attended += static_cast<int64_t>(keys.size());
      args.tallies[row].executed += static_cast<int64_t>(keys.size());
    }
  }
}

}  // namespace salient
