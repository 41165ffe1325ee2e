#include "server/request/wire.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/utf8.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/unknown_field_set.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/type_resolver_util.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/support/proto_buffer_reader.h"
#include "grpcpp/support/slice.h"

namespace salient {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::ArrayInputStream;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::LimitingInputStream;
using google::protobuf::io::ZeroCopyInputStream;

constexpr char kTypeUrlPrefix[] = "type.googleapis.com";

// Counts how often each field occurs in a serialized message, and stores nothing else of it.
class FieldCounter {
 public:
  // False if the bytes are not a message of this type, or if status() is an error: INVALID_ARGUMENT names the field
  // that occurs too often.
  bool Count(CodedInputStream& input, const Descriptor& type) {
    while (const uint32_t tag = input.ReadTag()) {
      const FieldDescriptor* const field = Known(type, tag);
      if (WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_START_GROUP) return false;  // proto3 has none
      if (!Add(field)) return false;
      if (field == nullptr || field->type() != FieldDescriptor::TYPE_MESSAGE) {
        if (!WireFormatLite::SkipField(&input, tag)) return false;
      } else if (!CountWithin(input, *field)) {
        return false;
      }
    }
    return input.ConsumedEntireMessage();
  }

  const absl::Status& status() const { return status_; }

 private:
  // Null if the type has no such field, or has it with another kind of value: protobuf stores both as unknown fields.
  static const FieldDescriptor* Known(const Descriptor& type, uint32_t tag) {
    const FieldDescriptor* const field = type.FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
    if (field == nullptr) return nullptr;
    const WireFormatLite::WireType is = WireFormatLite::GetTagWireType(tag);
    const bool is_packed = field->is_packable() && is == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
    const auto its_type = static_cast<WireFormatLite::FieldType>(field->type());
    return is_packed || is == WireFormatLite::WireTypeForFieldType(its_type) ? field : nullptr;
  }

  bool CountWithin(CodedInputStream& input, const FieldDescriptor& field) {
    int size = 0;
    if (!input.ReadVarintSizeAsInt(&size)) return false;
    const auto [limit, depth_left] = input.IncrementRecursionDepthAndPushLimit(size);
    path_.push_back(&field);
    const bool counted = depth_left >= 0 && Count(input, *field.message_type());
    path_.pop_back();
    input.DecrementRecursionDepthAndPopLimit(limit);
    return counted;
  }

  bool Add(const FieldDescriptor* field) {
    if (++occurrences_[field] <= kMostOccurrences) return true;
    std::string name;
    for (const FieldDescriptor* outer : path_) absl::StrAppend(&name, outer->name(), ".");
    status_ = absl::InvalidArgumentError(
        field == nullptr
            ? absl::StrCat("the request has more than ", kMostOccurrences,
                           " fields that this server does not know; was it made from another .proto?")
            : absl::StrCat(name, field->name(), ": has more than ", kMostOccurrences, " entries; send fewer"));
    return false;
  }

  std::map<const FieldDescriptor*, int> occurrences_;  // over all messages; null: unknown fields
  std::vector<const FieldDescriptor*> path_;
  absl::Status status_;
};

absl::Status NoMessage(size_t bytes, const Descriptor& type) {
  return absl::InvalidArgumentError(absl::StrCat("the request's ", bytes, " bytes are not a ", type.full_name(),
                                                 "; was it cut off or made from another .proto?"));
}

// Of a message: whether it may be parsed, and how many bytes of it before the place that `status` is about.
struct Counted {
  absl::Status status;
  int bytes = 0;
};

Counted CountFields(ZeroCopyInputStream& stream, size_t bytes, const Descriptor& type) {
  FieldCounter counter;
  CodedInputStream input(&stream);
  const bool is_message = counter.Count(input, type);
  absl::Status status = counter.status();
  if (!is_message && status.ok()) status = NoMessage(bytes, type);
  return {std::move(status), input.CurrentPosition()};
}

// Whether JSON has at most so many objects and values. Protobuf's parser takes 0.8 s for a million empty objects.
bool HasAtMost(int values, std::string_view json) {
  char quote = 0;  // of the string that the scan is in; protobuf takes both kinds
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quote != 0) {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = 0;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if ((c == '{' || c == ',') && --values < 0) {
      return false;
    }
  }
  return true;
}

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
  const Descriptor& type = *message->GetDescriptor();
  // A reader consumes the buffer that it is given: copies, which share the slices.
  grpc::ByteBuffer copies[] = {bytes, bytes};
  {
    grpc::ProtoBufferReader to_count(&copies[0]), to_parse(&copies[1]);
    if (!to_count.status().ok() || !to_parse.status().ok()) return NoMessage(bytes.Length(), type);
    const Counted counted = CountFields(to_count, bytes.Length(), type);
    LimitingInputStream beginning(&to_parse, counted.bytes);
    const bool parsed = message->ParseFromZeroCopyStream(&beginning);
    if (!counted.status.ok()) return counted.status;
    if (parsed) return absl::OkStatus();
  }
  const auto complaint = FindInvalidString(Flatten(bytes), type, "");
  return complaint.has_value() ? absl::InvalidArgumentError(*complaint) : NoMessage(bytes.Length(), type);
}

absl::Status ParseJson(const std::string& json, google::protobuf::Message* message) {
  // As protobuf's JsonStringToMessage, but for the look at what comes of the JSON before it is parsed.
  static google::protobuf::util::TypeResolver* const types = google::protobuf::util::NewTypeResolverForDescriptorPool(
      kTypeUrlPrefix, google::protobuf::DescriptorPool::generated_pool());
  const Descriptor& type = *message->GetDescriptor();
  if (!HasAtMost(kMostJsonValues, json)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the body has more than ", kMostJsonValues, " objects and values in JSON; send fewer"));
  }
  std::string bytes;
  const auto read = google::protobuf::util::JsonToBinaryString(
      types, absl::StrCat(kTypeUrlPrefix, "/", type.full_name()), json, &bytes);
  if (!read.ok()) {
    // After the first line protobuf draws a picture of the place, which is no use within JSON.
    const std::string text(read.message());
    return absl::InvalidArgumentError(
        absl::StrCat("the body is not a ", type.name(), " in JSON: ", text.substr(0, text.find('\n'))));
  }
  ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  if (absl::Status status = CountFields(stream, bytes.size(), type).status; !status.ok()) return status;
  return message->ParseFromString(bytes) ? absl::OkStatus() : NoMessage(bytes.size(), type);
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
