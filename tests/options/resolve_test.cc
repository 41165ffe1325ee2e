#include "engine/options/resolve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/model/small_config.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kEncoder = 0, kDecoder = 1, kCross = 2;
const double kNan = std::nan("");
const double kInfinity = std::numeric_limits<double>::infinity();

// Everything trained: 4 decoder layers, 2 selection layers a module.
ModelConfig Whole() { return SmallConfig(); }

ModelConfig WithoutSelection() {
  nlohmann::json config = SmallConfigJson();
  config["selection"] = nullptr;
  return SmallConfig(config);
}

ModelConfig WithoutFractions() {
  nlohmann::json config = SmallConfigJson();
  config["selection"]["learned_ratio"] = nlohmann::json::object();
  return SmallConfig(config);
}

ModelConfig WithHeads(const nlohmann::json& heads) {
  nlohmann::json config = SmallConfigJson();
  config["exits"] = heads.is_null() ? nlohmann::json() : nlohmann::json{{"classifier", "tied"}, {"heads", heads}};
  return SmallConfig(config);
}

ResolvedOptions Resolved(const TranslationOptions& options, const ModelConfig& config = Whole()) {
  const auto resolved = Resolve(options, config);
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved.ok() ? *resolved : ResolvedOptions{};
}

std::string ErrorOf(const TranslationOptions& options, const ModelConfig& config = Whole()) {
  const auto resolved = Resolve(options, config);
  EXPECT_EQ(resolved.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(resolved.status().message());
}

TranslationOptions Selection(const SelectionOptions& selection) { return {.selection = selection}; }
TranslationOptions Depth(const DepthOptions& depth) { return {.depth = depth}; }
TranslationOptions Search(const SearchOptions& search) { return {.search = search}; }

TEST(OptionsTest, ModulesHaveTheirNames) {
  EXPECT_STREQ(ModuleName(Module::kEncoder), "encoder");
  EXPECT_STREQ(ModuleName(Module::kDecoder), "decoder");
  EXPECT_STREQ(ModuleName(Module::kCross), "cross");
}

TEST(OptionsTest, DefaultsAreFilledIn) {
  const ResolvedOptions resolved = Resolved({});
  EXPECT_EQ(resolved.used.selection.policy, SelectionPolicy::kLearned);
  EXPECT_EQ(resolved.used.selection.min_keys, 10) << "the model's own";
  EXPECT_EQ(resolved.used.selection.value, std::nullopt);
  EXPECT_EQ(resolved.used.depth.policy, DepthPolicy::kFull);
  EXPECT_EQ(resolved.used.depth.min_exit, std::nullopt);
  EXPECT_EQ(resolved.used.search.beam, 1);
  EXPECT_EQ(resolved.used.search.length_penalty, 1.0);
  EXPECT_EQ(resolved.used.search.max_length_ratio, 3.0);
  EXPECT_EQ(resolved.used.search.n_best, 1);
  EXPECT_FALSE(resolved.trace);
  EXPECT_EQ(resolved.beam, 1);
  EXPECT_EQ(resolved.n_best, 1);
  EXPECT_EQ(resolved.length_penalty, 1.0);
  EXPECT_EQ(resolved.max_length_ratio, 3.0);
}

// What a reply reports back can be sent again and means the same.
TEST(OptionsTest, UsedOptionsResolveToThemselves) {
  std::vector<TranslationOptions> all = {
      {},
      Selection({.policy = SelectionPolicy::kDense}),
      Selection({.policy = SelectionPolicy::kRatio, .value = 0.1}),
      Selection({.policy = SelectionPolicy::kMass, .module_value = {0.5, 0.6, 0.7}}),
      Selection({.policy = SelectionPolicy::kWindow, .value = 20}),
      Depth({.policy = DepthPolicy::kFixed, .fixed_exit = 2}),
      Depth({.policy = DepthPolicy::kSequence, .max_exit = 3}),
      Depth({.policy = DepthPolicy::kMultinomial}),
      Depth({.policy = DepthPolicy::kGeometric}),
      Depth({.policy = DepthPolicy::kConfidence, .thresholds = {0.1, 0.2, 0.3, 0.4}}),
      Depth({.policy = DepthPolicy::kVerify, .draft_exit = 2}),
      Search({.beam = 4, .length_penalty = 0.6, .max_length_ratio = 2, .n_best = 3, .prefix = "So"}),
  };
  all.back().trace = true;
  for (const TranslationOptions& options : all) {
    const ResolvedOptions once = Resolved(options), twice = Resolved(once.used);
    EXPECT_EQ(twice.used.selection.policy, once.used.selection.policy);
    EXPECT_EQ(twice.used.selection.min_keys, once.used.selection.min_keys);
    EXPECT_EQ(twice.used.depth.thresholds, once.used.depth.thresholds);
    EXPECT_EQ(twice.used.depth.max_exit, once.used.depth.max_exit);
    EXPECT_EQ(twice.used.depth.draft_tokens, once.used.depth.draft_tokens);
    EXPECT_EQ(twice.draft_tokens, once.draft_tokens);
    EXPECT_EQ(twice.used.search.n_best, once.used.search.n_best);
    EXPECT_EQ(twice.trace, once.trace);
    EXPECT_EQ(twice.exit.policy, once.exit.policy);
    EXPECT_EQ(twice.exit.at, once.exit.at);
    for (int module = 0; module < kModules; ++module) {
      ASSERT_EQ(twice.selection[module].size(), once.selection[module].size());
      EXPECT_EQ(twice.selection[module][0].value, once.selection[module][0].value);
    }
  }
}

// ---- Selection ----

TEST(SelectionOptionsTest, LearnedFractionsAreThoseOfTheModel) {
  const ResolvedOptions resolved = Resolved(Selection({.policy = SelectionPolicy::kLearned}));
  ASSERT_THAT(resolved.selection[kDecoder], SizeIs(2));
  EXPECT_EQ(resolved.selection[kDecoder][0].policy, SelectionPolicy::kRatio);
  EXPECT_FLOAT_EQ(resolved.selection[kDecoder][0].value, 0.02f);
  EXPECT_FLOAT_EQ(resolved.selection[kDecoder][1].value, 1.0f);
  EXPECT_EQ(resolved.selection[kDecoder][0].min_keys, 10);
}

TEST(SelectionOptionsTest, DefaultIsDenseWhereNothingWasLearned) {
  for (const ModelConfig& config : {WithoutSelection(), WithoutFractions()}) {
    const ResolvedOptions resolved = Resolved({}, config);
    EXPECT_EQ(resolved.used.selection.policy, SelectionPolicy::kDense);
    EXPECT_EQ(resolved.used.selection.min_keys, std::nullopt);
    for (const auto& rules : resolved.selection) {
      for (const SelectionRule& rule : rules) EXPECT_EQ(rule.policy, SelectionPolicy::kDense);
    }
  }
  EXPECT_THAT(Resolved({}, WithoutSelection()).selection, ElementsAre(SizeIs(1), SizeIs(1), SizeIs(1)));
  EXPECT_THAT(Resolved({}, WithoutFractions()).selection, ElementsAre(SizeIs(2), SizeIs(2), SizeIs(2)));
}

TEST(SelectionOptionsTest, AModulesOwnValueComesFirst) {
  SelectionOptions selection{.policy = SelectionPolicy::kRatio, .value = 0.25, .min_keys = 3};
  selection.module_value[kCross] = 0.5;
  const ResolvedOptions resolved = Resolved(Selection(selection));
  EXPECT_FLOAT_EQ(resolved.selection[kEncoder][0].value, 0.25f);
  EXPECT_FLOAT_EQ(resolved.selection[kCross][1].value, 0.5f);
  EXPECT_EQ(resolved.selection[kCross][1].min_keys, 3);
  EXPECT_EQ(resolved.selection[kCross][1].policy, SelectionPolicy::kRatio);
}

TEST(SelectionOptionsTest, MassAndWindow) {
  const ResolvedOptions mass = Resolved(Selection({.policy = SelectionPolicy::kMass, .value = 0.95}));
  EXPECT_EQ(mass.selection[kEncoder][0].policy, SelectionPolicy::kMass);
  EXPECT_FLOAT_EQ(mass.selection[kEncoder][0].value, 0.95f);
  const ResolvedOptions window = Resolved(Selection({.policy = SelectionPolicy::kWindow, .value = 20}));
  EXPECT_EQ(window.selection[kEncoder][0].policy, SelectionPolicy::kWindow);
  EXPECT_EQ(window.selection[kEncoder][0].value, 20);
}

TEST(SelectionOptionsTest, WindowAndDenseNeedNoSelectionLayers) {
  const ResolvedOptions window =
      Resolved(Selection({.policy = SelectionPolicy::kWindow, .value = 7}), WithoutSelection());
  EXPECT_THAT(window.selection, ElementsAre(SizeIs(1), SizeIs(1), SizeIs(1)));
  EXPECT_EQ(window.selection[kDecoder][0].policy, SelectionPolicy::kWindow);
  Resolved(Selection({.policy = SelectionPolicy::kDense}), WithoutSelection());
}

TEST(SelectionOptionsTest, WhatWasNotTrainedIsRefused) {
  EXPECT_EQ(ErrorOf(Selection({.policy = SelectionPolicy::kRatio, .value = 0.5}), WithoutSelection()),
            "selection.policy is RATIO; the model en-de has no selection layers; it can be DENSE, WINDOW");
  EXPECT_THAT(ErrorOf(Selection({.policy = SelectionPolicy::kMass, .value = 0.5}), WithoutSelection()),
              HasSubstr("MASS"));
  EXPECT_THAT(ErrorOf(Selection({.policy = SelectionPolicy::kLearned}), WithoutSelection()), HasSubstr("LEARNED"));
  EXPECT_THAT(ErrorOf(Selection({.policy = SelectionPolicy::kLearned}), WithoutFractions()),
              HasSubstr("has no learned ratio of keys"));
  Resolved(Selection({.policy = SelectionPolicy::kRatio, .value = 0.5}), WithoutFractions());
}

TEST(SelectionOptionsTest, SharesAreInRange) {
  EXPECT_EQ(ErrorOf(Selection({.policy = SelectionPolicy::kRatio, .value = 2})),
            "selection.value is 2; RATIO needs a ratio in (0, 1]");
  for (const double bad : {0.0, -0.5, 1.0001, kNan, kInfinity, -kInfinity}) {
    EXPECT_THAT(ErrorOf(Selection({.policy = SelectionPolicy::kMass, .value = bad})), HasSubstr("selection.value"));
    SelectionOptions selection{.policy = SelectionPolicy::kRatio, .value = 0.5};
    selection.module_value[kDecoder] = bad;
    EXPECT_THAT(ErrorOf(Selection(selection)), HasSubstr("selection.decoder_value is"));
  }
  Resolved(Selection({.policy = SelectionPolicy::kRatio, .value = 1}));
  Resolved(Selection({.policy = SelectionPolicy::kRatio, .value = 1e-9}));
}

TEST(SelectionOptionsTest, WindowsAreWholeNumbers) {
  for (const double bad : {0.0, -3.0, 2.5, 1e9, kNan, kInfinity}) {
    EXPECT_THAT(ErrorOf(Selection({.policy = SelectionPolicy::kWindow, .value = bad})),
                HasSubstr("WINDOW needs a whole number of keys"));
  }
  Resolved(Selection({.policy = SelectionPolicy::kWindow, .value = 1}));
}

TEST(SelectionOptionsTest, AValueIsNeededWhereThePolicyHasOne) {
  for (const SelectionPolicy policy : {SelectionPolicy::kRatio, SelectionPolicy::kMass, SelectionPolicy::kWindow}) {
    EXPECT_THAT(ErrorOf(Selection({.policy = policy})), HasSubstr("selection.value is missing"));
    EXPECT_THAT(ErrorOf(Selection({.policy = policy, .module_value = {1, 1, std::nullopt}})),
                HasSubstr("selection.value is missing"));
    Resolved(Selection({.policy = policy, .module_value = {1, 1, 1}}));
  }
}

TEST(SelectionOptionsTest, FieldsWithoutMeaningAreRefused) {
  EXPECT_EQ(ErrorOf(Selection({.policy = SelectionPolicy::kDense, .value = 0.5})),
            "selection.value has no meaning with DENSE; leave it out");
  EXPECT_EQ(ErrorOf(Selection({.policy = SelectionPolicy::kLearned, .module_value = {0.5}})),
            "selection.encoder_value has no meaning with LEARNED; leave it out");
  EXPECT_THAT(ErrorOf(Selection({.value = 0.5})), HasSubstr("LEARNED")) << "which is the default";
  EXPECT_EQ(ErrorOf(Selection({.policy = SelectionPolicy::kDense, .min_keys = 4})),
            "selection.min_keys has no meaning with DENSE; leave it out");
  EXPECT_THAT(ErrorOf(Selection({.policy = SelectionPolicy::kWindow, .value = 3, .min_keys = 4})),
              HasSubstr("min_keys"));
}

TEST(SelectionOptionsTest, AtLeastOneKey) {
  for (const int32_t bad : {0, -1}) {
    EXPECT_THAT(ErrorOf(Selection({.policy = SelectionPolicy::kRatio, .value = 0.5, .min_keys = bad})),
                HasSubstr("selection.min_keys is"));
  }
  EXPECT_EQ(Resolved(Selection({.min_keys = 1})).selection[kEncoder][0].min_keys, 1);
}

// ---- Depth ----

TEST(DepthOptionsTest, FullAndFixed) {
  const ExitRule full = Resolved({}).exit;
  EXPECT_EQ(full.policy, DepthPolicy::kFixed);
  EXPECT_EQ(full.at, 4);
  EXPECT_EQ(full.greatest, 4);
  const ExitRule fixed = Resolved(Depth({.policy = DepthPolicy::kFixed, .fixed_exit = 3})).exit;
  EXPECT_EQ(fixed.policy, DepthPolicy::kFixed);
  EXPECT_EQ(fixed.at, 3);
  EXPECT_EQ(fixed.greatest, 3) << "no layer above it runs";
}

TEST(DepthOptionsTest, FixedExitIsALayer) {
  EXPECT_THAT(ErrorOf(Depth({.policy = DepthPolicy::kFixed})), HasSubstr("depth.fixed_exit is missing"));
  for (const int32_t bad : {0, 5, -1}) {
    EXPECT_THAT(ErrorOf(Depth({.policy = DepthPolicy::kFixed, .fixed_exit = bad})),
                HasSubstr("it must be from 1 to 4"));
  }
}

TEST(DepthOptionsTest, VerifyDraftsBelowTheLastLayer) {
  const ResolvedOptions resolved =
      Resolved(Depth({.policy = DepthPolicy::kVerify, .draft_exit = 3, .draft_tokens = 16}));
  EXPECT_EQ(resolved.exit.policy, DepthPolicy::kFixed);
  EXPECT_EQ(resolved.exit.at, 4) << "what is kept ran every layer";
  EXPECT_EQ(resolved.draft_exit.at, 3);
  EXPECT_EQ(resolved.draft_exit.greatest, 3);
  EXPECT_EQ(resolved.draft_tokens, 16);
  EXPECT_GT(Resolved(Depth({.policy = DepthPolicy::kVerify, .draft_exit = 1})).draft_tokens, 0);
  EXPECT_EQ(Resolved({}).draft_tokens, 0);
  EXPECT_EQ(ErrorOf(Depth({.policy = DepthPolicy::kVerify})),
            "depth.draft_exit is missing; VERIFY needs a layer from 1 to 3, below the last");
  for (const int32_t bad : {0, 4, -1}) {
    EXPECT_THAT(ErrorOf(Depth({.policy = DepthPolicy::kVerify, .draft_exit = bad})), HasSubstr("depth.draft_exit is"));
  }
  for (const int32_t bad : {0, 17, -1}) {
    EXPECT_THAT(ErrorOf(Depth({.policy = DepthPolicy::kVerify, .draft_exit = 1, .draft_tokens = bad})),
                HasSubstr("depth.draft_tokens is"));
  }
}

TEST(DepthOptionsTest, VerifyIsGreedy) {
  TranslationOptions options = Depth({.policy = DepthPolicy::kVerify, .draft_exit = 1});
  options.search.beam = 2;
  EXPECT_EQ(ErrorOf(options), "search.beam is 2; VERIFY searches greedily: it must be 1, or depth.policy another");
}

TEST(DepthOptionsTest, AdaptivePolicies) {
  const auto kind = [](DepthPolicy policy) { return Resolved(Depth({.policy = policy})).exit.policy; };
  EXPECT_EQ(kind(DepthPolicy::kSequence), DepthPolicy::kSequence);
  EXPECT_EQ(kind(DepthPolicy::kMultinomial), DepthPolicy::kMultinomial);
  EXPECT_EQ(kind(DepthPolicy::kGeometric), DepthPolicy::kGeometric);
  EXPECT_EQ(kind(DepthPolicy::kConfidence), DepthPolicy::kConfidence);
}

TEST(DepthOptionsTest, ThresholdsHaveDefaults) {
  const ResolvedOptions geometric = Resolved(Depth({.policy = DepthPolicy::kGeometric}));
  EXPECT_THAT(geometric.used.depth.thresholds, ElementsAre(0.5));
  for (int layer = 0; layer < 4; ++layer) EXPECT_FLOAT_EQ(geometric.exit.thresholds[layer], 0.5f);
  const ResolvedOptions confidence = Resolved(Depth({.policy = DepthPolicy::kConfidence}));
  EXPECT_THAT(confidence.used.depth.thresholds, ElementsAre(0.9));
  EXPECT_FLOAT_EQ(confidence.exit.thresholds[3], 0.9f);
  ModelConfig tuned = SmallConfig();
  tuned.confidence = {0.99, 0.5, 0.25, 0};
  EXPECT_THAT(Resolved(Depth({.policy = DepthPolicy::kConfidence}), tuned).used.depth.thresholds,
              ElementsAre(0.99, 0.5, 0.25, 0));
  EXPECT_THAT(Resolved(Depth({.policy = DepthPolicy::kConfidence, .thresholds = {0.8}}), tuned).used.depth.thresholds,
              ElementsAre(0.8))
      << "the request's own";
  EXPECT_THAT(Resolved(Depth({.policy = DepthPolicy::kGeometric}), tuned).used.depth.thresholds, ElementsAre(0.5));
  EXPECT_THAT(Resolved(Depth({.policy = DepthPolicy::kMultinomial})).used.depth.thresholds, IsEmpty());
}

TEST(DepthOptionsTest, OneThresholdOrOneALayer) {
  const ExitRule rule = Resolved(Depth({.policy = DepthPolicy::kConfidence, .thresholds = {0, 0.25, 0.5, 1}})).exit;
  EXPECT_FLOAT_EQ(rule.thresholds[1], 0.25f);
  EXPECT_FLOAT_EQ(rule.thresholds[3], 1.0f);
  EXPECT_EQ(ErrorOf(Depth({.policy = DepthPolicy::kConfidence, .thresholds = {0.1, 0.2}})),
            "depth.thresholds has 2 values; it must have one for all layers or one a layer, 4");
  for (const double bad : {-0.1, 1.1, kNan, kInfinity}) {
    EXPECT_THAT(ErrorOf(Depth({.policy = DepthPolicy::kGeometric, .thresholds = {0, 0, bad, 0}})),
                HasSubstr("depth.thresholds[2] is"));
  }
}

TEST(DepthOptionsTest, BoundsAreLayersInOrder) {
  const ResolvedOptions resolved = Resolved(Depth({.policy = DepthPolicy::kMultinomial, .min_exit = 2, .max_exit = 3}));
  EXPECT_EQ(resolved.exit.least, 2);
  EXPECT_EQ(resolved.exit.greatest, 3);
  const ResolvedOptions open = Resolved(Depth({.policy = DepthPolicy::kMultinomial}));
  EXPECT_EQ(open.used.depth.min_exit, 1);
  EXPECT_EQ(open.used.depth.max_exit, 4);
  EXPECT_THAT(ErrorOf(Depth({.policy = DepthPolicy::kMultinomial, .min_exit = 0})), HasSubstr("depth.min_exit is 0"));
  EXPECT_THAT(ErrorOf(Depth({.policy = DepthPolicy::kMultinomial, .max_exit = 5})), HasSubstr("depth.max_exit is 5"));
  EXPECT_EQ(ErrorOf(Depth({.policy = DepthPolicy::kMultinomial, .min_exit = 3, .max_exit = 2})),
            "depth.min_exit is 3; it must not exceed depth.max_exit, 2");
}

TEST(DepthOptionsTest, FieldsWithoutMeaningAreRefused) {
  EXPECT_EQ(ErrorOf(Depth({.fixed_exit = 2})), "depth.fixed_exit has no meaning with FULL; leave it out");
  EXPECT_THAT(ErrorOf(Depth({.policy = DepthPolicy::kSequence, .fixed_exit = 2})), HasSubstr("depth.fixed_exit"));
  EXPECT_THAT(ErrorOf(Depth({.policy = DepthPolicy::kSequence, .thresholds = {0.5}})), HasSubstr("depth.thresholds"));
  EXPECT_THAT(ErrorOf(Depth({.thresholds = {0.5}})), HasSubstr("depth.thresholds"));
  EXPECT_THAT(ErrorOf(Depth({.policy = DepthPolicy::kFixed, .fixed_exit = 2, .min_exit = 1})),
              HasSubstr("depth.min_exit"));
  EXPECT_THAT(ErrorOf(Depth({.max_exit = 2})), HasSubstr("depth.max_exit"));
  EXPECT_EQ(ErrorOf(Depth({.draft_exit = 2})), "depth.draft_exit has no meaning with FULL; leave it out");
  EXPECT_THAT(ErrorOf(Depth({.draft_tokens = 2})), HasSubstr("depth.draft_tokens"));
  const DepthOptions verify{.policy = DepthPolicy::kVerify, .max_exit = 2, .draft_exit = 1};
  EXPECT_THAT(ErrorOf(Depth(verify)), HasSubstr("depth.max_exit"));
}

TEST(DepthOptionsTest, WhatWasNotTrainedIsRefused) {
  const ModelConfig none = WithHeads(nullptr), no_heads = WithHeads(nlohmann::json::array());
  for (const DepthPolicy policy : {DepthPolicy::kFixed, DepthPolicy::kSequence, DepthPolicy::kMultinomial,
                                   DepthPolicy::kGeometric, DepthPolicy::kConfidence, DepthPolicy::kVerify}) {
    EXPECT_THAT(ErrorOf(Depth({.policy = policy}), none),
                HasSubstr("has no exits below its last layer; it can be FULL"));
  }
  for (const DepthPolicy policy : {DepthPolicy::kSequence, DepthPolicy::kMultinomial, DepthPolicy::kGeometric}) {
    EXPECT_THAT(ErrorOf(Depth({.policy = policy}), no_heads), HasSubstr("it can be FULL, FIXED, CONFIDENCE, VERIFY"));
  }
  Resolved(Depth({.policy = DepthPolicy::kConfidence}), no_heads);
  Resolved(Depth({.policy = DepthPolicy::kFixed, .fixed_exit = 1}), no_heads);
  EXPECT_EQ(ErrorOf(Depth({.policy = DepthPolicy::kSequence}), WithHeads({"geometric"})),
            "depth.policy is SEQUENCE; the model en-de has no halting head for it; it can be FULL, FIXED, GEOMETRIC, "
            "CONFIDENCE, VERIFY");
}

// ---- Search ----

TEST(SearchOptionsTest, ValuesAreTaken) {
  TranslationOptions options =
      Search({.beam = 16, .length_penalty = 0, .max_length_ratio = 20, .n_best = 16, .prefix = "Für"});
  options.trace = true;
  const ResolvedOptions resolved = Resolved(options);
  EXPECT_EQ(resolved.beam, 16);
  EXPECT_EQ(resolved.length_penalty, 0);
  EXPECT_EQ(resolved.max_length_ratio, 20);
  EXPECT_EQ(resolved.n_best, 16);
  EXPECT_EQ(resolved.used.search.prefix, "Für");
  EXPECT_TRUE(resolved.trace);
}

TEST(SearchOptionsTest, ValuesAreInRange) {
  for (const int32_t bad : {0, -1, 17}) {
    EXPECT_THAT(ErrorOf(Search({.beam = bad})), HasSubstr("it must be from 1 to 16"));
  }
  for (const double bad : {-0.1, 5.1, kNan, kInfinity}) {
    EXPECT_THAT(ErrorOf(Search({.length_penalty = bad})), HasSubstr("search.length_penalty is"));
  }
  for (const double bad : {0.0, -1.0, 20.1, kNan, kInfinity}) {
    EXPECT_THAT(ErrorOf(Search({.max_length_ratio = bad})), HasSubstr("search.max_length_ratio is"));
  }
  EXPECT_EQ(ErrorOf(Search({.beam = 2, .n_best = 3})), "search.n_best is 3; it must be from 1 to search.beam, 2");
  EXPECT_THAT(ErrorOf(Search({.n_best = 0})), HasSubstr("search.n_best is 0"));
}

TEST(SearchOptionsTest, ABoundOnRepetitionNeedsABeam) {
  EXPECT_EQ(Resolved(Search({.beam = 2, .no_repeat = 4})).no_repeat, 4);
  EXPECT_EQ(Resolved(Search({.beam = 2})).no_repeat, 0);
  EXPECT_EQ(ErrorOf(Search({.no_repeat = 4})), "search.no_repeat is 4; it needs a search.beam of 2 or more");
  EXPECT_EQ(ErrorOf(Search({.beam = 2, .no_repeat = 1})), "search.no_repeat is 1; it must be from 2 to 64");
}

TEST(SearchOptionsTest, AShortlistIsForModelsThatHaveOne) {
  EXPECT_EQ(ErrorOf(Search({.shortlist = true})),
            "search.shortlist is true; the model en-de has no shortlist; leave it out, or give the model a "
            "shortlist.safetensors");
  ModelConfig config = SmallConfig();
  config.has_shortlist = true;
  EXPECT_TRUE(Resolve(Search({.shortlist = true}), config)->shortlist);
  for (const std::optional<bool> off : {std::optional<bool>(), std::optional(false)}) {
    const auto resolved = Resolve(Search({.shortlist = off}), config);
    ASSERT_TRUE(resolved.ok()) << resolved.status();
    EXPECT_FALSE(resolved->shortlist);
    EXPECT_EQ(resolved->used.search.shortlist, false);
  }
}

TEST(SearchOptionsTest, APrefixIsShortText) {
  EXPECT_EQ(ErrorOf(Search({.prefix = "ab\xff"})), "search.prefix is not UTF-8 text without NUL at byte 2");
  EXPECT_THAT(ErrorOf(Search({.prefix = std::string(1, '\0')})), HasSubstr("at byte 0"));
  EXPECT_THAT(ErrorOf(Search({.prefix = std::string(5000, 'a')})), HasSubstr("has 5000 bytes"));
}

TEST(PoliciesTest, AreThoseThatResolveAccepts) {
  for (const ModelConfig& config : {Whole(), WithoutSelection(), WithoutFractions(), WithHeads(nullptr),
                                    WithHeads(nlohmann::json::array({"geometric"}))}) {
    const SupportedPolicies policies = PoliciesOf(config);
    for (const auto policy : {SelectionPolicy::kDense, SelectionPolicy::kLearned, SelectionPolicy::kRatio,
                              SelectionPolicy::kMass, SelectionPolicy::kWindow}) {
      const bool takes_value = policy != SelectionPolicy::kDense && policy != SelectionPolicy::kLearned;
      SelectionOptions options{.policy = policy};
      if (takes_value) options.value = 1;
      const bool listed = std::count(policies.selection.begin(), policies.selection.end(), policy) == 1;
      EXPECT_EQ(Resolve(Selection(options), config).ok(), listed) << static_cast<int>(policy);
    }
    for (const auto policy :
         {DepthPolicy::kFull, DepthPolicy::kFixed, DepthPolicy::kSequence, DepthPolicy::kMultinomial,
          DepthPolicy::kGeometric, DepthPolicy::kConfidence, DepthPolicy::kVerify}) {
      DepthOptions options{.policy = policy};
      if (policy == DepthPolicy::kFixed) options.fixed_exit = 1;
      if (policy == DepthPolicy::kVerify) options.draft_exit = 1;
      const bool listed = std::count(policies.depth.begin(), policies.depth.end(), policy) == 1;
      EXPECT_EQ(Resolve(Depth(options), config).ok(), listed) << static_cast<int>(policy);
    }
  }
}

}  // namespace
}  // namespace salient
