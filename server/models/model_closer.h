// Closes models that nobody holds any more, in a thread of its own. The last holder may be a document that ends in a
// worker of the model's own engine, and closing an engine waits for its workers.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "engine/base/workers.h"
#include "server/models/served_model.h"

namespace salient {

class ModelCloser {
 public:
  ~ModelCloser();  // waits until every model that was given to Share is closed

  // The model, which this object closes after its last holder has let go of it.
  std::shared_ptr<ServedModel> Share(std::unique_ptr<ServedModel> model);

 private:
  std::mutex mutex_;
  std::condition_variable closed_;
  int open_ = 0;
  Workers thread_{1};
};

}  // namespace salient
