// What a copier promises, whatever the text is.

#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/utf8.h"
#include "engine/text/copier.h"

namespace salient {

// The first of these that does not hold, nullptr if all do: the changes are in order, each marker stands for one copy
// and is not in the text, and a model that writes what it reads gives back every copy.
inline const char* BrokenPromise(const Copier& copier, std::string_view text, std::string_view prefix = "") {
  const std::vector<Substitution> made = copier.For(text, prefix);
  std::set<std::string> markers;
  std::vector<Substitution> others;
  size_t from = 0;
  for (const Substitution& change : made) {
    if (change.begin < from || change.end <= change.begin || text.size() < change.end) return "changes are in order";
    from = change.end;
    if (!change.is_copy) {
      others.push_back(change);
      continue;
    }
    if (!markers.insert(change.by).second) return "a marker stands for one copy";
    if (text.find(change.by) != text.npos) return "a marker of the text stands for no copy";
  }
  const std::string read = Substituted(text, made);
  if (FirstInvalidUtf8(read).has_value()) return "the model reads UTF-8";
  const bool comes_back = Substituted(read, CopiesIn(read, text, made)) == Substituted(text, others);
  return comes_back ? nullptr : "copies come back";
}

}  // namespace salient
