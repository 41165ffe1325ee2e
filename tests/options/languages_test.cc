#include "engine/options/languages.h"

#include <utility>

#include "engine/model/config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModelConfig Multilingual() {
  ModelConfig config;
  config.has_languages = true;
  config.languages = {
      {{"en", 100}, {"zh", 101}, {"pt-BR", 102}}, {"en", "zh"}, {"en", "zh", "pt-BR"}, SourcePrefix::kSource, true};
  return config;
}

TEST(LanguagesTest, AModelOfOnePairHasNoPrefixes) {
  ModelConfig config;
  config.source_language = "fr";
  const auto pair = ResolveLanguages("", "", config);
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(pair->source, "fr");
  EXPECT_THAT(pair->source_prefix, IsEmpty());
  EXPECT_THAT(pair->target_prefix, IsEmpty());
}

TEST(LanguagesTest, TokensAreThoseOfTheRequestsLanguages) {
  ModelConfig config = Multilingual();
  auto pair = ResolveLanguages("ZH-Hant", "pt-br", config);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->source, "zh");
  EXPECT_THAT(pair->source_prefix, ElementsAre(101));
  EXPECT_THAT(pair->target_prefix, ElementsAre(102));
  config.languages.source_prefix = SourcePrefix::kTarget;
  config.languages.target_prefix = false;
  pair = ResolveLanguages("en", "zh", config);
  ASSERT_TRUE(pair.ok());
  EXPECT_THAT(pair->source_prefix, ElementsAre(101));
  EXPECT_THAT(pair->target_prefix, IsEmpty());
}

TEST(LanguagesTest, TheMostSpecificLanguageServes) {
  ModelConfig config = Multilingual();
  config.languages.tokens["zh-Hant"] = 103;
  config.languages.target = {"en", "zh", "zh-Hant"};
  for (const auto& [wanted, token] : {std::pair("zh-Hant-TW", 103), {"zh-hant", 103}, {"zh-CN", 101}, {"zh", 101}}) {
    const auto pair = ResolveLanguages("en", wanted, config);
    ASSERT_TRUE(pair.ok()) << pair.status();
    EXPECT_THAT(pair->target_prefix, ElementsAre(token)) << wanted;
  }
}

TEST(LanguagesTest, WhatIsMissingIsNamed) {
  const ModelConfig config = Multilingual();
  EXPECT_THAT(std::string(ResolveLanguages("", "en", config).status().message()),
              HasSubstr("source_language is empty; this model has en, zh"));
  EXPECT_THAT(std::string(ResolveLanguages("pt-BR", "en", config).status().message()),
              HasSubstr("source_language is \"pt-BR\""));
  EXPECT_THAT(std::string(ResolveLanguages("en", "e", config).status().message()),
              HasSubstr("target_language is \"e\""));
}

}  // namespace
}  // namespace salient
