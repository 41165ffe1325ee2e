#include "client/call.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/connection.h"
#include "grpcpp/client_context.h"
#include "proto/retry_info.h"

namespace salient {
namespace {

// How often a document is sent again because servers are out of reach: with these pauses about half a minute, longer
// than a replica takes to be replaced. A server that took the document and then went away counts for several, lest a
// document that ends servers be sent to all of them.
constexpr int kTries = 12;
constexpr int kTriesOfOneThatTookIt = 4;
constexpr absl::Duration kFirstPause = absl::Milliseconds(200);
constexpr absl::Duration kLastPause = absl::Seconds(3);

struct Try {
  grpc::Status status;
  Translation translation;
  bool was_taken = false;  // something came from the server
};

// A server that tells no share of the work is taken at its segments.
DocumentProgress ToProgress(const v1::Progress& progress) {
  const int done = progress.segments_done(), total = progress.segments_total();
  const double of_segments = total > 0 ? static_cast<double>(done) / total : 0;
  return {done, total, std::max(progress.share_done(), of_segments), progress.queued() ? "queued" : ""};
}

// Every segment must have come once and in order, and as many as the server counted, or something was lost.
absl::Status CheckComplete(const Translation& translation) {
  const auto& segments = translation.response.segments();
  for (int i = 0; i < segments.size(); ++i) {
    if (segments[i].index() != i) {
      return absl::DataLossError(absl::StrCat("incomplete: segment ", i, " is missing from the reply"));
    }
  }
  const int reported = translation.response.report().segments();
  if (segments.size() != reported || segments.size() != translation.segments_expected) {
    return absl::DataLossError(absl::StrCat("incomplete: the document has ", translation.segments_expected,
                                            " segments, ", segments.size(), " came, and the report counts ", reported));
  }
  return absl::OkStatus();
}

// A document's tries that ended because a server was out of reach.
class Outage {
 public:
  // Before the next try; none when there were enough.
  std::optional<absl::Duration> NextPause(bool was_taken) {
    tries_ += was_taken ? kTriesOfOneThatTookIt : 1;
    if (tries_ >= kTries) return std::nullopt;
    return std::exchange(pause_, std::min(2 * pause_, kLastPause));
  }

 private:
  int tries_ = 0;
  absl::Duration pause_ = kFirstPause;
};

Try TryOnce(v1::Translation::Stub& stub, const v1::TranslateDocumentRequest& request, absl::Time deadline,
            const ProgressFn& progress) {
  Try attempt;
  grpc::ClientContext context;
  if (deadline != absl::InfiniteFuture()) context.set_deadline(absl::ToChronoTime(deadline));
  auto reader = stub.StreamTranslateDocument(&context, request);
  std::vector<v1::TranslatedSegment> segments;
  std::optional<int> total;
  v1::StreamTranslateDocumentResponse event;
  while (reader->Read(&event)) {
    attempt.was_taken = true;
    if (event.has_segment()) {
      segments.push_back(std::move(*event.mutable_segment()));
    } else if (event.has_progress()) {
      total = event.progress().segments_total();
      progress(ToProgress(event.progress()));
    } else if (event.has_result()) {
      attempt.translation.response = std::move(*event.mutable_result());
    }
  }
  attempt.status = reader->Finish();
  v1::TranslateDocumentResponse& response = attempt.translation.response;
  // A short document may be finished before there is any progress to tell.
  attempt.translation.segments_expected = total.value_or(response.report().segments());
  for (v1::TranslatedSegment& segment : segments) *response.add_segments() = std::move(segment);
  return attempt;
}

}  // namespace

absl::StatusOr<Translation> TranslateOne(v1::Translation::Stub& stub, const v1::TranslateDocumentRequest& request,
                                         const CallOptions& options, const ProgressFn& progress) {
  const absl::Time deadline = absl::Now() + options.timeout;
  Outage outage;
  for (;;) {
    Try attempt = TryOnce(stub, request, deadline, progress);
    if (attempt.status.ok()) {
      if (absl::Status status = CheckComplete(attempt.translation); !status.ok()) return status;
      return std::move(attempt.translation);
    }
    std::optional<absl::Duration> delay;
    const bool refused = attempt.status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
    if (refused) {
      delay = RetryDelay(attempt.status);
    } else if (attempt.status.error_code() == grpc::StatusCode::UNAVAILABLE) {
      delay = outage.NextPause(attempt.was_taken);
    }
    if (!delay.has_value()) return Explain(attempt.status, options.server);
    if (absl::Now() + *delay >= deadline) {
      if (!refused) return Explain(attempt.status, options.server);
      return absl::DeadlineExceededError(
          absl::StrCat("the server's queue stayed full for all of --timeout: ", attempt.status.error_message()));
    }
    progress({.note = refused ? "the server's queue is full, waiting" : "the server went away, trying again"});
    absl::SleepFor(std::max(*delay, absl::Milliseconds(10)));
  }
}

}  // namespace salient
