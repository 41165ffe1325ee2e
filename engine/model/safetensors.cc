#include "engine/model/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/core/bf16.h"
#include "engine/model/byte_source.h"
#include "engine/model/json.h"
#include "engine/model/safetensors_header.h"

namespace salient {
namespace {

constexpr char kSingle[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";
constexpr char kScale[] = ".scale";

constexpr int64_t kBlockValues = 1 << 18;  // that are read at once

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

float AsItIs(float value) { return value; }
float FromUnsigned16(uint16_t value) { return value; }
float FromUnsigned32(uint32_t value) { return static_cast<float>(value); }  // a token; a float holds them up to 2^24
float FromInteger(int8_t value) { return value; }

// Reads a tensor of Values.
template <typename Value>
absl::StatusOr<std::vector<float>> ReadAs(const StoredTensor& stored, float (*to_float)(Value)) {
  std::vector<float> values(stored.elements);
  std::vector<Value> block(std::min(stored.elements, kBlockValues));
  for (int64_t at = 0; at < stored.elements; at += kBlockValues) {
    const int64_t count = std::min(stored.elements - at, kBlockValues);
    absl::Status read =
        stored.source->Read(stored.begin + at * static_cast<int64_t>(sizeof(Value)),
                            count * static_cast<int64_t>(sizeof(Value)), reinterpret_cast<char*>(block.data()));
    if (!read.ok()) return read;
    std::transform(block.begin(), block.begin() + count, values.begin() + at, to_float);
  }
  return values;
}

// An I8 tensor: each row has a scale in another tensor.
absl::StatusOr<std::vector<float>> ReadScaled(const std::string& name, const StoredTensor& stored,
                                              const StoredTensors& all) {
  const auto scale = all.find(name + kScale);
  if (scale == all.end()) {
    return BadTensor(stored.file, name,
                     absl::StrCat("is I8 and needs the tensor ", ShownName(name + kScale), ", which is missing"));
  }
  const int64_t rows = stored.shape.empty() ? -1 : stored.shape[0];
  if (scale->second.type != TensorType::kF32 || scale->second.shape != std::vector<int64_t>{rows}) {
    return BadTensor(scale->second.file, scale->first,
                     absl::StrCat("must be F32, one value for each of the ", rows, " rows of ", ShownName(name)));
  }
  absl::StatusOr<std::vector<float>> values = ReadAs<int8_t>(stored, FromInteger);
  if (!values.ok()) return values;
  absl::StatusOr<std::vector<float>> steps = ReadAs<float>(scale->second, AsItIs);
  if (!steps.ok()) return steps;
  const int64_t columns = rows <= 0 ? 0 : stored.elements / rows;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i) (*values)[i] *= (*steps)[row];
  }
  return values;
}

absl::StatusOr<std::vector<float>> ReadValues(const std::string& name, const StoredTensor& stored,
                                              const StoredTensors& all) {
  switch (stored.type) {
    case TensorType::kF32:
      return ReadAs<float>(stored, AsItIs);
    case TensorType::kF16:
      return ReadAs<uint16_t>(stored, FromHalf);
    case TensorType::kBF16:
      return ReadAs<uint16_t>(stored, BF16ToFloat);
    case TensorType::kU16:
      return ReadAs<uint16_t>(stored, FromUnsigned16);
    case TensorType::kU32:
      return ReadAs<uint32_t>(stored, FromUnsigned32);
    case TensorType::kI8:
      break;
  }
  return ReadScaled(name, stored, all);
}

// The scales of an I8 tensor are a part of it, not a tensor of their own.
bool IsScaleOfAnother(const std::string& name, const StoredTensors& all) {
  if (!name.ends_with(kScale)) return false;
  const auto scaled = all.find(name.substr(0, name.size() - std::strlen(kScale)));
  return scaled != all.end() && scaled->second.type == TensorType::kI8;
}

// Whoever takes more memory than there is ends the process. A small file can ask for much: the rest may be a hole.
absl::Status TakeMemory(const StoredTensors& all, const std::string& file, int copies, int64_t& memory) {
  double bytes = 0;
  for (const auto& [name, stored] : all) bytes += copies * sizeof(float) * static_cast<double>(stored.elements);
  if (bytes <= static_cast<double>(memory)) {
    memory -= static_cast<int64_t>(bytes);
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(file, ": loading its tensors takes ", static_cast<int64_t>(bytes),
                                                   " bytes of memory; ", memory,
                                                   " are left: give this process more memory, end what else uses it, "
                                                   "or take a smaller model"));
}

absl::StatusOr<Tensors> ReadTensors(const StoredTensors& all, const std::string& file, int copies, int64_t& memory) {
  if (absl::Status room = TakeMemory(all, file, copies, memory); !room.ok()) return room;
  Tensors tensors;
  for (const auto& [name, stored] : all) {
    if (IsScaleOfAnother(name, all)) continue;
    absl::StatusOr<std::vector<float>> values = ReadValues(name, stored, all);
    if (!values.ok()) return values.status();
    tensors.emplace(name, Tensor{stored.shape, *std::move(values)});
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
  absl::StatusOr<Json> parsed = ParseJson(text, kIndex, {kMaxHeaderBytes, kMaxHeaderValues});
  if (!parsed.ok()) return parsed.status();
  if (!parsed->is_object() || !parsed->contains("weight_map") || !(*parsed)["weight_map"].is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(kIndex, ": weight_map is missing, or is no object"));
  }
  std::map<std::string, std::string> places;
  for (const auto& [name, file] : (*parsed)["weight_map"].items()) {
    if (!file.is_string() || !IsPlainFileName(file.get<std::string>())) {
      return BadTensor(
          kIndex, name,
          absl::StrCat("is said to be in ", JsonExcerpt(file), "; it must be the name of a file in the same folder"));
    }
    places.emplace(name, file.get<std::string>());
  }
  return places;
}

absl::StatusOr<Tensors> LoadShards(const std::string& folder, const ByteSource& index, int copies, int64_t& memory) {
  if (index.size() > static_cast<int64_t>(kMaxHeaderBytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(kIndex, " has ", index.size(), " bytes; at most ", kMaxHeaderBytes, " are read"));
  }
  const absl::StatusOr<std::string> text = index.ReadAll();
  if (!text.ok()) return text.status();
  absl::StatusOr<std::map<std::string, std::string>> places = ReadIndex(*text);
  if (!places.ok()) return places.status();
  std::set<std::string> files;
  for (const auto& [name, file] : *places) files.insert(file);
  std::vector<std::unique_ptr<ByteSource>> sources;  // that the tensors are read from
  StoredTensors all;
  for (const std::string& file : files) {
    absl::StatusOr<std::unique_ptr<ByteSource>> source = OpenFileBytes(absl::StrCat(folder, "/", file));
    if (!source.ok()) return source.status();
    absl::StatusOr<StoredTensors> stored = ReadTensorHeader(**source, file);
    if (!stored.ok()) return stored.status();
    sources.push_back(*std::move(source));
    for (auto& [name, tensor] : *stored) {
      const auto place = places->find(name);
      if (place != places->end() && place->second == file) all.emplace(name, std::move(tensor));
    }
  }
  for (const auto& [name, file] : *places) {
    if (!all.contains(name))
      return BadTensor(kIndex, name, absl::StrCat("is said to be in ", file, ", which lacks it"));
  }
  return ReadTensors(all, kIndex, copies, memory);
}

absl::StatusOr<Tensors> ReadFrom(const ByteSource& source, const std::string& file, int copies, int64_t& memory) {
  absl::StatusOr<StoredTensors> stored = ReadTensorHeader(source, file);
  if (!stored.ok()) return stored.status();
  return ReadTensors(*stored, file, copies, memory);
}

}  // namespace

absl::StatusOr<Tensors> TensorFile::Parse(std::string_view bytes, const std::string& file_name) {
  int64_t no_limit = std::numeric_limits<int64_t>::max();  // no more than four bytes for each that is there
  return ReadFrom(*OpenMemory(bytes), file_name, /*copies=*/1, no_limit);
}

absl::StatusOr<Tensors> TensorFile::Read(const std::string& folder, const std::string& file_name, int copies,
                                         int64_t& memory) {
  absl::StatusOr<std::unique_ptr<ByteSource>> source = OpenFileBytes(absl::StrCat(folder, "/", file_name));
  if (!source.ok()) return source.status();
  return ReadFrom(**source, file_name, copies, memory);
}

absl::StatusOr<TensorFile> TensorFile::Load(const std::string& folder, int copies, int64_t& memory) {
  const absl::StatusOr<std::unique_ptr<ByteSource>> index = OpenFileBytes(absl::StrCat(folder, "/", kIndex));
  if (!index.ok() && !absl::IsNotFound(index.status())) return index.status();
  absl::StatusOr<Tensors> tensors =
      index.ok() ? LoadShards(folder, **index, copies, memory) : Read(folder, kSingle, copies, memory);
  if (!tensors.ok()) return tensors.status();
  return TensorFile(*std::move(tensors));
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
