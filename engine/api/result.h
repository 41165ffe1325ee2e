// The result of a translation, and the listener that receives it.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/api/options.h"
#include "engine/api/report.h"

namespace salient {

// The most positions in the trace of a token.
inline constexpr int32_t kMaxTracedKeys = 64;

struct TokenTrace {
  std::string piece;
  int32_t exit_layer = 0;  // from 1
  double probability = 0;
  // Positions in the document's source tokens; one separator or end token follows each segment and counts. If more than
  // kMaxTracedKeys were selected, kMaxTracedKeys of them, evenly spaced. Empty if all were read.
  std::vector<int32_t> selected;
};

// A token of a segment's translation and the source token that it was made of mostly, as bytes of the two texts.
struct TokenLink {
  int32_t source_begin = 0, source_end = 0, target_begin = 0, target_end = 0;
};

struct TranslatedSegment {
  int32_t index = 0;         // in the document
  std::string source, text;  // UTF-8, of one line each
  double score = 0;          // sum of the log probabilities of its tokens, of what closes it, too
  int32_t source_tokens = 0, target_tokens = 0;
  bool length_limited = false;       // closed because it had reached its length bound
  std::vector<TokenTrace> trace;     // where asked: of each target token
  std::vector<TokenLink> alignment;  // where asked: of each target token that has one, in order
};

struct TranslationResult {
  std::string text;
  std::vector<TranslatedSegment> segments;
  std::vector<size_t> begins;             // of each segment the byte of `text` at which its translation begins
  std::vector<std::string> alternatives;  // the whole document's, from the second best on: n_best - 1
  CostReport report;
  TranslationOptions used;  // defaults filled in
};

struct TranslationProgress {
  int32_t segments_done = 0, segments_total = 0;
  int32_t target_tokens = 0;  // so far; never less than was told before
  bool queued = false;        // no chunk of it has begun
  // Share of the work that is done, 0 to 1: an estimate, and never less than was told before. The chunks of a document
  // are translated side by side, so segments_done, the finished beginning, says little of the time left.
  double share_done = 0;
};

// Receives the events of one translation: any number of OnProgress and OnSegment, then OnDone once, as the last call.
// Segments arrive in the order of the document. With beam search, the segments of a chunk arrive when the chunk is
// finished.
class TranslationListener {
 public:
  virtual ~TranslationListener() = default;
  virtual void OnSegment(const TranslatedSegment&) {}
  virtual void OnProgress(const TranslationProgress&) {}
  virtual void OnDone(absl::StatusOr<TranslationResult> result) = 0;
};

// A translation in flight. Dropping the ticket does not cancel it.
class TranslationTicket {
 public:
  virtual ~TranslationTicket() = default;
  virtual void Cancel() = 0;  // OnDone(CANCELLED) follows within one step, unless OnDone was called before
};

}  // namespace salient
