// File descriptors, of which each connection takes one.

#pragma once

#include <cstdint>

namespace salient {

// With fewer the server says so: clients can take that many connections.
inline constexpr int64_t kFewDescriptors = 4096;

// Lets the process have as many as it may, and returns how many. Usually it starts with 1,024, for the sake of programs
// that call select(). gRPC's port must not meet the limit: when gRPC 1.51 cannot accept a connection for want of a
// descriptor, it never accepts one again.
int64_t RaiseDescriptorLimit();

}  // namespace salient
