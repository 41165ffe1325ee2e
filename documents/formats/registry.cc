#include "documents/formats/registry.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "documents/memory_file.h"

namespace salient {
namespace {

bool Has(const std::vector<std::string_view>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// One field of every format as a list, for an error message.
template <typename Field>
std::string Listed(Field field) {
  std::string list;
  for (const Format& format : AllFormats()) {
    absl::StrAppend(&list, list.empty() ? "" : ", ", std::string(field(format)));
  }
  return list;
}

}  // namespace

const std::vector<Format>& AllFormats() {
  static const auto* const formats = new std::vector<Format>{
      {"text", "text/plain", {}, {"txt", "text"}},
      {"markdown", "text/markdown", {"text/x-markdown"}, {"md", "markdown", "mkd"}},
      {"html", "text/html", {"application/xhtml+xml"}, {"html", "htm", "xhtml"}},
      {"docx",
       "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
       {"application/vnd.openxmlformats-officedocument.wordprocessingml.template",
        "application/vnd.ms-word.document.macroenabled.12", "application/vnd.ms-word.template.macroenabled.12"},
       {"docx", "docm", "dotx", "dotm"},
       true},
      {"pptx",
       "application/vnd.openxmlformats-officedocument.presentationml.presentation",
       {"application/vnd.openxmlformats-officedocument.presentationml.template",
        "application/vnd.openxmlformats-officedocument.presentationml.slideshow",
        "application/vnd.ms-powerpoint.presentation.macroenabled.12",
        "application/vnd.ms-powerpoint.template.macroenabled.12",
        "application/vnd.ms-powerpoint.slideshow.macroenabled.12"},
       {"pptx", "pptm", "potx", "potm", "ppsx", "ppsm"},
       true},
      {"xlsx",
       "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
       {"application/vnd.openxmlformats-officedocument.spreadsheetml.template",
        "application/vnd.ms-excel.sheet.macroenabled.12", "application/vnd.ms-excel.template.macroenabled.12"},
       {"xlsx", "xlsm", "xltx", "xltm"},
       true},
      {"odt",
       "application/vnd.oasis.opendocument.text",
       {"application/vnd.oasis.opendocument.presentation", "application/vnd.oasis.opendocument.spreadsheet"},
       {"odt", "odp", "ods"},
       true},
      {"xliff", "application/xliff+xml", {"application/x-xliff+xml"}, {"xlf", "xliff"}},
      {"po", kPoMimeType, {"text/x-po", "application/x-gettext"}, {"po", "pot"}},
      {"srt", "application/x-subrip", {"text/srt", "application/srt"}, {"srt"}},
      {"vtt", "text/vtt", {}, {"vtt"}},
      {"json", "application/json", {"text/json"}, {"json", "arb"}},
      {"yaml", "application/yaml", {"text/yaml", "text/x-yaml", "application/x-yaml"}, {"yaml", "yml"}},
      {"xml", "application/xml", {"text/xml"}, {"xml"}},
  };
  return *formats;
}

absl::StatusOr<const Format*> FormatNamed(std::string_view name) {
  for (const Format& format : AllFormats()) {
    if (format.name == name) return &format;
  }
  return absl::InvalidArgumentError(absl::StrCat("format is \"", std::string(name), "\"; known are ",
                                                 Listed([](const Format& format) { return format.name; })));
}

absl::StatusOr<const Format*> FormatOfMimeType(std::string_view mime_type) {
  std::string type(mime_type.substr(0, mime_type.find(';')));
  absl::StripAsciiWhitespace(&type);
  absl::AsciiStrToLower(&type);
  for (const Format& format : AllFormats()) {
    if (format.mime_type == type || Has(format.other_mime_types, type)) return &format;
  }
  return absl::InvalidArgumentError(absl::StrCat("mime_type is \"", std::string(mime_type), "\"; known are ",
                                                 Listed([](const Format& format) { return format.mime_type; })));
}

absl::StatusOr<const Format*> FormatOfFile(std::string_view file_name) {
  const size_t dot = file_name.rfind('.');
  const std::string extension =
      dot == std::string_view::npos ? "" : absl::AsciiStrToLower(std::string(file_name.substr(dot + 1)));
  for (const Format& format : AllFormats()) {
    if (Has(format.extensions, extension)) return &format;
  }
  return absl::InvalidArgumentError(absl::StrCat("the name \"", std::string(file_name),
                                                 "\" tells no format; formats are ",
                                                 Listed([](const Format& format) { return format.name; })));
}

std::string KnownExtensions() {
  std::string list;
  for (const Format& format : AllFormats()) {
    for (const std::string_view extension : format.extensions) list.append(list.empty() ? "" : ", ").append(extension);
  }
  return list;
}

}  // namespace salient
