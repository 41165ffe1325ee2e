#include "engine/model/safetensors_header.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/model/json.h"

namespace salient {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian, and are copied as is");

constexpr char kMetadata[] = "__metadata__";

constexpr size_t kMaxDimensions = 8;
constexpr size_t kMaxTensorNameBytes = 256;

int64_t BytesOf(TensorType type) {
  switch (type) {
    case TensorType::kF32:
    case TensorType::kU32:
      return 4;
    case TensorType::kF16:
    case TensorType::kBF16:
    case TensorType::kU16:
      return 2;
    case TensorType::kI8:
      break;
  }
  return 1;
}

bool IsTensorName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxTensorNameBytes &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
}

bool ReadCount(const Json& value, int64_t greatest, int64_t& count) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > static_cast<uint64_t>(greatest)) return false;
  count = static_cast<int64_t>(value.get<uint64_t>());
  return true;
}

bool ReadType(const Json& value, TensorType& type) {
  if (!value.is_string()) return false;
  const std::string& name = value.get_ref<const std::string&>();
  for (const auto& [known, meant] : {std::pair{"F32", TensorType::kF32},
                                     {"F16", TensorType::kF16},
                                     {"BF16", TensorType::kBF16},
                                     {"U16", TensorType::kU16},
                                     {"U32", TensorType::kU32},
                                     {"I8", TensorType::kI8}}) {
    if (name == known) {
      type = meant;
      return true;
    }
  }
  return false;
}

// Reads dtype, shape and data_offsets of one tensor. `data`: how many bytes the file has after its header.
absl::StatusOr<StoredTensor> ReadEntry(const std::string& file, const std::string& name, const Json& entry,
                                       int64_t data) {
  if (!IsTensorName(name)) {
    return BadTensor(file, name,
                     absl::StrCat("has a name that is not 1 to ", kMaxTensorNameBytes, " printable ASCII characters"));
  }
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    return BadTensor(file, name, "must have the fields dtype, shape and data_offsets, and no other");
  }
  StoredTensor stored;
  stored.file = file;
  if (!ReadType(entry["dtype"], stored.type)) {
    return BadTensor(
        file, name,
        absl::StrCat("has the type ", JsonExcerpt(entry["dtype"]), "; readable are F32, F16, BF16, U16, U32 and I8"));
  }
  const Json& shape = entry["shape"];
  bool valid = shape.is_array() && shape.size() <= kMaxDimensions;
  stored.elements = 1;
  for (size_t i = 0; valid && i < shape.size(); ++i) {
    int64_t size = 0;
    valid = ReadCount(shape[i], kMostFileBytes, size) &&
            !__builtin_mul_overflow(stored.elements, size, &stored.elements) && stored.elements <= kMostFileBytes;
    stored.shape.push_back(size);
  }
  if (!valid) {
    return BadTensor(file, name,
                     absl::StrCat("has the shape ", JsonExcerpt(shape), "; it must be at most ", kMaxDimensions,
                                  " sizes that fit the file"));
  }
  const Json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !ReadCount(offsets[0], kMostFileBytes, stored.begin) ||
      !ReadCount(offsets[1], kMostFileBytes, stored.end) || stored.begin > stored.end || stored.end > data) {
    return BadTensor(
        file, name, absl::StrCat("has data_offsets ", JsonExcerpt(offsets), "; the file has ", data, " bytes of data"));
  }
  if (stored.end - stored.begin != stored.elements * BytesOf(stored.type)) {
    return BadTensor(
        file, name,
        absl::StrCat("of shape ", ShapeText(stored.shape), " needs ", stored.elements * BytesOf(stored.type),
                     " bytes, not the ", stored.end - stored.begin, " at data_offsets ", JsonExcerpt(offsets)));
  }
  return stored;
}

// In this format every byte of data belongs to exactly one tensor; otherwise the file is damaged. `data`: as above.
absl::Status CheckTiling(const std::string& file, int64_t data, const StoredTensors& tensors) {
  std::vector<std::pair<const std::string*, const StoredTensor*>> order;
  for (const auto& [name, stored] : tensors) order.emplace_back(&name, &stored);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  int64_t at = 0;
  for (const auto& [name, stored] : order) {
    if (stored->begin < at) return BadTensor(file, *name, "overlaps another tensor's data");
    if (stored->begin > at) {
      return BadTensor(file, *name, absl::StrCat("comes after ", stored->begin - at, " bytes of no tensor"));
    }
    at = stored->end;
  }
  if (at != data) {
    return absl::InvalidArgumentError(absl::StrCat(file, " ends with ", data - at, " bytes of no tensor"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> ReadJson(const ByteSource& source, const std::string& file, int64_t begin, int64_t bytes) {
  std::string text(bytes, '\0');
  if (absl::Status read = source.Read(begin, bytes, text.data()); !read.ok()) return read;
  return ParseJson(text, absl::StrCat(file, ": the header"), {kMaxHeaderBytes, kMaxHeaderValues});
}

}  // namespace

absl::StatusOr<StoredTensors> ReadTensorHeader(const ByteSource& source, const std::string& file) {
  uint64_t header_bytes = 0;
  constexpr int64_t kBegin = sizeof(header_bytes);
  if (source.size() < kBegin) {
    return absl::InvalidArgumentError(absl::StrCat(file, " has ", source.size(), " bytes, too few for a header"));
  }
  absl::Status read = source.Read(0, kBegin, reinterpret_cast<char*>(&header_bytes));
  if (!read.ok()) return read;
  const int64_t rest = source.size() - kBegin;
  if (header_bytes > static_cast<uint64_t>(rest)) {
    return absl::InvalidArgumentError(absl::StrCat(file, " says that its header has ", header_bytes,
                                                   " bytes, but only ", rest, " follow: it was cut off"));
  }
  if (header_bytes > kMaxHeaderBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": the header has ", header_bytes, " bytes; at most ", kMaxHeaderBytes, " are read"));
  }
  const auto header_end = kBegin + static_cast<int64_t>(header_bytes), data = source.size() - header_end;
  absl::StatusOr<Json> header = ReadJson(source, file, kBegin, static_cast<int64_t>(header_bytes));
  if (!header.ok()) return header.status();
  if (!header->is_object()) return absl::InvalidArgumentError(absl::StrCat(file, ": the header is not an object"));
  StoredTensors tensors;
  for (const auto& [name, entry] : header->items()) {
    if (name == kMetadata) continue;
    absl::StatusOr<StoredTensor> stored = ReadEntry(file, name, entry, data);
    if (!stored.ok()) return stored.status();
    tensors.emplace(name, *std::move(stored));
  }
  if (absl::Status status = CheckTiling(file, data, tensors); !status.ok()) return status;
  for (auto& [name, stored] : tensors) {
    stored.source = &source;
    stored.begin += header_end;
    stored.end += header_end;
  }
  return tensors;
}

std::string ShapeText(const std::vector<int64_t>& shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

std::string ShownName(const std::string& name) {
  const std::string quoted = JsonExcerpt(Json(name));
  return quoted.size() >= 2 && quoted.back() == '"' ? quoted.substr(1, quoted.size() - 2) : quoted;
}

absl::Status BadTensor(const std::string& file, const std::string& name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": tensor ", ShownName(name), " ", what));
}

}  // namespace salient
