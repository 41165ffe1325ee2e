// What the compatible APIs read of a body: the first byte chooses JSON, a form, or a form with files. Whatever comes,
// parts lie within the body, in order, and every field can be asked for.

#include <algorithm>

#include "server/compat/fields.h"
#include "server/compat/multipart.h"
#include "tests/fuzz/fuzz.h"

namespace salient {

std::vector<std::string> Seeds() {
  const std::string part = "--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"x.txt\"\r\n\r\ntext\r\n";
  return {
      std::string("\0", 1) + R"({"text": ["a", "b"], "on": true, "n": 3, "salient": {"depth": {"policy": "FULL"}}})",
      std::string("\0", 1) + "[[[[[[1]]]]]]",
      "\1text=a%20b&text=c&on=1&n=x",
      "\2" + part + "--b--\r\n",
      "\2" + part + part + "--b\r\nContent-Disposition: form-data; name=on\r\n\r\n1\r\n--b--",
      "\2--b\r\n\r\n\r\n--b--"};
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using salient::Require;
  if (size == 0) return 0;
  constexpr const char* kTypes[] = {"application/json", "application/x-www-form-urlencoded",
                                    "multipart/form-data; boundary=b"};
  salient::HttpRequest request;
  request.headers["Content-Type"] = kTypes[data[0] % 3];
  request.body.assign(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto parts = salient::ParseMultipart(kTypes[2], request.body);
  if (parts.ok()) {
    const char* end = request.body.data();
    for (const salient::FormPart& part : *parts) {
      if (part.content.empty()) continue;
      Require(part.content.data() >= end, "parts are in order and apart");
      end = part.content.data() + part.content.size();
      Require(end <= request.body.data() + request.body.size(), "a part lies in the body");
    }
  } else {
    Require(!parts.status().message().empty(), "a refusal has a reason");
  }
  const auto fields = salient::Fields::Read(request);
  if (!fields.ok()) {
    Require(!fields.status().message().empty(), "a refusal has a reason");
    return 0;
  }
  for (const auto& [name, value] : fields->values().items()) {
    (void)fields->String(name);
    (void)fields->List(name);
    (void)fields->Bool(name);
    (void)fields->Int(name);
  }
  (void)fields->OtherThan({"text"});
  (void)fields->File("a");
  return 0;
}
