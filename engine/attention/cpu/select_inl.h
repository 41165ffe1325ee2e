// The loops of selection that compilers turn into vector code by themselves: sums of integers may be regrouped freely.
// S, a type of the including file's unnamed namespace, keeps each instruction set's copy apart.

#pragma once

#include <cmath>
#include <cstdint>

namespace salient {

template <typename S>
float Largest(const float* x, int32_t n) {
  float largest = 0;
  for (int32_t i = 0; i < n; ++i) {
    const float magnitude = std::fabs(x[i]);
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

template <typename S>
void Range(const int32_t* scores, int32_t n, int32_t* least, int32_t* greatest) {
  int32_t low = scores[0], high = scores[0];
  for (int32_t i = 1; i < n; ++i) {
    low = scores[i] < low ? scores[i] : low;
    high = scores[i] > high ? scores[i] : high;
  }
  *least = low;
  *greatest = high;
}

template <typename S>
int32_t Between(const int32_t* scores, int32_t n, int32_t low, int32_t high, int32_t* out) {
  int32_t count = 0;
  for (int32_t i = 0; i < n; ++i) {
    out[count] = scores[i];  // stays only if it belongs there
    count += scores[i] > low && scores[i] <= high ? 1 : 0;
  }
  return count;
}

template <typename S>
int32_t CountAbove(const int32_t* scores, int32_t n, int32_t threshold) {
  int32_t count = 0;
  for (int32_t i = 0; i < n; ++i) count += scores[i] > threshold ? 1 : 0;
  return count;
}

template <typename S>
uint64_t MassAbove(const int32_t* scores, const uint32_t* weights, int32_t n, int32_t threshold) {
  uint64_t mass = 0;
  for (int32_t i = 0; i < n; ++i) mass += scores[i] > threshold ? weights[i] : 0u;
  return mass;
}

}  // namespace salient
