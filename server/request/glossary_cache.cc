#include "server/request/glossary_cache.h"

#include <iterator>
#include <utility>
#include <vector>

namespace salient {

absl::StatusOr<std::shared_ptr<const Glossary>> GlossaryCache::Get(
    const std::string& name, FileTime changed, const std::function<absl::StatusOr<Glossary>()>& read) {
  if (auto found = Find(name, changed); found != nullptr) return found;
  const std::lock_guard reading(reading_);
  if (auto found = Find(name, changed); found != nullptr) return found;  // another call has read it
  absl::StatusOr<Glossary> glossary = read();
  if (!glossary.ok()) return glossary.status();
  auto shared = std::make_shared<const Glossary>(*std::move(glossary));
  Keep({name, changed, shared, shared->bytes()});
  return shared;
}

std::shared_ptr<const Glossary> GlossaryCache::Find(const std::string& name, FileTime changed) {
  const std::lock_guard lock(mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || found->second->changed != changed) return nullptr;
  kept_.splice(kept_.begin(), kept_, found->second);
  return found->second->glossary;
}

void GlossaryCache::Keep(Kept kept) {
  std::list<Kept> dropped;
  const std::lock_guard lock(mutex_);
  if (const auto before = by_name_.find(kept.name); before != by_name_.end()) Drop(before->second, &dropped);
  bytes_ += kept.bytes;
  kept_.push_front(std::move(kept));
  by_name_[kept_.front().name] = kept_.begin();
  while (bytes_ > most_bytes_ && kept_.size() > 1) Drop(std::prev(kept_.end()), &dropped);
}

void GlossaryCache::Drop(std::list<Kept>::iterator kept, std::list<Kept>* dropped) {
  bytes_ -= kept->bytes;
  by_name_.erase(kept->name);
  dropped->splice(dropped->begin(), kept_, kept);
}

void GlossaryCache::DropIf(const std::function<bool(const std::string&)>& gone) {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    for (const Kept& kept : kept_) names.push_back(kept.name);
  }
  std::erase_if(names, [&gone](const std::string& name) { return !gone(name); });
  std::list<Kept> dropped;
  const std::lock_guard lock(mutex_);
  for (const std::string& name : names) {
    if (const auto found = by_name_.find(name); found != by_name_.end()) Drop(found->second, &dropped);
  }
}

size_t GlossaryCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace salient
