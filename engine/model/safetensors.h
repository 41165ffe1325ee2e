// Reads tensors from safetensors files: one `model.safetensors`, or shards with `model.safetensors.index.json`.
//
// Files are untrusted: the whole header is checked (size, JSON, names, types, bounds, overlap) before any tensor is
// read, and every error names the file and the tensor.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace salient {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values;  // row-major, widened to fp32

  int64_t elements() const { return static_cast<int64_t>(values.size()); }
};

// The bytes of a file. It is read, not mapped: if another process truncated a mapped file, this process would crash.
struct FileBytes {
  std::unique_ptr<char[]> data;
  size_t size = 0;
  std::string_view view() const { return {data.get(), size}; }
};

// NOT_FOUND if there is no such file; INVALID_ARGUMENT if it is not a regular file or too large.
absl::StatusOr<FileBytes> ReadWholeFile(const std::string& path);

// Tensors by name.
class TensorFile {
 public:
  TensorFile() = default;
  // Tensors from memory, such as random ones for benchmarks.
  explicit TensorFile(std::map<std::string, Tensor> tensors) : tensors_(std::move(tensors)) {}

  // `folder` holds model.safetensors or an index of shards. Types F32, F16, BF16, U16, and I8 with a companion
  // tensor "<name>.scale" (one F32 value a row) are widened to fp32.
  static absl::StatusOr<TensorFile> Load(const std::string& folder);
  static absl::StatusOr<std::map<std::string, Tensor>> Parse(std::string_view bytes, const std::string& file_name);

  // NOT_FOUND or INVALID_ARGUMENT that names the tensor and both shapes.
  absl::StatusOr<const Tensor*> Get(const std::string& name, const std::vector<int64_t>& shape) const;
  int64_t parameters() const;

 private:
  std::map<std::string, Tensor> tensors_;
};

}  // namespace salient
