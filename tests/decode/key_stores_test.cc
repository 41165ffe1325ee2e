#include "engine/decode/key_stores.h"

#include "gtest/gtest.h"
#include "tests/decode/small_config.h"

namespace salient {
namespace {

constexpr int64_t kBytes = 1 << 20;

KvLayout SelfLayoutOf(Autoregression autoregression, ElementType kv_type) {
  Model model;
  model.config = SmallConfig();
  model.config.d_model = 64;
  model.config.autoregression = autoregression;
  const std::unique_ptr<Backend> backend = MakeReferenceBackend();
  KeyPools pools(backend->memory(), kBytes);
  const KeyStores stores(model, *backend, kv_type, pools);
  EXPECT_EQ(stores.cross.layout().type, kv_type);
  return stores.self.layout();
}

TEST(KeyStoresTest, KeysHaveTheTypeThatWasAskedFor) {
  for (const ElementType type : {ElementType::kF32, ElementType::kBF16, ElementType::kInt8}) {
    EXPECT_EQ(SelfLayoutOf(Autoregression::kAttention, type).type, type);
  }
}

// Its state is fp32 numbers, as many as the model is wide, and a row in int8 has fewer bytes.
TEST(KeyStoresTest, ARecurrentStateHasRoomInItsRow) {
  for (const ElementType type : {ElementType::kF32, ElementType::kBF16, ElementType::kInt8}) {
    const KvLayout layout = SelfLayoutOf(Autoregression::kSsru, type);
    EXPECT_GE(layout.row_bytes(), layout.width * sizeof(float));
  }
}

}  // namespace
}  // namespace salient
