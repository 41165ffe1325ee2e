// Decompresses a request's body while it arrives (identity, gzip, deflate, br), up to a bound.
//
// Not thread safe.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace salient {

class BodyDecoder {
 public:
  // `coding` is the value of Content-Encoding, which may be empty. UNIMPLEMENTED names the supported codings.
  static absl::StatusOr<std::unique_ptr<BodyDecoder>> Open(std::string_view coding, size_t max_bytes);
  virtual ~BodyDecoder() = default;

  // RESOURCE_EXHAUSTED if the result would exceed `max_bytes`; decompression stops there. INVALID_ARGUMENT for bytes
  // that are invalid in the coding. Do not call it after a failure.
  virtual absl::Status Add(std::string_view bytes) = 0;

  // The body, after all bytes were added. INVALID_ARGUMENT if it is truncated.
  virtual absl::StatusOr<std::string> Finish() = 0;

  size_t size() const { return body_.size(); }

 protected:
  explicit BodyDecoder(size_t max_bytes) : max_bytes_(max_bytes) {}
  absl::Status Append(const char* data, size_t size);

  const size_t max_bytes_;
  std::string body_;
};

}  // namespace salient
