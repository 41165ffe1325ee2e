// Parses and serialises the messages of a call.
//
// The service receives requests as bytes. Otherwise gRPC would answer a message that it cannot parse with UNIMPLEMENTED
// and no explanation, and protobuf refuses a message for a single byte that is not UTF-8. Here the error names the
// field.
//
// A list's entry that arrives as two bytes takes fifty in memory. So how often each field occurs in a request is
// counted before it is parsed.

#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "grpcpp/support/byte_buffer.h"

namespace salient {

// The largest message: its length is an int.
inline constexpr size_t kMaxReplyBytes = (1ULL << 31) - 1024;

// How often a field may occur in a request, in all messages in it together: the longest list that the API allows.
inline constexpr int kMostOccurrences = 100000;

// How many objects and values a request in JSON may have.
inline constexpr int kMostJsonValues = 10 * kMostOccurrences;

// INVALID_ARGUMENT names the field that occurs too often, or the first string field that is not UTF-8, and the offset
// in it, or says that the bytes are not a message of this type. Then `message` has some of what comes before that.
absl::Status ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message* message);

// The same of a message in JSON. INVALID_ARGUMENT also says what is wrong with the JSON.
absl::Status ParseJson(const std::string& json, google::protobuf::Message* message);

// INVALID_ARGUMENT, with a remedy, if the message is larger than gRPC can send.
absl::Status CheckReplySize(const google::protobuf::Message& reply, size_t most = kMaxReplyBytes);

grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message);

}  // namespace salient
