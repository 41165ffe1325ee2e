#include "documents/string_unit.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "documents/unit_builder.h"
#include "engine/base/utf8.h"

namespace salient {

bool MakeStringUnit(std::string_view value, ByteRange place, const std::vector<std::string>& keep_terms,
                    std::function<std::string(const std::string&)> encode, PlacedUnit* unit) {
  if (FirstInvalidText(value).has_value()) return false;  // an escaped NUL
  UnitBuilder builder(value, {{keep_terms, /*tags=*/true}, /*collapse_space=*/false, /*leave_out_ends=*/false});
  builder.AddText({0, value.size()});
  if (!builder.Finish(unit)) return false;
  unit->unit.has_lines = value.find('\n') != std::string_view::npos;
  unit->place = place;
  unit->markers.assign(unit->markers.size(), {place.begin, place.begin});  // they are written from their values
  unit->write = [encode = std::move(encode)](const Unit& source, const MarkedText& translation,
                                             const std::vector<std::string>&) {
    return encode(Flatten(source.markers, translation));
  };
  return true;
}

bool LooksLikeCode(std::string_view value) {
  bool digit = false, letter = false;
  for (size_t i = 0; i < value.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(value[i]);
    if (absl::ascii_isspace(c) || c >= 0x80) return false;
    digit = digit || absl::ascii_isdigit(c);
    letter = letter || absl::ascii_isalpha(c);
  }
  for (size_t i = 0; i < value.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(value[i]);
    if (std::string_view("_/\\=@#<>{}[]|$").find(value[i]) != std::string_view::npos) return true;
    const bool inside = i > 0 && i + 1 < value.size();
    if (inside && (c == '.' || c == ':')) return true;
    if (inside && absl::ascii_isupper(c) && absl::ascii_islower(static_cast<unsigned char>(value[i - 1]))) return true;
  }
  return digit && letter;
}

}  // namespace salient
