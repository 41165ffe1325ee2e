#include "server/admission/admission.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/admission/retry_delay.h"

namespace salient {
namespace {

constexpr int64_t kBytesPerToken = 4;  // about, of English; corrected when the tokens are counted
constexpr size_t kManyClients = 4096;  // from so many on, those that are idle are forgotten
constexpr absl::Duration kSoon = absl::Seconds(1);

absl::Status Refuse(const std::string& message, absl::Duration delay) {
  absl::Status status = absl::ResourceExhaustedError(message);
  SetRetryDelay(status, delay);
  return status;
}

}  // namespace

const char* RefusalName(Refusal refusal) {
  constexpr const char* kNames[] = {"queue_full",    "bytes",           "client_bytes", "client_documents",
                                    "client_tokens", "unauthenticated", "transport",    "other"};
  return kNames[static_cast<int>(refusal)];
}

Admission::Permit::~Permit() {
  if (!spent_ && reserved_ != nullptr) {
    reserved_->GiveBack(estimated_tokens_);
  } else if (!spent_) {
    owner_.Charge(client_, -estimated_tokens_);
  }
  owner_.Leave(client_, bytes_);
}

int64_t Admission::EstimateTokens(int64_t document_bytes) { return document_bytes / kBytesPerToken + 1; }

Admission::State& Admission::StateOf(const Client& client, absl::Time now) {
  if (clients_.size() >= kManyClients) ForgetIdle(now);
  return clients_.try_emplace(client.id()).first->second;
}

absl::StatusOr<std::unique_ptr<Admission::Permit>> Admission::Enter(const Client& client, const DocumentSize& size,
                                                                    absl::Time now, Refusal* refusal,
                                                                    std::shared_ptr<ReservedTokens> reserved) {
  const ClientLimits& limits = client.limits;
  const int64_t bytes = size.bytes, estimate = EstimateTokens(size.document_bytes);
  std::lock_guard lock(mutex_);
  State& state = StateOf(client, now);
  if (limits.documents > 0 && state.documents >= limits.documents) {
    *refusal = Refusal::kClientDocuments;
    return Refuse(absl::StrCat("this client has ", state.documents, " documents in flight, of ", limits.documents,
                               " that it may have at once; wait for one of them"),
                  kSoon);
  }
  if (absl::Status status = CheckBytes(state, 0, bytes, refusal); !status.ok()) return status;
  if (reserved != nullptr) {
    reserved->Take(estimate);
  } else if (limits.tokens_per_minute > 0) {
    absl::Status status = TakeTokens(state, limits.tokens_per_minute, estimate, now, refusal);
    if (!status.ok()) return status;
  }
  ++state.documents;
  state.bytes += bytes;
  bytes_ += bytes;
  return std::make_unique<Permit>(*this, client.id(), bytes, estimate, std::move(reserved));
}

absl::StatusOr<std::shared_ptr<ReservedTokens>> Admission::Reserve(const Client& client, int64_t tokens, absl::Time now,
                                                                   Refusal* refusal) {
  if (client.limits.tokens_per_minute == 0) return nullptr;
  std::lock_guard lock(mutex_);
  absl::Status status = TakeTokens(StateOf(client, now), client.limits.tokens_per_minute, tokens, now, refusal);
  if (!status.ok()) return status;
  return std::make_shared<ReservedTokens>(*this, client.id(), tokens);
}

absl::Status Admission::TakeTokens(State& state, int64_t per_minute, int64_t tokens, absl::Time now, Refusal* refusal) {
  const auto capacity = static_cast<double>(per_minute);
  // The allowance is new, or the keys file has changed. What was used stays used: documents of the earlier allowance
  // may still come.
  const double used = static_cast<double>(state.tokens_per_minute) - TokensAt(now, state);
  state.tokens_per_minute = per_minute;
  state.tokens = capacity - used;
  state.filled = now;
  const double wanted = std::min(capacity, static_cast<double>(tokens));
  if (state.tokens < wanted) {
    *refusal = Refusal::kClientTokens;
    return Refuse(absl::StrCat("this client may have ", per_minute,
                               " tokens a minute translated, and has used them up; try again later"),
                  absl::Seconds((wanted - state.tokens) / (capacity / 60)));
  }
  state.tokens -= static_cast<double>(tokens);
  return absl::OkStatus();
}

absl::Status Admission::CheckBytes(const State& state, int64_t own, int64_t more, Refusal* refusal) const {
  if (bytes_ > own && bytes_ + more > max_bytes_) {
    *refusal = Refusal::kBytes;
    return Refuse(absl::StrCat("the server holds ", bytes_, " bytes of documents, of ", max_bytes_,
                               " that it takes at once; try again later"),
                  kSoon);
  }
  if (state.bytes > own && state.bytes + more > max_bytes_ / 2) {
    *refusal = Refusal::kClientBytes;
    return Refuse(absl::StrCat("this client's documents in flight have ", state.bytes, " bytes, of ", max_bytes_ / 2,
                               " that one client may have at once; wait for some of them"),
                  kSoon);
  }
  return absl::OkStatus();
}

void Admission::Hold(const std::string& client, int64_t bytes) {
  std::lock_guard lock(mutex_);
  clients_[client].bytes += bytes;
  bytes_ += bytes;
  ForgetIfGone(client);
}

absl::Status Admission::TryHold(const std::string& client, int64_t own, int64_t more, Refusal* refusal) {
  std::lock_guard lock(mutex_);
  State& state = clients_[client];
  if (absl::Status status = CheckBytes(state, own, more, refusal); !status.ok()) return status;
  state.bytes += more;
  bytes_ += more;
  return absl::OkStatus();
}

bool Admission::KeepsLimits(const std::string& client, int64_t own) {
  std::lock_guard lock(mutex_);
  Refusal refusal = Refusal::kOther;
  return CheckBytes(clients_[client], own, 0, &refusal).ok();
}

void Admission::Leave(const std::string& client, int64_t bytes) {
  std::lock_guard lock(mutex_);
  State& state = clients_[client];
  --state.documents;
  state.bytes -= bytes;
  bytes_ -= bytes;
  ForgetIfGone(client);
}

void Admission::Charge(const std::string& client, int64_t tokens) {
  std::lock_guard lock(mutex_);
  const auto found = clients_.find(client);
  if (found == clients_.end() || found->second.tokens_per_minute == 0) return;
  found->second.tokens -= static_cast<double>(tokens);
}

void Admission::ForgetIfGone(const std::string& client) {
  const auto found = clients_.find(client);
  const State& state = found->second;
  if (state.documents == 0 && state.bytes == 0 && state.tokens_per_minute == 0) clients_.erase(found);
}

double Admission::TokensAt(absl::Time now, const State& state) {
  const auto capacity = static_cast<double>(state.tokens_per_minute);
  return std::min(capacity, state.tokens + capacity / 60 * absl::ToDoubleSeconds(now - state.filled));
}

// Those whose allowance is full again.
void Admission::ForgetIdle(absl::Time now) {
  std::erase_if(clients_, [now](const auto& entry) {
    const State& state = entry.second;
    const int64_t capacity = state.tokens_per_minute;
    const bool is_full = capacity == 0 || TokensAt(now, state) >= static_cast<double>(capacity);
    return state.documents == 0 && state.bytes == 0 && is_full;
  });
}

}  // namespace salient
