#include "engine/model/decoder_rows.h"

namespace salient {

DecoderRows::DecoderRows(Backend& backend, const ModelConfig& config, int32_t rows, int32_t extra, int32_t width,
                         int32_t recorded_steps)
    : in(backend.memory()),
      out(backend.memory()),
      ahead(backend.memory()),
      token(in, rows),
      step(in, rows + extra),
      offset(in, rows),
      segment(in, rows),
      position(in, rows + extra),
      self_view(in, rows + extra),
      cross_view(in, rows),
      self_rule(RuleArrays(in, config.key_groups(Module::kDecoder), rows)),
      cross_rule(RuleArrays(in, config.key_groups(Module::kCross), rows)),
      exit_rule(in, rows),
      asked_exit_rule(in, rows),
      held_at(in, rows),
      script(in, rows),
      ledger(in, rows),
      constraint(in, rows),
      markers(in, rows),
      tokens(in, rows),
      screen(in, rows),
      begins(in, rows),
      own_classifier(rows, nullptr),
      aligns(rows, 0),
      taking_part(in, rows),
      taking_part_count(in, 1),
      record_step(in, 1),
      self_arena(backend, in, rows),
      cross_arena(backend, in, rows),
      exit_at(out, rows),
      self_tally(out, rows),
      cross_tally(out, rows),
      fills(out, rows),
      aligned(out, rows),
      candidates(out, static_cast<size_t>(rows) * width),
      records(ahead, backend.can_step_ahead() ? static_cast<size_t>(recorded_steps) * rows : 1),
      recorded_candidates(ahead, records.size() * width) {
  in.Allocate();
  out.Allocate();
  ahead.Allocate();
  if (!backend.can_step_ahead()) return;
  given = backend.Array<std::byte>(in.bytes());
  fields = OnDevice(backend.memory(), Fields());
  goes_on = backend.Array<uint8_t>(rows);
}

std::vector<RowField> DecoderRows::Fields() const {
  std::vector<RowField> all;
  const auto add = [&]<typename T>(const StagedArray<T>& array, bool always = false) {
    static_assert(sizeof(T) % 4 == 0);
    all.push_back({static_cast<uint32_t>(array.at()), sizeof(T), always});
  };
  add(token), add(step), add(offset), add(segment), add(position);
  add(self_view), add(cross_view);
  for (const auto& rule : self_rule) add(rule);
  for (const auto& rule : cross_rule) add(rule);
  add(exit_rule), add(asked_exit_rule), add(held_at), add(script), add(ledger), add(constraint), add(markers);
  add(tokens), add(screen);
  add(self_arena.staged(), true), add(cross_arena.staged(), true);
  return all;
}

}  // namespace salient
