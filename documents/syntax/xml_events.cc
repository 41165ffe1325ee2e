#include "documents/syntax/xml_events.h"

#include <expat.h>

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "documents/ascii.h"
#include "documents/input.h"
#include "documents/syntax/character_references.h"

namespace salient {
namespace {

// Expat looks at all declarations of an element's attributes wherever the element stands.
constexpr int kMostDeclaredAttributes = 100;
constexpr std::string_view kPieceBegin = "<piece>", kPieceEnd = "</piece>";  // around a piece, for Expat

// What expat calls, and what it has told so far.
class EventReader {
 public:
  EventReader(std::string_view bytes, std::string_view what, const DocumentLimits& limits, bool is_piece)
      : bytes_(bytes),
        what_(what),
        limits_(limits),
        is_piece_(is_piece),
        piece_begin_(is_piece ? ByteOrderMark(bytes) : 0),
        parser_(XML_ParserCreate("UTF-8")) {
    XML_Parser parser = parser_.get();
    XML_SetUserData(parser, this);
    XML_SetElementHandler(
        parser, [](void* self, const char* name, const char**) { static_cast<EventReader*>(self)->OnStart(name); },
        [](void* self, const char* name) { static_cast<EventReader*>(self)->OnEnd(name); });
    XML_SetCharacterDataHandler(parser, [](void* self, const char* text, int length) {
      static_cast<EventReader*>(self)->OnText({text, static_cast<size_t>(length)});
    });
    XML_SetCdataSectionHandler(
        parser, [](void* self) { static_cast<EventReader*>(self)->OnCdata(true); },
        [](void* self) { static_cast<EventReader*>(self)->OnCdata(false); });
    XML_SetEntityDeclHandler(parser, [](void* self, const char* name, int, const char*, int, const char*, const char*,
                                        const char*, const char*) { static_cast<EventReader*>(self)->OnEntity(name); });
    XML_SetAttlistDeclHandler(parser, [](void* self, const char*, const char*, const char*, const char*, int) {
      static_cast<EventReader*>(self)->OnDeclaredAttribute();
    });
    XML_SetXmlDeclHandler(parser, [](void* self, const char*, const char* encoding, int) {
      static_cast<EventReader*>(self)->OnDeclaration(encoding);
    });
    XML_SetDefaultHandler(parser, [](void* self, const char*, int) { static_cast<EventReader*>(self)->OnOther(); });
  }

  absl::StatusOr<std::vector<XmlEvent>> Read() {
    bool parsed = !is_piece_ || Parse(kPieceBegin, /*is_last=*/false);
    parsed = parsed && Parse(bytes_.substr(piece_begin_), /*is_last=*/!is_piece_);
    if (is_piece_) parsed = parsed && Parse(kPieceEnd, /*is_last=*/true);
    if (!refusal_.ok()) return refusal_;
    if (!parsed) {
      return absl::InvalidArgumentError(
          absl::StrCat(what_, ": line ", XML_GetCurrentLineNumber(parser_.get()),
                       " is not well-formed XML: ", XML_ErrorString(XML_GetErrorCode(parser_.get()))));
    }
    return std::move(events_);
  }

 private:
  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };

  bool Parse(std::string_view bytes, bool is_last) {
    return XML_Parse(parser_.get(), bytes.data(), static_cast<int>(bytes.size()), is_last ? XML_TRUE : XML_FALSE) !=
           XML_STATUS_ERROR;
  }

  // In the bytes.
  ByteRange Range() const {
    size_t begin = static_cast<size_t>(XML_GetCurrentByteIndex(parser_.get()));
    if (is_piece_) begin = begin - kPieceBegin.size() + piece_begin_;
    return {begin, begin + static_cast<size_t>(XML_GetCurrentByteCount(parser_.get()))};
  }

  void OnStart(const char* name) {
    if (!refusal_.ok()) return;  // expat may still tell of what it had begun
    if (is_piece_ && !in_piece_) {
      in_piece_ = true;  // the element around it, which has no events
      return;
    }
    if (open_.size() >= static_cast<size_t>(limits_.max_depth)) {
      return Refuse(absl::ResourceExhaustedError(absl::StrCat(what_, ": elements lie more than ", limits_.max_depth,
                                                              " deep in each other; flatten the document")));
    }
    if (!HasRoom()) return;
    open_.push_back(events_.size());
    events_.push_back({XmlEvent::Kind::kStart, Range(), name});
  }

  void OnEnd(const char* name) {
    if (!refusal_.ok() || open_.empty() || !HasRoom()) return;  // none is open: the element around a piece ends
    const size_t start = open_.back();
    open_.pop_back();
    events_[start].match = events_.size();
    events_.push_back({XmlEvent::Kind::kEnd, Range(), name});
    events_.back().match = start;
  }

  void OnText(std::string_view text) {
    const ByteRange range = Range();
    const bool literal = !in_cdata_ && bytes_.substr(range.begin, range.end - range.begin) == text;
    XmlEvent* last = events_.empty() ? nullptr : &events_.back();
    const bool joins = last != nullptr && last->kind == XmlEvent::Kind::kText && last->range.end == range.begin &&
                       (in_cdata_ || (literal && literal_));
    if (joins) {
      last->text.append(text);
      last->range.end = range.end;
      return;
    }
    if (!HasRoom()) return;
    events_.push_back({XmlEvent::Kind::kText, range, "", std::string(text)});
    literal_ = literal;
  }

  // A section is one text that stands for all of its bytes, brackets included.
  void OnCdata(bool begins) {
    in_cdata_ = begins;
    if (begins) {
      if (!HasRoom()) return;
      events_.push_back({XmlEvent::Kind::kText, Range()});
      literal_ = false;
    } else if (!events_.empty()) {
      events_.back().range.end = Range().end;
    }
  }

  void OnOther() {
    if ((in_piece_ || !open_.empty()) && HasRoom()) events_.push_back({XmlEvent::Kind::kOther, Range()});
  }

  void OnEntity(const char* name) {
    Refuse(absl::InvalidArgumentError(
        absl::StrCat(what_, ": declares the entity \"", name, "\"; write out what it stands for and remove it")));
  }

  void OnDeclaredAttribute() {
    if (++declared_attributes_ <= kMostDeclaredAttributes) return;
    Refuse(absl::InvalidArgumentError(absl::StrCat(what_, ": its DOCTYPE declares more than ", kMostDeclaredAttributes,
                                                   " attributes (ATTLIST); remove the declarations")));
  }

  void OnDeclaration(const char* encoding) {
    if (encoding == nullptr || absl::EqualsIgnoreCase(encoding, "utf-8") ||
        absl::EqualsIgnoreCase(encoding, "us-ascii")) {
      return;
    }
    Refuse(absl::InvalidArgumentError(
        absl::StrCat(what_, ": is declared to be in ", encoding, "; convert it to UTF-8, and its declaration")));
  }

  // Whether one more event is allowed; refuses the document if not.
  bool HasRoom() {
    if (events_.size() < static_cast<size_t>(limits_.max_events)) return true;
    Refuse(absl::ResourceExhaustedError(
        absl::StrCat(what_, ": has more than ", limits_.max_events, " tags, texts and comments; split the document")));
    return false;
  }

  void Refuse(absl::Status status) {
    if (refusal_.ok()) refusal_ = std::move(status);
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  const std::string_view bytes_;
  const std::string what_;
  const DocumentLimits limits_;
  const bool is_piece_;
  const size_t piece_begin_;  // behind a byte order mark
  const std::unique_ptr<XML_ParserStruct, Free> parser_;
  std::vector<XmlEvent> events_;
  std::vector<size_t> open_;
  int declared_attributes_ = 0;
  bool in_piece_ = false;
  bool in_cdata_ = false;
  bool literal_ = false;  // the bytes of the last text are the text
  absl::Status refusal_;
};

// A reader takes a bare carriage return for a line feed, and a line break in an attribute for a space.
std::string Escape(std::string_view text, bool quotes) {
  std::string out;
  out.reserve(text.size());
  for (const char c : WithoutForbidden(text)) {
    switch (c) {
      case '&':
        out.append("&amp;");
        break;
      case '<':
        out.append("&lt;");
        break;
      case '>':
        out.append("&gt;");
        break;
      case '\r':
        out.append("&#13;");
        break;
      case '\n':
        out.append(quotes ? "&#10;" : "\n");
        break;
      case '\t':
        out.append(quotes ? "&#9;" : "\t");
        break;
      case '"':
        out.append(quotes ? "&quot;" : "\"");
        break;
      case '\'':
        out.append(quotes ? "&#39;" : "'");
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

// Calls visit(name, range of the value) for each attribute of a start tag, until it returns true.
template <typename Visitor>
void VisitAttributes(std::string_view bytes, ByteRange tag, const Visitor& visit) {
  // The tag is well-formed: name, then attributes with quoted values.
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  size_t at = tag.begin + 1;
  while (at < tag.end && !is_space(bytes[at]) && bytes[at] != '>') ++at;
  while (at < tag.end) {
    while (at < tag.end && is_space(bytes[at])) ++at;
    const size_t begin = at;
    while (at < tag.end && bytes[at] != '=' && !is_space(bytes[at])) ++at;
    const std::string_view name = bytes.substr(begin, at - begin);
    while (at < tag.end && bytes[at] != '"' && bytes[at] != '\'') ++at;
    if (at >= tag.end) break;
    const char quote = bytes[at++];
    const size_t value = at;
    while (at < tag.end && bytes[at] != quote) ++at;
    if (visit(name, ByteRange{value, at})) break;
    ++at;
  }
}

// A reference to a tab or a line break keeps it in an attribute, where a bare one is read as a space.
CharacterReference ReadAttributeReference(std::string_view text, size_t at) {
  constexpr struct {
    std::string_view spelling;
    const char* character;
  } kSpaces[] = {{"&#9;", "\t"}, {"&#10;", "\n"}, {"&#13;", "\r"}, {"&#x9;", "\t"}, {"&#xa;", "\n"}, {"&#xd;", "\r"}};
  for (const auto& space : kSpaces) {
    const std::string spelled(text.substr(at, space.spelling.size()));
    if (absl::AsciiStrToLower(spelled) == space.spelling) return {spelled.size(), space.character};
  }
  return ReadCharacterReference(text, at);
}

}  // namespace

absl::StatusOr<std::vector<XmlEvent>> ParseXml(std::string_view bytes, std::string_view what,
                                               const DocumentLimits& limits) {
  if (absl::Status status = CheckText(bytes, what, limits); !status.ok()) return status;
  return EventReader(bytes, what, limits, /*is_piece=*/false).Read();
}

absl::StatusOr<std::vector<XmlEvent>> ParseXmlPiece(std::string_view bytes, std::string_view what,
                                                    const DocumentLimits& limits) {
  if (absl::Status status = CheckText(bytes, what, limits); !status.ok()) return status;
  return EventReader(bytes, what, limits, /*is_piece=*/true).Read();
}

std::optional<ByteRange> FindAttribute(std::string_view bytes, ByteRange tag, std::string_view name) {
  std::optional<ByteRange> found;
  VisitAttributes(bytes, tag, [&](std::string_view attribute, ByteRange value) {
    if (attribute == name) found = value;
    return found.has_value();
  });
  return found;
}

std::string_view AttributeOf(std::string_view bytes, const XmlEvent& event, std::string_view name) {
  const std::optional<ByteRange> value = FindAttribute(bytes, event.range, name);
  return value.has_value() ? bytes.substr(value->begin, value->end - value->begin) : std::string_view();
}

std::string AttributeText(std::string_view bytes, const XmlEvent& event, std::string_view name) {
  const std::string_view value = AttributeOf(bytes, event, name);
  std::string text;
  for (size_t at = 0; at < value.size();) {
    const CharacterReference reference = value[at] == '&' ? ReadAttributeReference(value, at) : CharacterReference{};
    text.append(reference.length > 0 ? std::string_view(reference.text) : value.substr(at, 1));
    at += std::max<size_t>(reference.length, 1);
  }
  return text;
}

std::optional<std::string> PrefixOf(std::string_view bytes, const std::vector<XmlEvent>& events,
                                    std::string_view name_space) {
  std::optional<std::string> prefix;
  const auto visit = [&](std::string_view attribute, ByteRange value) {
    if (bytes.substr(value.begin, value.end - value.begin) != name_space) return false;
    if (attribute == "xmlns") prefix = "";
    if (attribute.starts_with("xmlns:")) prefix = std::string(attribute.substr(6)) + ":";
    return prefix.has_value();
  };
  for (const XmlEvent& event : events) {
    if (event.kind == XmlEvent::Kind::kStart) VisitAttributes(bytes, event.range, visit);
    if (prefix.has_value()) break;
  }
  return prefix;
}

bool BeginsWithXmlDeclaration(std::string_view bytes) {
  const std::string_view text = bytes.substr(ByteOrderMark(bytes));
  return text.starts_with("<?xml") && text.size() > 5 && IsSpace(text[5]);
}

std::vector<Edit> EncodingEdits(std::string_view bytes) {
  const size_t begin = ByteOrderMark(bytes), end = bytes.find("?>", begin);
  if (!BeginsWithXmlDeclaration(bytes) || end == std::string_view::npos) return {};
  const std::optional<ByteRange> value = FindAttribute(bytes, {begin, end}, "encoding");
  if (!value.has_value()) return {};
  const std::string encoding(bytes.substr(value->begin, value->end - value->begin));
  return absl::EqualsIgnoreCase(encoding, "utf-8") ? std::vector<Edit>() : std::vector<Edit>{{*value, "UTF-8"}};
}

std::string WithoutForbidden(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') continue;
    const std::string_view character = text.substr(at, 3);
    if (character == "\uFFFE" || character == "\uFFFF") {
      at += 2;
    } else {
      out.push_back(text[at]);
    }
  }
  return out;
}

std::string EscapeXml(std::string_view text) { return Escape(text, /*quotes=*/false); }
std::string EscapeXmlAttribute(std::string_view text) { return Escape(text, /*quotes=*/true); }

}  // namespace salient
