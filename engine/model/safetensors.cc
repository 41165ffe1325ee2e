#include "engine/model/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/model/json.h"

namespace salient {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian, and are copied as is");

constexpr char kSingle[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";
constexpr char kMetadata[] = "__metadata__";
constexpr char kScale[] = ".scale";

constexpr size_t kMaxHeaderBytes = 16 << 20;
constexpr int64_t kMaxFileBytes = int64_t{64} << 30;
constexpr size_t kMaxDimensions = 8;
constexpr size_t kMaxTensorNameBytes = 256;

enum class Type { kF32, kF16, kBF16, kU16, kU32, kI8 };

int64_t BytesOf(Type type) { return type == Type::kF32 || type == Type::kU32 ? 4 : type == Type::kI8 ? 1 : 2; }

// A tensor as it is stored; `bytes` points into its file.
struct Stored {
  Type type = Type::kF32;
  std::vector<int64_t> shape;
  int64_t elements = 0;
  std::string_view bytes;
  std::string file;
};

std::string ShapeText(const std::vector<int64_t>& shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

// The name as an error message shows it: escaped, whatever bytes it has.
std::string Shown(const std::string& name) {
  const std::string quoted = JsonExcerpt(Json(name));
  return quoted.size() >= 2 && quoted.back() == '"' ? quoted.substr(1, quoted.size() - 2) : quoted;
}

absl::Status Bad(const std::string& file, const std::string& name, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ": tensor ", Shown(name), " ", what));
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

bool ReadType(const Json& value, Type& type) {
  if (!value.is_string()) return false;
  const std::string& name = value.get_ref<const std::string&>();
  for (const auto& [known, meant] : {std::pair{"F32", Type::kF32},
                                     {"F16", Type::kF16},
                                     {"BF16", Type::kBF16},
                                     {"U16", Type::kU16},
                                     {"U32", Type::kU32},
                                     {"I8", Type::kI8}}) {
    if (name == known) {
      type = meant;
      return true;
    }
  }
  return false;
}

// Reads dtype, shape and data_offsets of one tensor. `data`: the whole of the file after its header.
absl::StatusOr<Stored> ReadEntry(const std::string& file, const std::string& name, const Json& entry,
                                 std::string_view data) {
  if (!IsTensorName(name)) {
    return Bad(file, name,
               absl::StrCat("has a name that is not 1 to ", kMaxTensorNameBytes, " printable ASCII characters"));
  }
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    return Bad(file, name, "must have the fields dtype, shape and data_offsets, and no other");
  }
  Stored stored;
  stored.file = file;
  if (!ReadType(entry["dtype"], stored.type)) {
    return Bad(
        file, name,
        absl::StrCat("has the type ", JsonExcerpt(entry["dtype"]), "; readable are F32, F16, BF16, U16, U32 and I8"));
  }
  const Json& shape = entry["shape"];
  bool valid = shape.is_array() && shape.size() <= kMaxDimensions;
  stored.elements = 1;
  for (size_t i = 0; valid && i < shape.size(); ++i) {
    int64_t size = 0;
    valid = ReadCount(shape[i], kMaxFileBytes, size) &&
            !__builtin_mul_overflow(stored.elements, size, &stored.elements) && stored.elements <= kMaxFileBytes;
    stored.shape.push_back(size);
  }
  if (!valid) {
    return Bad(file, name,
               absl::StrCat("has the shape ", JsonExcerpt(shape), "; it must be at most ", kMaxDimensions,
                            " sizes that fit the file"));
  }
  const Json& offsets = entry["data_offsets"];
  int64_t begin = 0, end = 0;
  if (!offsets.is_array() || offsets.size() != 2 || !ReadCount(offsets[0], kMaxFileBytes, begin) ||
      !ReadCount(offsets[1], kMaxFileBytes, end) || begin > end || end > static_cast<int64_t>(data.size())) {
    return Bad(
        file, name,
        absl::StrCat("has data_offsets ", JsonExcerpt(offsets), "; the file has ", data.size(), " bytes of data"));
  }
  if (end - begin != stored.elements * BytesOf(stored.type)) {
    return Bad(file, name,
               absl::StrCat("of shape ", ShapeText(stored.shape), " needs ", stored.elements * BytesOf(stored.type),
                            " bytes, not the ", end - begin, " at data_offsets ", JsonExcerpt(offsets)));
  }
  stored.bytes = data.substr(begin, end - begin);
  return stored;
}

// In this format every byte of data belongs to exactly one tensor; otherwise the file is damaged.
absl::Status CheckTiling(const std::string& file, std::string_view data, const std::map<std::string, Stored>& tensors) {
  std::vector<std::pair<const std::string*, const Stored*>> order;
  for (const auto& [name, stored] : tensors) order.emplace_back(&name, &stored);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->bytes.data(), a.second->bytes.size()) <
           std::pair(b.second->bytes.data(), b.second->bytes.size());
  });
  const char* at = data.data();
  for (const auto& [name, stored] : order) {
    if (stored->bytes.data() < at) return Bad(file, *name, "overlaps another tensor's data");
    if (stored->bytes.data() > at) {
      return Bad(file, *name, absl::StrCat("comes after ", stored->bytes.data() - at, " bytes of no tensor"));
    }
    at += stored->bytes.size();
  }
  if (at != data.data() + data.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, " ends with ", data.data() + data.size() - at, " bytes of no tensor"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, Stored>> ReadStored(std::string_view bytes, const std::string& file) {
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof(header_bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(file, " has ", bytes.size(), " bytes, too few for a header"));
  }
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  bytes.remove_prefix(sizeof(header_bytes));
  if (header_bytes > bytes.size()) {
    return absl::InvalidArgumentError(absl::StrCat(file, " says that its header has ", header_bytes,
                                                   " bytes, but only ", bytes.size(), " follow: it was cut off"));
  }
  absl::StatusOr<Json> header =
      ParseJson(bytes.substr(0, header_bytes), absl::StrCat(file, ": the header"), kMaxHeaderBytes);
  if (!header.ok()) return header.status();
  if (!header->is_object()) return absl::InvalidArgumentError(absl::StrCat(file, ": the header is not an object"));
  const std::string_view data = bytes.substr(header_bytes);
  std::map<std::string, Stored> tensors;
  for (const auto& [name, entry] : header->items()) {
    if (name == kMetadata) continue;
    absl::StatusOr<Stored> stored = ReadEntry(file, name, entry, data);
    if (!stored.ok()) return stored.status();
    tensors.emplace(name, *std::move(stored));
  }
  if (absl::Status status = CheckTiling(file, data, tensors); !status.ok()) return status;
  return tensors;
}

float FromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 0x1f, mantissa = half & 0x3ff;
  if (exponent == 0) {  // zero and subnormal: mantissa * 2^-24
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 0x1f ? 0xff : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

float FromBFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// Tensors are not aligned: their data begins at any address.
template <typename Value>
Value LoadAt(std::string_view bytes, int64_t index) {
  Value value;
  std::memcpy(&value, bytes.data() + index * sizeof(Value), sizeof(Value));
  return value;
}

absl::Status WidenRows(const std::string& name, const Stored& stored, const std::map<std::string, Stored>& all,
                       std::vector<float>& values) {
  const auto scale = all.find(name + kScale);
  if (scale == all.end()) {
    return Bad(stored.file, name,
               absl::StrCat("is I8 and needs the tensor ", Shown(name + kScale), ", which is missing"));
  }
  const int64_t rows = stored.shape.empty() ? -1 : stored.shape[0];
  if (scale->second.type != Type::kF32 || scale->second.shape != std::vector<int64_t>{rows}) {
    return Bad(scale->second.file, scale->first,
               absl::StrCat("must be F32, one value for each of the ", rows, " rows of ", Shown(name)));
  }
  const int64_t columns = rows <= 0 ? 0 : stored.elements / rows;
  for (int64_t row = 0; row < rows; ++row) {
    const float step = LoadAt<float>(scale->second.bytes, row);
    const char* from = stored.bytes.data() + row * columns;
    float* to = values.data() + row * columns;
    for (int64_t i = 0; i < columns; ++i) to[i] = step * static_cast<float>(static_cast<int8_t>(from[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Widen(const std::string& name, const Stored& stored, const std::map<std::string, Stored>& all) {
  Tensor tensor;
  tensor.shape = stored.shape;
  tensor.values.resize(stored.elements);
  float* values = tensor.values.data();
  switch (stored.type) {
    case Type::kF32:
      if (stored.elements > 0) std::memcpy(values, stored.bytes.data(), stored.bytes.size());
      break;
    case Type::kF16:
      for (int64_t i = 0; i < stored.elements; ++i) values[i] = FromHalf(LoadAt<uint16_t>(stored.bytes, i));
      break;
    case Type::kBF16:
      for (int64_t i = 0; i < stored.elements; ++i) values[i] = FromBFloat(LoadAt<uint16_t>(stored.bytes, i));
      break;
    case Type::kU16:
      for (int64_t i = 0; i < stored.elements; ++i) values[i] = LoadAt<uint16_t>(stored.bytes, i);
      break;
    case Type::kU32:  // token numbers, which a float holds up to 2^24
      for (int64_t i = 0; i < stored.elements; ++i) {
        values[i] = static_cast<float>(LoadAt<uint32_t>(stored.bytes, i));
      }
      break;
    case Type::kI8:
      if (absl::Status status = WidenRows(name, stored, all, tensor.values); !status.ok()) return status;
      break;
  }
  return tensor;
}

// The scales of an I8 tensor are a part of it, not a tensor of their own.
bool IsScaleOfAnother(const std::string& name, const std::map<std::string, Stored>& all) {
  if (!name.ends_with(kScale)) return false;
  const auto scaled = all.find(name.substr(0, name.size() - std::strlen(kScale)));
  return scaled != all.end() && scaled->second.type == Type::kI8;
}

absl::StatusOr<std::map<std::string, Tensor>> WidenAll(const std::map<std::string, Stored>& stored) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, tensor] : stored) {
    if (IsScaleOfAnother(name, stored)) continue;
    absl::StatusOr<Tensor> widened = Widen(name, tensor, stored);
    if (!widened.ok()) return widened.status();
    tensors.emplace(name, *std::move(widened));
  }
  return tensors;
}

// A name such as "model-00001-of-00002.safetensors", without a path, so that it stays within the folder.
bool IsPlainFileName(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return c > ' ' && c < 0x7f && c != '/' && c != '\\'; });
}

// Maps each tensor's name to its file.
absl::StatusOr<std::map<std::string, std::string>> ReadIndex(std::string_view text) {
  absl::StatusOr<Json> parsed = ParseJson(text, kIndex, kMaxHeaderBytes);
  if (!parsed.ok()) return parsed.status();
  if (!parsed->is_object() || !parsed->contains("weight_map") || !(*parsed)["weight_map"].is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(kIndex, ": weight_map is missing, or is no object"));
  }
  std::map<std::string, std::string> places;
  for (const auto& [name, file] : (*parsed)["weight_map"].items()) {
    if (!file.is_string() || !IsPlainFileName(file.get<std::string>())) {
      return Bad(
          kIndex, name,
          absl::StrCat("is said to be in ", JsonExcerpt(file), "; it must be the name of a file in the same folder"));
    }
    places.emplace(name, file.get<std::string>());
  }
  return places;
}

absl::StatusOr<std::map<std::string, Tensor>> LoadShards(const std::string& folder, std::string_view index) {
  absl::StatusOr<std::map<std::string, std::string>> places = ReadIndex(index);
  if (!places.ok()) return places.status();
  std::set<std::string> files;
  for (const auto& [name, file] : *places) files.insert(file);
  std::vector<FileBytes> buffers;  // the memory that the tensors point into
  std::map<std::string, Stored> all;
  for (const std::string& file : files) {
    absl::StatusOr<FileBytes> bytes = ReadWholeFile(absl::StrCat(folder, "/", file));
    if (!bytes.ok()) return bytes.status();
    absl::StatusOr<std::map<std::string, Stored>> stored = ReadStored(bytes->view(), file);
    if (!stored.ok()) return stored.status();
    buffers.push_back(*std::move(bytes));
    for (auto& [name, tensor] : *stored) {
      const auto place = places->find(name);
      if (place != places->end() && place->second == file) all.emplace(name, std::move(tensor));
    }
  }
  for (const auto& [name, file] : *places) {
    if (!all.contains(name)) return Bad(kIndex, name, absl::StrCat("is said to be in ", file, ", which lacks it"));
  }
  return WidenAll(all);
}

}  // namespace

absl::StatusOr<FileBytes> ReadWholeFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, path);
  const std::unique_ptr<const int, void (*)(const int*)> closer(&descriptor, [](const int* open) { close(*open); });
  struct stat facts = {};
  if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size > kMaxFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not a regular file of at most ", kMaxFileBytes, " bytes"));
  }
  FileBytes bytes;
  bytes.data.reset(new char[facts.st_size]);  // make_unique would fill it with zeros first
  while (bytes.size < static_cast<size_t>(facts.st_size)) {
    const ssize_t got = read(descriptor, bytes.data.get() + bytes.size, facts.st_size - bytes.size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::DataLossError(absl::StrCat(path, ": ", std::strerror(errno)));
    if (got == 0) break;
    bytes.size += got;
  }
  return bytes;
}

absl::StatusOr<std::map<std::string, Tensor>> TensorFile::Parse(std::string_view bytes, const std::string& file_name) {
  absl::StatusOr<std::map<std::string, Stored>> stored = ReadStored(bytes, file_name);
  if (!stored.ok()) return stored.status();
  return WidenAll(*stored);
}

absl::StatusOr<TensorFile> TensorFile::Load(const std::string& folder) {
  absl::StatusOr<std::map<std::string, Tensor>> tensors;
  absl::StatusOr<FileBytes> index = ReadWholeFile(absl::StrCat(folder, "/", kIndex));
  if (index.ok()) {
    tensors = LoadShards(folder, index->view());
  } else if (absl::IsNotFound(index.status())) {
    absl::StatusOr<FileBytes> bytes = ReadWholeFile(absl::StrCat(folder, "/", kSingle));
    if (!bytes.ok()) return bytes.status();
    tensors = Parse(bytes->view(), kSingle);
  } else {
    return index.status();
  }
  if (!tensors.ok()) return tensors.status();
  TensorFile file;
  file.tensors_ = *std::move(tensors);
  return file;
}

absl::StatusOr<const Tensor*> TensorFile::Get(const std::string& name, const std::vector<int64_t>& shape) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return absl::NotFoundError(
        absl::StrCat(kSingle, ": tensor ", name, " is missing; config.json asks for it with shape ", ShapeText(shape)));
  }
  if (found->second.shape != shape) {
    return absl::InvalidArgumentError(absl::StrCat(kSingle, ": tensor ", name, " has shape ",
                                                   ShapeText(found->second.shape), "; config.json asks for ",
                                                   ShapeText(shape)));
  }
  return &found->second;
}

int64_t TensorFile::parameters() const {
  int64_t count = 0;
  for (const auto& [name, tensor] : tensors_) count += tensor.elements();
  return count;
}

}  // namespace salient
