// Reads a model file with the library itself, for comparison with our reader. Its headers conflict with Abseil's.

#pragma once

#include <memory>
#include <string>
#include <vector>

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace salient {

class LibraryModel {
 public:
  LibraryModel();
  ~LibraryModel();

  // Below: every call of the library must succeed, or the process ends.
  bool Load(const std::string& bytes);  // whether the library accepts the file
  std::vector<int> Encode(const std::string& text) const;
  std::vector<std::string> EncodeAsPieces(const std::string& text) const;
  std::string Decode(const std::vector<int>& tokens) const;
  std::string Piece(int token) const;
  bool IsControl(int token) const;
  int size() const;
  int pad() const;
  int unknown() const;
  int begin() const;
  int end() const;

 private:
  const std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

}  // namespace salient
