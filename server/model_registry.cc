#include "server/model_registry.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/convert.h"

namespace salient {
namespace {

// Whether a model of language `has` serves a request for `wants`: the same tag, or a narrower one, such as "en-GB" for
// "en" (RFC 4647, basic filtering). An empty wish is served by every model.
bool Serves(const std::string& has, const std::string& wants) {
  return wants.empty() || absl::EqualsIgnoreCase(has, wants) || absl::StartsWithIgnoreCase(wants, has + "-");
}

std::string Describe(const ServedModel& model) {
  return absl::StrCat(model.description.name(), " (", model.description.source_language(), " to ",
                      model.description.target_language(), ")");
}

std::string DescribeWish(const v1::TranslateDocumentRequest& request) {
  const auto name = [](const std::string& language) { return language.empty() ? "any language" : language; };
  return absl::StrCat(name(request.source_language()), " to ", name(request.target_language()));
}

}  // namespace

absl::Status ModelRegistry::Add(std::unique_ptr<Engine> engine, const EngineOptions& options,
                                std::unique_ptr<StepObserver> observer) {
  const ModelInfo& info = engine->info();
  const std::string& name = info.config.name;
  if (Find(name).ok()) {
    return absl::AlreadyExistsError(absl::StrCat(options.model_folder, ": its config.json names the model '", name,
                                                 "', as another folder does; give each --model its own name"));
  }
  auto model = std::make_unique<ServedModel>();
  model->description = ToProto(info);
  model->options = options;
  model->metrics = metrics_.ForModel(name, info.config.decoder.layers);
  model->metrics->SetLimits(options.max_queued_documents, options.max_rows);
  model->observer = std::move(observer);
  if (model->observer != nullptr) model->observer->Attach(model->metrics);
  model->engine = std::move(engine);
  models_.push_back(std::move(model));
  return absl::OkStatus();
}

absl::StatusOr<ServedModel*> ModelRegistry::Find(const std::string& name) const {
  for (const auto& model : models_) {
    if (model->description.name() == name) return model.get();
  }
  return absl::NotFoundError(absl::StrCat("model: there is no '", name, "'; this server has ", Names()));
}

absl::StatusOr<ServedModel*> ModelRegistry::Choose(const v1::TranslateDocumentRequest& request) const {
  const auto serves = [&request](const ServedModel& model) {
    return Serves(model.description.source_language(), request.source_language()) &&
           Serves(model.description.target_language(), request.target_language());
  };
  if (!request.model().empty()) {
    auto model = Find(request.model());
    if (!model.ok() || serves(**model)) return model;
    return absl::InvalidArgumentError(absl::StrCat("model: ", Describe(**model), " does not translate ",
                                                   DescribeWish(request), "; leave out model, or the languages"));
  }
  std::vector<ServedModel*> candidates;
  for (const auto& model : models_) {
    if (serves(*model)) candidates.push_back(model.get());
  }
  if (candidates.size() == 1) return candidates.front();
  if (candidates.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no model translates ", DescribeWish(request), "; this server has ", Names()));
  }
  const bool has_wish = !request.source_language().empty() || !request.target_language().empty();
  return absl::InvalidArgumentError(absl::StrCat(
      "model: this server has several", has_wish ? " from " + DescribeWish(request) : "", "; name one of ",
      absl::StrJoin(candidates, ", ", [](std::string* out, const ServedModel* model) { *out += Describe(*model); })));
}

void ModelRegistry::UpdateGauges() const {
  for (const auto& model : models_) model->metrics->SetStatus(model->engine->status());
}

std::string ModelRegistry::Names() const {
  if (models_.empty()) return "no models";
  return absl::StrJoin(models_, ", ", [](std::string* out, const auto& model) { *out += Describe(*model); });
}

}  // namespace salient
