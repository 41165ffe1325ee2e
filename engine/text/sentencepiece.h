// SentencePiece (Kudo and Richardson 2018): a model file that cuts text into pieces and puts pieces together, by the
// library of that name. Unigram and BPE models, with every normalization; user-defined pieces are never split; with
// byte_fallback, characters that have no piece become pieces of one byte each.
//
// A model file is input: whatever its bytes are, it is refused with a reason or behaves (sentencepiece_check.h).
//
// Thread safety: immutable after Parse; the library's functions that are used here only read.

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
  // INVALID_ARGUMENT, "it has no pieces", if the bytes are no model that can be run. FAILED_PRECONDITION if the library
  // is not installed.
  static absl::StatusOr<std::unique_ptr<SentencePiece>> Parse(std::string_view bytes);
  ~SentencePiece();
  SentencePiece(const SentencePiece&) = delete;
  SentencePiece& operator=(const SentencePiece&) = delete;

  // Calls `take` for every token of the text in order, with its piece: the model's, or for the unknown token what has
  // no piece in the text as normalized. A run of unknown characters is one token. Never a control piece.
  void Encode(std::string_view text, absl::FunctionRef<void(int token, std::string_view piece)> take) const;
  std::vector<int> Encode(std::string_view text) const;

  // Of tokens in [0, size()). Control pieces are left out, and bytes that make no character become U+FFFD.
  std::string Decode(const std::vector<int>& tokens) const;

  int size() const { return static_cast<int>(model_.pieces.size()); }
  // Below: `token` is in [0, size()).
  const std::string& Piece(int token) const { return model_.pieces[token].text; }
  bool IsControl(int token) const { return model_.pieces[token].type == PieceType::kControl; }
  // -1 where the model has none.
  int Find(const std::string& piece) const;
  int pad() const { return FindControl(model_.pad_piece); }
  int unknown() const { return unknown_; }
  int begin() const { return FindControl(model_.begin_piece); }
  int end() const { return FindControl(model_.end_piece); }

 private:
  SentencePiece(SentencePieceModel model, const SalientSentencePiece* library, void* handle);
  int FindControl(const std::string& piece) const;

  const SentencePieceModel model_;  // its maps, which only the library needs, are empty
  const SalientSentencePiece* const library_;
  void* const handle_;
  std::unordered_map<std::string_view, int> tokens_;  // by piece, in model_
  int unknown_ = -1;
};

}  // namespace salient
