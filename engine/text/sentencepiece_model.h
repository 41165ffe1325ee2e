// The contents of a SentencePiece model file: the message ModelProto of sentencepiece_model.proto, as far as encoding
// and decoding need it.

#pragma once

#include <cstdint>
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

struct SentencePieceModel {
  static constexpr int kUnigram = 1;

  std::vector<ModelPiece> pieces;  // by token
  int model_type = kUnigram;
  bool byte_fallback = false;
  bool whitespace_as_suffix = false;
  std::string unknown_piece = "<unk>", begin_piece = "<s>", end_piece = "</s>", pad_piece = "<pad>";
  std::string unknown_surface = " \xE2\x81\x87 ";

  std::string charsmap;  // see normalizer.h
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

// False if the bytes are no such message.
bool ReadSentencePieceModel(std::string_view bytes, SentencePieceModel& model);

}  // namespace salient
