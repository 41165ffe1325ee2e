// Attention one key after the other in double precision: the oracle.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/attention/attend.h"
#include "engine/core/bf16.h"

namespace salient {
namespace {

// Element `offset` of a position's K row; V follows at `width`.
double Load(const AttendArgs& args, const KeyView& view, int32_t position, int32_t offset) {
  if (args.store.layout.type == ElementType::kBF16) {
    return BF16ToFloat(args.store.Key<uint16_t>(args.layer, view.pages, position)[offset]);
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

}  // namespace

void AppendKeyValueReference(const AppendKeyValueArgs& args) {
  const int32_t elements = 2 * args.store.layout.width;
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    const float* source = args.key_value + static_cast<size_t>(i) * elements;
    const int32_t* pages = args.views[row].pages;
    if (args.store.layout.type == ElementType::kBF16) {
      uint16_t* stored = args.store.Key<uint16_t>(args.layer, pages, args.positions[row]);
      std::transform(source, source + elements, stored, FloatToBF16);
    } else {
      std::copy(source, source + elements, args.store.Key<float>(args.layer, pages, args.positions[row]));
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
