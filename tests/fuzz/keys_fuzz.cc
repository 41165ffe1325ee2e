// KeyRing::Parse: any bytes. What is taken keeps its promises, what is not is told by file and line.

#include "server/admission/key_ring.h"
#include "tests/fuzz/fuzz.h"

namespace salient {

std::vector<std::string> Seeds() {
  return {
      "0123456789abcdef name=team-a weight=2.5 tokens-per-minute=60000 documents=8  # theirs\n"
      "fedcba9876543210 name=team-a weight=2.5 tokens-per-minute=60000 documents=8\n",
      "# none\n\n 00112233445566778899aabbccddeeff \r\n",
      "",
  };
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using salient::Require;
  const auto keys = salient::KeyRing::Parse({reinterpret_cast<const char*>(data), size}, "keys.txt");
  if (!keys.ok()) {
    Require(keys.status().message().find("keys.txt") != absl::string_view::npos, "an error names the file");
    return 0;
  }
  Require(!keys->empty(), "a file that is taken has keys");
  for (const auto& [digest, client] : *keys) {
    Require(!client.name.empty() && client.name.size() <= 64, "a client has a name");
    Require(client.limits.weight >= 0.01 && client.limits.weight <= 100, "a weight is in its range");
    Require(client.limits.tokens_per_minute >= 0 && client.limits.documents >= 0, "limits are not negative");
  }
  return 0;
}
