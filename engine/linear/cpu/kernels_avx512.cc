#include "engine/linear/cpu/kernels.h"
#include "engine/linear/cpu/vector_kernels.h"

namespace salient::linear_internal {

const Kernels kAvx512Kernels = kVectorKernels;

}  // namespace salient::linear_internal
