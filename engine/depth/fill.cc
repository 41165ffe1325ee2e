#include "engine/depth/fill.h"

#include <algorithm>
#include <set>
#include <vector>

namespace salient {

namespace {

bool Contains(const Rows& rows, int32_t row) {
  for (int32_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == row) return true;
  }
  return false;
}

// With patience: the rows whose chunks are filled in this step, one row of each chunk, in ascending order.
std::vector<int32_t> PatientRows(const CollectFillsArgs& args) {
  std::vector<int32_t> chosen;
  std::set<const FillLedger*> seen;
  for (int32_t i = 0; i < args.active.size(); ++i) {
    if (seen.insert(args.ledgers[args.active[i]]).second) chosen.push_back(args.active[i]);
  }
  for (int32_t i = 0; i < args.all.size(); ++i) {
    const int32_t row = args.all[i];
    const FillLedger& ledger = *args.ledgers[row];
    if (args.layer > ledger.deepest || Contains(args.active, row) || !seen.insert(&ledger).second) continue;
    const int32_t open = args.steps[row] * ledger.beam - ledger.filled_to[args.layer - 1];
    if (open >= args.patience * ledger.beam) chosen.push_back(row);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

// Adds the missing positions of a row's chunk to the `found` fills, as far as there is room. Returns the new number of
// fills.
int32_t FillChunk(const CollectFillsArgs& args, int32_t row, int32_t found) {
  FillLedger& ledger = *args.ledgers[row];
  const int32_t end = args.steps[row] * ledger.beam;
  int32_t& position = ledger.filled_to[args.layer - 1];
  for (; position < end && found < args.capacity; ++position) {
    if (ledger.exit_of[position] >= args.layer) continue;  // ran the layer itself, or was never decoded
    const int32_t fill = args.first_row + found++;
    std::copy_n(args.store.ExitState(args.views[row].pages, position), args.store.layout.width,
                args.states + static_cast<size_t>(fill) * args.store.layout.width);
    args.fill_views[fill] = args.views[row];
    args.fill_positions[fill] = position;
    args.fill_steps[fill] = position / ledger.beam;
    ++args.fills[row];
  }
  return found;
}

}  // namespace

void CollectFills(const CollectFillsArgs& args) {
  int32_t found = 0;
  if (args.patience > 0) {
    for (const int32_t row : PatientRows(args)) found = FillChunk(args, row, found);
  } else {
    // Filling for the first active row of a chunk makes all the chunk's keys, so its other rows find nothing missing.
    for (int32_t i = 0; i < args.active.size(); ++i) found = FillChunk(args, args.active[i], found);
  }
  *args.count = found;
  if (args.extended == nullptr) return;
  const int32_t active = args.active.size();
  for (int32_t i = 0; i < active; ++i) args.extended[i] = args.active[i];
  for (int32_t i = 0; i < found; ++i) args.extended[active + i] = args.first_row + i;
  *args.extended_count = active + found;
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
