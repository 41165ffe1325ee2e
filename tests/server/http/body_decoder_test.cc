#include "server/http/body_decoder.h"

#include <algorithm>
#include <string>

#include "brotli/encode.h"
#include "gtest/gtest.h"
#include "zlib.h"

namespace salient {
namespace {

constexpr int kGzip = 16 + MAX_WBITS, kDeflate = MAX_WBITS;

std::string Deflated(const std::string& text, int window_bits) {
  z_stream stream = {};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Brotlied(const std::string& text) {
  size_t size = BrotliEncoderMaxCompressedSize(text.size()) + 1024;
  std::string packed(size, '\0');
  BrotliEncoderCompress(5, 22, BROTLI_MODE_TEXT, text.size(), reinterpret_cast<const uint8_t*>(text.data()), &size,
                        reinterpret_cast<uint8_t*>(packed.data()));
  packed.resize(size);
  return packed;
}

// In pieces of `piece` bytes, as a connection brings them.
absl::StatusOr<std::string> Unpack(const std::string& coding, const std::string& packed, size_t max_bytes,
                                   size_t piece = 7) {
  auto decoder = BodyDecoder::Open(coding, max_bytes);
  if (!decoder.ok()) return decoder.status();
  for (size_t at = 0; at < packed.size(); at += piece) {
    const absl::Status added = (*decoder)->Add({packed.data() + at, std::min(piece, packed.size() - at)});
    EXPECT_LE((*decoder)->size(), max_bytes);
    if (!added.ok()) return added;
  }
  return (*decoder)->Finish();
}

std::string Pack(const std::string& coding, const std::string& text) {
  if (coding == "gzip") return Deflated(text, kGzip);
  if (coding == "deflate") return Deflated(text, kDeflate);
  return coding == "br" ? Brotlied(text) : text;
}

class CodingTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, CodingTest, ::testing::Values("", "identity", "gzip", "deflate", "br"));

TEST_P(CodingTest, GivesTheBody) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i * 7919);
  for (const std::string& body : {text, std::string(), std::string("a")}) {
    const auto unpacked = Unpack(GetParam(), Pack(GetParam(), body), body.size());
    ASSERT_TRUE(unpacked.ok()) << unpacked.status();
    EXPECT_EQ(*unpacked, body);
  }
}

// Twenty megabytes in twenty kilobytes: no more than the limit is ever made of them.
TEST_P(CodingTest, NeverHoldsMoreThanTheLimit) {
  const std::string packed = Pack(GetParam(), std::string(20 << 20, 'a'));
  EXPECT_TRUE(absl::IsResourceExhausted(Unpack(GetParam(), packed, 100000, 1 << 20).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(Unpack(GetParam(), Pack(GetParam(), "ab"), 1).status()));
}

TEST_P(CodingTest, SaysWhatIsCutOffOrBroken) {
  if (GetParam().empty() || GetParam() == "identity") return;
  const std::string packed = Pack(GetParam(), "some text that is packed");
  EXPECT_TRUE(absl::IsInvalidArgument(Unpack(GetParam(), packed.substr(0, packed.size() - 3), 1000).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Unpack(GetParam(), std::string(100, '\x7b'), 1000).status()));
}

TEST(BodyDecoderTest, SeveralMembersOfGzip) {
  const auto unpacked = Unpack("gzip", Deflated("one ", kGzip) + Deflated("two", kGzip), 7);
  ASSERT_TRUE(unpacked.ok()) << unpacked.status();
  EXPECT_EQ(*unpacked, "one two");
}

TEST(BodyDecoderTest, NamesTheCodingsThereAre) {
  for (const char* coding : {"zstd", "gzip, br", "x"}) {
    EXPECT_TRUE(absl::IsUnimplemented(BodyDecoder::Open(coding, 1).status())) << coding;
  }
  EXPECT_TRUE(BodyDecoder::Open("GZIP", 1).ok());
}

}  // namespace
}  // namespace salient
