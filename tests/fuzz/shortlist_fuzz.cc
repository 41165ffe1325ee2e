// Shortlist::Parse: any bytes. What is taken gives every chunk ascending tokens of the vocabulary.

#include <algorithm>

#include "engine/model/shortlist.h"
#include "tests/fuzz/fuzz.h"
#include "tests/model/safetensors_bytes.h"
#include "tests/model/small_config.h"

namespace salient {
namespace {

constexpr int32_t kVocabulary = 10;

const ModelConfig& Config() {
  static const ModelConfig config = [] {
    ModelConfig made = SmallConfig();
    made.vocab_size = kVocabulary;
    return made;
  }();
  return config;
}

std::string File(const std::string& dtype, const std::vector<int64_t>& shape, const std::string& bytes) {
  return SafetensorsBuilder()
      .Add("shortlist.tokens", dtype, shape, bytes)
      .Add("shortlist.common", "U16", {2}, RawBytes<uint16_t>({7, 5}))
      .Build();
}

}  // namespace

std::vector<std::string> Seeds() {
  return {File("U16", {kVocabulary, 2}, RawBytes(std::vector<uint16_t>(2 * kVocabulary, 9))),
          File("F32", {kVocabulary, 1}, RawBytes(std::vector<float>(kVocabulary, 3.0f))),
          File("U16", {kVocabulary, 0}, ""), SmallSafetensors(), ""};
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using salient::Require;
  const auto shortlist = salient::Shortlist::Parse({reinterpret_cast<const char*>(data), size}, salient::Config());
  if (!shortlist.ok()) {
    Require(shortlist.status().message().substr(0, 21) == "shortlist.safetensors", "an error names the file");
    return 0;
  }
  const std::vector<int32_t> source = {0, 9, 5, 9}, prefix = {1, 8};
  const std::vector<int32_t> tokens = (*shortlist)->TokensFor(source, prefix);
  for (size_t i = 0; i < tokens.size(); ++i) {
    Require(tokens[i] >= 0 && tokens[i] < salient::kVocabulary, "a token is one of the vocabulary's");
    Require(i == 0 || tokens[i] > tokens[i - 1], "tokens ascend");
  }
  for (const int32_t needed : {1, 8, salient::Config().tokens.end, salient::Config().tokens.separator}) {
    Require(std::find(tokens.begin(), tokens.end(), needed) != tokens.end(), "what the search needs is there");
  }
  return 0;
}
