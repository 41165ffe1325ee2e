// SentencePiece::Parse: any bytes as a model. What is taken cuts and restores text without a token outside itself.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "engine/text/sentencepiece.h"
#include "tests/fuzz/fuzz.h"
#include "tests/text/tiny_tokenizer.h"

namespace salient {
namespace {

std::string Trained(const char* normalization) {
  const std::string path = std::filesystem::temp_directory_path() / ("salient_fuzz_" + std::to_string(getpid()));
  TinyTokenizerOptions options;
  options.normalization = normalization;
  Require(TrainTinyTokenizer(path, options).empty(), "a tiny tokenizer can be trained");
  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::filesystem::remove(path);
  return bytes;
}

}  // namespace

std::vector<std::string> Seeds() { return {Trained("identity"), Trained("identity"), Trained("nmt_nfkc"), ""}; }

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using salient::Require;
  std::string error;
  const auto model = salient::SentencePiece::Parse({reinterpret_cast<const char*>(data), size}, error);
  Require((model == nullptr) == !error.empty(), "a model, or the reason why there is none");
  if (model == nullptr) return 0;
  for (const std::string_view text :
       {"", "The old house stands at the river.", "  ｈｏｕｓｅ ﬁne  Größe 学校 😀 <sep> ▁ ", "\xff\xc3"}) {
    const std::vector<int> tokens = model->Encode(text);
    for (const int token : tokens) Require(token >= 0 && token < model->size(), "a token is one of the model's");
    model->Decode(tokens);
  }
  for (const int token : {model->pad(), model->unknown(), model->begin(), model->end(), model->Find("<sep>")}) {
    Require(token >= -1 && token < model->size(), "a special token is one of the model's, or none");
  }
  return 0;
}
