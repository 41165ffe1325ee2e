#include "engine/linear/kernels.h"
#include "engine/linear/vector_kernels.h"

namespace salient::linear_internal {

const Kernels kAvx2Kernels = kVectorKernels;

}  // namespace salient::linear_internal
