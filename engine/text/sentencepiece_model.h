// The contents of a SentencePiece model file: the fields of the message ModelProto of sentencepiece_model.proto that
// encoding and decoding need.
//
// Our own code reads a file, checks it (sentencepiece_check.h) and serialises the known fields again for the library.
// So the library never parses untrusted protobuf bytes, and never sees an unchecked field.

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

// Changes to a text before it is split into pieces, or after pieces are joined.
struct NormalizerSpec {
  std::string charsmap;  // the replacements of characters (charsmap.h); empty: none
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

// False if the bytes are not such a message, or if it has more than kMaxPieces pieces.
bool ReadSentencePieceModel(std::string_view bytes, SentencePieceModel& model);

// Serialises a model for the library.
std::string WriteSentencePieceModel(const SentencePieceModel& model);

}  // namespace salient
