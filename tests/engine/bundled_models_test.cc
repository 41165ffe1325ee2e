// What the bundled models can do beyond translating, and the tiny models have not learned.

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/engine.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/documents.h"

namespace salient {
namespace {

using ::salient::testing::Occurrences;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

struct Aligned {
  std::string text;
  std::vector<std::pair<std::string, std::string>> links;  // what is linked in the source, and in `text`
};

// The translation of one segment.
absl::StatusOr<Aligned> Align(const std::string& model, const std::string& source) {
  const absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Create({.model_folder = model, .device = "cpu"});
  if (!engine.ok()) return engine.status();
  TranslationOptions options;
  options.alignment = true;
  const absl::StatusOr<TranslationResult> result = (*engine)->Translate({.text = source, .options = options});
  if (!result.ok()) return result.status();
  Aligned aligned{.text = result->text};
  for (const TokenLink& link : result->segments[0].alignment) {
    aligned.links.emplace_back(source.substr(link.source_begin, link.source_end - link.source_begin),
                               result->text.substr(link.target_begin, link.target_end - link.target_begin));
  }
  return aligned;
}

TEST(BundledModelsTest, CopyNamesAndSymbolsAndSayWhereTheyCameFrom) {
  const std::vector<std::string> unknown = {"\u0141ukasz", "\u00a3", "\u2605"};
  for (const char* model : {"models/en-de", "models/en-pt"}) {
    const auto result = Align(model, "\u0141ukasz paid \u00a35 for the \u2605 on the map.");
    ASSERT_TRUE(result.ok()) << result.status();
    for (const std::string& part : unknown) EXPECT_EQ(Occurrences(result->text, part), 1) << result->text;
    EXPECT_THAT(result->text, HasSubstr("\u00a35"));
    std::vector<std::string> linked;
    for (const auto& [from, to] : result->links) {
      if (std::find(unknown.begin(), unknown.end(), to) == unknown.end()) continue;
      linked.push_back(to);
      EXPECT_EQ(from, to);
    }
    EXPECT_THAT(linked, UnorderedElementsAreArray(unknown)) << result->text;
  }
}

// Each of these words has one translation.
TEST(BundledModelsTest, AlignWordsWithTheirTranslations) {
  const std::map<std::string, std::map<std::string, std::string>> expected = {
      {"models/en-de", {{"browser", "Browser"}, {"can", "kann"}, {"request", "Anfrage"}, {"server", "Server"}}},
      {"models/en-pt", {{"browser", "navegador"}, {"can", "pode"}, {"server", "servidor"}}}};
  for (const auto& [model, words] : expected) {
    const auto result = Align(model, "The browser can send a request to the server.");
    ASSERT_TRUE(result.ok()) << result.status();
    std::map<std::string, std::string> linked;
    for (const auto& [from, to] : result->links) linked[from] = to;
    for (const auto& [source, target] : words) EXPECT_EQ(linked[source], target) << result->text;
  }
}

}  // namespace
}  // namespace salient
