// Identifiers that nobody can guess.

#pragma once

#include <string>

namespace salient {

// 32 hexadecimal digits from the system's source of random numbers.
std::string NewRandomId();

}  // namespace salient
