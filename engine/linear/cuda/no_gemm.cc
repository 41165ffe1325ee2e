// The library of products of a CUDA build without cuBLASLt: none. Own kernels compute the encoder's layers.

#include "engine/linear/cuda/gemm.h"

namespace salient::cuda {

std::unique_ptr<GemmLibrary> OpenGemmLibrary() { return nullptr; }

}  // namespace salient::cuda
