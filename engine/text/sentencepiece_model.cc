#include "engine/text/sentencepiece_model.h"

#include <cstring>

namespace salient {
namespace {

// One field of a protobuf message: a varint or fixed number in `number`, or the bytes of a string or message.
struct Field {
  uint32_t id = 0;
  uint64_t number = 0;
  std::string_view bytes;
};

// Reads a message field by field. Next returns false both at the end and at malformed data; ok() is false only for the
// latter.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }

  bool Next(Field& field) {
    if (rest_.empty()) return false;
    uint64_t key = 0;
    if (!Varint(key)) return Fail();
    field = {.id = static_cast<uint32_t>(key >> 3)};
    if (field.id == 0 || key > UINT32_MAX) return Fail();
    switch (key & 7) {
      case 0:
        return Varint(field.number) || Fail();
      case 1:
        return Fixed(8, field) || Fail();
      case 2: {
        uint64_t size = 0;
        if (!Varint(size) || size > rest_.size()) return Fail();
        field.bytes = Take(size);
        return true;
      }
      case 5:
        return Fixed(4, field) || Fail();
      default:
        return Fail();
    }
  }

 private:
  bool Fail() {
    ok_ = false;
    return false;
  }

  std::string_view Take(size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  bool Varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return false;
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  // Little endian.
  bool Fixed(size_t size, Field& field) {
    if (rest_.size() < size) return false;
    const std::string_view bytes = Take(size);
    for (size_t i = size; i-- > 0;) field.number = field.number << 8 | static_cast<unsigned char>(bytes[i]);
    return true;
  }

  std::string_view rest_;
  bool ok_ = true;
};

float AsFloat(uint64_t number) {
  const auto bits = static_cast<uint32_t>(number);
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

bool ReadPiece(std::string_view bytes, ModelPiece& piece) {
  FieldReader reader(bytes);
  Field field;
  while (reader.Next(field)) {
    if (field.id == 1) piece.text = std::string(field.bytes);
    if (field.id == 2) piece.score = AsFloat(field.number);
    if (field.id == 3) {
      if (field.number < 1 || field.number > 6) return false;
      piece.type = static_cast<PieceType>(field.number);
    }
  }
  return reader.ok();
}

bool ReadTrainerSpec(std::string_view bytes, SentencePieceModel& model) {
  FieldReader reader(bytes);
  Field field;
  while (reader.Next(field)) {
    switch (field.id) {
      case 3:
        model.kind = static_cast<int32_t>(field.number);
        break;
      case 24:
        model.whitespace_as_suffix = field.number != 0;
        break;
      case 35:
        model.byte_fallback = field.number != 0;
        break;
      case 44:
        model.unknown_surface = std::string(field.bytes);
        break;
      case 46:
        model.begin_piece = std::string(field.bytes);
        break;
      case 47:
        model.end_piece = std::string(field.bytes);
        break;
      case 48:
        model.pad_piece = std::string(field.bytes);
        break;
      default:
        break;
    }
  }
  return reader.ok();
}

bool ReadNormalizerSpec(std::string_view bytes, NormalizerSpec& spec) {
  FieldReader reader(bytes);
  Field field;
  while (reader.Next(field)) {
    if (field.id == 2) spec.charsmap = std::string(field.bytes);
    if (field.id == 3) spec.add_dummy_prefix = field.number != 0;
    if (field.id == 4) spec.remove_extra_whitespaces = field.number != 0;
    if (field.id == 5) spec.escape_whitespaces = field.number != 0;
  }
  return reader.ok();
}

void PutVarint(uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

void PutNumber(uint32_t id, uint64_t number, std::string& bytes) {
  PutVarint(id << 3, bytes);
  PutVarint(number, bytes);
}

void PutBytes(uint32_t id, std::string_view value, std::string& bytes) {
  PutVarint(id << 3 | 2, bytes);
  PutVarint(value.size(), bytes);
  bytes += value;
}

void PutFloat(uint32_t id, float value, std::string& bytes) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  PutVarint(id << 3 | 5, bytes);
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift);
}

std::string Written(const NormalizerSpec& spec) {
  std::string bytes;
  if (!spec.charsmap.empty()) PutBytes(2, spec.charsmap, bytes);
  PutNumber(3, spec.add_dummy_prefix, bytes);
  PutNumber(4, spec.remove_extra_whitespaces, bytes);
  PutNumber(5, spec.escape_whitespaces, bytes);
  return bytes;
}

}  // namespace

bool ReadSentencePieceModel(std::string_view bytes, SentencePieceModel& model) {
  FieldReader reader(bytes);
  Field field;
  bool good = true;
  while (good && reader.Next(field)) {
    if (field.id == 1) {
      good =
          model.pieces.size() < SentencePieceModel::kMaxPieces && ReadPiece(field.bytes, model.pieces.emplace_back());
    }
    if (field.id == 2) good = ReadTrainerSpec(field.bytes, model);
    if (field.id == 3) good = ReadNormalizerSpec(field.bytes, model.normalizer);
    if (field.id == 5) {
      if (!model.denormalizer.has_value()) model.denormalizer.emplace();
      good = ReadNormalizerSpec(field.bytes, *model.denormalizer);
    }
  }
  return good && reader.ok();
}

std::string WriteSentencePieceModel(const SentencePieceModel& model) {
  std::string bytes, part;
  for (const ModelPiece& piece : model.pieces) {
    part.clear();
    PutBytes(1, piece.text, part);
    PutFloat(2, piece.score, part);
    PutNumber(3, static_cast<uint64_t>(piece.type), part);
    PutBytes(1, part, bytes);
  }
  part.clear();
  PutNumber(3, static_cast<uint64_t>(model.kind), part);
  PutNumber(24, model.whitespace_as_suffix, part);
  PutNumber(35, model.byte_fallback, part);
  if (model.unknown_surface.has_value()) PutBytes(44, *model.unknown_surface, part);
  PutBytes(2, part, bytes);
  PutBytes(3, Written(model.normalizer), bytes);
  if (model.denormalizer.has_value()) PutBytes(5, Written(*model.denormalizer), bytes);
  return bytes;
}

}  // namespace salient
