// Glossaries that have been read from files, by name. Those that were used last are kept, up to a number of bytes.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "documents/resources/glossary.h"

namespace salient {

class GlossaryCache {
 public:
  using FileTime = std::filesystem::file_time_type;

  // `most_bytes`: that the glossaries take together (Glossary::bytes). The one that was used last stays even if it
  // takes more. One that is no longer kept lives until the last request that has it is done.
  explicit GlossaryCache(size_t most_bytes) : most_bytes_(most_bytes) {}

  // The glossary of a file that was changed at `changed`: the one that is kept, or else what `read` returns, which is
  // kept unless it is an error. One call reads at a time, so that a file is not read once for each request that waits
  // for it. Who wants one that is kept does not wait for those who read.
  absl::StatusOr<std::shared_ptr<const Glossary>> Get(const std::string& name, FileTime changed,
                                                      const std::function<absl::StatusOr<Glossary>()>& read);

  // No longer keeps those whose names are `gone`.
  void DropIf(const std::function<bool(const std::string&)>& gone);

  size_t bytes() const;  // of those that are kept

 private:
  struct Kept {
    std::string name;
    FileTime changed;
    std::shared_ptr<const Glossary> glossary;
    size_t bytes = 0;
  };
  std::shared_ptr<const Glossary> Find(const std::string& name, FileTime changed);  // null: it is not kept
  void Keep(Kept kept);
  // Moves one to those that the caller destroys when it has given the mutex back: a large one takes long.
  void Drop(std::list<Kept>::iterator kept, std::list<Kept>* dropped);

  const size_t most_bytes_;
  std::mutex reading_;        // of whoever reads; taken before the other one
  mutable std::mutex mutex_;  // of what follows
  std::list<Kept> kept_;      // that was used last first
  std::unordered_map<std::string, std::list<Kept>::iterator> by_name_;
  size_t bytes_ = 0;
};

}  // namespace salient
