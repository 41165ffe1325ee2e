#include "engine/text/sentencepiece_module.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace {

using sentencepiece::SentencePieceProcessor;

void Tell(const std::string& reason, char* error, size_t error_size) {
  const size_t length = std::min(reason.size(), error_size - 1);
  std::memcpy(error, reason.data(), length);
  error[length] = '\0';
}

void* Open(const char* bytes, size_t size, char* error, size_t error_size) {
  try {
    auto processor = std::make_unique<SentencePieceProcessor>();
    const auto status = processor->LoadFromSerializedProto({bytes, size});
    if (status.ok()) return processor.release();
    Tell(status.error_message(), error, error_size);
  } catch (const std::exception& e) {
    Tell(e.what(), error, error_size);
  }
  return nullptr;
}

void Close(void* model) { delete static_cast<SentencePieceProcessor*>(model); }

bool Encode(const void* model, const char* text, size_t size, void* context,
            void (*take)(void* context, int token, const char* piece, size_t piece_size)) {
  sentencepiece::ImmutableSentencePieceText encoded;
  const auto* processor = static_cast<const SentencePieceProcessor*>(model);
  if (!processor->Encode({text, size}, encoded.mutable_proto()).ok()) return false;
  const int count = static_cast<int>(encoded.pieces_size());
  for (int i = 0; i < count; ++i) {
    const auto token = encoded.pieces(i);
    take(context, static_cast<int>(token.id()), token.piece().data(), token.piece().size());
  }
  return true;
}

bool Decode(const void* model, const int* tokens, size_t count, void* context,
            void (*take)(void* context, const char* text, size_t size)) {
  std::string text;
  const auto* processor = static_cast<const SentencePieceProcessor*>(model);
  if (!processor->Decode(std::vector<int>(tokens, tokens + count), &text).ok()) return false;
  take(context, text.data(), text.size());
  return true;
}

constexpr SalientSentencePiece kFunctions = {&Open, &Close, &Encode, &Decode};

}  // namespace

extern "C" __attribute__((visibility("default"))) const SalientSentencePiece* salient_sentencepiece() {
  return &kFunctions;
}
