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
  // `host` outlives it.
  Compat(CompatHost& host, int64_t max_document_bytes);

  // The service whose request this is by its path; null if it is nobody's.
  CompatService* Find(const HttpRequest& request);

 private:
  CompatContext context_;
  DeepL deepl_{context_};
  LibreTranslate libretranslate_{context_};
  Google google_{context_};
};

}  // namespace salient
