#include "server/request/glossary_cache.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

GlossaryCache::FileTime Second(int second) { return GlossaryCache::FileTime(std::chrono::seconds(second)); }

absl::StatusOr<Glossary> ReadOne() { return Glossary::Parse("a\tb\n"); }

size_t BytesOfOne() { return ReadOne()->bytes(); }

TEST(GlossaryCacheTest, ThoseUsedLastAreKept) {
  GlossaryCache cache(3 * BytesOfOne());
  int reads = 0;
  const auto get = [&](const std::string& name) {
    return *cache.Get(name, Second(0), [&] {
      ++reads;
      return ReadOne();
    });
  };
  const auto a = get("a");
  for (int i = 0; i < 100; ++i) {
    get(absl::StrCat(i));
    EXPECT_EQ(get("a"), a);
    EXPECT_LE(cache.bytes(), 3 * BytesOfOne());
  }
  EXPECT_EQ(reads, 101);
  get("99");
  get("98");
  EXPECT_EQ(reads, 101) << "both are kept";
  get("97");
  EXPECT_EQ(reads, 102);
  EXPECT_EQ(cache.bytes(), 3 * BytesOfOne());
}

TEST(GlossaryCacheTest, OneThatIsTooLargeIsKeptAlone) {
  GlossaryCache cache(BytesOfOne() - 1);
  for (const char* name : {"a", "b"}) {
    const auto one = *cache.Get(name, Second(0), ReadOne);
    EXPECT_EQ(*cache.Get(name, Second(0), ReadOne), one);
    EXPECT_EQ(cache.bytes(), BytesOfOne());
  }
}

TEST(GlossaryCacheTest, AChangedFileIsReadAgainAndErrorsAreNotKept) {
  GlossaryCache cache(1 << 20);
  const auto first = *cache.Get("a", Second(1), ReadOne);
  const auto failure = cache.Get("a", Second(2), [] { return absl::StatusOr<Glossary>(absl::DataLossError("x")); });
  EXPECT_EQ(failure.status().code(), absl::StatusCode::kDataLoss);
  const auto second = *cache.Get("a", Second(2), ReadOne);
  EXPECT_NE(first, second);
  EXPECT_EQ(*cache.Get("a", Second(2), ReadOne), second);
  EXPECT_EQ(cache.bytes(), BytesOfOne());
  cache.DropIf([](const std::string& name) { return name == "a"; });
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(GlossaryCacheTest, WhileOneIsReadTheOthersAreThere) {
  GlossaryCache cache(1 << 20);
  const auto kept = *cache.Get("kept", Second(0), ReadOne);
  const auto read = cache.Get("a", Second(0), [&] {
    EXPECT_EQ(*cache.Get("kept", Second(0), ReadOne), kept) << "else this waits for ever";
    return ReadOne();
  });
  EXPECT_TRUE(read.ok());
}

TEST(GlossaryCacheTest, ManyCallsReadAFileOnce) {
  GlossaryCache cache(1 << 20);
  std::atomic<int> reads = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] { EXPECT_TRUE(cache.Get("a", Second(0), [&reads] { return ++reads, ReadOne(); }).ok()); });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(reads, 1);
}

}  // namespace
}  // namespace salient
