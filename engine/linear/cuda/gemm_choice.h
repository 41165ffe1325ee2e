// Which of a library's algorithms computes a shape: chosen once, at the start, and kept for every number of rows.
//
// A translation must not change with what else is translated, so a row's bits must not depend on how many rows there
// are and where among them it is. Libraries do not promise that: what they would choose for 20 rows divides the sums in
// another way than what they would choose for 2,000. One algorithm for all numbers of rows, without a division of the
// inputs, keeps the rule as far as anyone knows; and since nobody says so, every algorithm is put to the test before it
// is used: rows computed among few and among many must be the same to the bit.

#pragma once

#include <map>
#include <memory>

#include "engine/core/memory.h"
#include "engine/linear/cuda/gemm.h"

namespace salient::cuda {

// Not thread safe.
class GemmChoices {
 public:
  // Both must outlive it.
  GemmChoices(Device& device, DeviceMemory& memory) : device_(device), memory_(memory), library_(OpenGemmLibrary()) {}

  // Null where the library has no algorithm that keeps the rule.
  std::shared_ptr<GemmAlgorithm> For(const GemmShape& shape);

 private:
  bool KeepsRows(const GemmShape& shape, GemmAlgorithm& algorithm);

  Device& device_;
  DeviceMemory& memory_;
  const std::unique_ptr<GemmLibrary> library_;
  std::map<GemmShape, std::shared_ptr<GemmAlgorithm>> chosen_;
};

}  // namespace salient::cuda
