// BodyDecoder: the first byte chooses the coding, the second how the rest arrives. Never more than the limit comes out.

#include <algorithm>

#include "server/http/body_decoder.h"
#include "tests/fuzz/fuzz.h"

namespace salient {

std::vector<std::string> Seeds() {
  const std::string gzip("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\x4c\x4a\x06\x00\xc2\x41\x24\x35\x03\x00\x00\x00",
                         23);
  const std::string zlib("\x78\x9c\x4b\x4c\x4a\x06\x00\x02\x4d\x01\x27", 11);
  const std::string brotli("\x0b\x01\x80\x61\x62\x63\x03", 7);
  return {std::string("\x00\x05", 2) + "abc", std::string("\x01\x07", 2) + gzip,
          std::string("\x01\x02", 2) + gzip + gzip, std::string("\x02\x01", 2) + zlib,
          std::string("\x03\x40", 2) + brotli};
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using salient::Require;
  constexpr size_t kLimit = 1000;
  constexpr const char* kCodings[] = {"", "gzip", "deflate", "br"};
  if (size < 2) return 0;
  auto decoder = salient::BodyDecoder::Open(kCodings[data[0] % 4], kLimit);
  Require(decoder.ok(), "these codings are known");
  const size_t piece = std::max<size_t>(data[1], 1);
  for (size_t at = 2; at < size; at += piece) {
    const absl::Status added = (*decoder)->Add({reinterpret_cast<const char*>(data) + at, std::min(piece, size - at)});
    Require((*decoder)->size() <= kLimit, "no more than the limit is held");
    if (!added.ok()) return 0;
  }
  const auto body = (*decoder)->Finish();
  Require(!body.ok() || body->size() <= kLimit, "no more than the limit comes out");
  return 0;
}
