#include "server/admission/status_message.h"

#include <cstddef>
#include <string_view>

#include "engine/base/utf8.h"

namespace salient {
namespace {

constexpr size_t kLongestMessage = 2000;

}  // namespace

std::string MessageOf(const absl::Status& status) {
  const std::string whole(status.message());
  const std::string_view kept = Utf8Prefix(whole, kLongestMessage);
  return std::string(kept) + (kept.size() < whole.size() ? "..." : "");
}

}  // namespace salient
