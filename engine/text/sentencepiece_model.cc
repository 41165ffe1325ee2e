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

// Reads a message field by field. Next is false at the end and at anything malformed, which ok() tells apart.
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
        model.model_type = static_cast<int>(field.number);
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
      case 45:
        model.unknown_piece = std::string(field.bytes);
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

bool ReadNormalizerSpec(std::string_view bytes, SentencePieceModel& model) {
  FieldReader reader(bytes);
  Field field;
  while (reader.Next(field)) {
    if (field.id == 2) model.charsmap = std::string(field.bytes);
    if (field.id == 3) model.add_dummy_prefix = field.number != 0;
    if (field.id == 4) model.remove_extra_whitespaces = field.number != 0;
    if (field.id == 5) model.escape_whitespaces = field.number != 0;
  }
  return reader.ok();
}

}  // namespace

bool ReadSentencePieceModel(std::string_view bytes, SentencePieceModel& model) {
  FieldReader reader(bytes);
  Field field;
  bool good = true;
  while (good && reader.Next(field)) {
    if (field.id == 1) good = ReadPiece(field.bytes, model.pieces.emplace_back());
    if (field.id == 2) good = ReadTrainerSpec(field.bytes, model);
    if (field.id == 3) good = ReadNormalizerSpec(field.bytes, model);
  }
  return good && reader.ok();
}

}  // namespace salient
