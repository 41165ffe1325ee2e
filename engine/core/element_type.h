// Number formats: what keys and values are stored as, and what products are computed in.

#pragma once

namespace salient {

enum class ElementType { kF32, kBF16 };

// What the products of linear layers are computed in. kAuto: int8 with AMX or VNNI, else fp32.
enum class ComputeType { kAuto, kF32, kBF16, kInt8 };

}  // namespace salient
