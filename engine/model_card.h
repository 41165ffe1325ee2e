// What is read of a model card: the README.md of a model's folder.

#pragma once

#include <string>

namespace salient {

// The first paragraph of a card that is not a heading, 4096 bytes of it at most. Empty if it is not UTF-8: replies are,
// and one that is not could not be read.
std::string Description(const std::string& card);

}  // namespace salient
