#include "documents/units/html_attributes.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "documents/ascii.h"
#include "documents/syntax/html_elements.h"
#include "documents/syntax/xml_events.h"

namespace salient {
namespace {

// Those of `meta` and `input` depend on another attribute, see IsShown.
constexpr std::string_view kShown[] = {"alt",           "title",   "placeholder",      "aria-label",
                                       "label",         "summary", "aria-description", "aria-placeholder",
                                       "aria-valuetext"};

std::string LowerValue(std::string_view bytes, const HtmlToken& start, std::string_view attribute) {
  return absl::AsciiStrToLower(std::string(AttributeOf(bytes, start, attribute)));
}

bool IsShown(std::string_view bytes, const HtmlToken& start, const HtmlAttribute& attribute) {
  if (start.name == "meta") {
    std::string what = LowerValue(bytes, start, "name");
    if (what.empty()) what = LowerValue(bytes, start, "property");
    return attribute.name == "content" && IsOneOf(what, {"description", "og:title", "og:description", "og:image:alt",
                                                         "twitter:title", "twitter:description", "twitter:image:alt"});
  }
  if (start.name == "input" && attribute.name == "value") {
    return IsOneOf(LowerValue(bytes, start, "type"), {"submit", "button", "reset"});
  }
  if (start.name == "link" || start.name == "style") return false;  // the title of these names a style sheet
  return std::find(std::begin(kShown), std::end(kShown), attribute.name) != std::end(kShown);
}

}  // namespace

void AddAttributeUnits(std::string_view bytes, const HtmlToken& start, UnitRules rules,
                       std::vector<PlacedUnit>* units) {
  for (const HtmlAttribute& attribute : start.attributes) {
    if (!IsShown(bytes, start, attribute)) continue;
    rules.leave_out_ends = attribute.quote != '\0';
    UnitBuilder builder(bytes, rules);
    builder.AddTextWithReferences(attribute.value, /*in_attribute=*/true);
    PlacedUnit unit;
    if (!builder.Finish(&unit)) continue;
    unit.write = WriteEscaped(EscapeXmlAttribute);
    if (attribute.quote == '\0') {
      unit.write = [](const Unit& source, const MarkedText& translation, const std::vector<std::string>& markers) {
        return absl::StrCat("\"", WriteEscaped(EscapeXmlAttribute)(source, translation, markers), "\"");
      };
    }
    units->push_back(std::move(unit));
  }
}

}  // namespace salient
