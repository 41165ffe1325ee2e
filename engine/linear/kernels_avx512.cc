#include "engine/linear/kernels.h"
#include "engine/linear/vector_kernels.h"

namespace salient::linear_internal {

const Kernels kAvx512Kernels = kVectorKernels;

}  // namespace salient::linear_internal
