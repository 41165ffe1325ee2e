#include "tests/text/library_model.h"

#include <sentencepiece_processor.h>

#include <cstdio>
#include <cstdlib>

namespace salient {
namespace {

void MustBeOk(const sentencepiece::util::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "the library: %s\n", status.ToString().c_str());
  std::abort();
}

}  // namespace

LibraryModel::LibraryModel() : processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {}
LibraryModel::~LibraryModel() = default;

bool LibraryModel::Load(const std::string& bytes) { return processor_->LoadFromSerializedProto(bytes).ok(); }

std::vector<int> LibraryModel::Encode(const std::string& text) const {
  std::vector<int> tokens;
  MustBeOk(processor_->Encode(text, &tokens));
  return tokens;
}

std::vector<std::string> LibraryModel::EncodeAsPieces(const std::string& text) const {
  std::vector<std::string> pieces;
  MustBeOk(processor_->Encode(text, &pieces));
  return pieces;
}

std::string LibraryModel::Decode(const std::vector<int>& tokens) const {
  std::string text;
  MustBeOk(processor_->Decode(tokens, &text));
  return text;
}

std::string LibraryModel::Piece(int token) const { return processor_->IdToPiece(token); }
bool LibraryModel::IsControl(int token) const { return processor_->IsControl(token); }
int LibraryModel::size() const { return processor_->GetPieceSize(); }
int LibraryModel::pad() const { return processor_->pad_id(); }
int LibraryModel::unknown() const { return processor_->unk_id(); }
int LibraryModel::begin() const { return processor_->bos_id(); }
int LibraryModel::end() const { return processor_->eos_id(); }

}  // namespace salient
