// All chunks in flight. They are encoded together, and decoded together step by step.
//
// Not thread safe; the step loop owns it. Sequences belong to the caller and must be removed before they are destroyed.

#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "engine/backend/backend.h"
#include "engine/decode/key_stores.h"
#include "engine/decode/sequence.h"
#include "engine/model/decoder.h"
#include "engine/model/encoder.h"
#include "engine/model/model.h"

namespace salient {

struct BatchOptions {
  int32_t max_rows = 64;         // hypotheses and drafts in a step
  int32_t encode_tokens = 2048;  // source tokens of a pass; raised to what the model takes as a chunk
  int32_t encode_chunks = 32;    // of a pass
};

class Batch {
 public:
  // The stores, of this model and on this device, must outlive it.
  Batch(const Model& model, Backend& backend, KeyStores& stores, const BatchOptions& options);

  // Begins to encode new chunks in one pass; no pass may be in progress. Their tokens must be within the encoding
  // budget, unless there is only one chunk.
  void Join(std::span<Sequence* const> sequences);
  // Continues encoding for about `time` (Encoder::Continue). On an asynchronous device: checks whether the pass is
  // done, and waits for it if there is no step to make. When the pass is done, its chunks may be scheduled.
  void Encode(absl::Duration time);
  bool encoding() const { return encoder_.busy(); }
  // Adds an encoded chunk to the next steps. As many rows as it needs must be free.
  void Schedule(Sequence& sequence);
  bool encodes_beside_steps() const { return encode_queue_ != nullptr; }
  // Whether a step would decode anything.
  bool decoding() const;
  // The most steps for which sequences must have pages before Step.
  int32_t most_steps() const { return backend_.can_step_ahead() ? Decoder::kGroups * Decoder::kMostAhead : 1; }
  // Removes a sequence. Allowed at any time, even while it is encoded.
  void Leave(Sequence& sequence);

  // Decodes one token for every live hypothesis of every sequence that is scheduled and not done; several tokens if
  // drafts are accepted. Returns the number of rows in the step. If the backend has failed, the sequences do not
  // change, and must not be stepped again.
  //
  // If the device can make steps by itself (Decoder::StepAhead), the call launches a group of steps and passes to the
  // sequences the results of the group launched before it. So the device is busy while the host handles results and
  // admits or removes chunks; the host's decisions take effect one group later. All rows that a beam may use are
  // counted.
  int32_t Step();

  // For tests and benchmarks.
  KeyStores& stores() { return stores_; }
  Decoder& decoder() { return decoder_; }
  Encoder& encoder() { return encoder_; }

 private:
  static bool IsActive(const Sequence& sequence) { return sequence.encoded() && !sequence.done(); }
  bool CanStepAhead() const;
  int32_t StepAhead();
  void TakeRecords();
  int32_t StepOnce();
  void GiveClassifiers();
  void Draft();
  void TakeSteps(int32_t width);

  const Model& model_;
  Backend& backend_;
  KeyStores& stores_;
  const std::unique_ptr<Backend> encode_queue_;  // null: the backend has one queue
  Encoder encoder_;
  Decoder decoder_;
  std::vector<int32_t> free_rows_;  // largest first: the lowest free row is taken
  std::vector<Sequence*> running_;
  std::deque<std::vector<Sequence*>> ahead_;  // sequences in the groups of steps in progress, oldest group first
  std::vector<Sequence*> joining_;            // of the pass in progress, in its order; null: has left
};

}  // namespace salient
