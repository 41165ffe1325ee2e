#include "server/compat/compat.h"

namespace salient {
namespace {

// Of the largest size that may wait to be fetched.
constexpr int64_t kDocumentsKept = 16;

}  // namespace

Compat::Compat(CompatHost& host, const Options& options)
    : context_(host, {.max_bytes = kDocumentsKept * options.max_document_bytes}, options.uploads_folder) {}

CompatService* Compat::Find(const HttpRequest& request) {
  for (CompatService* const service :
       {static_cast<CompatService*>(&deepl_), static_cast<CompatService*>(&libretranslate_),
        static_cast<CompatService*>(&google_)}) {
    if (service->Serves(request.path)) return service;
  }
  return nullptr;
}

}  // namespace salient
