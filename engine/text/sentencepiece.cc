#include "engine/text/sentencepiece.h"

#include <sentencepiece_processor.h>

#include <exception>

namespace salient {
namespace {

class Processor : public SentencePiece {
 public:
  bool Load(std::string_view model, std::string& error) {
    try {
      const auto status = processor_.LoadFromSerializedProto(model);
      if (!status.ok()) error = status.ToString();
      return status.ok();
    } catch (const std::exception& thrown) {  // its trie builder throws on pieces that it cannot hold
      error = thrown.what();
      return false;
    }
  }

  std::vector<int> Encode(std::string_view text) const override {
    std::vector<int> tokens;
    if (!processor_.Encode(text, &tokens).ok()) tokens.clear();
    return tokens;
  }
  std::string Decode(const std::vector<int>& tokens) const override {
    std::string text;
    if (!processor_.Decode(tokens, &text).ok()) text.clear();
    return text;
  }

  int size() const override { return processor_.GetPieceSize(); }
  std::string Piece(int token) const override { return processor_.IdToPiece(token); }
  bool IsControl(int token) const override { return processor_.IsControl(token); }
  int Find(const std::string& piece) const override {
    const int token = processor_.PieceToId(piece);  // unknown's for what it does not have
    return processor_.IdToPiece(token) == piece ? token : -1;
  }
  int pad() const override { return processor_.pad_id(); }
  int unknown() const override { return processor_.unk_id(); }
  int begin() const override { return processor_.bos_id(); }
  int end() const override { return processor_.eos_id(); }

 private:
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::unique_ptr<SentencePiece> SentencePiece::Parse(std::string_view model, std::string& error) {
  auto processor = std::make_unique<Processor>();
  if (!processor->Load(model, error)) return nullptr;
  return processor;
}

}  // namespace salient
