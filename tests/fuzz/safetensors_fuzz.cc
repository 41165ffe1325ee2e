// TensorFile::Parse: any bytes. What is taken has the shape it says, and no more values than the file has bytes.

#include "engine/model/safetensors.h"
#include "tests/fuzz/fuzz.h"
#include "tests/model/safetensors_bytes.h"

namespace salient {

std::vector<std::string> Seeds() {
  return {SmallSafetensors(),
          SafetensorsBytes("{}", ""),
          SafetensorsBuilder().AddF32("w", {0, 4}, {}).Build(),
          SafetensorsBuilder().AddF32("a", {1}, {1}).AddF32("b", {2, 1}, {1, 2}).Build(),
          std::string(8, '\xff'),
          ""};
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using salient::Require;
  const auto tensors = salient::TensorFile::Parse({reinterpret_cast<const char*>(data), size}, "x.safetensors");
  if (!tensors.ok()) {
    Require(tensors.status().message().substr(0, 13) == "x.safetensors", "an error names the file");
    return 0;
  }
  int64_t total = 0;
  for (const auto& [name, tensor] : *tensors) {
    int64_t elements = 1;
    for (const int64_t dimension : tensor.shape) elements *= dimension;
    Require(elements == tensor.elements(), "a tensor has the shape that it says");
    total += elements;
  }
  Require(total <= static_cast<int64_t>(size), "a value takes a byte at least");
  return 0;
}
