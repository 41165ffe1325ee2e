// YAML: values that are strings are translated. These are not: keys, numbers and the like, identifiers, strings with a
// tag of their own (`!Ref x`), aliases and comments.
//
// libyaml finds the scalars. A changed scalar is written in its old style, or in double quotes if that style cannot
// represent it.

#include <unicode/utf8.h>
#include <yaml.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "documents/characters.h"
#include "documents/formats/parsers.h"
#include "documents/input.h"
#include "documents/units/string_unit.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

bool IsMadeOf(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

// Whether YAML 1.1 or 1.2 reads the value (in lower case) as a number or a time, or might do so: "0xff", "1_000.5e-3",
// "2026-11-27t07:30:00z".
bool IsNumberOrTime(std::string_view value) {
  if (value.find_first_of("0123456789") == std::string_view::npos) return false;
  if (value.starts_with('+') || value.starts_with('-')) value.remove_prefix(1);
  if (value.starts_with("0x")) return IsMadeOf(value.substr(2), "0123456789abcdef_");
  if (value.starts_with("0o") || value.starts_with("0b")) return IsMadeOf(value.substr(2), "01234567_");
  if (const size_t exponent = value.find('e'); exponent != std::string_view::npos) {
    return IsMadeOf(value.substr(0, exponent), "0123456789._") && IsMadeOf(value.substr(exponent + 1), "0123456789+-");
  }
  if (value.ends_with('z')) value.remove_suffix(1);
  const size_t date = std::min(value.find('t'), value.size());
  return IsMadeOf(value.substr(0, date), "0123456789.+-_: ") &&
         (date == value.size() || IsMadeOf(value.substr(date + 1), "0123456789.+-: "));
}

// Whether YAML 1.1 or 1.2 reads the value as something other than a string.
bool IsOtherThanString(std::string_view value) {
  const std::string lower = absl::AsciiStrToLower(std::string(value));
  for (const char* word :
       {"", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", ".inf", "+.inf", "-.inf", ".nan"}) {
    if (lower == word) return true;
  }
  return IsNumberOrTime(lower);
}

// Bytes of the character at the front of `text` (UTF-8) if only double quotes can represent it, as an escape: a control
// character, a line separator or a byte order mark. Otherwise 0. Tabs and line feeds are not among them.
size_t EscapedCharacter(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first == 0x7f || (first < 0x20 && first != '\t' && first != '\n')) return 1;
  if (first == 0xc2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xa0) return 2;
  for (const std::string_view other : {"\u2028", "\u2029", "\ufeff"}) {
    if (text.starts_with(other)) return other.size();
  }
  return 0;
}

bool HasEscapedCharacter(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (EscapedCharacter(text.substr(at)) > 0) return true;
  }
  return false;
}

// Bytes of the white space at the front of `text`; 0: there is none. YAML 1.1 has line breaks beyond ASCII.
size_t SpaceAtFront(std::string_view text) {
  for (const std::string_view space : {" ", "\t", "\r", "\n", "\u0085", "\u2028", "\u2029"}) {
    if (text.starts_with(space)) return space.size();
  }
  return 0;
}

std::string DoubleQuoted(const std::string& value) {
  std::string out = "\"";
  for (size_t at = 0; at < value.size(); ++at) {
    if (const size_t bytes = EscapedCharacter(std::string_view(value).substr(at)); bytes > 0) {
      UChar32 character;
      U8_GET_UNSAFE(value.data(), at, character);
      absl::StrAppend(&out, "\\u", absl::Hex(character, absl::kZeroPad4));
      at += bytes - 1;
      continue;
    }
    switch (const char c = value[at]) {
      case '"':
        out.append("\\\"");
        break;
      case '\\':
        out.append("\\\\");
        break;
      case '\n':
        out.append("\\n");
        break;
      case '\t':
        out.append("\\t");
        break;
      default:
        out.push_back(c);
    }
  }
  return out + "\"";
}

std::string SingleQuoted(const std::string& value) {
  if (value.find_first_of("\n\t") != std::string::npos || HasEscapedCharacter(value)) return DoubleQuoted(value);
  std::string out = "'";
  for (const char c : value) out.append(c == '\'' ? "''" : std::string(1, c));
  return out + "'";
}

std::string Plain(const std::string& value, bool in_flow) {
  const bool hard = value.empty() || IsOtherThanString(value) || value.find_first_of("\n\t") != std::string::npos ||
                    HasEscapedCharacter(value) ||
                    std::string_view("-?:,[]{}#&*!|>'\"%@` ").find(value[0]) != std::string_view::npos ||
                    value.back() == ' ' || value.back() == ':' || absl::StrContains(value, ": ") ||
                    absl::StrContains(value, " #") || (in_flow && value.find_first_of(",[]{}") != std::string::npos);
  return hard ? DoubleQuoted(value) : value;
}

// Writes a scalar after "|" or ">": header and end stay, and the lines between get their old indentation. What these
// styles cannot represent gets double quotes.
struct BlockWriter {
  std::string header, indent, end;
  bool folded = false;
  bool on_own_line = false;  // the header, which may then stand where quotes may not: not indented

  static bool BeginsWithBlank(const std::string& line) { return line[0] == ' ' || line[0] == '\t'; }

  std::string operator()(const std::string& value) const {
    if (HasEscapedCharacter(value)) return (on_own_line ? indent : "") + DoubleQuoted(value) + end;
    const std::vector<std::string> lines = absl::StrSplit(value.substr(0, value.find_last_not_of('\n') + 1), '\n');
    const std::string_view line_break = header.ends_with("\r\n") ? "\r\n" : "\n";
    std::string out = header;
    const std::string* last = nullptr;  // the last line that is not empty
    size_t breaks = 0;                  // line breaks since then
    for (const std::string& line : lines) {
      if (!line.empty()) {
        // In folded text one line break becomes a space, except next to a line that begins with white space.
        const bool folds = folded && last != nullptr && !BeginsWithBlank(*last) && !BeginsWithBlank(line);
        for (size_t i = folds ? 0 : 1; i <= breaks; ++i) out.append(line_break);
        out.append(indent).append(line);
        last = &line;
        breaks = 0;
      }
      ++breaks;
    }
    return out + end;
  }
};

constexpr int kMostTagDirectives = 100;

class YamlReader {
 public:
  YamlReader(std::string_view bytes, const ParseOptions& options)
      : bytes_(bytes), options_(options), keep_terms_(options.keep_terms) {}

  ParsedDocument Read() {
    if (HasTooManyTags()) {
      return absl::InvalidArgumentError(
          absl::StrCat("YAML: has more than ", kMostTagDirectives, " directives %TAG; write out the tags"));
    }
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0)
      return absl::ResourceExhaustedError("YAML: there is no memory to read it");
    const std::unique_ptr<yaml_parser_t, void (*)(yaml_parser_t*)> release(&parser, yaml_parser_delete);
    yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    byte_ = ByteOrderMark(bytes_);
    for (bool done = false; !done;) {
      yaml_event_t event;
      if (yaml_parser_parse(&parser, &event) == 0) {
        return absl::InvalidArgumentError(absl::StrCat("YAML: line ", parser.problem_mark.line + 1, ": ",
                                                       parser.problem == nullptr ? "cannot be read" : parser.problem));
      }
      done = event.type == YAML_STREAM_END_EVENT;
      Take(event);
      done = done || HasTooManyUnits(units_.size(), options_.limits);
      yaml_event_delete(&event);
      if (open_.size() > static_cast<size_t>(options_.limits.max_depth)) {
        return absl::ResourceExhaustedError(absl::StrCat("YAML: lists and mappings lie more than ",
                                                         options_.limits.max_depth,
                                                         " deep in each other; flatten the document"));
      }
    }
    return MakePatchedDocument(PatchedText(std::string(bytes_), std::move(units_), {}), options_.limits);
  }

 private:
  // Libyaml compares every %TAG, and the tag of every node, with all that came before.
  bool HasTooManyTags() const {
    constexpr std::string_view kBefore =
        "\n\r\x85\xA8\xA9\xBF";  // the last bytes of line breaks, and of the mark of UTF-8
    int count = 0;
    for (size_t at = bytes_.find("%TAG"); at != std::string_view::npos; at = bytes_.find("%TAG", at + 1)) {
      if (at == 0 || kBefore.find(bytes_[at - 1]) != std::string_view::npos) ++count;
    }
    return count > kMostTagDirectives;
  }

  struct Collection {
    bool is_mapping = false, in_flow = false, key_next = false;
  };

  // Byte offset of a character: libyaml counts characters. Events come in order, so the search continues from the last
  // one.
  size_t ByteOf(size_t character) {
    if (character < character_) {
      character_ = 0;
      byte_ = ByteOrderMark(bytes_);
    }
    while (character_ < character && byte_ < bytes_.size()) {
      ++byte_;
      while (byte_ < bytes_.size() && ContinuesCharacter(bytes_[byte_])) ++byte_;
      ++character_;
    }
    return byte_;
  }

  void Take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_MAPPING_START_EVENT:
        PassNode();
        open_.push_back({true, event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE, true});
        break;
      case YAML_SEQUENCE_START_EVENT:
        PassNode();
        open_.push_back({false, event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE, false});
        break;
      case YAML_MAPPING_END_EVENT:
      case YAML_SEQUENCE_END_EVENT:
        if (!open_.empty()) open_.pop_back();
        break;
      case YAML_ALIAS_EVENT:
        PassNode();
        break;
      case YAML_SCALAR_EVENT: {
        const size_t begin = ByteOf(event.start_mark.index);
        if (!PassNode()) TakeScalar(event, {begin, ByteOf(event.end_mark.index)});
        break;
      }
      default:
        break;
    }
  }

  // Updates the mapping that contains a node. Returns true if the node is a key.
  bool PassNode() {
    if (open_.empty() || !open_.back().is_mapping) return false;
    const bool is_key = open_.back().key_next;
    open_.back().key_next = !is_key;
    return is_key;
  }

  bool InFlow() const {
    for (const Collection& collection : open_) {
      if (collection.in_flow) return true;
    }
    return false;
  }

  void TakeScalar(const yaml_event_t& event, ByteRange range) {
    const auto& scalar = event.data.scalar;
    const std::string value(reinterpret_cast<const char*>(scalar.value), scalar.length);
    if (scalar.tag != nullptr || value.empty()) return;
    if (scalar.anchor != nullptr) {
      range.begin += 1 + std::strlen(reinterpret_cast<const char*>(scalar.anchor));
      const size_t text = TextAfter(range.begin);
      if (text == range.begin || text >= range.end) return;  // "&a:b" is the anchor a of ":b"
      range.begin = text;
    }
    std::function<std::string(const std::string&)> encode;
    switch (scalar.style) {
      case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
        encode = DoubleQuoted;
        break;
      case YAML_SINGLE_QUOTED_SCALAR_STYLE:
        encode = SingleQuoted;
        break;
      case YAML_LITERAL_SCALAR_STYLE:
      case YAML_FOLDED_SCALAR_STYLE: {
        BlockWriter writer;
        writer.folded = scalar.style == YAML_FOLDED_SCALAR_STYLE;
        if (!ReadBlock(range, value, &writer)) return;
        encode = writer;
        break;
      }
      default:
        if (IsOtherThanString(value) || TabsFollow(range.end)) return;
        encode = [in_flow = InFlow()](const std::string& text) { return Plain(text, in_flow); };
    }
    PlacedUnit unit;
    if (LooksLikeCode(value) || !MakeStringUnit(value, range, keep_terms_, encode, &unit, options_.source_language)) {
      return;
    }
    units_.push_back(std::move(unit));
  }

  // Where what comes after a place begins, beyond white space and comments.
  size_t TextAfter(size_t at) const {
    for (size_t space = 1; at < bytes_.size() && space > 0; at += space) {
      space = SpaceAtFront(bytes_.substr(at));
      if (bytes_[at] == '#') space = std::min(bytes_.find('\n', at), bytes_.size()) - at;
    }
    return at;
  }

  // Whether a tab begins one of the empty lines after a plain scalar. They are read as a part of it; after quotes the
  // same tab is an error.
  bool TabsFollow(size_t at) const {
    bool line = false;
    for (size_t space = 1; space > 0; at += space) {
      space = SpaceAtFront(bytes_.substr(at));
      if (line && space > 0 && bytes_[at] == '\t') return true;
      line = line || (space > 0 && bytes_[at] != ' ' && bytes_[at] != '\t');
    }
    return false;
  }

  // False if the block cannot be written in its style.
  bool ReadBlock(ByteRange range, const std::string& value, BlockWriter* writer) const {
    const std::string_view raw = bytes_.substr(range.begin, range.end - range.begin);
    const size_t header_end = raw.find('\n');
    if (header_end == std::string_view::npos) return false;
    const size_t first = raw.find_first_not_of(" \n\r", header_end);
    const size_t last = raw.find_last_not_of(" \n\r\t");
    if (first == std::string_view::npos || last < first) return false;
    const size_t line = raw.rfind('\n', first) + 1;
    // If the header gives the indentation as a number ("|2"), the text may begin with spaces of its own.
    const size_t text = value.find_first_not_of(" \n");
    const size_t spaces = text == std::string::npos ? 0 : text - (value.rfind('\n', text) + 1);
    if (spaces > first - line) return false;
    const std::string_view before = bytes_.substr(0, range.begin);
    writer->on_own_line = IsBlank(before.substr(before.find_last_of("\r\n") + 1));
    writer->header = raw.substr(0, header_end + 1);
    writer->indent = raw.substr(line, first - line - spaces);
    writer->end = raw.substr(std::min(raw.find_first_of("\r\n", last), raw.size()));
    // A line break beyond ASCII, such as U+2028, may end the block; it is not kept.
    if (writer->end.empty() && range.end < bytes_.size()) return false;
    return !writer->indent.empty() || open_.empty();
  }

  const std::string_view bytes_;
  const ParseOptions& options_;
  const KeptTerms keep_terms_;
  size_t character_ = 0, byte_ = 0;  // the same place, in characters and in bytes
  std::vector<Collection> open_;
  std::vector<PlacedUnit> units_;
};

}  // namespace

ParsedDocument ParseYaml(std::string_view bytes, const ParseOptions& options) {
  if (absl::Status status = CheckText(bytes, "YAML", options.limits); !status.ok()) return status;
  return YamlReader(bytes, options).Read();
}

}  // namespace salient
