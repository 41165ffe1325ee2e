// Language tags of models and of requests, and which of them go together.

#pragma once

#include <string>

#include "absl/strings/match.h"

namespace salient {

// Whether a model of language `has` serves a request for `wants`: the same tag, or a more specific one, such as "en-GB"
// for "en" (RFC 4647, basic filtering, ignoring case). An empty `wants` is served by every model.
inline bool ServesLanguage(const std::string& has, const std::string& wants) {
  return wants.empty() || absl::EqualsIgnoreCase(has, wants) || absl::StartsWithIgnoreCase(wants, has + "-");
}

}  // namespace salient
