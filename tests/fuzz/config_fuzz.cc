// ModelConfig::Parse: any bytes. What is taken is within bounds, and the default options suit it.

#include <string_view>

#include "engine/model/config.h"
#include "engine/options/resolve.h"
#include "tests/fuzz/fuzz.h"
#include "tests/model/small_config.h"

namespace salient {

std::vector<std::string> Seeds() {
  nlohmann::json plain = SmallConfigJson();
  plain["selection"] = nullptr;
  plain["exits"] = nullptr;
  nlohmann::json borrowed = SmallConfigJson();
  borrowed["encoder"]["ffn"] = {{"kind", "shared"}, {"width", 512}};
  borrowed["decoder"]["ffn"]["kind"] = "encoder";
  return {SmallConfigJson().dump(), SmallConfigJson().dump(2), plain.dump(), borrowed.dump(), "{}", "[[[[[[", ""};
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using salient::Module;
  using salient::Require;
  const auto config = salient::ModelConfig::Parse({reinterpret_cast<const char*>(data), size});
  if (!config.ok()) {
    Require(config.status().message().substr(0, 11) == "config.json", "an error names the file");
    return 0;
  }
  Require(config->d_model > 0 && config->d_model <= 8192 && config->d_model % config->heads == 0, "widths are bounded");
  Require(config->encoder.layers >= 1 && config->encoder.layers <= 64, "encoder layers are bounded");
  Require(config->decoder.layers >= 1 && config->decoder.layers <= 64, "decoder layers are bounded");
  Require(config->vocab_size <= 1000000 && config->tokens.separator < config->vocab_size,
          "tokens are in the vocabulary");
  for (const Module module : {Module::kEncoder, Module::kDecoder, Module::kCross}) {
    Require(config->groups(module) <= config->layers(module), "a group has a layer");
  }
  Require(salient::Resolve({}, *config).ok(), "every model can be used with the default options");
  return 0;
}
