// The glossaries and the translation memory of a server: files that requests name instead of sending them.
//
//   --glossaries DIR     NAME.tsv is the glossary NAME (documents/resources/glossary.h), read again when it has changed
//   --glossary-uploads   glossaries of clients, in the folder `uploads` of DIR (server/compat/glossary_uploads.h)
//   --memory FILE        .tmx, .po or .tsv (documents/resources/memory.h), read when it is first asked for
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "documents/resources/glossary.h"
#include "documents/resources/memory.h"
#include "server/request/glossary_cache.h"

namespace salient {

class LanguageResources {
 public:
  static constexpr size_t kMostUploadBytes = size_t{256} << 20;

  // `folder`: empty for no glossaries. Of `memories` the first counts before the others. `upload_bytes`: of clients'
  // glossaries that stay in memory (GlossaryCache); those of the folder itself all do.
  LanguageResources(std::string folder, std::vector<std::string> memories, size_t upload_bytes = kMostUploadBytes)
      : folder_(std::move(folder)), memories_(std::move(memories)), uploads_(upload_bytes) {}

  // Whether the folder and the files are there and are such. The status names the one that is not.
  absl::Status Check() const;

  // The names of the glossaries in the folder, sorted.
  std::vector<std::string> GlossaryNames() const;
  // When the file of a glossary was changed.
  absl::Time GlossaryChanged(const std::string& name) const;
  // NOT_FOUND names those that there are.
  absl::StatusOr<std::shared_ptr<const Glossary>> GlossaryNamed(const std::string& name);
  // One that a client has made. The caller knows that it is this client's.
  absl::StatusOr<std::shared_ptr<const Glossary>> GlossaryOfClient(const std::string& id);
  // Of TMX files the entries of these languages, of the others all. NOT_FOUND if there are no files. A file that cannot
  // be read is not tried again. Languages that no TMX file has share one memory, so that new ones do not make the
  // server read its files again.
  absl::StatusOr<std::shared_ptr<const TranslationMemory>> MemoryOf(const std::string& source_language,
                                                                    const std::string& target_language);

 private:
  std::string PathOf(const std::string& glossary) const;
  std::string PathOfUpload(const std::string& id) const;
  absl::StatusOr<std::shared_ptr<const TranslationMemory>> ReadMemories(const std::string& source_language,
                                                                        const std::string& target_language);

  const std::string folder_;
  const std::vector<std::string> memories_;
  GlossaryCache glossaries_{std::numeric_limits<size_t>::max()};
  GlossaryCache uploads_;
  std::mutex mutex_;                        // of what follows
  std::set<std::string> memory_languages_;  // of the TMX files that were read
  std::map<std::pair<std::string, std::string>, absl::StatusOr<std::shared_ptr<const TranslationMemory>>>
      read_memories_;  // by primary languages; empty ones for a pair that no TMX file has
};

}  // namespace salient
