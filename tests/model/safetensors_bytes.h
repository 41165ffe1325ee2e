// Builds the bytes of a safetensors file, valid or deliberately invalid.

#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"

namespace salient {

// The header length and the header before the data.
inline std::string SafetensorsBytes(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes + header + data;
}

template <typename Value>
std::string RawBytes(const std::vector<Value>& values) {
  std::string bytes(values.size() * sizeof(Value), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Tensors one after the other.
class SafetensorsBuilder {
 public:
  SafetensorsBuilder& Add(const std::string& name, const std::string& dtype, const std::vector<int64_t>& shape,
                          const std::string& bytes) {
    header_[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {data_.size(), data_.size() + bytes.size()}}};
    data_ += bytes;
    return *this;
  }
  SafetensorsBuilder& AddF32(const std::string& name, const std::vector<int64_t>& shape,
                             const std::vector<float>& values) {
    return Add(name, "F32", shape, RawBytes(values));
  }
  std::string Build() const { return SafetensorsBytes(header_.dump(), data_); }

  nlohmann::json& header() { return header_; }

 private:
  nlohmann::json header_ = nlohmann::json::object();
  std::string data_;
};

// One tensor of every type that is read.
inline std::string SmallSafetensors() {
  SafetensorsBuilder builder;
  builder.header()["__metadata__"] = {{"format", "pt"}};
  builder.AddF32("a.weight", {2, 3}, {1, 2, 3, 4, 5, 6});
  builder.Add("b.weight", "I8", {2, 2}, RawBytes<int8_t>({1, -2, 127, -128}));
  builder.AddF32("b.weight.scale", {2}, {0.5f, 2.0f});
  builder.Add("c", "BF16", {2}, RawBytes<uint16_t>({0x3f80, 0xc000}));
  builder.Add("d", "F16", {2}, RawBytes<uint16_t>({0x3c00, 0xc000}));
  builder.AddF32("e", {}, {7});
  builder.Add("f", "U16", {2}, RawBytes<uint16_t>({7, 65535}));
  return builder.Build();
}

}  // namespace salient
