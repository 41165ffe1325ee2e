#include "engine/depth/fill.h"

#include <algorithm>

namespace salient {

void CollectFills(const CollectFillsArgs& args) {
  int32_t found = 0;
  for (int32_t i = 0; i < args.active.size() && found < args.capacity; ++i) {
    const int32_t row = args.active[i];
    FillLedger& ledger = *args.ledgers[row];
    int32_t& position = ledger.filled_to[args.layer - 1];
    for (; position < ledger.end && found < args.capacity; ++position) {
      if (ledger.exit_of[position] >= args.layer) continue;  // ran the layer itself, or was never decoded
      const int32_t fill = args.first_row + found++;
      std::copy_n(args.store.ExitState(args.views[row].pages, position), args.store.layout.width,
                  args.states + static_cast<size_t>(fill) * args.store.layout.width);
      args.fill_views[fill] = args.views[row];
      args.fill_positions[fill] = position;
      args.fill_steps[fill] = position / ledger.beam;
      ++args.fills[row];
    }
  }
  *args.count = found;
}

void KeepExitStates(const KeepExitStatesArgs& args) {
  for (int32_t i = 0; i < args.rows.size(); ++i) {
    const int32_t row = args.rows[i];
    const int32_t position = args.positions[row];
    args.ledgers[row]->exit_of[position] = static_cast<uint8_t>(args.exit_at[row]);
    if (args.exit_at[row] >= args.layers) continue;
    std::copy_n(args.states + static_cast<size_t>(row) * args.store.layout.width, args.store.layout.width,
                args.store.ExitState(args.views[row].pages, position));
  }
}

}  // namespace salient
