#include "server/compat/document_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/admission/retry_delay.h"
#include "server/compat/random_id.h"
#include "server/compat/texts.h"

namespace salient {
namespace {

constexpr int64_t kBytesBeside = 1 << 10;  // of an entry, beside its document
constexpr int64_t kGrowth = 2;             // a translation is rarely longer than so many times its source

}  // namespace

absl::StatusOr<StoredDocument> DocumentStore::Add(StoredDocument document, int64_t bytes) {
  const int64_t needed = kGrowth * bytes + kBytesBeside;
  std::lock_guard lock(mutex_);
  ForgetOld();
  if (!HasRoomFor(document.client, needed)) {
    absl::Status full = absl::ResourceExhaustedError(
        "documents that were not fetched yet take all the room there is for them; fetch them, or wait");
    SetRetryDelay(full, absl::Seconds(10));
    return full;
  }
  document.id = NewRandomId();
  document.key = NewRandomId();
  bytes_ += needed;
  Share& share = shares_[document.client];
  ++share.documents;
  share.bytes += needed;
  entries_[document.id] = {document, needed};
  return document;
}

void DocumentStore::SetProgress(const std::string& id, const v1::Progress& progress) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end() || progress.queued()) return;
  StoredDocument& document = found->second.document;
  if (document.state == DocumentState::kQueued) {
    document.state = DocumentState::kTranslating;
    found->second.started = absl::Now();
    return;  // no time has passed that could tell how long the rest takes
  }
  const double done = progress.share_done();
  if (done > 0) {
    document.seconds_remaining = absl::ToDoubleSeconds(absl::Now() - found->second.started) * (1 - done) / done;
  }
}

void DocumentStore::Finish(const std::string& id, absl::StatusOr<v1::TranslateDocumentResponse> result) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.finished = absl::Now();
  int64_t bytes = kBytesBeside;
  if (result.ok()) {
    for (const v1::TranslatedSegment& segment : result->segments()) {
      entry.document.characters += CountCharacters(segment.source());
    }
    result->clear_segments();
    bytes += static_cast<int64_t>(result->text().size() + result->content().size());
    if (bytes_ - entry.bytes + bytes > limits_.max_bytes) {
      result = absl::ResourceExhaustedError("the translation is longer than there is room for; fetch others first");
      bytes = kBytesBeside;
    }
  }
  bytes_ += bytes - entry.bytes;
  shares_[entry.document.client].bytes += bytes - entry.bytes;
  entry.bytes = bytes;
  entry.document.seconds_remaining = 0;
  if (result.ok()) {
    entry.document.state = DocumentState::kDone;
    entry.document.response = std::make_shared<const v1::TranslateDocumentResponse>(*std::move(result));
  } else {
    entry.document.state = DocumentState::kFailed;
    entry.document.failure = result.status();
  }
}

absl::StatusOr<StoredDocument> DocumentStore::Find(const std::string& id) {
  std::lock_guard lock(mutex_);
  ForgetOld();
  const auto found = entries_.find(id);
  if (found == entries_.end()) {
    return absl::NotFoundError("there is no such document; it may have been fetched, or be too old");
  }
  return found->second.document;
}

void DocumentStore::Remove(const std::string& id) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  if (found != entries_.end()) Erase(found);
}

// A client's first document may take more than its share.
bool DocumentStore::HasRoomFor(const std::string& client, int64_t bytes) const {
  if (bytes_ + bytes > limits_.max_bytes || entries_.size() >= limits_.max_documents) return false;
  const auto share = shares_.find(client);
  if (share == shares_.end()) return true;
  return share->second.bytes + bytes <= limits_.max_bytes / 2 && share->second.documents < limits_.max_documents / 2;
}

void DocumentStore::ForgetOld() {
  const absl::Time old = absl::Now() - limits_.keep;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->second.finished < old) Erase(entry);
    entry = next;
  }
}

void DocumentStore::Erase(Entries::iterator entry) {
  bytes_ -= entry->second.bytes;
  const auto share = shares_.find(entry->second.document.client);
  share->second.bytes -= entry->second.bytes;
  if (--share->second.documents == 0) shares_.erase(share);
  entries_.erase(entry);
}

}  // namespace salient
