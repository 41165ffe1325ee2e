// Copier: any text. What it changes is in order, and a model that writes what it reads gives back every copy.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/utf8.h"
#include "engine/text/copier.h"
#include "tests/fuzz/fuzz.h"
#include "tests/text/copy_promise.h"
#include "tests/text/letters.h"

namespace salient {

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
  const char* broken = salient::BrokenPromise(copier, text);
  if (broken == nullptr) broken = salient::BrokenPromise(other_script, text, text.substr(text.size() / 2));
  salient::Require(broken == nullptr, broken);
  return 0;
}
