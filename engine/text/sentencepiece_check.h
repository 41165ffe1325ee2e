// What a model file must be like before the library sees it. SentencePiece trusts its models: on a file made to do harm
// it reads and writes outside its arrays, throws, or takes time and memory without bound.

#pragma once

#include <string>

#include "engine/text/sentencepiece_model.h"

namespace salient {

// Empty if the library encodes and decodes any text with the model, in time and memory that grow with the text alone,
// and no text can spell a control piece. Otherwise what is wrong and must be otherwise, in one sentence: "it has 0
// unknown pieces; 1 is needed".
std::string CheckSentencePieceModel(const SentencePieceModel& model);

}  // namespace salient
