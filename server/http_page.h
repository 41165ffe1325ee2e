// The tuning page: files of server/page, which the program carries. A browser reads models and translations from the
// API itself, so the page holds nothing that a key protects.

#pragma once

#include <string>

#include "server/http/message.h"

namespace salient {

// Whether the page has a file of this path: "/", "/page/main.mjs" and others.
bool IsPage(const std::string& path);

// The file. IsPage must hold. The browser may load nothing from elsewhere, and run only the page's own scripts.
HttpResponse PageReply(const std::string& path);

}  // namespace salient
