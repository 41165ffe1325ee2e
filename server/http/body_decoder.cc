#include "server/http/body_decoder.h"

#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "brotli/decode.h"
#include "zlib.h"

namespace salient {
namespace {

constexpr size_t kPiece = 64 << 10;

class Identity final : public BodyDecoder {
 public:
  explicit Identity(size_t max_bytes) : BodyDecoder(max_bytes) {}
  absl::Status Add(std::string_view bytes) override { return Append(bytes.data(), bytes.size()); }
  absl::StatusOr<std::string> Finish() override { return std::move(body_); }
};

// gzip and deflate; a gzip body may have several members.
class Inflate final : public BodyDecoder {
 public:
  explicit Inflate(size_t max_bytes) : BodyDecoder(max_bytes) {
    constexpr int kEitherHeader = 32 + MAX_WBITS;  // zlib recognises gzip's header and its own
    ready_ = inflateInit2(&stream_, kEitherHeader) == Z_OK;
  }
  ~Inflate() override {
    if (ready_) inflateEnd(&stream_);
  }

  absl::Status Add(std::string_view bytes) override {
    if (!ready_) return absl::InternalError("zlib could not be started");
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      if (ended_ && stream_.avail_in > 0) {
        if (inflateReset(&stream_) != Z_OK) return Broken();
        ended_ = false;
      }
      stream_.next_out = piece_.data();
      stream_.avail_out = static_cast<uInt>(piece_.size());
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return Broken();
      ended_ = result == Z_STREAM_END;
      const size_t made = piece_.size() - stream_.avail_out;
      if (absl::Status status = Append(reinterpret_cast<const char*>(piece_.data()), made); !status.ok()) return status;
      if (result == Z_BUF_ERROR && made == 0) break;
    } while (stream_.avail_in > 0 || stream_.avail_out == 0);
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> Finish() override {
    if (!ended_) return absl::InvalidArgumentError("the body is cut off: its Content-Encoding has not ended");
    return std::move(body_);
  }

 private:
  static absl::Status Broken() {
    return absl::InvalidArgumentError("the body is not what its Content-Encoding says: zlib cannot unpack it");
  }

  z_stream stream_ = {};
  bool ready_ = false, ended_ = false;
  std::array<Bytef, kPiece> piece_;
};

class Brotli final : public BodyDecoder {
 public:
  explicit Brotli(size_t max_bytes)
      : BodyDecoder(max_bytes), state_(BrotliDecoderCreateInstance(nullptr, nullptr, nullptr)) {}
  ~Brotli() override { BrotliDecoderDestroyInstance(state_); }

  absl::Status Add(std::string_view bytes) override {
    size_t left = bytes.size();
    const auto* next = reinterpret_cast<const uint8_t*>(bytes.data());
    while (true) {
      uint8_t* out = piece_.data();
      size_t room = piece_.size();
      const BrotliDecoderResult result = BrotliDecoderDecompressStream(state_, &left, &next, &room, &out, nullptr);
      if (absl::Status status = Append(reinterpret_cast<const char*>(piece_.data()), piece_.size() - room);
          !status.ok()) {
        return status;
      }
      if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) continue;
      if (result == BROTLI_DECODER_RESULT_ERROR || (result == BROTLI_DECODER_RESULT_SUCCESS && left > 0)) {
        return absl::InvalidArgumentError("the body is not what its Content-Encoding says: it is not brotli");
      }
      return absl::OkStatus();
    }
  }
  absl::StatusOr<std::string> Finish() override {
    if (!BrotliDecoderIsFinished(state_)) {
      return absl::InvalidArgumentError("the body is cut off: its Content-Encoding has not ended");
    }
    return std::move(body_);
  }

 private:
  BrotliDecoderState* const state_;
  std::array<uint8_t, kPiece> piece_;
};

}  // namespace

absl::Status BodyDecoder::Append(const char* data, size_t size) {
  if (size > max_bytes_ - body_.size()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the body is larger than the ", max_bytes_, " bytes that this server takes"));
  }
  body_.append(data, size);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BodyDecoder>> BodyDecoder::Open(std::string_view coding, size_t max_bytes) {
  const absl::string_view name(coding.data(), coding.size());
  std::unique_ptr<BodyDecoder> decoder;
  if (name.empty() || absl::EqualsIgnoreCase(name, "identity")) {
    decoder = std::make_unique<Identity>(max_bytes);
  } else if (absl::EqualsIgnoreCase(name, "gzip") || absl::EqualsIgnoreCase(name, "x-gzip") ||
             absl::EqualsIgnoreCase(name, "deflate")) {
    decoder = std::make_unique<Inflate>(max_bytes);
  } else if (absl::EqualsIgnoreCase(name, "br")) {
    decoder = std::make_unique<Brotli>(max_bytes);
  } else {
    return absl::UnimplementedError(
        absl::StrCat("Content-Encoding: '", name, "' is not one that this server unpacks: gzip, deflate or br"));
  }
  return decoder;
}

}  // namespace salient
