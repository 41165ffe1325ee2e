// One model of the server, in memory or not: who asks for it gets it, or waits until it is loaded.
//
//   LOADING ──> SERVING ──(nobody asks)──> IDLE ──(a request)──> LOADING
//        └────> FAILED  ──(a request, once in a while, or a reload)──┘
//
// A slot loads nothing by itself: it asks its loader (server/models/model_loader.h) once, whoever and however many
// wait.
//
// Thread safety: all methods may be called from any thread. Waiters are called without a lock held.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "salient/v1/translation.pb.h"
#include "server/models/served_model.h"

namespace salient {

// A document that waits until its model is loaded.
class ModelWaiter {
 public:
  virtual ~ModelWaiter() = default;
  // Once at most: the model, or why there is none.
  virtual void TakeModel(absl::StatusOr<std::shared_ptr<ServedModel>> model) = 0;
  // It waits no longer, for it was cancelled.
  virtual bool gone() const = 0;
  virtual absl::Time deadline() const = 0;
  virtual int64_t bytes() const = 0;  // of its document
};

class ModelSlot : public std::enable_shared_from_this<ModelSlot> {
 public:
  using State = v1::Model::State;

  using Load = std::function<void(std::shared_ptr<ModelSlot>)>;

  // Of a model that can be loaded: `load` is called when it should be, at most once until SetModel or SetFailure. It
  // must not block. The slot is LOADING, and the caller loads it for the first time.
  ModelSlot(EngineOptions options, Load load);
  // Of a model that is in memory and stays there.
  explicit ModelSlot(std::shared_ptr<ServedModel> model);

  // The model's own name; while it has never been loaded, that of its folder.
  std::string name() const;
  // As ListModels tells it, with its state.
  v1::Model description() const;
  State state() const;
  // Why the last try to load it failed; OK if it did not. A model whose changed folder could not be loaded goes on
  // serving as it was.
  absl::Status failure() const;
  const EngineOptions& options() const { return options_; }
  // Null if it is not in memory.
  std::shared_ptr<ServedModel> loaded() const;
  // Null until it has been loaded once.
  ModelMetrics* metrics() const;
  // Of documents that wait for it to be loaded.
  int32_t waiting() const;
  // Whether a document may wait for it, or its engine's queue has room; `share` is the part of either that may be used.
  bool HasRoom(double share) const;

  // The model for a request; null if it is not in memory: then the request is to wait.
  std::shared_ptr<ServedModel> Use(absl::Time now);
  // The same if it has been loaded meanwhile. Otherwise null, and `waiter` will be called. RESOURCE_EXHAUSTED if too
  // many wait already, within the limits of the engine's queue; INTERNAL if it failed to load a moment ago.
  absl::StatusOr<std::shared_ptr<ServedModel>> Await(const std::shared_ptr<ModelWaiter>& waiter, absl::Time now);

  // For the loader.
  void SetLoading();                                         // unless it serves
  void SetModel(const std::shared_ptr<ServedModel>& model);  // tells who waits; then requests get the model themselves
  void SetFailure(const absl::Status& failure, absl::Time now);
  // It is no model of this server any more: who waits is told, and what it has is let go of.
  void Remove();
  // Lets go of a model that has had no document for so long. Whether it did.
  bool DropIfIdle(absl::Time now, absl::Duration idle);
  // Those whose deadline has passed wait no longer.
  void DropLate(absl::Time now);

 private:
  using Waiters = std::vector<std::shared_ptr<ModelWaiter>>;

  // With mutex_ held.
  absl::Status CheckRoom(int64_t bytes);
  std::string NameNow() const;

  const EngineOptions options_;
  const Load load_;  // empty: it stays in memory

  mutable std::mutex mutex_;
  State state_ = v1::Model::LOADING;
  v1::Model description_;
  std::shared_ptr<ServedModel> model_;
  ModelMetrics* metrics_ = nullptr;
  absl::Status failure_;
  absl::Time failed_at_ = absl::InfinitePast();
  absl::Time used_at_ = absl::InfinitePast();
  bool removed_ = false;
  Waiters waiters_;
};

}  // namespace salient
