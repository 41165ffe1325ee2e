// Self-speculative decoding (VERIFY, greedy search): the drafts of one step.
//
// Before a step up to draft_tokens tokens are drafted one after another at an early exit, each in a row of its own.
// Then the step runs all of these rows to full depth at once; row j sees the positions up to its own. A draft is
// accepted if full depth chooses the same token and every draft before it was accepted; after the last accepted one
// comes full depth's own choice. So every token is full depth's, bit for bit. What a rejected draft wrote into the key
// stores is overwritten when its positions are decoded again.
//
// Drafting ends early after a draft that is unlikely to be accepted. That depends on the sequence alone.

#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "engine/base/check.h"
#include "engine/search/rules.h"

namespace salient {

class Drafts {
 public:
  // Begins a step with room for `most` drafts.
  void Begin(int32_t most) {
    most_ = most;
    open_ = most > 0;
    tokens_.clear();
  }

  // Whether another draft is to be made in this step.
  bool open() const { return open_; }
  int32_t count() const { return static_cast<int32_t>(tokens_.size()); }
  int32_t most() const { return most_; }

  struct Draft {
    int32_t token = 0;
    SearchState after;  // where the translation stands after it
  };
  const Draft& last() const { return tokens_.back(); }

  // The next draft. `forced`: the search allows no other token, so it cannot be wrong.
  void Add(const Candidate& candidate, bool forced, const SearchState& after, int32_t end) {
    SALIENT_CHECK(count() < most_ && candidate.token >= 0);
    tokens_.push_back({candidate.token, after});
    ended_ = candidate.token == end;
    const bool likely = forced || candidate.log_probability >= kLeastLogProbability;
    open_ = likely && !ended_ && count() < most_;
  }

  // Rows that the step verifies: one for each draft, and one after them unless the last draft ends the translation.
  int32_t RowsToVerify() const { return count() > 0 && ended_ ? count() : count() + 1; }

  // Whether the draft in row `slot` is full depth's choice. False for the row after the drafts, which holds none.
  bool Agrees(int32_t slot, int32_t chosen) const { return slot < count() && tokens_[slot].token == chosen; }

 private:
  // What follows a less probable draft is rarely accepted.
  static inline const float kLeastLogProbability = std::log(0.5f);

  std::vector<Draft> tokens_;
  int32_t most_ = 0;
  bool open_ = false, ended_ = false;
};

}  // namespace salient
