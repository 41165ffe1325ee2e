#include "documents/office/office_names.h"

namespace salient {

std::optional<std::string> PrefixOfEither(std::string_view bytes, const std::vector<XmlEvent>& events,
                                          std::string_view transitional, std::string_view strict) {
  std::optional<std::string> prefix = PrefixOf(bytes, events, transitional);
  return prefix.has_value() ? prefix : PrefixOf(bytes, events, strict);
}

std::string WithoutElement(std::string_view xml, const std::string& name) {
  const std::string opening = "<" + name;
  std::string without;
  size_t done = 0, end = 0;
  for (size_t at = xml.find(opening); at != std::string_view::npos; at = xml.find(opening, at)) {
    if (end <= at) end = xml.find('>', at);
    if (end == std::string_view::npos) break;
    const char next = xml[at + opening.size()];
    if (xml[end - 1] != '/' || !(next == ' ' || next == '/')) {
      at += opening.size();
      continue;
    }
    without.append(xml.substr(done, at - done));
    done = at = end + 1;
  }
  return without.append(xml.substr(done));
}

ByteRange WholeAttribute(std::string_view bytes, ByteRange value, std::string_view name) {
  return {bytes.rfind(name, value.begin - 1) - 1, value.end + 1};
}

std::string WithoutAttribute(std::string tag, const std::string& name) {
  const size_t end = tag.find('>');
  if (end == std::string::npos) return tag;
  const std::optional<ByteRange> value = FindAttribute(tag, {0, end + 1}, name);
  if (!value.has_value()) return tag;
  const ByteRange whole = WholeAttribute(tag, *value, name);
  return tag.erase(whole.begin, whole.end - whole.begin);
}

std::vector<Edit> LanguageEdits(std::string_view bytes, const std::vector<XmlEvent>& events,
                                const ParseOptions& options, std::string_view element, std::string_view attribute) {
  std::vector<Edit> edits;
  if (options.target_language.empty() || options.source_language.empty()) return edits;
  const std::string source = options.source_language.substr(0, options.source_language.find('-'));
  for (const XmlEvent& event : events) {
    if (event.kind != XmlEvent::Kind::kStart || (!element.empty() && event.name != element)) continue;
    const std::optional<ByteRange> value = FindAttribute(bytes, event.range, attribute);
    if (!value.has_value()) continue;
    const std::string_view language = bytes.substr(value->begin, value->end - value->begin);
    if (language.substr(0, language.find('-')) == source) edits.push_back({*value, options.target_language});
  }
  return edits;
}

}  // namespace salient
