#include "server/models/model_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/api/language_tag.h"

namespace salient {
namespace {

// A model whose languages are not known, since it was never loaded, serves only those who name it.
bool Serves(const v1::Model& model, const v1::TranslateDocumentRequest& request) {
  const auto serve = [](const auto& languages, const std::string& wanted) {
    return std::any_of(languages.begin(), languages.end(),
                       [&](const auto& has) { return ServesLanguage(has, wanted); });
  };
  return serve(model.source_languages(), request.source_language()) &&
         serve(model.target_languages(), request.target_language());
}

std::string Describe(const v1::Model& model) {
  if (model.source_languages().empty()) return model.name();
  return absl::StrCat(model.name(), " (", model.source_language(), " to ", model.target_language(), ")");
}

std::string DescribeWish(const v1::TranslateDocumentRequest& request) {
  const auto name = [](const std::string& language) { return language.empty() ? "any language" : language; };
  return absl::StrCat(name(request.source_language()), " to ", name(request.target_language()));
}

std::string Names(const ModelSlots& slots) {
  if (slots.empty()) return "no models";
  return absl::StrJoin(slots, ", ", [](std::string* out, const auto& slot) { *out += Describe(slot->description()); });
}

}  // namespace

void ModelRegistry::Add(std::shared_ptr<ModelSlot> slot) {
  std::lock_guard lock(mutex_);
  slots_.push_back(std::move(slot));
}

void ModelRegistry::Remove(const std::shared_ptr<ModelSlot>& slot) {
  {
    std::lock_guard lock(mutex_);
    std::erase(slots_, slot);
  }
  slot->Remove();
  metrics_.Forget(slot->name());
}

void ModelRegistry::SetModel(ModelSlot& slot, const std::shared_ptr<ServedModel>& model) {
  const std::string before = slot.name();
  slot.SetModel(model);
  if (before == model->description.name()) return;
  std::lock_guard lock(mutex_);  // UpdateGauges may have read the earlier name
  metrics_.Forget(before);
}

ModelSlots ModelRegistry::models() const {
  std::lock_guard lock(mutex_);
  return slots_;
}

absl::StatusOr<std::shared_ptr<ModelSlot>> ModelRegistry::Find(const std::string& name) const {
  const ModelSlots slots = models();
  for (const auto& slot : slots) {
    if (slot->name() == name) return slot;
  }
  return absl::NotFoundError(absl::StrCat("model: there is no '", name, "'; this server has ", Names(slots)));
}

absl::StatusOr<std::shared_ptr<ModelSlot>> ModelRegistry::Choose(const v1::TranslateDocumentRequest& request) const {
  if (!request.model().empty()) {
    auto slot = Find(request.model());
    if (!slot.ok()) return slot;
    const v1::Model model = (*slot)->description();
    if (model.source_languages().empty() || Serves(model, request)) return slot;
    return absl::InvalidArgumentError(absl::StrCat("model: ", Describe(model), " does not translate ",
                                                   DescribeWish(request), "; leave out model, or the languages"));
  }
  const ModelSlots slots = models();
  ModelSlots candidates;
  for (const auto& slot : slots) {
    if (Serves(slot->description(), request)) candidates.push_back(slot);
  }
  if (candidates.size() == 1) return candidates.front();
  if (candidates.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no model translates ", DescribeWish(request), "; this server has ", Names(slots)));
  }
  const bool has_wish = !request.source_language().empty() || !request.target_language().empty();
  return absl::InvalidArgumentError(absl::StrCat("model: this server has several",
                                                 has_wish ? " from " + DescribeWish(request) : "", "; name one of ",
                                                 Names(candidates)));
}

void ModelRegistry::UpdateGauges() const {
  std::lock_guard lock(mutex_);  // a model that is removed meanwhile is forgotten afterwards
  for (const auto& slot : slots_) {
    metrics_.SetState(slot->name(), slot->state(), !slot->failure().ok());
    ModelMetrics* const metrics = slot->metrics();
    if (metrics == nullptr) continue;
    if (const std::shared_ptr<ServedModel> model = slot->loaded()) {
      metrics->SetStatus(model->engine->status());
    } else {
      metrics->SetAbsent(slot->waiting());
    }
  }
}

}  // namespace salient
