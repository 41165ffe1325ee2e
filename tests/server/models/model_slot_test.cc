#include "server/models/model_slot.h"

#include <memory>

#include "gtest/gtest.h"

namespace salient {
namespace {

// A document whose turn brings another one, a hundred times at most.
class Endless final : public ModelWaiter {
 public:
  Endless(ModelSlot& slot, int& turns) : slot_(slot), turns_(turns) {}
  void TakeModel(absl::StatusOr<std::shared_ptr<ServedModel>> model) override {
    EXPECT_TRUE(model.ok()) << model.status();
    if (++turns_ == 100) return;
    EXPECT_TRUE(slot_.Await(std::make_shared<Endless>(slot_, turns_), absl::UnixEpoch()).ok());
  }
  bool gone() const override { return false; }
  absl::Time deadline() const override { return absl::InfiniteFuture(); }
  int64_t bytes() const override { return 1; }

 private:
  ModelSlot& slot_;
  int& turns_;
};

// The thread that gives them the model is the one that loads all models.
TEST(ModelSlotTest, DocumentsThatComeWithoutEndDoNotKeepAModelFromServing) {
  int turns = 0;
  const auto slot = std::make_shared<ModelSlot>(EngineOptions(), [](const std::shared_ptr<ModelSlot>&) {});
  const auto waits = slot->Await(std::make_shared<Endless>(*slot, turns), absl::UnixEpoch());
  ASSERT_TRUE(waits.ok() && *waits == nullptr);
  const auto model = std::make_shared<ServedModel>();
  slot->SetModel(model);
  EXPECT_EQ(turns, 2) << "the one that waited, and the one that came with its turn; the next one has the model";
  EXPECT_EQ(slot->state(), v1::Model::SERVING);
  EXPECT_EQ(slot->loaded(), model);
}

}  // namespace
}  // namespace salient
