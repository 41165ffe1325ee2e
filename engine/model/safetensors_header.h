// The header of a safetensors file: which tensors it has, and where.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/model/byte_source.h"

namespace salient {

inline constexpr size_t kMaxHeaderBytes = 16 << 20;
inline constexpr size_t kMaxHeaderValues = 200000;  // some eight for each tensor

enum class TensorType { kF32, kF16, kBF16, kU16, kU32, kI8 };

// A tensor as it is stored.
struct StoredTensor {
  TensorType type = TensorType::kF32;
  std::vector<int64_t> shape;
  int64_t elements = 0;
  const ByteSource* source = nullptr;  // its file
  int64_t begin = 0, end = 0;          // bytes of it
  std::string file;                    // its name, for errors
};
using StoredTensors = std::map<std::string, StoredTensor>;  // by name

// Reads a file's header, and nothing else, and checks all that it says (size, JSON, names, types, bounds, overlap).
// INVALID_ARGUMENT names `file` and the tensor. `source` must outlive the result.
absl::StatusOr<StoredTensors> ReadTensorHeader(const ByteSource& source, const std::string& file);

// INVALID_ARGUMENT "FILE: tensor NAME WHAT", with whatever bytes the name has escaped.
absl::Status BadTensor(const std::string& file, const std::string& name, absl::string_view what);
std::string ShownName(const std::string& name);
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace salient
