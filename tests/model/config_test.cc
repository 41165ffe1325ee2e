#include "engine/model/config.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/model/small_config.h"

namespace salient {
namespace {

using ::nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string ErrorOf(const std::string& text) {
  const auto config = ModelConfig::Parse(text);
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(config.status().message());
}

// The error after the value at a JSON pointer is replaced.
std::string ErrorWith(const std::string& pointer, const json& value) {
  json config = SmallConfigJson();
  config[json::json_pointer(pointer)] = value;
  return ErrorOf(config.dump());
}

bool ParsesWith(const std::string& pointer, const json& value) {
  json config = SmallConfigJson();
  config[json::json_pointer(pointer)] = value;
  return ModelConfig::Parse(config.dump()).ok();
}

TEST(ConfigTest, ReadsEveryField) {
  const auto parsed = ModelConfig::Parse(SmallConfigJson().dump());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const ModelConfig& config = *parsed;
  EXPECT_EQ(config.name, "en-de");
  EXPECT_EQ(config.source_language, "en");
  EXPECT_EQ(config.target_language, "de");
  EXPECT_EQ(config.vocab_size, 8000);
  EXPECT_EQ(config.d_model, 256);
  EXPECT_EQ(config.heads, 4);
  EXPECT_EQ(config.head_width(), 64);
  EXPECT_EQ(config.encoder.layers, 6);
  EXPECT_EQ(config.encoder.ffn, FeedForwardKind::kOwn);
  EXPECT_EQ(config.encoder.ffn_width, 1024);
  EXPECT_EQ(config.decoder.layers, 4);
  EXPECT_EQ(config.decoder.ffn, FeedForwardKind::kShared);
  EXPECT_EQ(config.decoder.ffn_width, 512);
  EXPECT_TRUE(config.pre_norm);
  EXPECT_EQ(config.activation, Activation::kRelu);
  EXPECT_FLOAT_EQ(config.layer_norm_epsilon, 1e-5f);
  EXPECT_TRUE(config.scale_embeddings);
  EXPECT_EQ(config.embedding_position, EmbeddingPosition::kSegmentSinusoidal);
  EXPECT_TRUE(config.self_rotary);
  EXPECT_EQ(config.cross_position, CrossPosition::kSegmentRotary);
  EXPECT_EQ(config.rotary_base, 10000.0f);
  EXPECT_TRUE(config.has_selection);
  EXPECT_EQ(config.selection.width, 32);
  EXPECT_EQ(config.selection.min_keys, 10);
  EXPECT_THAT(config.selection.group, ElementsAre(3, 2, 3));
  EXPECT_EQ(config.groups(Module::kEncoder), 2);
  EXPECT_EQ(config.groups(Module::kDecoder), 2);
  EXPECT_EQ(config.groups(Module::kCross), 2) << "the last group is smaller";
  EXPECT_THAT(config.selection.learned_ratio,
              ElementsAre(ElementsAre(0.1, 0.2), ElementsAre(0.02, 1), ElementsAre(0.05, 0.5)));
  EXPECT_TRUE(config.has_exits);
  EXPECT_TRUE(config.tied_classifiers);
  EXPECT_TRUE(config.sequence_head && config.multinomial_head && config.geometric_head);
  EXPECT_EQ(config.tokens.separator, 4);
  EXPECT_EQ(config.chunk_tokens, 1024);
}

TEST(ConfigTest, ReadsTheOtherChoices) {
  json changed = SmallConfigJson();
  changed.merge_patch(json::parse(R"({
    "encoder": {"ffn": {"kind": "shared", "width": 2048}}, "decoder": {"ffn": {"kind": "encoder", "width": 2048}},
    "norm": "post", "activation": "swish", "scale_embeddings": false,
    "positions": {"embedding": "none", "self_attention": "none", "cross_attention": "none"},
    "exits": {"classifier": "untied", "heads": ["geometric"]},
    "tokens": {"pad": 7, "unk": 0}})"));
  changed["selection"]["learned_ratio"] = json::object();
  const auto config = ModelConfig::Parse(changed.dump());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->decoder.ffn, FeedForwardKind::kEncoder);
  EXPECT_EQ(config->decoder.ffn_width, 2048);
  EXPECT_FALSE(config->pre_norm);
  EXPECT_EQ(config->activation, Activation::kSwish);
  EXPECT_FALSE(config->scale_embeddings);
  EXPECT_EQ(config->embedding_position, EmbeddingPosition::kNone);
  EXPECT_FALSE(config->self_rotary);
  EXPECT_EQ(config->cross_position, CrossPosition::kNone);
  EXPECT_THAT(config->selection.learned_ratio[0], IsEmpty());
  EXPECT_FALSE(config->tied_classifiers);
  EXPECT_FALSE(config->sequence_head);
  EXPECT_FALSE(config->multinomial_head);
  EXPECT_TRUE(config->geometric_head);
  EXPECT_EQ(config->tokens.pad, 7);
}

TEST(ConfigTest, SelectionAndExitsMayBeNull) {
  json changed = SmallConfigJson();
  changed["selection"] = nullptr;
  changed["exits"] = nullptr;
  changed["decoder"]["ffn"] = {{"kind", "none"}, {"width", 2048}};
  const auto config = ModelConfig::Parse(changed.dump());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_FALSE(config->has_selection);
  EXPECT_EQ(config->groups(Module::kEncoder), 0);
  EXPECT_FALSE(config->has_exits);
  EXPECT_EQ(config->decoder.ffn_width, 0) << "a block that is not there has no width";
}

TEST(ConfigTest, ErrorsNameTheFieldItsValueAndTheRemedy) {
  EXPECT_EQ(ErrorWith("/heads", 7), "config.json: heads is 7; it must divide d_model, 256");
  EXPECT_EQ(ErrorWith("/heads", 0), "config.json: heads is 0; it must be a whole number from 1 to 8192");
  EXPECT_EQ(ErrorWith("/encoder/ffn/kind", "wide"),
            "config.json: encoder.ffn.kind is \"wide\"; it must be one of own, shared, none");
  EXPECT_EQ(ErrorWith("/norm", 3), "config.json: norm is 3; it must be a string");
  EXPECT_EQ(ErrorWith("/scale_embeddings", "yes"),
            "config.json: scale_embeddings is \"yes\"; it must be true or false");
  EXPECT_EQ(ErrorWith("/encoder", 3), "config.json: encoder is 3; it must be an object");
  EXPECT_EQ(ErrorWith("/format", "salient-model/2"),
            "config.json: format is \"salient-model/2\"; it must be \"salient-model/1\"");
}

TEST(ConfigTest, EveryFieldIsNeeded) {
  const json whole = SmallConfigJson(), leaves = whole.flatten();
  for (const auto& [pointer, value] : leaves.items()) {
    if (pointer.find("learned_ratio") != std::string::npos || pointer.find("heads/") != std::string::npos) continue;
    json lacking = whole;
    const json::json_pointer place(pointer);
    lacking[place.parent_pointer()].erase(place.back());
    std::string name = pointer.substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    EXPECT_EQ(ErrorOf(lacking.dump()), "config.json: " + name + " is missing");
  }
  for (const char* name : {"selection", "exits", "positions", "tokens", "encoder"}) {
    json lacking = whole;
    lacking.erase(name);
    EXPECT_THAT(ErrorOf(lacking.dump()), HasSubstr(std::string(name) + " is missing"));
  }
}

TEST(ConfigTest, NoValueOfAnotherTypeIsTaken) {
  const json whole = SmallConfigJson(), leaves = whole.flatten();
  for (const auto& [pointer, value] : leaves.items()) {
    for (const json& wrong :
         {json(nullptr), json("?"), json(true), json(-1), json(0.37), json::array(), json::object({{"a", 1}})}) {
      if (wrong.type() == value.type()) continue;
      if (pointer == "/tokens/separator" && wrong.is_null()) continue;  // a model of single sentences
      if (value.is_number_float() && wrong.is_number()) continue;
      if (pointer.find("learned_ratio") != std::string::npos && wrong == json(0.37)) continue;
      json changed = whole;
      changed[json::json_pointer(pointer)] = wrong;
      EXPECT_THAT(ErrorOf(changed.dump()), StartsWith("config.json: ")) << pointer;
    }
  }
}

TEST(ConfigTest, EarlierNamesOfFieldsAreRead) {
  json old = SmallConfigJson();
  old["window"] = 512;
  EXPECT_THAT(ErrorOf(old.dump()), HasSubstr("window is not a field"));
  old.erase("chunk_tokens");
  old["selection"]["key_fraction"] = old["selection"]["learned_ratio"];
  old["selection"].erase("learned_ratio");
  const absl::StatusOr<ModelConfig> config = ModelConfig::Parse(old.dump());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->chunk_tokens, 512);
  EXPECT_THAT(config->selection.learned_ratio[static_cast<int>(Module::kEncoder)], ElementsAre(0.1, 0.2));
}

TEST(ConfigTest, UnknownFieldsAreNamed) {
  for (const char* place : {"", "/encoder", "/encoder/ffn", "/positions", "/selection", "/selection/group",
                            "/selection/learned_ratio", "/exits", "/tokens"}) {
    std::string name = std::string(place) + "/haeds";
    const std::string error = ErrorWith(name, 1);
    std::replace(name.begin(), name.end(), '/', '.');
    EXPECT_EQ(error, "config.json: " + name.substr(1) + " is not a field that this version knows; remove it");
  }
}

TEST(ConfigTest, SizesAreBounded) {
  EXPECT_THAT(ErrorWith("/d_model", 1 << 30), HasSubstr("d_model is 1073741824"));
  EXPECT_THAT(ErrorWith("/d_model", 252), HasSubstr("multiple of 8"));
  EXPECT_THAT(ErrorWith("/heads", 256), HasSubstr("d_model / heads is then 1"));
  EXPECT_TRUE(ParsesWith("/heads", 1));
  EXPECT_THAT(ErrorWith("/vocab_size", 1000001), HasSubstr("vocab_size"));
  EXPECT_THAT(ErrorWith("/vocab_size", 4), HasSubstr("vocab_size"));
  EXPECT_THAT(ErrorWith("/encoder/layers", 65),
              HasSubstr("encoder.layers is 65; it must be a whole number from 1 to 64"));
  EXPECT_THAT(ErrorWith("/decoder/layers", 0), HasSubstr("decoder.layers"));
  EXPECT_THAT(ErrorWith("/encoder/ffn/width", 0), HasSubstr("encoder.ffn.width"));
  EXPECT_THAT(ErrorWith("/selection/width", 20), HasSubstr("multiple of"));
  EXPECT_THAT(ErrorWith("/selection/min_keys", 0), HasSubstr("selection.min_keys"));
  EXPECT_THAT(ErrorWith("/selection/group/decoder", 5),
              HasSubstr("selection.group.decoder is 5; it must be a whole number from 1 to 4"));
  EXPECT_THAT(ErrorWith("/chunk_tokens", 15), HasSubstr("chunk_tokens"));
  EXPECT_TRUE(ParsesWith("/chunk_tokens", kMaxChunkTokens));
  EXPECT_THAT(ErrorWith("/chunk_tokens", kMaxChunkTokens + 1),
              HasSubstr("chunk_tokens is 10241; it must be a whole number from 16 to 10240"));
  EXPECT_THAT(ErrorWith("/chunk_tokens", json::parse("18446744073709551615")), HasSubstr("chunk_tokens"));
  EXPECT_THAT(ErrorWith("/chunk_tokens", json::parse("-9223372036854775808")), HasSubstr("chunk_tokens"));
  EXPECT_THAT(ErrorWith("/chunk_tokens", 1e300), HasSubstr("chunk_tokens"));
  EXPECT_THAT(ErrorWith("/layer_norm_epsilon", 0), HasSubstr("layer_norm_epsilon"));
  EXPECT_THAT(ErrorWith("/positions/rotary_base", -1), HasSubstr("positions.rotary_base"));
  EXPECT_THAT(ErrorWith("/heads", std::vector<int>(50000, 1)), HasSubstr("config.json has more than 50000 values"));
}

TEST(ConfigTest, EncoderTurnsAsTheDecoderUnlessToldOtherwise) {
  EXPECT_EQ(ModelConfig::Parse(SmallConfigJson().dump())->encoder_position, SelfPosition::kRotary);
  json config = SmallConfigJson();
  config["positions"]["encoder_self_attention"] = "segment_rotary";
  EXPECT_EQ(ModelConfig::Parse(config.dump())->encoder_position, SelfPosition::kSegmentRotary);
  EXPECT_TRUE(ModelConfig::Parse(config.dump())->self_rotary);
  EXPECT_THAT(ErrorWith("/positions/encoder_self_attention", "token"), HasSubstr("positions.encoder_self_attention"));
}

TEST(ConfigTest, TheLayerThatAlignsIsTheLastButOneUnlessToldOtherwise) {
  json config = SmallConfigJson();
  const int32_t layers = config["decoder"]["layers"];
  EXPECT_EQ(ModelConfig::Parse(config.dump())->alignment_layer(), std::max(0, layers - 2));
  config["alignment_layer"] = layers;
  EXPECT_EQ(ModelConfig::Parse(config.dump())->alignment_layer(), layers - 1);
  for (const int32_t none : {0, layers + 1}) {
    config["alignment_layer"] = none;
    EXPECT_THAT(ErrorOf(config.dump()), HasSubstr("alignment_layer is"));
  }
}

TEST(ConfigTest, MarkersAreNamedAndWithinTheVocabulary) {
  EXPECT_EQ(ModelConfig::Parse(SmallConfigJson().dump())->tokens.markers, 0);
  json config = SmallConfigJson();
  config["tokens"]["markers"] = {{"first", 5}, {"count", 3}};
  EXPECT_EQ(ModelConfig::Parse(config.dump())->tokens.first_marker, 5);
  EXPECT_EQ(ModelConfig::Parse(config.dump())->tokens.markers, 3);
  EXPECT_THAT(ErrorWith("/tokens/markers", json{{"first", 5}, {"count", 1000000}}), HasSubstr("markers.count"));
  EXPECT_THAT(ErrorWith("/tokens/markers", json{{"first", 3}, {"count", 2}}), HasSubstr("special already"));
}

TEST(ConfigTest, TheSourceEndsInTheEndTokenUnlessItIsSaid) {
  EXPECT_TRUE(ModelConfig::Parse(SmallConfigJson().dump())->tokens.source_end);
  json config = SmallConfigJson();
  config["tokens"]["source_end"] = false;
  EXPECT_FALSE(ModelConfig::Parse(config.dump())->tokens.source_end);
  EXPECT_THAT(ErrorWith("/tokens/source_end", 1), HasSubstr("tokens.source_end"));
}

TEST(ConfigTest, CharactersInBytesTakeMarkers) {
  EXPECT_EQ(ModelConfig::Parse(SmallConfigJson().dump())->byte_characters, std::nullopt);
  json config = SmallConfigJson();
  config["tokens"]["byte_characters"] = "\u2019{";
  EXPECT_THAT(ErrorOf(config.dump()), HasSubstr("tokens.byte_characters"));
  config["tokens"]["markers"] = {{"first", 5}, {"count", 2}};
  EXPECT_EQ(ModelConfig::Parse(config.dump())->byte_characters, "\u2019{");
  config["tokens"]["byte_characters"] = "";  // none, but all others are copied
  EXPECT_EQ(ModelConfig::Parse(config.dump())->byte_characters, "");
  config["tokens"]["byte_characters"] = 3;
  EXPECT_THAT(ErrorOf(config.dump()), HasSubstr("tokens.byte_characters"));
  config["tokens"]["byte_characters"] = std::string(5000, 'x');
  EXPECT_THAT(ErrorOf(config.dump()), HasSubstr("tokens.byte_characters"));
}

TEST(ConfigTest, HeadsAreEvenAndNotTooWide) {
  json config = SmallConfigJson();
  config["d_model"] = 1024;
  config["heads"] = 2;
  EXPECT_THAT(ErrorOf(config.dump()), HasSubstr("d_model / heads is then 512; it must be even and at most 256"));
}

TEST(ConfigTest, OnlyASharedBlockCanBeBorrowed) {
  EXPECT_THAT(ErrorWith("/decoder/ffn/kind", "encoder"), HasSubstr("decoder.ffn.kind"));
  EXPECT_THAT(ErrorWith("/encoder/ffn/kind", "encoder"), HasSubstr("encoder.ffn.kind"));
  json config = SmallConfigJson();
  config["encoder"]["ffn"]["kind"] = "shared";
  config["decoder"]["ffn"]["kind"] = "encoder";
  EXPECT_THAT(ErrorOf(config.dump()),
              HasSubstr("decoder.ffn.width is 512; it must be that of the encoder's block, 1024"));
}

TEST(ConfigTest, KeyFractionsAreSharesOneAGroup) {
  EXPECT_THAT(ErrorWith("/selection/learned_ratio/encoder", {0.1}), HasSubstr("2 in all"));
  EXPECT_THAT(ErrorWith("/selection/learned_ratio/encoder", {0.1, 0}), HasSubstr("(0, 1]"));
  EXPECT_THAT(ErrorWith("/selection/learned_ratio/cross", {0.1, 1.01}), HasSubstr("selection.learned_ratio.cross"));
  EXPECT_THAT(ErrorWith("/selection/learned_ratio", {{"encoder", {0.1, 0.2}}}),
              HasSubstr("selection.learned_ratio.decoder is missing"));
}

TEST(ConfigTest, HaltingHeadsAreKnownAndNamedOnce) {
  EXPECT_THAT(ErrorWith("/exits/heads", {"oracle"}), HasSubstr("exits.heads"));
  EXPECT_TRUE(ParsesWith("/exits/confidence", {0.9, 0.5, 0, 1}));
  for (const json& bad : {json{0.9, 0.5, 0.5}, json{0.9, 0.5, 0.5, 1.1}, json{-0.1, 0.5, 0.5, 0.5}}) {
    EXPECT_THAT(ErrorWith("/exits/confidence", bad), HasSubstr("exits.confidence is " + bad.dump() +
                                                               "; it must have one threshold in [0, 1] for each of the "
                                                               "decoder's 4 layers"));
  }
  EXPECT_THAT(ErrorWith("/exits/heads", {"sequence", "sequence"}), HasSubstr("exits.heads"));
  EXPECT_TRUE(ParsesWith("/exits/heads", json::array()));
}

TEST(ConfigTest, TokensAreDistinctAndInTheVocabulary) {
  EXPECT_EQ(ErrorWith("/tokens/eos", 1), "config.json: tokens.eos is 1; but so is tokens.unk; each needs its own");
  EXPECT_EQ(ErrorWith("/tokens/separator", 3),
            "config.json: tokens.separator is 3; but so is tokens.eos; each needs its own");
  EXPECT_THAT(ErrorWith("/tokens/pad", 8000), HasSubstr("tokens.pad"));
  EXPECT_THAT(ErrorWith("/tokens/pad", -1), HasSubstr("tokens.pad"));
}

json ImportedConfigJson() {
  json config = SmallConfigJson();
  config["selection"] = nullptr;
  config["exits"] = nullptr;
  config["tokens"] = {{"pad", 1}, {"unk", 3}, {"bos", 2}, {"eos", 2}, {"separator", nullptr}};
  config["positions"]["sinusoid"] = "half_minus_one";
  config["positions"]["offset"] = 2;
  config["source_vocab_size"] = 7000;
  config["output"] = "own";
  config["embedding_norm"] = true;
  config["autoregression"] = "ssru";
  config["languages"] = {{"tokens", {{"en", 6990}, {"fr", 6991}}},
                         {"source", {"en", "fr"}},
                         {"target", {"fr"}},
                         {"source_prefix", "source"},
                         {"target_prefix", "target"}};
  config["search"] = {{"length_penalty", 0.5}, {"suppressed", {7, 9}}};
  return config;
}

TEST(ConfigTest, ReadsWhatModelsOfOtherToolkitsHave) {
  const auto parsed = ModelConfig::Parse(ImportedConfigJson().dump());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  const ModelConfig& config = *parsed;
  EXPECT_NEAR(config.sinusoid_base, std::pow(10000.0, 128.0 / 127), 1e-6);
  EXPECT_EQ(config.first_position, 2);
  EXPECT_TRUE(config.has_source_vocabulary);
  EXPECT_EQ(config.source_vocab_size, 7000);
  EXPECT_TRUE(config.own_output && config.embedding_norm && config.recurs());
  EXPECT_EQ(config.tokens.begin, config.tokens.end);
  EXPECT_FALSE(config.tokens.has_separator());
  EXPECT_THAT(config.languages.source, ElementsAre("en", "fr"));
  EXPECT_EQ(config.languages.tokens.at("fr"), 6991);
  EXPECT_EQ(config.languages.source_prefix, SourcePrefix::kSource);
  EXPECT_TRUE(config.languages.target_prefix);
  EXPECT_EQ(config.length_penalty, 0.5);
  EXPECT_THAT(config.suppressed, ElementsAre(7, 9));

  const auto plain = ModelConfig::Parse(SmallConfigJson().dump());
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->source_vocab_size, plain->vocab_size);
  EXPECT_EQ(plain->sinusoid_base, 10000.0);
  EXPECT_FALSE(plain->has_languages || plain->recurs() || plain->own_output || plain->has_source_vocabulary);
  EXPECT_EQ(plain->length_penalty, 1.0);
}

// A language's token is in the vocabulary of the side that begins with it.
TEST(ConfigTest, LanguagesTokensAreThoseOfTheSideThatHasThem) {
  json config = ImportedConfigJson();  // 7,000 source tokens, 8,000 target tokens
  const auto parse = [&](const char* source_prefix, const char* target_prefix, int32_t token) {
    config["languages"]["source_prefix"] = source_prefix;
    config["languages"]["target_prefix"] = target_prefix;
    config["languages"]["tokens"]["fr"] = token;
    return ModelConfig::Parse(config.dump());
  };
  EXPECT_TRUE(parse("source", "target", 6999).ok());
  EXPECT_FALSE(parse("source", "target", 7500).ok());
  EXPECT_FALSE(parse("target", "none", 7500).ok());
  const auto target_only = parse("none", "target", 7500);
  ASSERT_TRUE(target_only.ok()) << target_only.status();
  EXPECT_TRUE(target_only->target_has_languages() && !target_only->source_has_languages());
  config["source_vocab_size"] = 9000;
  EXPECT_FALSE(parse("none", "target", 8500).ok());
  const auto source_only = parse("target", "none", 8500);
  ASSERT_TRUE(source_only.ok()) << source_only.status();
  EXPECT_TRUE(source_only->source_has_languages() && !source_only->target_has_languages());
}

TEST(ConfigTest, WhatModelsOfOtherToolkitsHaveIsBounded) {
  const auto error_with = [](const std::string& pointer, const json& value) {
    json config = ImportedConfigJson();
    config[json::json_pointer(pointer)] = value;
    return ErrorOf(config.dump());
  };
  EXPECT_THAT(error_with("/positions/sinusoid", "third"), HasSubstr("positions.sinusoid"));
  EXPECT_THAT(error_with("/positions/offset", 65), HasSubstr("positions.offset"));
  EXPECT_THAT(error_with("/source_vocab_size", 2), HasSubstr("source_vocab_size"));
  EXPECT_THAT(error_with("/tokens/unk", 7500), HasSubstr("tokens.eos"));
  EXPECT_THAT(error_with("/tokens/separator", 7500), HasSubstr("tokens.separator must be in the source's vocabulary"));
  EXPECT_THAT(error_with("/tokens/pad", 2), HasSubstr("tokens.pad"));
  EXPECT_THAT(error_with("/autoregression", "lstm"), HasSubstr("autoregression"));
  EXPECT_THAT(error_with("/exits", SmallConfigJson()["exits"]), HasSubstr("autoregression"));
  EXPECT_THAT(error_with("/languages/tokens/en", 7001), HasSubstr("languages.tokens.en"));
  EXPECT_THAT(error_with("/languages/tokens/fr", 2), HasSubstr("languages.tokens.fr is 2; it must be neither"));
  EXPECT_THAT(error_with("/languages/target", json::array({"fr", "de"})), HasSubstr("no token of the language de"));
  EXPECT_THAT(error_with("/languages/source", json::array()), HasSubstr("languages.source"));
  EXPECT_THAT(error_with("/search/suppressed", json::array({8000})), HasSubstr("search.suppressed"));
  EXPECT_THAT(error_with("/search/suppressed", json::array({1.5})), HasSubstr("search.suppressed"));
  EXPECT_THAT(error_with("/search/suppressed", json::array({2})), HasSubstr("no translation could end"));
  EXPECT_THAT(error_with("/search/length_penalty", -1), HasSubstr("search.length_penalty"));
  EXPECT_THAT(error_with("/search/beams", 1), HasSubstr("search.beams"));
}

TEST(ConfigTest, NamesAndLanguagesAreTame) {
  for (const char* bad : {"", ".", "../x", "a/b", "a b", "a\n", "ä", ".hidden"}) {
    EXPECT_THAT(ErrorWith("/name", bad), HasSubstr("name is")) << bad;
  }
  EXPECT_THAT(ErrorWith("/name", std::string(65, 'a')), HasSubstr("name is"));
  EXPECT_TRUE(ParsesWith("/name", "en-de_2.1+x"));
  for (const char* bad : {"", "e", "en_US", "-en", "en-", "en--US", "abcdefghi", "en us"}) {
    EXPECT_THAT(ErrorWith("/source_language", bad), HasSubstr("source_language")) << bad;
  }
  for (const char* good : {"en", "zh-Hans-CN", "de-AT", "yue"}) {
    EXPECT_TRUE(ParsesWith("/target_language", good)) << good;
  }
}

TEST(ConfigTest, TextThatIsNoConfiguration) {
  EXPECT_EQ(ErrorOf(""), "config.json is not valid JSON");
  EXPECT_EQ(ErrorOf("{"), "config.json is not valid JSON");
  EXPECT_EQ(ErrorOf(SmallConfigJson().dump() + "}"), "config.json is not valid JSON");
  EXPECT_EQ(ErrorOf("[]"), "config.json: the top level is []; it must be an object");
  EXPECT_THAT(ErrorOf("{\"name\": \"\xff\"}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOf(std::string((1 << 20) + 1, ' ')), HasSubstr("bytes of JSON"));
}

TEST(ConfigTest, FieldsGivenTwiceAreRefused) {
  std::string text = SmallConfigJson().dump();
  text.insert(1, "\"heads\": 8,");
  EXPECT_EQ(ErrorOf(text), "config.json has the field \"heads\" twice in one object");
}

TEST(ConfigTest, DeepNestingIsRefused) {
  EXPECT_THAT(ErrorOf(std::string(500000, '[')), HasSubstr("nested more than"));
  EXPECT_THAT(ErrorOf(std::string(500000, '[') + std::string(500000, ']')), HasSubstr("nested more than"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_THAT(ErrorOf(objects), HasSubstr("nested more than"));
}

TEST(ConfigTest, LongValuesAreCutInErrors) {
  EXPECT_LT(ErrorWith("/norm", std::string(100000, 'x')).size(), 200u);
  EXPECT_LT(ErrorWith("/" + std::string(100000, 'x'), 1).size(), 200u);
}

TEST(ConfigTest, CutOffAnywhereItIsRefused) {
  const std::string whole = SmallConfigJson().dump();
  for (size_t size = 0; size < whole.size(); ++size) ErrorOf(whole.substr(0, size));
}

// Whatever a damaged file says, what is taken is within bounds.
TEST(ConfigTest, DamagedFilesGiveErrorsOrBoundedValues) {
  const std::string whole = SmallConfigJson().dump();
  std::mt19937 random(4);
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (uint32_t flips = 0; flips < 1 + random() % 3; ++flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random() % 2 == 0 ? '0' + random() % 10 : random() % 256);
    }
    const auto config = ModelConfig::Parse(damaged);
    if (!config.ok()) {
      EXPECT_THAT(std::string(config.status().message()), StartsWith("config.json"));
      continue;
    }
    ++taken;
    EXPECT_LE(config->d_model, 8192);
    EXPECT_LE(config->encoder.layers, 64);
    EXPECT_LE(config->vocab_size, 1000000);
    EXPECT_EQ(config->d_model % config->heads, 0);
    EXPECT_LE(config->groups(Module::kCross), 64);
  }
  EXPECT_GT(taken, 0) << "some changes are harmless";
}

}  // namespace
}  // namespace salient
