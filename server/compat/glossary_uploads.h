// Glossaries that clients of the compatible APIs make (--glossary-uploads): files in the folder `uploads` of
// --glossaries, so that they outlive the process, and all replicas that share the folder have them.
//
//   ID.tsv    the terms, as documents/resources/glossary.h reads them
//   ID.json   its name, languages, owner, time of creation, number of terms; written last and removed first
//
// A client sees and uses its own glossaries only: no field of a request can name one (CallInfo::own_glossary). Thread
// safety: all methods may be called from any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/compat/host.h"

namespace salient {

class GlossaryUploads {
 public:
  struct Limits {
    size_t glossaries = 1000;  // of all clients
    size_t of_client = 100;
    int64_t terms = 100000;          // of one
    size_t bytes = size_t{4} << 20;  // of one, as lines
  };

  // `folder`: that of --glossaries; empty: nothing can be uploaded.
  explicit GlossaryUploads(const std::string& folder) : GlossaryUploads(folder, Limits()) {}
  GlossaryUploads(const std::string& folder, const Limits& limits);

  // Fills in id, time and number of terms. `terms`: lines of a source, a tab and its target, without flags.
  // INVALID_ARGUMENT names the line, or what of one glossary is too much; RESOURCE_EXHAUSTED where there are too many;
  // FAILED_PRECONDITION where there are no uploads; INTERNAL if the files cannot be written.
  absl::StatusOr<CompatGlossary> Add(CompatGlossary glossary, std::string_view terms, const std::string& client);

  // Oldest first.
  std::vector<CompatGlossary> List(const std::string& client) const;
  // NOT_FOUND if there is none of this client.
  absl::StatusOr<CompatGlossary> Find(const std::string& id, const std::string& client) const;
  absl::StatusOr<std::string> Terms(const std::string& id, const std::string& client) const;
  absl::Status Remove(const std::string& id, const std::string& client);

  // Makes it the glossary of the request: an upload of the caller, whose file stays until the last copy of `call` is
  // gone, even if it is removed meanwhile; or one of the server's, which the request's conversion looks for.
  // INVALID_ARGUMENT if it is for another target language.
  absl::Status Use(const std::string& id, const std::string& target_language, v1::TranslateDocumentRequest* request,
                   CallInfo* call) const;

  // Whether `id` is that of an upload, of whichever client.
  static bool IsUpload(std::string_view id);

 private:
  struct Stored {
    CompatGlossary glossary;
    std::string client;
  };
  // Files of terms that requests use. Requests may outlive this object.
  struct InUse {
    std::mutex mutex;
    std::map<std::string, int> requests;  // by id
  };
  std::optional<Stored> ReadInfo(const std::string& id) const;
  std::vector<Stored> ReadAll() const;
  std::filesystem::path FileOf(const std::string& id, const char* extension) const;

  const std::filesystem::path folder_;  // empty: none
  const Limits limits_;
  mutable std::mutex mutex_;  // taken before that of in_use_
  const std::shared_ptr<InUse> in_use_ = std::make_shared<InUse>();
};

}  // namespace salient
