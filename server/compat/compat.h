// The APIs of other services on the HTTP port (--compat), so that their clients work with this server.

#pragma once

#include <cstdint>
#include <string>

#include "server/compat/context.h"
#include "server/compat/deepl.h"
#include "server/compat/google.h"
#include "server/compat/libretranslate.h"

namespace salient {

class Compat {
 public:
  struct Options {
    int64_t max_document_bytes = 4 << 20;
    std::string uploads_folder;  // for glossaries of clients (glossary_uploads.h); empty: none
  };

  // `host` must outlive it.
  Compat(CompatHost& host, const Options& options);

  // The service that the path of the request belongs to; null if none.
  CompatService* Find(const HttpRequest& request);

 private:
  CompatContext context_;
  DeepL deepl_{context_};
  LibreTranslate libretranslate_{context_};
  Google google_{context_};
};

}  // namespace salient
