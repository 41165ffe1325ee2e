// Whether a document may come in at all: cheap checks, made before anything is done for it.
//
//   bytes   of all documents in flight, and of a client's: half of those at most while it has any already; replies that
//           a client has not taken count, too
//   client  documents at once, and source tokens a minute (a bucket that holds a minute's allowance), from its limits
//
// Tokens are estimated from bytes at the door and corrected when they are known.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/admission/client.h"

namespace salient {

// Why a document was refused; the closed set of a metric's label.
enum class Refusal { kQueueFull, kBytes, kClientBytes, kClientDocuments, kClientTokens, kUnauthenticated, kTransport, kOther };
const char* RefusalName(Refusal refusal);

class Admission {
 public:
  explicit Admission(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // A document that is in flight until this is destroyed.
  class Permit {
   public:
    Permit(Admission& owner, std::string client, int64_t bytes, int64_t estimated_tokens)
        : owner_(owner), client_(std::move(client)), bytes_(bytes), estimated_tokens_(estimated_tokens) {}
    ~Permit() { owner_.Leave(client_, bytes_); }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

    // So many bytes more are held for it.
    void Grow(int64_t bytes) {
      owner_.Hold(client_, bytes);
      bytes_ += bytes;
    }
    // What the document really had.
    void Correct(int64_t source_tokens) { owner_.Charge(client_, source_tokens - estimated_tokens_); }

   private:
    Admission& owner_;
    const std::string client_;
    int64_t bytes_;
    const int64_t estimated_tokens_;
  };

  // RESOURCE_EXHAUSTED names the limit, with a delay after which another try is worthwhile; `refusal` is set then.
  absl::StatusOr<std::unique_ptr<Permit>> Enter(const Client& client, int64_t bytes, absl::Time now, Refusal* refusal);

 private:
  struct State {
    int32_t documents = 0;
    int64_t bytes = 0;
    int64_t tokens_per_minute = 0;
    double tokens = 0;  // that it may still spend
    absl::Time filled;
  };

  void Hold(const std::string& client, int64_t bytes);
  void Leave(const std::string& client, int64_t bytes);
  void Charge(const std::string& client, int64_t tokens);
  void ForgetIdle(absl::Time now);

  const int64_t max_bytes_;
  std::mutex mutex_;
  int64_t bytes_ = 0;
  std::map<std::string, State> clients_;
};

}  // namespace salient
