// Uploaded documents whose translations are fetched later, as in DeepL's and LibreTranslate's APIs. They are kept in
// the memory of this process, within limits, and removed when a client of DeepL has fetched them, or ten minutes after
// they are finished.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "salient/v1/translation.pb.h"

namespace salient {

enum class DocumentState { kQueued, kTranslating, kDone, kFailed };

struct StoredDocument {
  std::string id, key;     // 32 random hexadecimal digits each
  std::string client;      // Client::id of who sent it
  std::string file_name;   // of the translation
  int64_t characters = 0;  // of the segments; once it is translated
  bool wants_report = false;
  bool needs_no_key = false;  // whoever knows the id may fetch it
  DocumentState state = DocumentState::kQueued;
  double seconds_remaining = 0;  // as far as is known while it is translated; 0: not known
  absl::Status failure;
  std::shared_ptr<const v1::TranslateDocumentResponse> response;  // of kDone
};

class DocumentStore {
 public:
  struct Limits {
    // Of all clients together; one client may have half of either.
    size_t max_documents = 1000;
    int64_t max_bytes = int64_t{64} << 20;
    absl::Duration keep = absl::Minutes(10);
  };

  explicit DocumentStore(const Limits& limits) : limits_(limits) {}

  // Gives the document an id and a key. RESOURCE_EXHAUSTED, with a retry delay, if there is no room for it.
  absl::StatusOr<StoredDocument> Add(StoredDocument document, int64_t bytes);

  void SetProgress(const std::string& id, const v1::Progress& progress);
  void Finish(const std::string& id, absl::StatusOr<v1::TranslateDocumentResponse> result);

  // NOT_FOUND where there is none.
  absl::StatusOr<StoredDocument> Find(const std::string& id);
  void Remove(const std::string& id);

 private:
  struct Entry {
    StoredDocument document;
    int64_t bytes = 0;
    absl::Time started = absl::InfiniteFuture();  // its translation
    absl::Time finished = absl::InfiniteFuture();
  };
  using Entries = std::map<std::string, Entry>;
  struct Share {  // of a client
    size_t documents = 0;
    int64_t bytes = 0;
  };

  bool HasRoomFor(const std::string& client, int64_t bytes) const;
  void ForgetOld();
  void Erase(Entries::iterator entry);

  const Limits limits_;
  std::mutex mutex_;
  Entries entries_;
  std::map<std::string, Share> shares_;  // by client
  int64_t bytes_ = 0;
};

}  // namespace salient
