// Reads tensors from safetensors files: one `model.safetensors`, or shards with `model.safetensors.index.json`.
//
// Files are untrusted: the whole header is checked (safetensors_header.h), and that there is memory for all tensors,
// before any of them is read. Every error names the file and the tensor.

#pragma once

#include <cstdint>
#include <map>
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

using Tensors = std::map<std::string, Tensor>;  // by name

class TensorFile {
 public:
  TensorFile() = default;
  // Tensors from memory, such as random ones for benchmarks.
  explicit TensorFile(Tensors tensors) : tensors_(std::move(tensors)) {}

  // `folder` holds model.safetensors or an index of shards. Types F32, F16, BF16, U16, and I8 with a companion
  // tensor "<name>.scale" (one F32 value a row) are widened to fp32.
  // `memory`: the bytes that loading may still take, of which so many `copies` of the tensors, in fp32, are taken off:
  // these, and those that the caller makes while it has them. RESOURCE_EXHAUSTED if too few are left.
  static absl::StatusOr<TensorFile> Load(const std::string& folder, int copies, int64_t& memory);
  // The tensors of one file; NOT_FOUND if the folder has none of this name.
  static absl::StatusOr<Tensors> Read(const std::string& folder, const std::string& file_name, int copies,
                                      int64_t& memory);
  static absl::StatusOr<Tensors> Parse(std::string_view bytes, const std::string& file_name);

  // NOT_FOUND or INVALID_ARGUMENT that names the tensor and both shapes.
  absl::StatusOr<const Tensor*> Get(const std::string& name, const std::vector<int64_t>& shape) const;
  int64_t parameters() const;

 private:
  Tensors tensors_;
};

}  // namespace salient
