#include "server/http_page.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "engine/base/check.h"

namespace salient {
namespace {

struct File {
  std::string_view path, content_type, text;
};

constexpr File kFiles[] = {
#include "page_files.inc"  // made by CMake of the files in server/page
};

const File* Find(std::string_view path) {
  const File* const found =
      std::find_if(std::begin(kFiles), std::end(kFiles), [path](const File& file) { return file.path == path; });
  return found == std::end(kFiles) ? nullptr : found;
}

}  // namespace

bool IsPage(const std::string& path) { return Find(path) != nullptr; }

HttpResponse PageReply(const std::string& path) {
  const File* const file = Find(path);
  SALIENT_CHECK(file != nullptr);
  return {.content_type = std::string(file->content_type),
          .body = std::string(file->text),
          .headers = {{"Cache-Control", "no-cache"},  // another version of the server has other files
                      {"Content-Security-Policy",
                       "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; "
                       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
                      {"Referrer-Policy", "no-referrer"},
                      {"X-Content-Type-Options", "nosniff"}}};
}

}  // namespace salient
