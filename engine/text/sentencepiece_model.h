// The contents of a SentencePiece model file: the message ModelProto of sentencepiece_model.proto, as far as encoding
// and decoding need it.
//
// A file is read by us, checked (sentencepiece_check.h), and written anew for the library, which so never sees a byte
// of protobuf that came from outside, nor a field that nobody looked at.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace salient {

enum class PieceType : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

struct ModelPiece {
  std::string text;
  float score = 0;
  PieceType type = PieceType::kNormal;
};

// What becomes of a text before it is cut into pieces, or after pieces were put together.
struct NormalizerSpec {
  std::string charsmap;  // which bytes are replaced by which (charsmap.h); empty: none
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

struct SentencePieceModel {
  enum Kind : int32_t { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };
  static constexpr size_t kMaxPieces = 1 << 20;

  std::vector<ModelPiece> pieces;  // by token
  int32_t kind = kUnigram;
  bool byte_fallback = false;
  bool whitespace_as_suffix = false;
  std::string begin_piece = "<s>", end_piece = "</s>", pad_piece = "<pad>";
  std::optional<std::string> unknown_surface;
  NormalizerSpec normalizer;
  std::optional<NormalizerSpec> denormalizer;
};

// False if the bytes are no such message, or one of more than kMaxPieces.
bool ReadSentencePieceModel(std::string_view bytes, SentencePieceModel& model);

// The message of a model, as the library reads it.
std::string WriteSentencePieceModel(const SentencePieceModel& model);

}  // namespace salient
