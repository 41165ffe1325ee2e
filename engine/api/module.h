// The three attention modules of an encoder-decoder. Each has selection settings of its own.

#pragma once

namespace salient {

enum class Module { kEncoder, kDecoder, kCross };  // encoder self-, decoder self-, cross-attention
inline constexpr int kModules = 3;
inline constexpr const char* ModuleName(Module module) {
  return module == Module::kEncoder ? "encoder" : module == Module::kDecoder ? "decoder" : "cross";
}

}  // namespace salient
