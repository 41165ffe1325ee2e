// Loads the models of a server, and unloads them: at the start, on a reload, on a request for one not in memory.
//
// Every folder in ModelSources::folder is a model, except lost+found and those whose names begin with a dot. A reload
// looks at them again: new ones are loaded, those that are gone are unloaded when their documents are done, and one
// whose files have other contents is loaded beside the old one, which finishes its documents. What cannot be loaded is
// logged and told by its slot; it changes nothing for the other models.
//
// One thread loads, one model after the other; models that requests wait for go first. Another looks after deadlines of
// those who wait, and after models that nobody asks for.
//
// Thread safety: LoadAll once, before all else; the other methods may be called from any thread.

#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/models/model_closer.h"
#include "server/models/model_registry.h"
#include "server/telemetry/metrics.h"

namespace salient {

using EngineFactory =
    std::function<absl::StatusOr<std::unique_ptr<Engine>>(const EngineOptions& options, EngineObserver* observer)>;

struct ModelSources {
  std::vector<EngineOptions> models;  // of folders that are named
  std::string folder;                 // of folders of models; empty: none
  EngineOptions options;              // of the models in it; model_folder is set for each
  // A model is dropped from memory when nobody has asked for it for so long.
  absl::Duration idle = absl::InfiniteDuration();
  EngineFactory open;  // Engine::Create, which main names: the server is built against the abstract engine
};

class ModelLoader {
 public:
  // Both must outlive it.
  ModelLoader(ModelSources sources, ModelRegistry& models, Metrics& metrics);
  ~ModelLoader();  // stops, removes all models, and waits until they are closed

  // Loads every model, in turn. An error if one of ModelSources::models cannot be loaded, or the folder not be listed.
  absl::Status LoadAll();

  // Adds a model that its caller has opened. It stays in memory. ALREADY_EXISTS if there is one of its name.
  absl::Status Add(std::unique_ptr<Engine> engine, const EngineOptions& options,
                   std::unique_ptr<StepObserver> observer);

  // Looks at the folder again, soon, in the loader's thread. FAILED_PRECONDITION if there is none.
  absl::Status Reload();

  // No more loads. For the end of the server.
  void Stop();

 private:
  // What is known of a folder's files when it was last read.
  struct Read {
    std::shared_ptr<ModelSlot> slot;
    std::string stamp, digest;  // empty: could not be read
  };

  std::shared_ptr<ModelSlot> AddSlot(const EngineOptions& options);
  absl::Status Load(const std::shared_ptr<ModelSlot>& slot);
  absl::StatusOr<std::shared_ptr<ServedModel>> Open(const ModelSlot& slot);
  absl::Status LoadNamed();
  std::shared_ptr<ServedModel> Share(std::unique_ptr<Engine> engine, const EngineOptions& options,
                                     const GuardCalibration& calibration, std::unique_ptr<StepObserver> observer);
  absl::Status CheckName(const std::string& name, const std::string& folder, const ModelSlot* slot) const;
  absl::Status Scan();
  static bool Changed(Read& read);
  void Post(std::function<void()> task, bool first);
  void RunLoads();
  void LookAfter();

  const ModelSources sources_;
  ModelRegistry& models_;
  Metrics& metrics_;
  ModelCloser closer_;
  std::map<std::string, Read> folders_;  // in ModelSources::folder, by name; the loading thread's own

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  bool reload_waits_ = false;  // one is posted and has not begun
  std::deque<std::function<void()>> tasks_;
  std::thread loads_, looks_after_;
};

}  // namespace salient
