// What the compatible APIs share while the server runs.

#pragma once

#include "engine/base/workers.h"
#include "server/compat/document_store.h"
#include "server/compat/host.h"
#include "server/compat/usage.h"

namespace salient {

struct CompatContext {
  CompatContext(CompatHost& compat_host, const DocumentStore::Limits& limits) : host(compat_host), documents(limits) {}

  CompatHost& host;
  Usage usage;
  DocumentStore documents;
  Workers workers{
      2};  // read texts with markup, so that listeners' threads go on; ends first, for its tasks use the others
};

}  // namespace salient
