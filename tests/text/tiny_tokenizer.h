// Trains a small SentencePiece model in a short time, so that tests need no files.

#pragma once

#include <map>
#include <string>

namespace salient {

struct TinyTokenizerOptions {
  int vocab_size = 320;            // 256 bytes, the special tokens and some letters and words
  bool separator_in_text = false;  // makes "<sep>" a symbol that text can produce, which is invalid
  std::string normalization = "identity";
  std::string model_type = "unigram";
  bool byte_fallback = true;
  std::map<std::string, std::string> more;  // further settings of the trainer
};

// Trains on a few sentences with pad 0, unk 1, bos 2, eos 3 and "<sep>" 4, and writes `path`.
// Returns an empty string, or the error.
std::string TrainTinyTokenizer(const std::string& path, const TinyTokenizerOptions& options = {});

}  // namespace salient
