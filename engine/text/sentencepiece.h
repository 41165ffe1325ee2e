// The few SentencePiece calls that the tokenizer needs, in standard types alone: SentencePiece's headers declare
// absl::string_view a second time and cannot be included together with Abseil's.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace salient {

class SentencePiece {
 public:
  // Null, and `error` says why, if the bytes are no SentencePiece model.
  static std::unique_ptr<SentencePiece> Parse(std::string_view model, std::string& error);
  virtual ~SentencePiece() = default;

  virtual std::vector<int> Encode(std::string_view text) const = 0;
  virtual std::string Decode(const std::vector<int>& tokens) const = 0;

  virtual int size() const = 0;
  // Below: `token` is in [0, size()).
  virtual std::string Piece(int token) const = 0;
  virtual bool IsControl(int token) const = 0;
  // -1 where the model has none.
  virtual int Find(const std::string& piece) const = 0;
  virtual int pad() const = 0;
  virtual int unknown() const = 0;
  virtual int begin() const = 0;
  virtual int end() const = 0;
};

}  // namespace salient
