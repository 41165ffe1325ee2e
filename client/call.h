// One document to a server and back.

#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "salient/v1/translation.grpc.pb.h"

namespace salient {

struct CallOptions {
  std::string server;                                 // for messages
  absl::Duration timeout = absl::InfiniteDuration();  // of all tries together
};

struct Translation {
  v1::TranslateDocumentResponse response;  // its segments put back where a whole reply has them
  int segments_expected = 0;               // that the server found in the document
};

// Hears how far the document is. `note` is empty, or says why nothing happens.
using ProgressFn = std::function<void(int done, int total, const std::string& note)>;

// Streams the document. While the server's queue is full, waits as long as the server asks and tries again; where a
// server goes away or is not there, tries others, for about half a minute. DATA_LOSS if segments are missing, however
// well the call itself ended.
absl::StatusOr<Translation> TranslateOne(v1::Translation::Stub& stub, const v1::TranslateDocumentRequest& request,
                                         const CallOptions& options, const ProgressFn& progress);

}  // namespace salient
