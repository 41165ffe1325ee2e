#include "server/http/message.h"

#include <strings.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/match.h"

namespace salient {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool DecodeEscapes(std::string_view text, bool plus_is_space, std::string& decoded) {
  decoded.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return false;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return true;
}

bool HttpRequest::NameLess::operator()(const std::string& a, const std::string& b) const {
  return strcasecmp(a.c_str(), b.c_str()) < 0;
}

std::string HttpRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

std::optional<std::string> HttpRequest::query_value(const std::string& name) const {
  const auto [first, end] = query.equal_range(name);
  if (first == end) return std::nullopt;
  return std::prev(end)->second;
}

bool HttpRequest::has_body() const {
  const std::string length = header("Content-Length");
  return headers.contains("Transfer-Encoding") || (!length.empty() && length != "0");
}

bool ParseForm(std::string_view form, FormFields& fields) {
  while (!form.empty()) {
    const size_t end = form.find('&');
    const std::string_view pair = form.substr(0, end);
    form = end == std::string_view::npos ? std::string_view() : form.substr(end + 1);
    const size_t equals = pair.find('=');
    std::string name, value;
    if (!DecodeEscapes(pair.substr(0, equals), true, name)) return false;
    if (equals != std::string_view::npos && !DecodeEscapes(pair.substr(equals + 1), true, value)) return false;
    if (!name.empty()) fields.emplace_back(std::move(name), std::move(value));
  }
  return true;
}

bool ParseTarget(std::string_view target, HttpRequest& request) {
  for (const std::string scheme : {"http://", "https://"}) {
    if (!absl::StartsWithIgnoreCase(std::string(target), scheme)) continue;
    target.remove_prefix(std::min(target.find_first_of("/?", scheme.size()), target.size()));
    if (target.empty()) target = "/";
    break;
  }
  if (target.empty() || target[0] != '/') return false;
  const size_t mark = target.find('?');
  if (!DecodeEscapes(target.substr(0, mark), false, request.path)) return false;
  FormFields fields;
  if (mark != std::string_view::npos && !ParseForm(target.substr(mark + 1), fields)) return false;
  request.query.clear();
  for (auto& [name, value] : fields) request.query.emplace(std::move(name), std::move(value));
  return true;
}

}  // namespace salient
