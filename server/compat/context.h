// What the compatible APIs share while the server runs.

#pragma once

#include <string>

#include "engine/base/workers.h"
#include "server/compat/document_store.h"
#include "server/compat/glossary_uploads.h"
#include "server/compat/host.h"
#include "server/compat/usage.h"

namespace salient {

struct CompatContext {
  CompatContext(CompatHost& compat_host, const DocumentStore::Limits& limits, const std::string& uploads_folder)
      : host(compat_host), documents(limits), glossaries(uploads_folder) {}

  CompatHost& host;
  Usage usage;
  DocumentStore documents;
  GlossaryUploads glossaries;
  // They read texts with markup, so that listeners' threads go on. They end first, because their tasks use the others.
  Workers workers{2};
};

}  // namespace salient
