// A request's body as it arrives: unpacked piece by piece (identity, gzip, deflate, br), never beyond a bound.
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
  // `coding` is the value of Content-Encoding, which may be empty. UNIMPLEMENTED names the codings there are.
  static absl::StatusOr<std::unique_ptr<BodyDecoder>> Open(std::string_view coding, size_t max_bytes);
  virtual ~BodyDecoder() = default;

  // RESOURCE_EXHAUSTED once more than `max_bytes` would come out, of which no more are made; INVALID_ARGUMENT for bytes
  // that are not of the coding. Nothing may be added after a failure.
  virtual absl::Status Add(std::string_view bytes) = 0;

  // The body, when all has been added. INVALID_ARGUMENT if it is cut off.
  virtual absl::StatusOr<std::string> Finish() = 0;

  size_t size() const { return body_.size(); }

 protected:
  explicit BodyDecoder(size_t max_bytes) : max_bytes_(max_bytes) {}
  absl::Status Append(const char* data, size_t size);

  const size_t max_bytes_;
  std::string body_;
};

}  // namespace salient
