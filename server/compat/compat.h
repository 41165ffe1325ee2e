// The APIs of other services on the HTTP port (--compat), so that their clients work with this server.

#pragma once

#include <cstdint>

#include "server/compat/context.h"
#include "server/compat/deepl.h"
#include "server/compat/google.h"
#include "server/compat/libretranslate.h"

namespace salient {

class Compat {
 public:
  // `host` must outlive it.
  Compat(CompatHost& host, int64_t max_document_bytes);

  // The service that the path of the request belongs to; null if none.
  CompatService* Find(const HttpRequest& request);

 private:
  CompatContext context_;
  DeepL deepl_{context_};
  LibreTranslate libretranslate_{context_};
  Google google_{context_};
};

}  // namespace salient
