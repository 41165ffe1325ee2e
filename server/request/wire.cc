#include "server/request/wire.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/utf8.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/unknown_field_set.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/slice.h"

namespace salient {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

std::string Flatten(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  std::string flat;
  if (!bytes.Dump(&slices).ok()) return flat;
  flat.reserve(bytes.Length());
  for (const grpc::Slice& slice : slices) flat.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return flat;
}

// Walks the fields of a serialized message beside its descriptor. Returns the complaint about the first string that
// is not UTF-8.
std::optional<std::string> FindInvalidString(const std::string& bytes, const Descriptor& type,
                                             const std::string& prefix) {
  UnknownFieldSet fields;
  if (!fields.ParseFromString(bytes)) return std::nullopt;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    const FieldDescriptor* known = type.FindFieldByNumber(field.number());
    if (known == nullptr || field.type() != UnknownField::TYPE_LENGTH_DELIMITED) continue;
    const std::string name = absl::StrCat(prefix, known->name());
    if (known->type() == FieldDescriptor::TYPE_STRING) {
      const auto offset = FirstInvalidUtf8(field.length_delimited());
      if (!offset.has_value()) continue;
      return absl::StrCat(name, ": not UTF-8 at byte ", *offset, "; convert the text to UTF-8 before sending it");
    }
    if (known->type() == FieldDescriptor::TYPE_MESSAGE) {
      auto complaint = FindInvalidString(field.length_delimited(), *known->message_type(), name + ".");
      if (complaint.has_value()) return complaint;
    }
  }
  return std::nullopt;
}

}  // namespace

absl::Status ParseMessage(const grpc::ByteBuffer& bytes, google::protobuf::Message* message) {
  // The reader consumes the buffer that it is given: a copy, which shares the slices.
  grpc::ByteBuffer copy = bytes;
  {
    grpc::ProtoBufferReader reader(&copy);
    if (reader.status().ok() && message->ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  }
  const Descriptor& type = *message->GetDescriptor();
  const auto complaint = FindInvalidString(Flatten(bytes), type, "");
  if (complaint.has_value()) return absl::InvalidArgumentError(*complaint);
  return absl::InvalidArgumentError(absl::StrCat("the request's ", bytes.Length(), " bytes are not a ",
                                                 type.full_name(), "; was it cut off or made from another .proto?"));
}

absl::Status CheckReplySize(const google::protobuf::Message& reply, size_t most) {
  const size_t bytes = reply.ByteSizeLong();
  if (bytes <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the reply has ", bytes, " bytes, more than the ", most,
                   " that gRPC carries in one message: leave out trace, ask for fewer n_best, use "
                   "StreamTranslateDocument, or send the document in parts"));
}

grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message) {
  grpc::Slice slice(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace salient
