// Admission control: cheap checks that decide whether a document is accepted, before any other work.
//
//   bytes   a limit on the bytes of all documents in flight; a client that has documents in flight may use half of it;
//           what a document was unpacked to and replies that the client has not read count as well, and so do the
//           events of a stream
//   client  limits on a client's documents in flight, and on its source tokens a minute (a token bucket of one minute)
//
// At admission tokens are estimated from bytes. The estimate is corrected when the number is known, and given back if
// the document was not translated. A document may have more tokens than a minute has: it is admitted when the bucket is
// full, and the client waits longer for the next one. The documents of one call can have their tokens reserved
// together, so that the call is admitted or refused as one document of their size.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/admission/client.h"

namespace salient {

// The reason for refusing a document; also the values of a metric's label.
enum class Refusal {
  kQueueFull,
  kBytes,
  kClientBytes,
  kClientDocuments,
  kClientTokens,
  kUnauthenticated,
  kTransport,
  kOther
};
const char* RefusalName(Refusal refusal);

struct DocumentSize {
  int64_t bytes = 0;           // of memory that the request takes, with its glossary and memory
  int64_t document_bytes = 0;  // of the text to translate; what tokens are estimated from
};

class Admission {
 public:
  explicit Admission(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Bytes that count as a client's until this object is destroyed.
  class Share {
   public:
    Share(Admission& owner, std::string client, int64_t bytes)
        : owner_(owner), client_(std::move(client)), bytes_(bytes) {
      owner_.Hold(client_, bytes_);
    }
    ~Share() { owner_.Hold(client_, -bytes_); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    Admission& owner_;
    const std::string client_;
    const int64_t bytes_;
  };

  // Permission for one document, which is in flight until this object is destroyed.
  class Permit {
   public:
    Permit(Admission& owner, std::string client, int64_t bytes, int64_t estimated_tokens,
           std::shared_ptr<ReservedTokens> reserved)
        : owner_(owner),
          client_(std::move(client)),
          bytes_(bytes),
          estimated_tokens_(estimated_tokens),
          reserved_(std::move(reserved)) {}
    ~Permit();
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

    // Adds bytes that are held for the document.
    void Grow(int64_t bytes) {
      owner_.Hold(client_, bytes);
      bytes_ += bytes;
    }
    // The same if Enter's limits on bytes leave room beside all other documents; else its error, and nothing is added.
    absl::Status TryGrow(int64_t bytes, Refusal* refusal) {
      absl::Status status = owner_.TryHold(client_, bytes_, bytes, refusal);
      if (status.ok()) bytes_ += bytes;
      return status;
    }
    // Bytes that are held for the document and may be let go of before it, or after it.
    std::unique_ptr<Share> MakeShare(int64_t bytes) const { return std::make_unique<Share>(owner_, client_, bytes); }
    // Whether all that is held keeps to Enter's limits. The document's own bytes, and the `shares` bytes of its shares,
    // may exceed them where nothing else is held.
    bool KeepsLimits(int64_t shares) const { return owner_.KeepsLimits(client_, bytes_ + shares); }
    // The document was worked on: the client has used the tokens of the estimate.
    void Spend() { spent_ = true; }
    // It was translated: replaces the estimate by the real number of source tokens.
    void Correct(int64_t source_tokens) {
      Spend();
      owner_.Charge(client_, source_tokens - estimated_tokens_);
    }

   private:
    Admission& owner_;
    const std::string client_;
    int64_t bytes_;
    const int64_t estimated_tokens_;
    const std::shared_ptr<ReservedTokens> reserved_;  // what the tokens are from; null: the client's allowance
    bool spent_ = false;
  };

  // RESOURCE_EXHAUSTED names the limit and has a retry delay; then `refusal` is set. With reserved tokens the document
  // takes its tokens from these, and the client's allowance is not looked at.
  absl::StatusOr<std::unique_ptr<Permit>> Enter(const Client& client, const DocumentSize& size, absl::Time now,
                                                Refusal* refusal, std::shared_ptr<ReservedTokens> reserved = nullptr);

  // Takes tokens for several documents from the client's allowance. The errors of Enter, for tokens only.
  absl::StatusOr<std::shared_ptr<ReservedTokens>> Reserve(const Client& client, int64_t tokens, absl::Time now,
                                                          Refusal* refusal);

  // As tokens of a document are estimated at admission.
  static int64_t EstimateTokens(int64_t document_bytes);

 private:
  friend class ReservedTokens;

  struct State {
    int32_t documents = 0;
    int64_t bytes = 0;
    int64_t tokens_per_minute = 0;
    double tokens = 0;  // left in the bucket
    absl::Time filled;
  };

  // The state of a client, which need not be known yet.
  State& StateOf(const Client& client, absl::Time now);
  static absl::Status TakeTokens(State& state, int64_t per_minute, int64_t tokens, absl::Time now, Refusal* refusal);
  // Whether there is room for so many more bytes; `own` of those that are held are the document's.
  absl::Status CheckBytes(const State& state, int64_t own, int64_t more, Refusal* refusal) const;
  void Hold(const std::string& client, int64_t bytes);
  absl::Status TryHold(const std::string& client, int64_t own, int64_t more, Refusal* refusal);
  bool KeepsLimits(const std::string& client, int64_t own);
  void Leave(const std::string& client, int64_t bytes);
  void Charge(const std::string& client, int64_t tokens);
  // Forgets a client of which nothing has to be known.
  void ForgetIfGone(const std::string& client);
  void ForgetIdle(absl::Time now);
  // What is in the bucket by then.
  static double TokensAt(absl::Time now, const State& state);

  const int64_t max_bytes_;
  std::mutex mutex_;
  int64_t bytes_ = 0;
  std::map<std::string, State> clients_;
};

// Tokens of a client's allowance, for documents that are not admitted yet. What they have not taken is given back with
// this object.
class ReservedTokens {
 public:
  ReservedTokens(Admission& owner, std::string client, int64_t tokens)
      : owner_(owner), client_(std::move(client)), tokens_(tokens) {}
  ~ReservedTokens() { owner_.Charge(client_, -tokens_); }
  ReservedTokens(const ReservedTokens&) = delete;
  ReservedTokens& operator=(const ReservedTokens&) = delete;

  void Take(int64_t tokens) { tokens_ -= tokens; }
  void GiveBack(int64_t tokens) { tokens_ += tokens; }

 private:
  Admission& owner_;
  const std::string client_;
  std::atomic<int64_t> tokens_;
};

}  // namespace salient
