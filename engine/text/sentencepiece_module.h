// The C interface of libsalient-sentencepiece.so, a shared object that wraps SentencePiece.
//
// It is separate because Debian's libsentencepiece contains and exports an old protobuf, while a gRPC server has a
// newer one. If both are in one symbol scope, they resolve to each other's symbols and protobuf aborts the process.
// This object is opened in a scope of its own (engine/text/sentencepiece.cc), in which libsentencepiece finds its own
// protobuf first. Only the functions below are called across the boundary.
//
// Thread safety: all functions of a model except `close` may be called by several threads at once.

#pragma once

#include <cstddef>

extern "C" {

struct SalientSentencePiece {
  // Loads a model from the bytes of a file that passed CheckSentencePieceModel. If the library refuses it, returns null
  // and writes a string of less than `error_size` bytes to `error`.
  void* (*open)(const char* bytes, size_t size, char* error, size_t error_size);
  void (*close)(void* model);
  // Calls `take` for every token of the text in order, with its piece. False if the library fails, possibly after some
  // calls of `take`.
  bool (*encode)(const void* model, const char* text, size_t size, void* context,
                 void (*take)(void* context, int token, const char* piece, size_t piece_size));
  // Calls `take` once with the text of the tokens, which must be valid. False if the library fails.
  bool (*decode)(const void* model, const int* tokens, size_t count, void* context,
                 void (*take)(void* context, const char* text, size_t size));
};

// The only exported symbol.
const SalientSentencePiece* salient_sentencepiece();

}  // extern "C"
