// Translates one document with a server.

#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/progress.h"
#include "salient/v1/translation.grpc.pb.h"

namespace salient {

struct CallOptions {
  std::string server;                                 // for messages
  absl::Duration timeout = absl::InfiniteDuration();  // of all attempts together
};

struct Translation {
  v1::TranslateDocumentResponse response;  // with its streamed segments inserted
  int segments_expected = 0;               // number of segments that the server found in the document
};

// Translates a document with the streaming call. If the server's queue is full, waits for the delay of the reply and
// retries. If a server is unavailable, tries others, for about half a minute. DATA_LOSS if segments are missing, even
// if the call ended with OK. `progress` is also told why the document waits.
absl::StatusOr<Translation> TranslateOne(v1::Translation::Stub& stub, const v1::TranslateDocumentRequest& request,
                                         const CallOptions& options, const ProgressFn& progress);

}  // namespace salient
