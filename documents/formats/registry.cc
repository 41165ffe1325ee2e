#include "documents/formats/registry.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "documents/formats/memory_file.h"

namespace salient {
namespace {

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
      {"text", {{"text/plain", {"txt", "text"}}}},
      {"markdown", {{"text/markdown", {"md", "markdown", "mkd"}}, {"text/x-markdown", {}}}},
      {"html", {{"text/html", {"html", "htm"}}, {"application/xhtml+xml", {"xhtml"}}}},
      {"docx",
       {{"application/vnd.openxmlformats-officedocument.wordprocessingml.document", {"docx"}},
        {"application/vnd.openxmlformats-officedocument.wordprocessingml.template", {"dotx"}},
        {"application/vnd.ms-word.document.macroEnabled.12", {"docm"}},
        {"application/vnd.ms-word.template.macroEnabled.12", {"dotm"}}},
       true},
      {"pptx",
       {{"application/vnd.openxmlformats-officedocument.presentationml.presentation", {"pptx"}},
        {"application/vnd.openxmlformats-officedocument.presentationml.template", {"potx"}},
        {"application/vnd.openxmlformats-officedocument.presentationml.slideshow", {"ppsx"}},
        {"application/vnd.ms-powerpoint.presentation.macroEnabled.12", {"pptm"}},
        {"application/vnd.ms-powerpoint.template.macroEnabled.12", {"potm"}},
        {"application/vnd.ms-powerpoint.slideshow.macroEnabled.12", {"ppsm"}}},
       true},
      {"xlsx",
       {{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", {"xlsx"}},
        {"application/vnd.openxmlformats-officedocument.spreadsheetml.template", {"xltx"}},
        {"application/vnd.ms-excel.sheet.macroEnabled.12", {"xlsm"}},
        {"application/vnd.ms-excel.template.macroEnabled.12", {"xltm"}}},
       true},
      {"odt",
       {{"application/vnd.oasis.opendocument.text", {"odt"}},
        {"application/vnd.oasis.opendocument.presentation", {"odp"}},
        {"application/vnd.oasis.opendocument.spreadsheet", {"ods"}}},
       true},
      {"epub", {{"application/epub+zip", {"epub"}}}, true},
      {"xliff", {{"application/xliff+xml", {"xlf", "xliff"}}, {"application/x-xliff+xml", {}}}},
      {"po", {{kPoMimeType, {"po", "pot"}}, {"text/x-po", {}}, {"application/x-gettext", {}}}},
      {"srt", {{"application/x-subrip", {"srt"}}, {"text/srt", {}}, {"application/srt", {}}}},
      {"vtt", {{"text/vtt", {"vtt"}}}},
      {"json", {{"application/json", {"json", "arb"}}, {"text/json", {}}}},
      {"yaml",
       {{"application/yaml", {"yaml", "yml"}}, {"text/yaml", {}}, {"text/x-yaml", {}}, {"application/x-yaml", {}}}},
      {"xml", {{"application/xml", {"xml"}}, {"text/xml", {}}}},
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

absl::StatusOr<DocumentType> TypeNamed(std::string_view mime_type) {
  std::string name(mime_type.substr(0, mime_type.find(';')));
  absl::StripAsciiWhitespace(&name);
  for (const Format& format : AllFormats()) {
    for (const FileType& type : format.types) {
      const absl::string_view known(type.mime_type.data(), type.mime_type.size());
      if (absl::EqualsIgnoreCase(known, name)) return DocumentType{&format, type.mime_type};
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("mime_type is \"", std::string(mime_type), "\"; known are ",
                   Listed([](const Format& format) { return format.types.front().mime_type; })));
}

absl::StatusOr<DocumentType> TypeOfFile(std::string_view file_name) {
  const size_t dot = file_name.rfind('.');
  const std::string extension =
      dot == std::string_view::npos ? "" : absl::AsciiStrToLower(std::string(file_name.substr(dot + 1)));
  for (const Format& format : AllFormats()) {
    for (const FileType& type : format.types) {
      const auto& known = type.extensions;
      if (std::find(known.begin(), known.end(), extension) != known.end()) return DocumentType{&format, type.mime_type};
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("the name \"", std::string(file_name),
                                                 "\" tells no format; formats are ",
                                                 Listed([](const Format& format) { return format.name; })));
}

std::vector<std::string> AllExtensions() {
  std::vector<std::string> extensions;
  for (const Format& format : AllFormats()) {
    for (const FileType& type : format.types) {
      extensions.insert(extensions.end(), type.extensions.begin(), type.extensions.end());
    }
  }
  return extensions;
}

}  // namespace salient
