// SentencePiece (Kudo and Richardson 2018): splits text into the pieces of a model file and joins pieces, with the
// library of that name. Unigram and BPE models with any normalization. User-defined pieces are never split. With
// byte_fallback, characters that have no piece become pieces of one byte each.
//
// A model file is untrusted input: an unsafe file is refused with a reason (sentencepiece_check.h).
//
// Thread safety: immutable after Parse; only read-only functions of the library are used.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "engine/text/sentencepiece_model.h"
#include "engine/text/sentencepiece_module.h"

namespace salient {

class SentencePiece {
 public:
  // INVALID_ARGUMENT, such as "it has no pieces", if the bytes are not a usable model. FAILED_PRECONDITION if the
  // library is not installed.
  static absl::StatusOr<std::unique_ptr<SentencePiece>> Parse(std::string_view bytes);
  ~SentencePiece();
  SentencePiece(const SentencePiece&) = delete;
  SentencePiece& operator=(const SentencePiece&) = delete;

  // Calls `take` for every token of the text in order, with its piece. The piece of the unknown token is the normalized
  // text that has no piece; a run of unknown characters is one token. Never a control piece.
  void Encode(std::string_view text, absl::FunctionRef<void(int token, std::string_view piece)> take) const;
  std::vector<int> Encode(std::string_view text) const;

  // The text of tokens in [0, size()). Control pieces are omitted, and invalid bytes become U+FFFD.
  std::string Decode(const std::vector<int>& tokens) const;

  int size() const { return static_cast<int>(model_.pieces.size()); }
  // Below: `token` is in [0, size()).
  const std::string& Piece(int token) const { return model_.pieces[token].text; }
  bool IsControl(int token) const { return model_.pieces[token].type == PieceType::kControl; }
  // -1 if the model has no such piece.
  int Find(const std::string& piece) const;
  int pad() const { return FindControl(model_.pad_piece); }
  int unknown() const { return unknown_; }
  int begin() const { return FindControl(model_.begin_piece); }
  int end() const { return FindControl(model_.end_piece); }

 private:
  SentencePiece(SentencePieceModel model, const SalientSentencePiece* library, void* handle);
  int FindControl(const std::string& piece) const;

  const SentencePieceModel model_;  // without its character maps, which only the library needs
  const SalientSentencePiece* const library_;
  void* const handle_;
  std::unordered_map<std::string_view, int> tokens_;  // by piece, in model_
  int unknown_ = -1;
};

}  // namespace salient
