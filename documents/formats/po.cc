// Messages of gettext. Only messages without a translation get one; those that are translated, fuzzy or obsolete stay.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "documents/ascii.h"
#include "documents/formats/parsers.h"
#include "documents/language.h"
#include "documents/syntax/po_entries.h"
#include "documents/units/accelerator.h"
#include "documents/units/string_unit.h"

namespace salient {
namespace {

// Each line of the value in a line of its own.
std::string Quote(const std::string& value, const std::string& line_break) {
  std::string quoted;
  bool several = false;
  for (size_t i = 0; i < value.size(); ++i) {
    if (const size_t escape = kPoMeanings.find(value[i]); escape != std::string_view::npos) {
      quoted.append({'\\', kPoEscapes[escape]});
    } else {
      quoted.push_back(value[i]);
    }
    if (value[i] != '\n' || i + 1 == value.size()) continue;
    absl::StrAppend(&quoted, "\"", line_break, "\"");
    several = true;
  }
  return absl::StrCat(several ? "\"\"" + line_break : "", "\"", quoted, "\"");
}

// Whether GNOME or KDE shows the names of the translators in place of the message. Without a translation none are
// shown.
bool AsksForTranslators(const PoEntry& entry) {
  return IsOneOf(entry.id.value, {"translator-credits", "translator_credits"}) ||
         IsOneOf(entry.context.value, {"NAME OF TRANSLATORS", "EMAIL OF TRANSLATORS"});
}

// Whether the header says that the language has one form for all numbers, or does not say how many it has.
bool HasOneForm(std::string header) {
  constexpr std::string_view kForms = "nplurals=";
  std::erase(header, ' ');
  const size_t at = header.find(kForms);
  if (at == std::string::npos) return true;
  const std::string number = header.substr(at + kForms.size());
  const size_t digits = std::min(number.find_first_not_of("0123456789"), number.size());
  return digits == 0 || number.substr(0, digits) == "1";
}

class PoReader {
 public:
  PoReader(std::string_view bytes, const ParseOptions& options)
      : bytes_(bytes),
        options_(options),
        keep_terms_(options.keep_terms),
        line_break_(bytes.substr(0, bytes.find('\n') + 1).ends_with("\r\n") ? "\r\n" : "\n") {}

  ParsedDocument Read(const std::vector<PoEntry>& entries) {
    mark_ = AcceleratorMark(entries);
    for (const PoEntry& entry : entries) {
      if (HasTooManyUnits(units_.size(), options_.limits)) break;
      if (entry.id.value.empty()) {
        if (entry.translations.empty()) continue;
        SetHeader(entry.translations[0]);
        has_one_form_ = has_one_form_ && HasOneForm(entry.translations[0].value);
        continue;
      }
      if (entry.fuzzy || AsksForTranslators(entry)) continue;
      for (size_t i = 0; i < entry.translations.size(); ++i) {
        // The only form of a language stands for all numbers.
        const bool plural = entry.plural.is_there() && (i > 0 || (entry.translations.size() == 1 && has_one_form_));
        if (entry.translations[i].value.empty()) AddUnit(plural ? entry.plural : entry.id, entry.translations[i]);
      }
    }
    return MakePatchedDocument(PatchedText(std::string(bytes_), std::move(units_), std::move(edits_)), options_.limits);
  }

 private:
  void AddUnit(const PoString& source, const PoString& target) {
    PlacedUnit unit;
    const std::string same(bytes_.substr(source.range.begin, source.range.end - source.range.begin));
    const std::optional<Accelerator> accelerator = FindAccelerator(source.value, mark_);
    const std::string& text = accelerator.has_value() ? accelerator->text : source.value;
    const auto encode = [same, text, accelerator, line_break = line_break_](const std::string& translation) {
      const std::string marked = accelerator.has_value() ? WithAccelerator(translation, *accelerator) : translation;
      return translation == text ? same : Quote(marked, line_break);
    };
    if (!MakeStringUnit(text, target.range, keep_terms_, encode, &unit, options_.source_language)) return;
    unit.always = true;
    units_.push_back(std::move(unit));
  }

  // Sets the language and the character set in the header's string. A region of the same language stays.
  void SetHeader(const PoString& header) {
    std::string language = options_.target_language;
    for (char& c : language) c = c == '-' ? '_' : c;
    const std::string quoted = Quote(language, line_break_);
    const std::optional<ByteRange> old_language = FindInHeader(header, "\"Language:", "\\\"");
    if (!language.empty() && old_language.has_value() && PrimaryLanguage(Trimmed(*old_language)) != language) {
      edits_.push_back({*old_language, absl::StrCat(" ", quoted.substr(1, quoted.size() - 2))});
    }
    const std::optional<ByteRange> charset = FindInHeader(header, "charset=", "\\\"; ");
    if (charset.has_value() && !absl::EqualsIgnoreCase(Trimmed(*charset), "UTF-8")) {
      edits_.push_back({*charset, "UTF-8"});
    }
  }

  // What is behind `key` in the header's string, up to one of `ends`.
  std::optional<ByteRange> FindInHeader(const PoString& header, std::string_view key, std::string_view ends) const {
    const std::string_view text = bytes_.substr(0, header.range.end);
    const size_t at = text.find(key, header.range.begin);
    if (at == std::string_view::npos) return std::nullopt;
    const size_t begin = at + key.size(), end = text.find_first_of(ends, begin);
    if (end == std::string_view::npos) return std::nullopt;
    return ByteRange{begin, end};
  }

  std::string Trimmed(ByteRange range) const {
    std::string text(bytes_.substr(range.begin, range.end - range.begin));
    absl::StripAsciiWhitespace(&text);
    return text;
  }

  const std::string_view bytes_;
  const ParseOptions& options_;
  const KeptTerms keep_terms_;
  const std::string line_break_;
  bool has_one_form_ = true;
  std::optional<char> mark_;  // of accelerators, as the header declares it
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
