// SentencePiece::Parse: any bytes as a model. What is taken cuts and restores text without a token outside itself,
// without a control piece and without bytes that are no UTF-8, and the library is neither led astray nor made to throw.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "absl/status/status.h"
#include "engine/base/utf8.h"
#include "engine/text/sentencepiece.h"
#include "tests/fuzz/fuzz.h"
#include "tests/text/made_charsmap.h"
#include "tests/text/tiny_tokenizer.h"

namespace salient {
namespace {

std::string Trained(const TinyTokenizerOptions& options) {
  const std::string path = std::filesystem::temp_directory_path() / ("salient_fuzz_" + std::to_string(getpid()));
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

std::vector<std::string> Seeds() {
  return {
      Trained({}),
      Trained({.model_type = "bpe"}),
      Trained({.normalization = "nmt_nfkc"}),
      Trained({.vocab_size = 60, .separator_in_text = true, .model_type = "bpe", .byte_fallback = false}),
      WriteSentencePieceModel({.pieces = {{"<unk>", 0, PieceType::kUnknown}, {"a", -1}, {"ab", -1}},
                               .normalizer = {.charsmap = MadeCharsmap().Add("o", 0).Bytes(std::string("b\0", 2))}}),
      ""};
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using salient::Require;
  const auto parsed = salient::SentencePiece::Parse({reinterpret_cast<const char*>(data), size});
  Require(parsed.ok() || (absl::IsInvalidArgument(parsed.status()) && !parsed.status().message().empty()),
          "a model, or the reason why there is none");
  if (!parsed.ok()) return 0;
  const auto& model = *parsed;
  for (const std::string_view text :
       {"", "The old house stands at the river.", "  ｈｏｕｓｅ ﬁne  Größe 学校 😀 <sep> ▁ ", "\xff\xc3"}) {
    const std::vector<int> tokens = model->Encode(text);
    for (const int token : tokens) {
      Require(token >= 0 && token < model->size(), "a token is one of the model's");
      Require(!model->IsControl(token), "no text spells a control piece");
    }
    Require(!salient::FirstInvalidUtf8(model->Decode(tokens)).has_value(), "a translation is UTF-8");
  }
  for (const int token : {model->pad(), model->unknown(), model->begin(), model->end(), model->Find("<sep>")}) {
    Require(token >= -1 && token < model->size(), "a special token is one of the model's, or none");
  }
  return 0;
}
