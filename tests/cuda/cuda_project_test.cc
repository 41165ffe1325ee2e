// Projections on a CUDA device: one kernel gives what its parts give, to the bit.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/backend/backend_fixture.h"
#include "tests/backend/documents.h"

namespace salient {
namespace {

struct ProjectShape {
  int32_t width, heads, selection;
};
void PrintTo(const ProjectShape& shape, std::ostream* out) { *out << shape.width << " in " << shape.heads << " heads"; }

class CudaProjectTest : public BackendTest {
 protected:
  struct Layer {
    std::vector<float> weight, bias;
    std::unique_ptr<PackedLinear> packed;
  };
  Layer MakeLayer(int32_t inputs, int32_t outputs) {
    Layer made{Normal(static_cast<size_t>(inputs) * outputs, 0.1f), Normal(outputs), nullptr};
    made.packed = backend().Pack({made.weight.data(), made.bias.data(), inputs, outputs});
    return made;
  }

  struct Norm {
    std::vector<float> weight, bias;
    // The norm of `rows` of `states`. A norm without weights takes them as they are.
    LayerNormArgs Of(Rows rows, int32_t width, const std::vector<float>& states, std::vector<float>& output) const {
      return {.rows = rows,
              .input = states.data(),
              .width = width,
              .weight = weight.empty() ? nullptr : weight.data(),
              .bias = bias.empty() ? nullptr : bias.data(),
              .output = output.data()};
    }
  };
  Norm MakeNorm(int32_t width) { return {Normal(width), Normal(width)}; }
};
SALIENT_TEST_ALL_BACKENDS(CudaProjectTest);

// An attention block of a step: keys and values of some rows, a part of which also has queries.
TEST_P(CudaProjectTest, AnAttentionBlockIsItsPartsToTheBit) {
  constexpr float kStep = 20;
  for (const ProjectShape& shape :
       {ProjectShape{48, 3, 16}, ProjectShape{96, 2, 32}, ProjectShape{544, 17, 16}, ProjectShape{40, 5, 8}}) {
    SCOPED_TRACE(::testing::PrintToString(shape));
    const int32_t width = shape.width, head_width = width / shape.heads;
    const Layer key_value = MakeLayer(width, 2 * width), query = MakeLayer(width, width);
    const Layer key = MakeLayer(width, shape.selection), selection = MakeLayer(width, shape.selection);
    const Norm weights = MakeNorm(width), none;
    for (const ElementType type : {ElementType::kF32, ElementType::kBF16, ElementType::kInt8}) {
      for (const int32_t count : {1, 17, 40}) {
        if (width > 512 && count != 17 && type != ElementType::kBF16) continue;  // many blocks
        const bool normed = count != 17, turned = count != 1 || type == ElementType::kBF16;
        const SparseRows rows(count);
        const auto end = static_cast<size_t>(rows.end());
        const std::vector<int32_t> queries(1, (count + 1) / 2);  // on the heap, where a GPU sees it
        const Rows active{rows.rows().index, queries.data(), rows.capacity()};
        const std::vector<float> states = Normal(end * width);
        std::vector<int32_t> rotary_positions(end), positions(end);
        for (size_t row = 0; row < end; ++row) {
          rotary_positions[row] = Uniform(0, 9000);
          positions[row] = static_cast<int32_t>(row);
        }
        const KvLayout layout = {.layers = 2,
                                 .width = width,
                                 .heads = shape.heads,
                                 .groups = 1,
                                 .selection_width = shape.selection,
                                 .type = type};
        const int32_t pages = TestStore::PagesWithGaps(static_cast<int64_t>(end), 1);
        TestStore store(backend(), layout, pages), expected_store(backend(), layout, pages);
        const TestDocument document = store.Add(static_cast<int32_t>(end));
        const std::vector<KeyView> views(end, ViewOf(document, 0));
        const auto capacity = static_cast<size_t>(rows.capacity());
        std::vector<float> scratch(capacity * width), kv(capacity * 2 * width), keys(capacity * shape.selection);
        std::vector<float> q(capacity * width, -1.0f), s(capacity * shape.selection, -1.0f), expected_q = q,
                                                                                             expected_s = s;
        const auto run = [&](TestStore& to, std::vector<float>& q_out, std::vector<float>& s_out, bool parts) {
          const AppendKeyValueArgs append = {.rows = rows.rows(),
                                             .key_value = kv.data(),
                                             .store = to.pages(),
                                             .layer = 1,
                                             .views = views.data(),
                                             .positions = positions.data()};
          const AppendSelectionArgs append_keys = {.rows = rows.rows(),
                                                   .keys = keys.data(),
                                                   .key_inverse_step = kStep,
                                                   .store = to.pages(),
                                                   .group = 0,
                                                   .views = views.data(),
                                                   .positions = positions.data()};
          const auto projection = [&](const Layer& layer, const Rows& of, std::vector<float>& output, int32_t heads,
                                      int32_t one) -> Projection {
            return {.rows = of,
                    .weight = layer.packed.get(),
                    .output = output.data(),
                    .rotary_positions = turned ? rotary_positions.data() : nullptr,
                    .heads = heads,
                    .head_width = one,
                    .base = 500.0f};
          };
          std::vector<Projection> made = {projection(key_value, rows.rows(), kv, shape.heads, head_width),
                                          projection(key, rows.rows(), keys, 1, shape.selection),
                                          projection(query, active, q_out, shape.heads, head_width),
                                          projection(selection, active, s_out, 1, shape.selection)};
          made[0].key_value = &append;
          made[1].selection = &append_keys;
          const ProjectArgs args = {.norm = (normed ? weights : none).Of(rows.rows(), width, states, scratch),
                                    .projections = made};
          parts ? backend().Backend::Project(args) : backend().Project(args);
        };
        run(store, q, s, false);
        run(expected_store, expected_q, expected_s, true);
        ASSERT_TRUE(SameBits(q.data(), expected_q.data(), q.size())) << count << " rows";
        ASSERT_TRUE(SameBits(s.data(), expected_s.data(), s.size())) << count << " rows";
        for (const int32_t page : document.pages) {
          ASSERT_EQ(0, std::memcmp(store.pages().Page(page), expected_store.pages().Page(page), layout.page_bytes()))
              << count << " rows";
        }
      }
    }
  }
}

// The first half of a feed-forward block: one projection with an activation, of more rows than a wave of small blocks.
TEST_P(CudaProjectTest, HiddenStatesAreTheirPartsToTheBit) {
  constexpr int32_t kWidth = 64;
  const Norm norm = MakeNorm(kWidth);
  for (const int32_t hidden : {36, 136}) {
    const Layer up = MakeLayer(kWidth, hidden);
    for (const Activation activation : {Activation::kRelu, Activation::kSwish}) {
      for (const int32_t count : {0, 3, 70, 130}) {
        const SparseRows rows(count);
        const std::vector<float> states = Normal(static_cast<size_t>(rows.end()) * kWidth);
        std::vector<float> scratch(static_cast<size_t>(rows.capacity()) * kWidth);
        std::vector<float> got(static_cast<size_t>(rows.capacity()) * hidden, -1.0f), expected = got;
        const auto run = [&](std::vector<float>& output, bool parts) {
          const Projection made[] = {
              {.rows = rows.rows(), .weight = up.packed.get(), .activation = activation, .output = output.data()}};
          const ProjectArgs args = {.norm = norm.Of(rows.rows(), kWidth, states, scratch), .projections = made};
          parts ? backend().Backend::Project(args) : backend().Project(args);
        };
        run(got, false);
        run(expected, true);
        ASSERT_TRUE(SameBits(got.data(), expected.data(), got.size())) << count << " rows, " << hidden << " outputs";
      }
    }
  }
}

// With post-norm the normed states go on beside the projections: by row number, and the states themselves stay.
TEST_P(CudaProjectTest, NormedStatesGoOnAsTheirPartsGiveThem) {
  for (const int32_t width : {40, 66, 520}) {
    const Norm norm = MakeNorm(width);
    const Layer up = MakeLayer(width, 96), few = MakeLayer(width, 16);
    for (const int32_t count : {1, 17, 70}) {
      const SparseRows rows(count);
      const std::vector<float> given = Normal(static_cast<size_t>(rows.end()) * width);
      std::vector<float> states = given, scratch(static_cast<size_t>(rows.capacity()) * width);
      std::vector<float> got(static_cast<size_t>(rows.capacity()) * 96, -1.0f), expected = got;
      std::vector<float> first_few(static_cast<size_t>(rows.capacity()) * 16);
      std::vector<float> normed(given.size(), -1.0f), expected_normed = normed;
      const auto run = [&](std::vector<float>& output, std::vector<float>& to, bool parts) {
        const Projection made[] = {{.rows = rows.rows(), .weight = up.packed.get(), .output = output.data()},
                                   {.rows = rows.rows(), .weight = few.packed.get(), .output = first_few.data()}};
        const ProjectArgs args = {
            .norm = norm.Of(rows.rows(), width, states, scratch), .projections = made, .normed = to.data()};
        parts ? backend().Backend::Project(args) : backend().Project(args);
      };
      run(got, normed, false);
      run(expected, expected_normed, true);
      ASSERT_TRUE(SameBits(got.data(), expected.data(), got.size())) << count << " rows of " << width;
      ASSERT_TRUE(SameBits(normed.data(), expected_normed.data(), normed.size())) << count << " rows of " << width;
      ASSERT_TRUE(SameBits(states.data(), given.data(), given.size())) << count << " rows of " << width;
      const auto row = static_cast<size_t>(rows.rows().index[count - 1]) * width;
      ASSERT_NE(normed[row], -1.0f);
    }
  }
}

// Hidden states may go from the one half to the other in another format, but not with another result.
TEST_P(CudaProjectTest, AFeedForwardBlockIsItsPartsToTheBit) {
  constexpr int32_t kWidth = 72;
  const Norm norm = MakeNorm(kWidth);
  for (const int32_t hidden : {36, 136, 520, 1040}) {
    const Layer up = MakeLayer(kWidth, hidden), down = MakeLayer(hidden, kWidth);
    for (const int32_t count : {0, 3, 20, 70}) {
      const SparseRows rows(count);
      const std::vector<float> states = Normal(static_cast<size_t>(rows.end()) * kWidth);
      std::vector<float> scratch(static_cast<size_t>(rows.capacity()) * kWidth);
      std::vector<float> between(static_cast<size_t>(rows.capacity()) * hidden, -1.0f);
      std::vector<float> got = states, expected = states;
      const auto run = [&](std::vector<float>& output, bool parts) {
        const Projection made[] = {{.rows = rows.rows(),
                                    .weight = up.packed.get(),
                                    .activation = Activation::kRelu,
                                    .output = between.data()}};
        const ProjectArgs first = {.norm = norm.Of(rows.rows(), kWidth, states, scratch), .projections = made};
        const LinearArgs second = {.weight = down.packed.get(),
                                   .rows = rows.rows(),
                                   .input = between.data(),
                                   .output = output.data(),
                                   .scatter = true,
                                   .accumulate = true};
        parts ? backend().Backend::FeedForward(first, second) : backend().FeedForward(first, second);
      };
      run(got, false);
      run(expected, true);
      ASSERT_TRUE(SameBits(got.data(), expected.data(), got.size())) << count << " rows, " << hidden << " hidden";
      ASSERT_EQ(SameBits(got.data(), states.data(), got.size()), count == 0);
    }
  }
}

}  // namespace
}  // namespace salient
