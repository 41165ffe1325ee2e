#include "server/compat/multipart.h"

#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/http/message.h"

namespace salient {
namespace {

constexpr size_t kMaxBoundary = 70;  // RFC 2046

using Parameters = std::map<std::string, std::string>;

std::string Lower(std::string_view text) { return absl::AsciiStrToLower(std::string(text)); }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

absl::Status Wrong(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the body is not multipart/form-data: ", std::string(what)));
}

// `form-data; name="a"; filename="b.txt"`: the first word in lower case, and the parameters. In quotes a backslash
// stands before a quote or another backslash; browsers write %22 for a quote, which is left as it is.
std::string ReadValue(std::string_view value, Parameters* parameters) {
  size_t at = value.find(';');
  std::string first = Lower(Trim(value.substr(0, at)));
  while (at < value.size()) {
    ++at;
    const size_t equals = value.find_first_of("=;", at);
    if (equals == std::string_view::npos) break;
    std::string name = Lower(Trim(value.substr(at, equals - at)));
    at = equals;
    if (value[equals] == ';') continue;
    ++at;
    while (at < value.size() && (value[at] == ' ' || value[at] == '\t')) ++at;
    std::string text;
    if (at < value.size() && value[at] == '"') {
      for (++at; at < value.size() && value[at] != '"'; ++at) {
        if (value[at] == '\\' && at + 1 < value.size() && (value[at + 1] == '"' || value[at + 1] == '\\')) ++at;
        text += value[at];
      }
      at = value.find(';', at);
    } else {
      const size_t end = value.find(';', at);
      text = std::string(Trim(value.substr(at, end == std::string_view::npos ? end : end - at)));
      at = end;
    }
    parameters->emplace(std::move(name), std::move(text));
  }
  return first;
}

// .NET's client spells a name that is not ASCII in a way of mail, and sends it in UTF-8 as `filename*` (RFC 8187).
std::string FileNameOf(Parameters& parameters) {
  constexpr std::string_view kUtf8 = "utf-8'";
  const std::string_view extended = parameters["filename*"];
  const size_t language_end = extended.find('\'', kUtf8.size());
  std::string name;
  if (Lower(extended.substr(0, kUtf8.size())) == kUtf8 && language_end != std::string_view::npos &&
      DecodeEscapes(extended.substr(language_end + 1), /*plus_is_space=*/false, name) && !name.empty()) {
    return name;
  }
  return parameters["filename"];
}

// A part's header, without the empty line that ends it.
absl::StatusOr<FormPart> ReadHeader(std::string_view header) {
  FormPart part;
  bool is_form_data = false;
  while (!header.empty()) {
    const size_t end = header.find("\r\n");
    const std::string_view line = header.substr(0, end);
    header = end == std::string_view::npos ? std::string_view() : header.substr(end + 2);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return Wrong("a part has a header line without a colon");
    const std::string name = Lower(Trim(line.substr(0, colon)));
    const std::string_view value = Trim(line.substr(colon + 1));
    if (name == "content-disposition") {
      Parameters parameters;
      is_form_data = ReadValue(value, &parameters) == "form-data";
      part.name = parameters["name"];
      part.file_name = FileNameOf(parameters);
    } else if (name == "content-type") {
      part.content_type = std::string(value);
    }
  }
  if (!is_form_data || part.name.empty()) return Wrong("a part has no Content-Disposition: form-data with a name");
  return part;
}

}  // namespace

absl::StatusOr<std::vector<FormPart>> ParseMultipart(std::string_view content_type, std::string_view body) {
  Parameters parameters;
  if (ReadValue(content_type, &parameters) != "multipart/form-data") return Wrong("the Content-Type is another");
  const std::string boundary = parameters["boundary"];
  if (boundary.empty() || boundary.size() > kMaxBoundary) {
    return Wrong("the Content-Type has no boundary of 1 to 70 characters");
  }
  const std::string first = "--" + boundary, next = "\r\n--" + boundary;
  if (body.substr(0, first.size()) != first) return Wrong("it does not begin with the boundary");

  std::vector<FormPart> parts;
  size_t at = first.size();  // after a boundary
  while (body.substr(at, 2) != "--") {
    if (body.substr(at, 2) != "\r\n") return Wrong("a boundary is not at the end of its line");
    if (parts.size() == kMaxFormParts) return Wrong(absl::StrCat("it has more than ", kMaxFormParts, " parts"));
    // A header may be empty: then its end is the end of the boundary's line.
    const size_t header_end = body.substr(0, at + kMaxPartHeader).find("\r\n\r\n", at);
    if (header_end == std::string_view::npos) return Wrong("a part's header does not end within 8 KiB");
    const size_t header = at + 2;
    auto part = ReadHeader(header_end < header ? std::string_view() : body.substr(header, header_end - header));
    if (!part.ok()) return part.status();
    const size_t content = header_end + 4;
    // The line break before the boundary is the boundary's: with nothing in the part it is the header's last.
    const size_t end = body.find(next, content - 2);
    if (end == std::string_view::npos) return Wrong("the last part does not end with the boundary");
    part->content = end < content ? std::string_view() : body.substr(content, end - content);
    parts.push_back(*std::move(part));
    at = end + next.size();
  }
  return parts;
}

}  // namespace salient
