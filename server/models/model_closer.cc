#include "server/models/model_closer.h"

#include <utility>

namespace salient {

ModelCloser::~ModelCloser() {
  std::unique_lock lock(mutex_);
  closed_.wait(lock, [this] { return open_ == 0; });
}

std::shared_ptr<ServedModel> ModelCloser::Share(std::unique_ptr<ServedModel> model) {
  {
    std::lock_guard lock(mutex_);
    ++open_;
  }
  return {model.release(), [this](ServedModel* unused) {
            thread_.Post([this, unused] {
              delete unused;
              std::lock_guard lock(mutex_);
              --open_;
              closed_.notify_all();
            });
          }};
}

}  // namespace salient
