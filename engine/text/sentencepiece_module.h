// SentencePiece behind a C interface: what libsalient-sentencepiece.so, a shared object of its own, offers.
//
// Why of its own: Debian's libsentencepiece contains an old protobuf and exports it, and a gRPC server has a newer one.
// In one scope of symbols they find each other's and protobuf ends the program. This object is opened in a scope of its
// own (engine/text/sentencepiece.cc), in which libsentencepiece finds its own protobuf first; nothing but what is below
// crosses.
//
// Thread safety: a model's functions but `close` may be called by many threads at once.

#pragma once

#include <cstddef>

extern "C" {

struct SalientSentencePiece {
  // A model from the bytes of a file that CheckSentencePieceModel passed; null, and `error` holds a string of less than
  // `error_size` bytes, if the library refuses it.
  void* (*open)(const char* bytes, size_t size, char* error, size_t error_size);
  void (*close)(void* model);
  // Calls `take` for every token of the text in order, with its piece. False if the library fails; tokens may have been
  // taken by then.
  bool (*encode)(const void* model, const char* text, size_t size, void* context,
                 void (*take)(void* context, int token, const char* piece, size_t piece_size));
  // Calls `take` once with the text of tokens, each of which is one of the model's. False if the library fails.
  bool (*decode)(const void* model, const int* tokens, size_t count, void* context,
                 void (*take)(void* context, const char* text, size_t size));
};

// The object's only symbol.
const SalientSentencePiece* salient_sentencepiece();

}  // extern "C"
