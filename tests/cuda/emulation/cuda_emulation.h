// CUDA's words for a plain C++ compiler: what the kernels of this project use of the language, on top of grid.h.
//
// Blocks run one after the other, so that what a block shares is a static variable. Warp-wide functions exchange the
// lanes' values; tensor-core instructions compute from the exchanged fragments, in the layout of tensor_core.h. The
// names and their meaning are those of the CUDA programming guide.

#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <typeinfo>

#include "tests/cuda/emulation/emulated_device.h"
#include "tests/cuda/emulation/grid.h"

// NOLINTBEGIN(bugprone-reserved-identifier): the names are CUDA's.
#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) alignas(n)
// NOLINTEND(bugprone-reserved-identifier)

#define threadIdx (::salient::emulation::g_indices.thread)
#define blockIdx (::salient::emulation::g_indices.block)
#define blockDim (::salient::emulation::g_indices.block_size)
#define gridDim (::salient::emulation::g_indices.grid_size)

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

inline int min(int a, int b) { return std::min(a, b); }
inline int max(int a, int b) { return std::max(a, b); }

inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline int __float2int_rn(float value) { return static_cast<int>(std::nearbyint(value)); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = static_cast<float>(std::sin(M_PI * static_cast<double>(x)));
  *cosine = static_cast<float>(std::cos(M_PI * static_cast<double>(x)));
}
inline int __dp4a(int a, int b, int sum) {
  for (int i = 0; i < 32; i += 8) sum += static_cast<int8_t>(a >> i) * static_cast<int8_t>(b >> i);
  return sum;
}

inline void __syncthreads() { salient::emulation::BlockBarrier(); }
inline void __threadfence() {}
inline void __syncwarp(unsigned mask = 0xffffffffu) { salient::emulation::WarpExchange("__syncwarp", mask, "", 0); }

namespace salient::emulation {

inline int Lane() { return static_cast<int>(g_indices.thread.x % kWarpLanes); }

template <typename T>
T FromLane(const char* operation, unsigned mask, T value, int lane) {
  T other;
  std::memcpy(&other, WarpExchange(operation, mask, &value, sizeof(T)).bytes[lane], sizeof(T));
  return other;
}

}  // namespace salient::emulation

template <typename T>
T __shfl_sync(unsigned mask, T value, int lane) {
  return salient::emulation::FromLane("__shfl_sync", mask, value, lane % 32);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes) {
  return salient::emulation::FromLane("__shfl_xor_sync", mask, value, salient::emulation::Lane() ^ lanes);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned by) {
  const int lane = salient::emulation::Lane();
  const int from = lane - static_cast<int>(by);
  return salient::emulation::FromLane("__shfl_up_sync", mask, value, from < 0 ? lane : from);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  const unsigned char vote = predicate != 0;
  const auto& votes = salient::emulation::WarpExchange("__ballot_sync", mask, &vote, 1);
  unsigned ballot = 0;
  for (int lane = 0; lane < 32; ++lane) ballot |= static_cast<unsigned>(votes.bytes[lane][0]) << lane;
  return ballot;
}

template <typename T>
T atomicAdd(T* address, T value) {
  const T before = *address;
  *address = before + value;
  return before;
}

namespace salient::cuda {

inline unsigned char* DynamicShared() { return emulation::SharedMemory(); }
inline void WaitForPrevious() {}

// Arguments are copied when the launch is asked for, as CUDA does: a captured launch sees them as they were.
template <typename... Parameters, typename... Arguments>
void Launch(Device& device, const LaunchShape& shape, void (*kernel)(Parameters...), Arguments&&... arguments) {
  if (shape.grid_x == 0 || shape.grid_y == 0 || !device.ok()) return;
  emulation::GridShape grid;
  grid.grid = {shape.grid_x, shape.grid_y, 1};
  grid.threads = shape.threads;
  grid.shared_bytes = shape.shared_bytes;
  if (!emulation::Fits(grid, device.shared_bytes())) return device.Fail(emulation::kInvalidConfiguration, "a launch");
  auto& emulated = static_cast<emulation::EmulatedDevice&>(device);
  emulated.Enqueue(
      [grid, kernel, on = emulated.number(), held = std::tuple<Parameters...>(static_cast<Parameters>(arguments)...)] {
        if constexpr (sizeof...(Parameters) > 0) {
          emulation::NoteKernel(on, typeid(std::tuple_element_t<0, std::tuple<Parameters...>>));
        }
        emulation::RunGrid(grid, [&] { std::apply(kernel, held); });
      });
}

inline float BF16Half(uint32_t pair, int half) {
  return std::bit_cast<float>(half == 0 ? pair << 16 : pair & 0xffff0000u);
}

inline void MultiplyAdd(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  const uint32_t own[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
  const emulation::Exchanged& lanes = emulation::WarpExchange("mma", 0xffffffffu, own, sizeof(own));
  const int g = emulation::Lane() / 4, t = emulation::Lane() % 4;
  for (int i = 0; i < 4; ++i) {
    const int row_half = i / 2, column = 2 * t + i % 2;
    float sum = 0;
    for (int k = 0; k < 16; ++k) {
      uint32_t of_a[6], of_b[6];
      std::memcpy(of_a, lanes.bytes[4 * g + k % 8 / 2], sizeof(of_a));
      std::memcpy(of_b, lanes.bytes[4 * column + k % 8 / 2], sizeof(of_b));
      sum += BF16Half(of_a[row_half + 2 * (k / 8)], k % 2) * BF16Half(of_b[4 + k / 8], k % 2);
    }
    d[i] += sum;
  }
}

inline void MultiplyAdd(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  const uint32_t own[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
  const emulation::Exchanged& lanes = emulation::WarpExchange("mma", 0xffffffffu, own, sizeof(own));
  const int g = emulation::Lane() / 4, t = emulation::Lane() % 4;
  for (int i = 0; i < 4; ++i) {
    const int row_half = i / 2, column = 2 * t + i % 2;
    for (int word = 0; word < 8; ++word) {  // of four values of A's row and of B's column
      uint32_t of_a[6], of_b[6];
      std::memcpy(of_a, lanes.bytes[4 * g + word % 4], sizeof(of_a));
      std::memcpy(of_b, lanes.bytes[4 * column + word % 4], sizeof(of_b));
      d[i] = __dp4a(static_cast<int>(of_a[row_half + 2 * (word / 4)]), static_cast<int>(of_b[4 + word / 4]), d[i]);
    }
  }
}

inline void LoadMatrices(uint32_t (&r)[4], const void* row) {
  const emulation::Exchanged& lanes = emulation::WarpExchange("ldmatrix", 0xffffffffu, &row, sizeof(row));
  const int g = emulation::Lane() / 4, t = emulation::Lane() % 4;
  for (int i = 0; i < 4; ++i) {
    const unsigned char* from;
    std::memcpy(&from, lanes.bytes[8 * i + g], sizeof(from));
    std::memcpy(&r[i], from + 4 * t, 4);
  }
  __syncwarp();
}

inline void LoadTransposed(uint32_t (&r)[4], const void* row) {
  const emulation::Exchanged& lanes = emulation::WarpExchange("ldmatrix.trans", 0xffffffffu, &row, sizeof(row));
  const int g = emulation::Lane() / 4, t = emulation::Lane() % 4;
  for (int i = 0; i < 4; ++i) {
    uint16_t halves[2];
    for (int half = 0; half < 2; ++half) {
      const unsigned char* from;
      std::memcpy(&from, lanes.bytes[8 * i + 2 * t + half], sizeof(from));
      std::memcpy(&halves[half], from + 2 * g, 2);
    }
    r[i] = halves[0] | static_cast<uint32_t>(halves[1]) << 16;
  }
  __syncwarp();
}

inline void CopyAsync16(void* shared, const void* global, bool valid) {
  emulation::StartCopy({shared, valid ? global : nullptr});
}
inline void CommitCopies() { emulation::CommitCopies(); }
template <int kPending>
inline void WaitForCopies() {
  emulation::WaitForCopies(kPending);
}

inline uint32_t PackBF16(float low, float high) {
  const auto round = [](float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if (value != value) return 0x7fffu;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  };
  return round(low) | round(high) << 16;
}

}  // namespace salient::cuda
