// Language tags of models and of requests, and which of them go together.

#pragma once

#include <string>
#include <vector>

#include "absl/strings/match.h"

namespace salient {

// Whether a model of language `has` serves a request for `wants`: the same tag, or a more specific one, such as "en-GB"
// for "en" (RFC 4647, basic filtering, ignoring case). An empty `wants` is served by every model.
inline bool ServesLanguage(const std::string& has, const std::string& wants) {
  return wants.empty() || absl::EqualsIgnoreCase(has, wants) || absl::StartsWithIgnoreCase(wants, has + "-");
}

// The language among `known` that serves a request for `wants` best, which is the longest tag: of "zh" and "zh-Hant"
// the latter serves "zh-Hant-TW". Null if none does, or if `wants` is empty.
inline const std::string* ClosestLanguage(const std::vector<std::string>& known, const std::string& wants) {
  const std::string* closest = nullptr;
  for (const std::string& has : known) {
    if (wants.empty() || !ServesLanguage(has, wants)) continue;
    if (closest == nullptr || has.size() > closest->size()) closest = &has;
  }
  return closest;
}

}  // namespace salient
