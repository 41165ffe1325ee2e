// Holds the engine against an independent implementation: the PyTorch model and its plain decoding oracle.
//
// training/salient/fixture.py has written down what the oracle did with a model: states after every layer, the keys
// that each selection layer chose, exits, tokens, scores and counts, under every policy. Here the engine does the same
// and must agree. Where two implementations may rightly differ (a rounding that moves an integer score across a tie, a
// threshold or a choice of token within 3e-4) the comparison of that case ends, and such cases must stay rare.
//
//   parity_test DEVICE MODEL_FOLDER FIXTURE.json

#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>

#include "engine/decode/batch.h"
#include "engine/model/model.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/parity/backends.h"

namespace salient {
namespace {

using Json = nlohmann::json;

constexpr double kNearTie = 3e-4;
// The tiny models' weights are sharp on purpose, which multiplies the last bits' differences layer by layer.
constexpr double kStateTolerance = 5e-3;

std::string g_device, g_model, g_fixture;
size_t g_documents = std::numeric_limits<size_t>::max();  // so many of the fixture, with all settings of each

TranslationOptions OptionsOf(const Json& settings) {
  static const std::map<std::string, SelectionPolicy> kSelection = {{"dense", SelectionPolicy::kDense},
                                                                    {"learned", SelectionPolicy::kLearned},
                                                                    {"ratio", SelectionPolicy::kRatio},
                                                                    {"mass", SelectionPolicy::kMass},
                                                                    {"window", SelectionPolicy::kWindow}};
  static const std::map<std::string, DepthPolicy> kDepth = {
      {"full", DepthPolicy::kFull},           {"fixed", DepthPolicy::kFixed},
      {"sequence", DepthPolicy::kSequence},   {"multinomial", DepthPolicy::kMultinomial},
      {"geometric", DepthPolicy::kGeometric}, {"confidence", DepthPolicy::kConfidence}};
  TranslationOptions options;
  options.selection.policy = kSelection.at(settings.value("selection", "dense"));
  if (settings.contains("values")) {
    for (int m = 0; m < kModules; ++m) {
      options.selection.module_value[m] = settings["values"][ModuleName(static_cast<Module>(m))].get<double>();
    }
  }
  if (settings.contains("min_keys")) options.selection.min_keys = settings["min_keys"].get<int32_t>();
  options.depth.policy = kDepth.at(settings.value("depth", "full"));
  if (settings.contains("fixed_exit")) options.depth.fixed_exit = settings["fixed_exit"].get<int32_t>();
  if (settings.contains("thresholds")) options.depth.thresholds = settings["thresholds"].get<std::vector<double>>();
  if (settings.contains("min_exit")) options.depth.min_exit = settings["min_exit"].get<int32_t>();
  if (settings.contains("max_exit")) options.depth.max_exit = settings["max_exit"].get<int32_t>();
  options.search.beam = settings.value("beam", 1);
  options.search.n_best = options.search.beam;
  options.search.length_penalty = settings.value("length_penalty", 1.0);
  options.search.max_length_ratio = settings.value("max_length_ratio", 3.0);
  return options;
}

// The positions a list names, or none for every position: as the fixture writes them.
std::optional<std::vector<int32_t>> PositionsOf(const KeyList& list, int32_t length) {
  if (list.count == kEveryKey || list.count == length) return std::nullopt;
  return std::vector<int32_t>(list.positions, list.positions + list.count);
}

std::optional<std::vector<int32_t>> PositionsOf(const Json& positions) {
  if (positions.is_null()) return std::nullopt;
  return positions.get<std::vector<int32_t>>();
}

class ParityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<Backend>> backend = OpenInF32(g_device);
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
    absl::StatusOr<std::unique_ptr<Model>> model = Model::Load(g_model, *backend_);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *std::move(model);
    pools_ = std::make_unique<KeyPools>(backend_->memory(), 8 << 20);
    stores_ = std::make_unique<KeyStores>(*model_, *backend_, std::nullopt, *pools_);
    batch_ = std::make_unique<Batch>(*model_, *backend_, *stores_, BatchOptions{.max_rows = 8});
    std::ifstream file(g_fixture);
    fixture_ = Json::parse(file);
    for (const Json& document : fixture_["documents"]) {
      if (documents_.size() < g_documents) documents_[document["id"]] = document;
    }
  }

  // One case; returns whether it was compared to its end.
  bool Compare(const Json& expected) {
    const Json& document = documents_.at(expected["document"]);
    Chunk chunk{document["tokens"].get<std::vector<int32_t>>(), {}};
    auto at = chunk.tokens.begin();
    for (const int32_t tokens : document["pieces"]) {
      chunk.pieces.push_back({static_cast<int32_t>(chunk.pieces.size()), tokens});
      NoteMarkers({at, at + tokens}, model_->config.tokens, &chunk.pieces.back());
      at += tokens + 1;
    }
    const Json& settings = expected["settings"];
    mass_ = settings.value("selection", "") == "mass";
    absl::StatusOr<ResolvedOptions> options = Resolve(OptionsOf(settings), model_->config);
    EXPECT_TRUE(options.ok()) << options.status();
    if (!options.ok()) return true;
    options->shortlist = settings.contains("listed");  // what Resolve allows only where the model has one
    const std::vector<int32_t> tokens = settings.value("listed", settings.value("screen", std::vector<int32_t>()));
    Sequence sequence(chunk, *options, settings.value("prefix", std::vector<int32_t>()), model_->config, *backend_,
                      batch_->stores().self, batch_->stores().cross, tokens);
    const bool encoded = Encode(sequence, expected["encoder"], static_cast<int32_t>(chunk.tokens.size()));
    bool compared = encoded;
    for (size_t step = 0; !sequence.done(); ++step) {
      if (compared && options->beam == 1) {
        compared = CompareStep(sequence, expected, step, static_cast<int32_t>(chunk.tokens.size()));
      } else {
        batch_->Step();
      }
    }
    batch_->Leave(sequence);
    for (const Json& gap : expected["gaps"]) compared &= gap.is_null() || gap.get<double>() > kNearTie;
    for (const Json& margin : expected["exit_margins"]) compared &= margin.is_null() || margin.get<double>() > kNearTie;
    if (!compared) return false;
    CompareTranslations(sequence, expected);
    CompareCounts(sequence, expected);
    return true;
  }

  void CompareStates(const float* states, const Json& expected, const std::string& where) {
    for (size_t c = 0; c < expected.size(); ++c) {
      const double value = expected[c];
      EXPECT_NEAR(states[c], value, kStateTolerance * (1 + std::abs(value))) << where << ", component " << c;
    }
  }

  // What two scores can move apart when every component rounds to its neighbour in one implementation.
  int64_t NearTieScore() const { return 127 * model_->config.selection.width; }

  // Whether a chosen set is the expected one; false, and no failure, where the two may rightly differ.
  bool SameSet(const KeyList& list, int32_t length, const Json& expected, const Json& gap, const std::string& where) {
    ++sets_;
    if (PositionsOf(list, length) == PositionsOf(expected)) return true;
    ++other_sets_;
    // How many keys a mass rule keeps depends on every score, not on the last one's alone.
    EXPECT_TRUE(mass_ || (!gap.is_null() && gap.get<int64_t>() <= NearTieScore()))
        << where << ": other keys, and no near tie";
    return false;
  }

  bool Encode(Sequence& sequence, const Json& expected, int32_t length) {
    bool same = true;
    const int32_t d = model_->config.d_model;
    batch_->encoder().set_selection_probe([&](int32_t group, int32_t tokens, const KeyList* lists) {
      for (int32_t t = 0; same && t < tokens; ++t) {
        same = SameSet(lists[t], length, expected["selected"][group][t], expected["least_gap"][group], "encoder");
      }
    });
    batch_->encoder().set_probe([&](int32_t layer, int32_t tokens, const float* states) {
      if (!same) return;
      const Json& rows = expected["states"][layer];
      CompareStates(states, rows[0], "encoder layer " + std::to_string(layer) + ", first row");
      CompareStates(states + static_cast<size_t>(tokens - 1) * d, rows[1],
                    "encoder layer " + std::to_string(layer) + ", last row");
    });
    Sequence* const joining[] = {&sequence};
    batch_->Join(joining);
    batch_->Encode(absl::InfiniteDuration());
    batch_->Schedule(sequence);
    batch_->encoder().set_probe(nullptr);
    batch_->encoder().set_selection_probe(nullptr);
    std::vector<float> output(d);
    backend_->memory().CopyToHost(output.data(), batch_->encoder().output(), output.size() * sizeof(float));
    if (same) CompareStates(output.data(), expected["memory"][0], "encoder output");
    return same;
  }

  bool CompareStep(Sequence& sequence, const Json& expected, size_t index, int32_t source_length) {
    EXPECT_LT(index, expected["steps"].size()) << "more tokens than expected";
    if (index >= expected["steps"].size()) {
      batch_->Step();
      return false;
    }
    const Json& step = expected["steps"][index];
    const int32_t row = sequence.assigned_rows()[0];
    bool same = true;
    batch_->decoder().set_selection_probe([&](Module module, int32_t group, Rows, const KeyList* lists) {
      const std::string name = ModuleName(module);
      const int32_t length = module == Module::kCross ? source_length : static_cast<int32_t>(index) + 1;
      if (same && group < static_cast<int32_t>(step[name].size())) {
        same = SameSet(lists[row], length, step[name][group], step[name + "_gaps"][group],
                       name + " group " + std::to_string(group) + " of step " + std::to_string(index));
      }
    });
    batch_->decoder().set_probe([&](int32_t layer, Rows, const float* states) {
      if (!same || layer >= static_cast<int32_t>(step["states"].size())) return;
      CompareStates(states + static_cast<size_t>(row) * model_->config.d_model, step["states"][layer],
                    "step " + std::to_string(index) + ", layer " + std::to_string(layer));
    });
    batch_->Step();
    batch_->decoder().set_probe(nullptr);
    batch_->decoder().set_selection_probe(nullptr);
    const Json& gap = expected["gaps"][index];
    const Json& margin = expected["exit_margins"][index];
    if (!same || (!gap.is_null() && gap.get<double>() <= kNearTie)) return false;
    if (!margin.is_null() && margin.get<double>() <= kNearTie) return false;
    EXPECT_EQ(batch_->decoder().rows().exit_at.data()[row], expected["exits"][index].get<int32_t>())
        << "step " << index;
    return true;
  }

  void CompareTranslations(const Sequence& sequence, const Json& expected) {
    const auto results = sequence.Results();
    const Json& translations = expected["translations"];
    ASSERT_EQ(results.size(), std::min<size_t>(translations.size(), expected["settings"].value("beam", 1)));
    const SpecialTokens& special = model_->config.tokens;
    for (size_t rank = 0; rank < results.size(); ++rank) {
      std::vector<int32_t> tokens, limited;
      double total = 0;
      for (size_t p = 0; p < results[rank].size(); ++p) {
        for (const DecodedToken& token : results[rank][p].tokens) tokens.push_back(token.token);
        tokens.push_back(p + 1 == results[rank].size() ? special.end : special.separator);
        total += results[rank][p].score;
        if (results[rank][p].length_limited) limited.push_back(static_cast<int32_t>(p));
      }
      EXPECT_EQ(tokens, translations[rank]["tokens"].get<std::vector<int32_t>>()) << "rank " << rank;
      EXPECT_EQ(limited, translations[rank]["length_limited"].get<std::vector<int32_t>>()) << "rank " << rank;
      double expected_total = 0;
      for (const double log_probability : translations[rank]["log_probabilities"]) expected_total += log_probability;
      // A beam's sets are not compared one by one, so that one that differs at a near tie shows here.
      const double tolerance = results.size() > 1 && model_->config.has_selection ? 1e-2 : 1e-3;
      EXPECT_NEAR(total, expected_total, tolerance * static_cast<double>(tokens.size())) << "rank " << rank;
    }
  }

  void CompareCounts(Sequence& sequence, const Json& expected) {
    const CostReport report = sequence.meter().Report();
    std::vector<int64_t> exits(model_->config.decoder.layers, 0);
    for (const int32_t exit : expected["exits"]) ++exits[exit - 1];
    EXPECT_EQ(report.exit_histogram, exits);
    for (int m = 0; m < kModules; ++m) {
      const Json& tally = expected["tallies"][ModuleName(static_cast<Module>(m))];
      if (tally["visible"] == 0) continue;  // a decoder that recurs reads no keys of its own
      const double ratio = tally["attended"].get<double>() / tally["visible"].get<double>();
      EXPECT_NEAR(report.keys_selected_ratio[m], ratio, 1e-9) << ModuleName(static_cast<Module>(m));
    }
  }

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<KeyPools> pools_;
  std::unique_ptr<KeyStores> stores_;
  std::unique_ptr<Batch> batch_;
  Json fixture_;
  std::map<std::string, Json> documents_;
  bool mass_ = false;
  int64_t sets_ = 0, other_sets_ = 0;
};

TEST_F(ParityTest, EngineAndOracleAgree) {
  int compared = 0, cases = 0;
  for (const Json& expected : fixture_["cases"]) {
    if (documents_.count(expected["document"]) == 0) continue;
    ++cases;
    SCOPED_TRACE(expected["id"].get<std::string>());
    compared += Compare(expected);
    if (HasFailure()) return;
  }
  ASSERT_GT(cases, 0);
  EXPECT_GE(compared, cases * 6 / 10) << "too many near ties to mean anything";
  EXPECT_LE(other_sets_ * 100, sets_) << "more than one set in a hundred differs";
  std::cout << compared << " of " << cases << " cases compared to their end; " << other_sets_ << " of " << sets_
            << " selections differed at near ties\n";
}

}  // namespace
}  // namespace salient

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 4 && argc != 5) {
    std::cerr << "usage: parity_test reference|cpu|cuda MODEL_FOLDER FIXTURE.json [DOCUMENTS]\n";
    return 2;
  }
  salient::g_device = argv[1];
  salient::g_model = argv[2];
  salient::g_fixture = argv[3];
  if (argc == 5) salient::g_documents = std::stoul(argv[4]);
  return RUN_ALL_TESTS();
}
