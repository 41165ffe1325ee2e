// Texts of many kinds for tokenizers: words, markup, all Unicode blocks, and invalid UTF-8. The same on every machine.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace salient {

// `count` texts of up to some hundred bytes.
std::vector<std::string> RegressionTexts(int count);

// FNV-1a hash over token numbers, to compare many tokens.
class TokenDigest {
 public:
  void Add(const std::vector<int32_t>& tokens);
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace salient
