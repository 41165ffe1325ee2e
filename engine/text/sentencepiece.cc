#include "engine/text/sentencepiece.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cstdio>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/text/normalizer.h"
#include "engine/text/piece_trie.h"
#include "engine/text/sentencepiece_model.h"

namespace salient {
namespace {

constexpr float kUnknownPenalty = 10.0f;
constexpr size_t kMaxPieceBytes = 512;  // the time to cut a text grows with its longest match

std::string BytePiece(int byte) {
  char text[8];
  std::snprintf(text, sizeof(text), "<0x%02X>", byte);
  return text;
}

// Of the character that `first` begins, in text that may not be UTF-8.
size_t NominalLength(char first) { return "\1\1\1\1\1\1\1\1\1\1\1\1\2\2\3\4"[(first & 0xFF) >> 4]; }

bool CanBeSpelled(PieceType type) {
  return type == PieceType::kNormal || type == PieceType::kUserDefined || type == PieceType::kUnused;
}

std::vector<std::pair<std::string_view, int32_t>> PiecesOf(const SentencePieceModel& model, bool user_defined_only) {
  std::vector<std::pair<std::string_view, int32_t>> pieces;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const ModelPiece& piece = model.pieces[i];
    if (user_defined_only ? piece.type == PieceType::kUserDefined : CanBeSpelled(piece.type)) {
      pieces.emplace_back(piece.text, static_cast<int32_t>(i));
    }
  }
  return pieces;
}

class UnigramModel : public SentencePiece {
 public:
  // Of a model that Check found good.
  explicit UnigramModel(SentencePieceModel model)
      : model_(std::move(model)),
        trie_(PiecesOf(model_, false)),
        user_defined_(PiecesOf(model_, true)),
        normalizer_(model_, user_defined_) {
    byte_tokens_.fill(-1);
    for (int i = 0; i < size(); ++i) {
      const ModelPiece& piece = model_.pieces[i];
      tokens_[piece.text] = i;
      if (piece.type == PieceType::kUnknown) unknown_ = i;
      if (piece.type != PieceType::kNormal) continue;
      least_score_ = std::min(least_score_, piece.score);
      greatest_score_ = std::max(greatest_score_, piece.score);
    }
    for (int byte = 0; byte < 256; ++byte) byte_tokens_[byte] = Find(BytePiece(byte));
  }

  bool ok() const { return normalizer_.ok(); }

  std::vector<int> Encode(std::string_view text) const override;
  std::string Decode(const std::vector<int>& tokens) const override;

  int size() const override { return static_cast<int>(model_.pieces.size()); }
  std::string Piece(int token) const override { return model_.pieces[token].text; }
  bool IsControl(int token) const override { return model_.pieces[token].type == PieceType::kControl; }
  int Find(const std::string& piece) const override {
    const auto found = tokens_.find(piece);
    return found == tokens_.end() ? -1 : found->second;
  }
  int pad() const override { return FindControl(model_.pad_piece); }
  int unknown() const override { return unknown_; }
  int begin() const override { return FindControl(model_.begin_piece); }
  int end() const override { return FindControl(model_.end_piece); }

 private:
  // The best way to cut the text before a place ends with `token`, which starts at `from`.
  struct Cut {
    int token = -1;
    float score = 0;
    int from = -1;
  };

  int FindControl(const std::string& piece) const {
    const int token = Find(piece);
    return token >= 0 && IsControl(token) ? token : -1;
  }
  std::vector<Cut> BestCuts(const std::string& text) const;
  double Score(int token, size_t length) const;
  std::string Surface(int token, bool at_start) const;

  const SentencePieceModel model_;
  const PieceTrie trie_, user_defined_;
  const Normalizer normalizer_;
  std::unordered_map<std::string, int> tokens_;
  std::array<int, 256> byte_tokens_;
  int unknown_ = -1;
  // FLT_MIN, the least number above 0, is what the reference implementation starts from, too.
  float least_score_ = FLT_MAX, greatest_score_ = FLT_MIN;
};

// A user-defined piece is worth more than any way to spell it otherwise.
double UnigramModel::Score(int token, size_t length) const {
  const ModelPiece& piece = model_.pieces[token];
  if (piece.type != PieceType::kUserDefined) return piece.score;
  return static_cast<float>(length) * greatest_score_ - 0.1;
}

// Viterbi's algorithm: the best cut that ends at every place, from those that end before it. O(length x longest piece).
// A character that is no piece by itself may be unknown. Sums are in double and kept in float, and the first of equals
// wins, as in the reference implementation.
std::vector<UnigramModel::Cut> UnigramModel::BestCuts(const std::string& text) const {
  const int length = static_cast<int>(text.size());
  std::vector<Cut> best(length + 1);
  const auto offer = [&best](int end, int from, int token, double score) {
    if (best[end].from == -1 || score > best[end].score) best[end] = {token, static_cast<float>(score), from};
  };
  const float unknown_score = least_score_ - kUnknownPenalty;
  for (int from = 0; from < length;) {
    const int character = std::min<int>(static_cast<int>(NominalLength(text[from])), length - from);
    const float score_here = best[from].score;
    bool character_is_piece = false;
    int32_t node = PieceTrie::kRoot;
    for (int end = from; end < length;) {
      node = trie_.Child(node, text[end]);
      if (node == PieceTrie::kNone) break;
      ++end;
      const int32_t token = trie_.Token(node);
      if (token == PieceTrie::kNone || model_.pieces[token].type == PieceType::kUnused) continue;
      offer(end, from, token, Score(token, end - from) + score_here);
      character_is_piece = character_is_piece || end - from == character;
    }
    if (!character_is_piece) offer(from + character, from, unknown_, unknown_score + score_here);
    from += character;
  }
  return best;
}

std::vector<int> UnigramModel::Encode(std::string_view text) const {
  const std::string normalized = normalizer_.Normalize(text);
  if (normalized.empty()) return {};
  const std::vector<Cut> best = BestCuts(normalized);
  std::vector<int> ends;
  for (int end = static_cast<int>(normalized.size()); end > 0; end = best[end].from) ends.push_back(end);

  std::vector<int> tokens;
  bool after_unknown = false;
  for (size_t i = ends.size(); i-- > 0;) {
    const Cut& cut = best[ends[i]];
    const bool is_unknown = cut.token == unknown_;
    if (is_unknown && model_.byte_fallback) {
      for (int k = cut.from; k < ends[i]; ++k) {
        tokens.push_back(byte_tokens_[static_cast<unsigned char>(normalized[k])]);
      }
    } else if (!(is_unknown && after_unknown)) {  // a run of unknown characters is one token
      tokens.push_back(cut.token);
    }
    after_unknown = is_unknown;
  }
  return tokens;
}

std::string UnigramModel::Surface(int token, bool at_start) const {
  const ModelPiece& piece = model_.pieces[token];
  if (piece.type == PieceType::kControl) return "";
  if (piece.type == PieceType::kUnknown) return model_.unknown_surface;
  std::string_view text = piece.text;
  // The space that Encode put in front is none of the text's.
  const bool space_was_added = at_start && (model_.add_dummy_prefix || model_.remove_extra_whitespaces);
  if (space_was_added && text.starts_with(kSpaceSymbol)) text.remove_prefix(kSpaceSymbol.size());
  std::string surface;
  while (!text.empty()) {
    const bool is_space = text.starts_with(kSpaceSymbol);
    surface += is_space ? ' ' : text.front();
    text.remove_prefix(is_space ? kSpaceSymbol.size() : 1);
  }
  return surface;
}

std::string UnigramModel::Decode(const std::vector<int>& tokens) const {
  std::string text, bytes;
  const auto flush_bytes = [&text, &bytes] {
    for (size_t i = 0; i < bytes.size();) {
      const size_t length = CharacterLength(std::string_view(bytes).substr(i));
      text += length == 0 ? kReplacementCharacter : std::string_view(bytes).substr(i, length);
      i += std::max<size_t>(length, 1);
    }
    bytes.clear();
  };
  bool at_start = true;
  for (const int token : tokens) {
    if (model_.pieces[token].type == PieceType::kByte) {
      bytes += static_cast<char>(std::stoi(model_.pieces[token].text.substr(3, 2), nullptr, 16));
      continue;
    }
    flush_bytes();
    at_start = at_start && text.empty();
    text += Surface(token, at_start);
    // Only one space in front was put there, unless all were to be removed.
    if (!model_.remove_extra_whitespaces && model_.pieces[token].type != PieceType::kControl) at_start = false;
  }
  flush_bytes();
  return text;
}

bool IsBytePiece(const std::string& text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'); };
  return text.size() == 6 && text.starts_with("<0x") && is_digit(text[3]) && is_digit(text[4]) && text[5] == '>';
}

// Empty, or why the model cannot be run.
std::string Check(const SentencePieceModel& model) {
  if (model.pieces.empty()) return "it has no pieces";
  if (model.model_type != SentencePieceModel::kUnigram) {
    return absl::StrCat("its model_type is ", model.model_type, "; only unigram (1) is supported");
  }
  std::unordered_map<std::string_view, int> seen;
  int unknown = 0, bytes = 0;
  for (const ModelPiece& piece : model.pieces) {
    if (piece.text.empty()) return "a piece is empty";
    if (piece.text.size() > kMaxPieceBytes) {
      return absl::StrCat("a piece has ", piece.text.size(), " bytes; at most ", kMaxPieceBytes, " are possible");
    }
    if (!seen.emplace(piece.text, 0).second) return absl::StrCat("the piece '", piece.text, "' is there twice");
    if (!(piece.score > -FLT_MAX && piece.score < FLT_MAX)) return "a piece's score is not a finite number";
    if (piece.type == PieceType::kUnknown) ++unknown;
    if (piece.type != PieceType::kByte) continue;
    if (!IsBytePiece(piece.text)) return absl::StrCat("the byte piece '", piece.text, "' is not like <0x0A>");
    ++bytes;
  }
  if (unknown != 1) return absl::StrCat("it has ", unknown, " unknown pieces; 1 is needed");
  if (model.byte_fallback && bytes != 256) return absl::StrCat("it has ", bytes, " byte pieces; 256 are needed");
  return "";
}

}  // namespace

std::unique_ptr<SentencePiece> SentencePiece::Parse(std::string_view bytes, std::string& error) {
  SentencePieceModel model;
  if (!ReadSentencePieceModel(bytes, model)) {
    error = "its bytes are not a sentencepiece.ModelProto";
    return nullptr;
  }
  error = Check(model);
  if (!error.empty()) return nullptr;
  auto unigram = std::make_unique<UnigramModel>(std::move(model));
  if (!unigram->ok()) {
    error = "its normalizer_spec.precompiled_charsmap is damaged";
    return nullptr;
  }
  return unigram;
}

}  // namespace salient
