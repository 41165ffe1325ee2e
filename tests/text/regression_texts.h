// Texts of every kind that a tokenizer can meet: words, markup, all of Unicode's blocks, and bytes that are no UTF-8.
// The same ones on every machine.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace salient {

// `count` texts of up to some hundred bytes.
std::vector<std::string> RegressionTexts(int count);

// FNV-1a over token numbers, to compare many at a glance.
class TokenDigest {
 public:
  void Add(const std::vector<int32_t>& tokens);
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace salient
