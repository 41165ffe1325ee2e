#include "engine/text/sentencepiece_check.h"

#include <cmath>
#include <set>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/utf8.h"
#include "engine/text/charsmap.h"

namespace salient {
namespace {

constexpr size_t kMaxBytesOfPieces = 32 << 20;
constexpr float kMaxScore = 1e9;    // keeps sums finite; the score of a piece in BPE is minus the number of its merge
constexpr size_t kMaxNested = 64;   // the library's array for user-defined pieces that are prefixes of others
constexpr size_t kMaxSurface = 64;  // the text that an unknown token becomes

bool IsBytePiece(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  return text.size() == 6 && text.starts_with("<0x") && is_digit(text[3]) && is_digit(text[4]) && text[5] == '>';
}

// Whether `text` is one UTF-8 character.
bool IsCharacter(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  return text.size() == (first < 0x80 ? 1u : first < 0xE0 ? 2u : first < 0xF0 ? 3u : 4u);
}

std::string CheckPiece(const ModelPiece& piece, const SentencePieceModel& model) {
  if (piece.text.empty()) return "a piece is empty";
  if (piece.text.size() > kMaxPieceBytes) {
    return absl::StrCat("a piece has ", piece.text.size(), " bytes; at most ", kMaxPieceBytes, " are possible");
  }
  // The library takes pieces as NUL-terminated strings.
  if (FirstInvalidText(piece.text).has_value()) return "a piece is not UTF-8, or has a NUL";
  if (!(std::abs(piece.score) <= kMaxScore)) {
    return absl::StrCat("the score of the piece '", piece.text, "' is not a number from -1e9 to 1e9");
  }
  if (piece.type == PieceType::kByte && !IsBytePiece(piece.text)) {
    return absl::StrCat("the byte piece '", piece.text, "' is not like <0x0A>");
  }
  if (piece.type == PieceType::kByte && !model.byte_fallback) {
    return absl::StrCat("it has the byte piece '", piece.text, "' although its byte_fallback is false");
  }
  // BPE starts from characters, even where a character is a control piece; the library then fails to encode.
  if (piece.type == PieceType::kControl && model.kind == SentencePieceModel::kBpe && IsCharacter(piece.text)) {
    return absl::StrCat("the control piece '", piece.text, "' is one character, which text can spell");
  }
  return "";
}

std::string CheckPieces(const SentencePieceModel& model) {
  std::unordered_set<std::string_view> seen;
  size_t unknown = 0, bytes = 0, ordinary = 0, size = 0;
  for (const ModelPiece& piece : model.pieces) {
    if (std::string wrong = CheckPiece(piece, model); !wrong.empty()) return wrong;
    if (!seen.insert(piece.text).second) return absl::StrCat("the piece '", piece.text, "' is there twice");
    size += piece.text.size();
    if (piece.type == PieceType::kUnknown) ++unknown;
    if (piece.type == PieceType::kByte) ++bytes;
    if (piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined) ++ordinary;
  }
  if (size > kMaxBytesOfPieces) {
    return absl::StrCat("its pieces have ", size, " bytes together; at most ", kMaxBytesOfPieces, " are possible");
  }
  if (unknown != 1) return absl::StrCat("it has ", unknown, " unknown pieces; 1 is needed");
  if (model.byte_fallback && bytes != 256) return absl::StrCat("it has ", bytes, " byte pieces; 256 are needed");
  if (ordinary == 0) return "it has no piece that text can be cut into";
  return "";
}

std::string CheckNesting(const SentencePieceModel& model) {
  std::set<std::string_view> sorted;
  for (const ModelPiece& piece : model.pieces) {
    if (piece.type == PieceType::kUserDefined) sorted.insert(piece.text);
  }
  std::vector<std::string_view> begins;  // each a prefix of the next; all are prefixes of the last piece
  for (const std::string_view piece : sorted) {
    while (!begins.empty() && !piece.starts_with(begins.back())) begins.pop_back();
    begins.push_back(piece);
    if (begins.size() > kMaxNested) {
      return absl::StrCat("more than ", kMaxNested, " of its user-defined pieces begin with one another");
    }
  }
  return "";
}

std::string CheckNormalizer(const NormalizerSpec& spec, const char* name) {
  if (spec.charsmap.empty()) return "";
  const std::string wrong = CheckCharsmap(spec.charsmap);
  return wrong.empty() ? "" : absl::StrCat("its ", name, ".precompiled_charsmap is damaged: ", wrong);
}

}  // namespace

std::string CheckSentencePieceModel(const SentencePieceModel& model) {
  if (model.pieces.empty()) return "it has no pieces";
  if (model.kind != SentencePieceModel::kUnigram && model.kind != SentencePieceModel::kBpe) {
    const char* name = model.kind == SentencePieceModel::kWord   ? "word"
                       : model.kind == SentencePieceModel::kChar ? "char"
                                                                 : "not known";
    return absl::StrCat("its model_type is ", model.kind, " (", name, "); unigram (1) and BPE (2) are supported");
  }
  if (model.unknown_surface.has_value() &&
      (model.unknown_surface->size() > kMaxSurface || FirstInvalidText(*model.unknown_surface).has_value())) {
    return absl::StrCat("its unk_surface is not UTF-8 of at most ", kMaxSurface, " bytes");
  }
  std::string wrong = CheckPieces(model);
  if (wrong.empty()) wrong = CheckNesting(model);
  if (wrong.empty()) wrong = CheckNormalizer(model.normalizer, "normalizer_spec");
  if (wrong.empty() && model.denormalizer.has_value())
    wrong = CheckNormalizer(*model.denormalizer, "denormalizer_spec");
  return wrong;
}

}  // namespace salient
