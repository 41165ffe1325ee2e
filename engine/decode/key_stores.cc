#include "engine/decode/key_stores.h"

#include <algorithm>
#include <cmath>

namespace salient {
namespace {

// The share of the key memory that holds the translations' own keys. A translation reserves space for a quarter more
// tokens than its source has, and some grow longer.
constexpr double kSelfShare = 0.6;

int32_t Units(int64_t bytes) { return static_cast<int32_t>(bytes / static_cast<int64_t>(kPageUnit)); }
int32_t SelfUnits(int64_t bytes) { return static_cast<int32_t>(kSelfShare * Units(bytes)); }

ElementType TypeFor(Backend& backend, std::optional<ElementType> asked) { return asked.value_or(backend.kv_type()); }

// A recurrent state is fp32 in a row's place (engine/recurrence/ssru.h). A row in int8 is too small for it.
ElementType SelfType(const ModelConfig& config, Backend& backend, std::optional<ElementType> asked) {
  const ElementType type = TypeFor(backend, asked);
  return config.recurs() && type == ElementType::kInt8 ? ElementType::kBF16 : type;
}

KvLayout SelfLayout(const Model& model, Backend& backend, std::optional<ElementType> kv_type) {
  const ModelConfig& config = model.config;
  return {.layers = config.decoder.layers,
          .width = config.d_model,
          .heads = config.heads,
          .groups = config.groups(Module::kDecoder),
          .selection_width = config.selection.width,
          .exit_states = config.has_exits,
          .type = SelfType(config, backend, kv_type)};
}

KvLayout CrossLayout(const Model& model, Backend& backend, std::optional<ElementType> kv_type) {
  KvLayout layout = SelfLayout(model, backend, kv_type);
  layout.groups = model.config.groups(Module::kCross);
  layout.exit_states = false;
  layout.type = TypeFor(backend, kv_type);
  return layout;
}

int64_t UsedBytes(const KvStore& store) {
  return store.share().taken() * static_cast<int64_t>(store.layout().page_bytes());
}

}  // namespace

KeyPools::KeyPools(DeviceMemory& memory, int64_t size)
    : bytes(size),
      area(memory.AllocateShared(size)),
      self(area.get(), SelfUnits(size)),
      cross(area.get() + static_cast<size_t>(self.units()) * kPageUnit, Units(size) - self.units()) {}

KeyStores::KeyStores(const Model& model, Backend& backend, std::optional<ElementType> kv_type, KeyPools& pools,
                     const std::function<void()>& look)
    : self(pools.self, SelfLayout(model, backend, kv_type), look),
      cross(pools.cross, CrossLayout(model, backend, kv_type), look) {}

int64_t KeyStores::used_bytes() const { return UsedBytes(self) + UsedBytes(cross); }

int64_t KeyStores::least_bytes() const {
  const double units =
      std::max(self.layout().page_units() / kSelfShare, cross.layout().page_units() / (1 - kSelfShare));
  return static_cast<int64_t>(std::ceil(units) + 1) * static_cast<int64_t>(kPageUnit);
}

}  // namespace salient
