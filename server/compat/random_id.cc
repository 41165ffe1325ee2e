#include "server/compat/random_id.h"

#include <random>

#include "absl/strings/str_cat.h"

namespace salient {

std::string NewRandomId() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) absl::StrAppend(&id, absl::Hex(random(), absl::kZeroPad8));
  return id;
}

}  // namespace salient
