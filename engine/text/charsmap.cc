#include "engine/text/charsmap.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

constexpr size_t kMaxCharsmapBytes = 4 << 20;  // NFKC with case folding has 0.24 MB
constexpr int kMaxRuleBytes = 512;
constexpr int kMaxMatches = 32;  // the library's array
// NFKC's longest replacement has 33 bytes. The limit keeps one character from becoming megabytes.
constexpr size_t kMaxReplacementBytes = 64;

// The fields of a unit of the double array.
bool HasLeaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t Value(uint32_t unit) { return unit & 0x7FFFFFFF; }
uint32_t Label(uint32_t unit) { return unit & (0x80000000 | 0xFF); }
uint32_t Offset(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

uint32_t ReadUnit(std::string_view bytes) {
  uint32_t unit = 0;
  for (int i = 3; i >= 0; --i) unit = unit << 8 | static_cast<unsigned char>(bytes[i]);
  return unit;
}

// What can follow after a node of the trie.
struct Below {
  int bytes = 0;
  int matches = 0;
  bool known = false, on_path = false;
};

class Checker {
 public:
  Checker(std::vector<uint32_t> units, std::string_view replacements)
      : units_(std::move(units)), replacements_(replacements), below_(units_.size()) {}

  std::string Check() {
    // From unit p the library reads p ^ offset ^ byte for any byte, so all 256 places must exist.
    for (size_t p = 0; p < units_.size(); ++p) {
      if ((p == 0 || Label(units_[p]) <= 0xFF) && ((p ^ Offset(units_[p])) | 0xFF) >= units_.size()) {
        return "its trie refers to units that it does not have";
      }
    }
    Visit(0, 0);
    return why_;
  }

 private:
  // Checks the trie below unit `p`, which is reached by `depth` bytes. Every unit is visited once.
  const Below& Visit(uint32_t p, int depth) {
    Below& below = below_[p];
    if (below.known || !why_.empty()) return below;
    if (below.on_path || depth > kMaxRuleBytes) {
      why_ = absl::StrCat("its trie has rules of more than ", kMaxRuleBytes, " bytes");
      return below;
    }
    below.on_path = true;
    const uint32_t base = p ^ Offset(units_[p]);
    Below found;
    if (p != 0 && HasLeaf(units_[p])) {
      CheckReplacement(Value(units_[base]));
      found.matches = 1;
    }
    int most_matches = 0;
    for (uint32_t byte = 0; byte <= 0xFF; ++byte) {
      if (Label(units_[base ^ byte]) != byte) continue;
      const Below& child = Visit(base ^ byte, depth + 1);
      if (!why_.empty()) return below;
      found.bytes = std::max(found.bytes, child.bytes + 1);
      most_matches = std::max(most_matches, child.matches);
    }
    found.matches += most_matches;
    found.known = true;
    below = found;
    if (depth + found.bytes > kMaxRuleBytes) {
      why_ = absl::StrCat("its trie has rules of more than ", kMaxRuleBytes, " bytes");
    } else if (found.matches > kMaxMatches) {
      why_ = absl::StrCat("more than ", kMaxMatches, " of its rules begin with one another");
    }
    return below;
  }

  void CheckReplacement(uint32_t offset) {
    if (offset >= replacements_.size()) {
      why_ = "its trie refers to replacements that it does not have";
      return;
    }
    const std::string_view rest = replacements_.substr(offset, kMaxReplacementBytes + 1);
    const size_t size = rest.find('\0');
    if (size == std::string_view::npos) {
      why_ = absl::StrCat("it has a replacement of more than ", kMaxReplacementBytes, " bytes");
    } else if (FirstInvalidUtf8(rest.substr(0, size)).has_value()) {
      why_ = "it has a replacement that is not UTF-8";
    }
  }

  const std::vector<uint32_t> units_;
  const std::string_view replacements_;
  std::vector<Below> below_;
  std::string why_;
};

}  // namespace

std::string CheckCharsmap(std::string_view charsmap) {
  if (charsmap.size() > kMaxCharsmapBytes) return absl::StrCat("it has more than ", kMaxCharsmapBytes, " bytes");
  if (charsmap.size() < 4) return "it has no trie";
  const uint32_t size = ReadUnit(charsmap);
  charsmap.remove_prefix(4);
  if (size == 0 || size % 4 != 0 || size >= charsmap.size()) return "its trie is cut off";
  if (charsmap.back() != '\0') return "its last replacement has no end";
  std::vector<uint32_t> units;
  units.reserve(size / 4);
  for (uint32_t i = 0; i < size; i += 4) units.push_back(ReadUnit(charsmap.substr(i, 4)));
  return Checker(std::move(units), charsmap.substr(size)).Check();
}

}  // namespace salient
