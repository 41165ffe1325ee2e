#include "server/models/model_loader.h"

#include <chrono>
#include <filesystem>
#include <future>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "engine/base/files.h"
#include "server/models/folder_print.h"
#include "server/request/proto.h"
#include "spdlog/spdlog.h"

namespace salient {
namespace {

// How often deadlines and idle models are looked at: a document that waits for a model is late by this at most.
constexpr absl::Duration kLookForIdleEvery = absl::Milliseconds(100);

// At the root of every ext4 volume, and only root may read it.
constexpr char kOfTheFileSystem[] = "lost+found";

absl::StatusOr<std::set<std::string>> FoldersIn(const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> names = NamesIn(folder);
  if (!names.ok()) return absl::NotFoundError(absl::StrCat("--models-dir: ", names.status().message()));
  std::set<std::string> folders;
  for (const std::string& name : *names) {
    std::error_code gone;
    if (name[0] == '.' || name == kOfTheFileSystem) continue;
    if (std::filesystem::is_directory(absl::StrCat(folder, "/", name), gone)) folders.insert(name);
  }
  return folders;
}

void LogFailure(const std::string& folder, const absl::Status& status) {
  spdlog::error("{} cannot be loaded: {}", folder, std::string(status.message()));
}

}  // namespace

ModelLoader::ModelLoader(ModelSources sources, ModelRegistry& models, Metrics& metrics)
    : sources_(std::move(sources)), models_(models), metrics_(metrics) {
  loads_ = std::thread([this] { RunLoads(); });
  looks_after_ = std::thread([this] { LookAfter(); });
}

ModelLoader::~ModelLoader() {
  Stop();
  for (const auto& slot : models_.models()) models_.Remove(slot);
  folders_.clear();
}

void ModelLoader::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    tasks_.clear();
  }
  wake_.notify_all();
  if (loads_.joinable()) loads_.join();
  if (looks_after_.joinable()) looks_after_.join();
}

absl::Status ModelLoader::LoadAll() {
  std::promise<absl::Status> done;
  Post([&] { done.set_value(LoadNamed()); }, false);
  return done.get_future().get();
}

absl::Status ModelLoader::LoadNamed() {
  for (const EngineOptions& options : sources_.models) {
    if (absl::Status status = Load(AddSlot(options)); !status.ok()) return status;
  }
  return sources_.folder.empty() ? absl::OkStatus() : Scan();
}

absl::Status ModelLoader::Add(std::unique_ptr<Engine> engine, const EngineOptions& options,
                              std::unique_ptr<StepObserver> observer) {
  if (auto status = CheckName(engine->info().config.name, options.model_folder, nullptr); !status.ok()) return status;
  const auto calibration = ReadGuardCalibration(options.model_folder);
  if (!calibration.ok()) return calibration.status();
  models_.Add(std::make_shared<ModelSlot>(Share(std::move(engine), options, *calibration, std::move(observer))));
  return absl::OkStatus();
}

absl::Status ModelLoader::Reload() {
  if (sources_.folder.empty()) {
    return absl::FailedPreconditionError("there is no folder to look at again; start the server with --models-dir");
  }
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(reload_waits_, true)) return absl::OkStatus();
  }
  Post(
      [this] {
        {
          std::lock_guard lock(mutex_);
          reload_waits_ = false;
        }
        if (const absl::Status status = Scan(); !status.ok()) {
          spdlog::error("{}; the models stay as they are", std::string(status.message()));
        }
      },
      false);
  return absl::OkStatus();
}

std::shared_ptr<ModelSlot> ModelLoader::AddSlot(const EngineOptions& options) {
  auto slot = std::make_shared<ModelSlot>(options, [this](const std::shared_ptr<ModelSlot>& asked) {
    const auto load = [this, asked] {
      if (asked->loaded() == nullptr) (void)Load(asked);  // else a reload was quicker
    };
    Post(load, true);
  });
  models_.Add(slot);
  return slot;
}

absl::Status ModelLoader::CheckName(const std::string& name, const std::string& folder, const ModelSlot* slot) const {
  for (const auto& other : models_.models()) {
    const bool known = other->metrics() != nullptr;
    if (other.get() == slot || !known || other->name() != name) continue;
    return absl::AlreadyExistsError(absl::StrCat(folder, ": its config.json names the model '", name,
                                                 "', as another folder does; give each model its own name"));
  }
  return absl::OkStatus();
}

std::shared_ptr<ServedModel> ModelLoader::Share(std::unique_ptr<Engine> engine, const EngineOptions& options,
                                                const GuardCalibration& calibration,
                                                std::unique_ptr<StepObserver> observer) {
  const ModelInfo& info = engine->info();
  auto model = std::make_unique<ServedModel>();
  model->description = ToProto(info);
  model->options = options;
  model->calibration = calibration;
  model->metrics = metrics_.ForModel(info.config.name, info.config.decoder.layers);
  model->metrics->SetLimits(options.max_queued_documents, options.max_rows);
  model->observer = std::move(observer);
  if (model->observer != nullptr) model->observer->Attach(model->metrics);
  model->engine = std::move(engine);
  return closer_.Share(std::move(model));
}

absl::StatusOr<std::shared_ptr<ServedModel>> ModelLoader::Open(const ModelSlot& slot) {
  const EngineOptions& options = slot.options();
  const auto calibration = ReadGuardCalibration(options.model_folder);
  if (!calibration.ok()) return calibration.status();
  auto observer = std::make_unique<StepObserver>();
  auto engine = sources_.open(options, observer.get());
  if (!engine.ok()) return engine.status();
  const std::string& name = (*engine)->info().config.name;
  if (auto status = CheckName(name, options.model_folder, &slot); !status.ok()) {
    engine->reset();  // before its observer
    return status;
  }
  return Share(*std::move(engine), options, *calibration, std::move(observer));
}

absl::Status ModelLoader::Load(const std::shared_ptr<ModelSlot>& slot) {
  const std::string& folder = slot->options().model_folder;
  spdlog::info("loading {}", folder);
  const absl::Time start = absl::Now();
  auto model = Open(*slot);
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  metrics_.ObserveLoad(model.ok() ? (*model)->description.name() : slot->name(), model.ok(), seconds);
  if (!model.ok()) {
    LogFailure(folder, model.status());
    slot->SetFailure(model.status(), absl::Now());
    return model.status();
  }
  const v1::Model& loaded = (*model)->description;
  spdlog::info("loaded {} in {:.1f} s: {} to {}, {:.1f} M parameters, {}", loaded.name(), seconds,
               loaded.source_language(), loaded.target_language(), static_cast<double>(loaded.parameters()) / 1e6,
               loaded.device());
  models_.SetModel(*slot, *model);
  return absl::OkStatus();
}

// Whether there is other contents to load than what was read last, of which nothing is known if that was never read or
// could not be loaded. The stamp is taken before the files are read: what changes meanwhile is seen the next time.
bool ModelLoader::Changed(Read& read) {
  const std::string& folder = read.slot->options().model_folder;
  const bool failed = !read.slot->failure().ok();
  const absl::StatusOr<std::string> stamp = FolderStamp(folder);
  if (!stamp.ok()) {
    LogFailure(folder, stamp.status());
    return false;
  }
  if (*stamp == std::exchange(read.stamp, *stamp) && !failed) return false;
  const absl::StatusOr<std::string> digest = FolderDigest(folder);
  const std::string old = std::exchange(read.digest, digest.value_or(""));
  return failed || old.empty() || read.digest != old;
}

absl::Status ModelLoader::Scan() {
  const absl::StatusOr<std::set<std::string>> names = FoldersIn(sources_.folder);
  if (!names.ok()) return names.status();
  std::erase_if(folders_, [&](const auto& folder) {
    if (names->contains(folder.first)) return false;
    spdlog::info("{} is gone: unloading {}", folder.second.slot->options().model_folder, folder.second.slot->name());
    models_.Remove(folder.second.slot);
    return true;
  });
  for (const std::string& name : *names) {
    Read& read = folders_[name];
    const bool is_new = read.slot == nullptr;
    if (is_new) {
      EngineOptions options = sources_.options;
      options.model_folder = absl::StrCat(sources_.folder, "/", name);
      read.slot = AddSlot(options);
    }
    if (!Changed(read) && !is_new) continue;
    read.slot->SetLoading();
    (void)Load(read.slot);  // logged
  }
  return absl::OkStatus();
}

void ModelLoader::Post(std::function<void()> task, bool first) {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    tasks_.insert(first ? tasks_.begin() : tasks_.end(), std::move(task));
  }
  wake_.notify_all();
}

void ModelLoader::RunLoads() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

void ModelLoader::LookAfter() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, absl::ToChronoMilliseconds(kLookForIdleEvery), [this] { return stopping_; })) {
    lock.unlock();
    const absl::Time now = absl::Now();
    for (const auto& slot : models_.models()) {
      slot->DropLate(now);
      if (sources_.idle != absl::InfiniteDuration() && slot->DropIfIdle(now, sources_.idle)) {
        spdlog::info("{} is dropped from memory: nobody asked for it in {}", slot->name(),
                     absl::FormatDuration(sources_.idle));
      }
    }
    lock.lock();
  }
}

}  // namespace salient
