// Messages of gettext. Only messages without a translation get one; those that are translated, fuzzy or obsolete stay.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "documents/formats/parsers.h"
#include "documents/po_entries.h"
#include "documents/string_unit.h"

namespace salient {
namespace {

std::string Quote(const std::string& value) {
  std::string quoted;
  bool several = false;
  for (size_t i = 0; i < value.size(); ++i) {
    switch (value[i]) {
      case '\n':
        quoted.append("\\n");
        break;
      case '\t':
        quoted.append("\\t");
        break;
      case '\r':
        quoted.append("\\r");
        break;
      case '"':
        quoted.append("\\\"");
        break;
      case '\\':
        quoted.append("\\\\");
        break;
      default:
        quoted.push_back(value[i]);
    }
    if (value[i] != '\n' || i + 1 == value.size()) continue;
    quoted.append("\"\n\"");
    several = true;
  }
  return absl::StrCat(several ? "\"\"\n" : "", "\"", quoted, "\"");
}

class PoReader {
 public:
  PoReader(std::string_view bytes, const ParseOptions& options) : bytes_(bytes), options_(options) {}

  ParsedDocument Read(const std::vector<PoEntry>& entries) {
    for (const PoEntry& entry : entries) {
      if (entry.id.value.empty()) {
        if (!entry.translations.empty()) SetLanguage(entry.translations[0]);
        continue;
      }
      for (size_t i = 0; i < entry.translations.size(); ++i) {
        const bool plural = i > 0 && entry.plural.is_there();
        if (entry.translations[i].value.empty()) AddUnit(plural ? entry.plural : entry.id, entry.translations[i]);
      }
    }
    return MakePatchedDocument(PatchedText(std::string(bytes_), std::move(units_), std::move(edits_)), options_.limits);
  }

 private:
  void AddUnit(const PoString& source, const PoString& target) {
    PlacedUnit unit;
    const std::string same(bytes_.substr(source.range.begin, source.range.end - source.range.begin));
    const auto encode = [same, value = source.value](const std::string& translation) {
      return translation == value ? same : Quote(translation);
    };
    if (!MakeStringUnit(source.value, target.range, options_.keep_terms, encode, &unit)) return;
    unit.always = true;
    units_.push_back(std::move(unit));
  }

  // Sets the field Language, which is one of the lines in the header's string.
  void SetLanguage(const PoString& header) {
    constexpr std::string_view kField = "\"Language:";
    const size_t field = bytes_.substr(0, header.range.end).find(kField, header.range.begin);
    if (options_.target_language.empty() || field == std::string_view::npos) return;
    const size_t begin = field + kField.size(), end = bytes_.find_first_of("\\\"", begin);
    if (end == std::string_view::npos || end > header.range.end) return;
    std::string language = options_.target_language;
    for (char& c : language) c = c == '-' ? '_' : c;
    const std::string quoted = Quote(language);
    edits_.push_back({{begin, end}, absl::StrCat(" ", quoted.substr(1, quoted.size() - 2))});
  }

  const std::string_view bytes_;
  const ParseOptions& options_;
  std::vector<PlacedUnit> units_;
  std::vector<Edit> edits_;
};

}  // namespace

ParsedDocument ParsePo(std::string_view bytes, const ParseOptions& options) {
  const absl::StatusOr<std::vector<PoEntry>> entries = ReadPoEntries(bytes, options.limits);
  if (!entries.ok()) return entries.status();
  return PoReader(bytes, options).Read(*entries);
}

}  // namespace salient
