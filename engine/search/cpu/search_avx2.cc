// The kernels of engine/search with AVX2 and FMA.

#include "engine/base/simd_avx2.h"
#include "engine/search/cpu/search_inl.h"

namespace salient {

const SearchKernels kSearchAvx2 = SearchTable<Simd>();

}  // namespace salient
