// The kernels of engine/search with AVX-512.

#include "engine/base/simd_avx512.h"
#include "engine/search/cpu/search_inl.h"

namespace salient {

const SearchKernels kSearchAvx512 = SearchTable<Simd>();

}  // namespace salient
