// Checks a model file before the library reads it. SentencePiece trusts its models: a malicious file makes it read and
// write out of bounds, throw, or use unbounded time and memory.

#pragma once

#include <cstddef>
#include <string>

#include "engine/text/sentencepiece_model.h"

namespace salient {

inline constexpr size_t kMaxPieceBytes = 512;  // the time to tokenize grows with the longest piece

// Empty if the library can encode and decode any text with the model, in time and memory bounded by the text, and no
// text can produce a control piece. Otherwise the error and the requirement in one sentence: "it has 0 unknown pieces;
// 1 is needed".
std::string CheckSentencePieceModel(const SentencePieceModel& model);

}  // namespace salient
