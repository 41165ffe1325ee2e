// Which of a library's algorithms computes a shape: chosen once, at the start, and kept for every number of rows.
//
// A translation must not depend on what else is translated, so a row's bits must not depend on the number of rows or on
// its place among them. Libraries do not promise that: the algorithm they choose for 20 rows divides the sums otherwise
// than the one they choose for 2,000. So one algorithm, which does not divide the inputs, is used for all numbers of
// rows. The library documents no guarantee for that either; each algorithm is therefore tested before it is used: a row
// computed among few rows and among many must have the same bits. An algorithm that the library refuses to run in that
// test is passed over.
//
// While others decode, an encoder leaves them a part of the device (Device::LeaveRoom). The algorithm is told how many
// multiprocessors it may fill if its bits stay the same then; if not, it is never told.

#pragma once

#include <map>
#include <memory>
#include <string>

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

  // For an operator: "cuBLASLt for 11 of 12 layer shapes", and a line for every shape: its algorithm, or why it has
  // none.
  std::string Summary() const;
  std::string Report() const;

 private:
  struct Choice {
    std::shared_ptr<GemmAlgorithm> algorithm;
    int offered = 0, refused = 0;  // algorithms that were tried, and of these refused by the library
  };

  struct Habits {
    bool keeps_rows = false;   // a row's bits do not depend on the rows beside it
    bool leaves_room = false;  // nor on how many multiprocessors it may fill
  };
  // No habits where the library refuses a call, which is counted in `refused`.
  Habits HabitsOf(const GemmShape& shape, GemmAlgorithm& algorithm, int& refused);

  Device& device_;
  DeviceMemory& memory_;
  const std::unique_ptr<GemmLibrary> library_;
  std::map<GemmShape, Choice> chosen_;
  DeviceArray<std::byte> workspace_;  // of the tests
};

}  // namespace salient::cuda
