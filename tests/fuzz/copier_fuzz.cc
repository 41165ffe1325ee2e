// Copier: any text. What it changes is in order, and a model that writes what it reads gives back every copy.

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/utf8.h"
#include "engine/text/copier.h"
#include "tests/fuzz/fuzz.h"
#include "tests/text/letters.h"

namespace salient {
namespace {

void Check(const Copier& copier, std::string_view text, std::string_view prefix) {
  const std::vector<Substitution> made = copier.For(text, prefix);
  std::set<std::string> markers;
  std::vector<Substitution> others;
  size_t from = 0;
  for (const Substitution& change : made) {
    Require(from <= change.begin && change.begin < change.end && change.end <= text.size(), "changes are in order");
    from = change.end;
    if (!change.is_copy) {
      others.push_back(change);
      continue;
    }
    Require(markers.insert(change.by).second, "a marker stands for one copy");
    Require(text.find(change.by) == text.npos, "a marker of the text stands for no copy");
  }
  const std::string read = Substituted(text, made);
  Require(!FirstInvalidUtf8(read).has_value(), "the model reads UTF-8");
  Require(Substituted(read, CopiesIn(read, text, made)) == Substituted(text, others), "copies come back");
}

}  // namespace

std::vector<std::string> Seeds() {
  return {"", "\u0141ukasz paid \u00a35 for \u201cpi\u201d \u2013 a na\u00efve e\u0301lan.",
          "C:\\temp, \u27e60\u27e7a\u27e61\u27e7 \u27e6\u27e7 \u20ac\u200b\u00ad\u00a0x",
          "\U0001F469\u200d\U0001F4BB \u2764\ufe0f \u65e5\u672c \u043c\u0438\u0440X \u0660 {\ue000\ufffd"};
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using salient::Letters;
  static const auto letters = std::make_shared<Letters>(Letters::kAscii);
  static const auto russian = std::make_shared<Letters>(std::string(Letters::kAscii) + "\u043c\u0438\u0440");
  static const salient::Copier copier({letters, letters, nullptr}, Letters::kSpecial, "{");
  static const salient::Copier other_script({russian, letters, nullptr}, Letters::kSpecial, "");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (salient::FirstInvalidText(text).has_value()) return 0;
  salient::Check(copier, text, "");
  salient::Check(other_script, text, text.substr(text.size() / 2));
  return 0;
}
