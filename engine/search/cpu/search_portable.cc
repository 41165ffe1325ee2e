// The kernels of engine/search without any particular instruction set.

#include "engine/base/simd_portable.h"
#include "engine/search/cpu/search_inl.h"

namespace salient {

const SearchKernels kSearchPortable = SearchTable<Simd>();

}  // namespace salient
