// SentencePiece's unigram models (Kudo 2018), read and run as the reference implementation does, token for token.
//
// Ours, because Debian's libsentencepiece carries a protobuf of its own within it, which in a process that also uses
// the system's protobuf, as a gRPC server does, meets the other's symbols and ends the program. And because a model
// file is input: whatever its bytes are, it is refused with a reason or behaves.
//
// Thread safety: immutable after Parse.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace salient {

class SentencePiece {
 public:
  // Null, and `error` says why, if the bytes are no SentencePiece model, or one of another kind than unigram.
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
