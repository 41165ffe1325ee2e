#include "engine/model/safetensors.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <string>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/model/safetensors_bytes.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string ErrorOf(std::string_view bytes) {
  const auto tensors = TensorFile::Parse(bytes, "x.safetensors");
  EXPECT_EQ(tensors.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(tensors.status().message()), StartsWith("x.safetensors"));
  return std::string(tensors.status().message());
}

// The error of a file with one tensor "w" of 8 bytes after its header entry is changed.
std::string ErrorWith(const json& change) {
  json entry = {{"dtype", "F32"}, {"shape", {2}}, {"data_offsets", {0, 8}}};
  entry.merge_patch(change);
  return ErrorOf(SafetensorsBytes(json{{"w", entry}}.dump(), std::string(8, '\0')));
}

TEST(SafetensorsTest, ReadsEveryType) {
  const auto tensors = TensorFile::Parse(SmallSafetensors(), "x.safetensors");
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 6u) << "a scale is part of the tensor that it scales";
  EXPECT_THAT(tensors->at("a.weight").shape, ElementsAre(2, 3));
  EXPECT_THAT(tensors->at("a.weight").values, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(tensors->at("b.weight").values, ElementsAre(0.5f, -1, 254, -256));
  EXPECT_THAT(tensors->at("c").values, ElementsAre(1, -2));
  EXPECT_THAT(tensors->at("d").values, ElementsAre(1, -2));
  EXPECT_THAT(tensors->at("e").shape, IsEmpty());
  EXPECT_THAT(tensors->at("e").values, ElementsAre(7));
  EXPECT_THAT(tensors->at("f").values, ElementsAre(7, 65535));
}

TEST(SafetensorsTest, WidensHalfPrecisionExactly) {
  const std::string bytes =
      SafetensorsBuilder()
          .Add("h", "F16", {9},
               RawBytes<uint16_t>({0x0000, 0x8000, 0x0001, 0x83ff, 0x0400, 0x7bff, 0x3555, 0x7c00, 0xfc00}))
          .Build();
  const auto tensors = TensorFile::Parse(bytes, "x");
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float>& values = tensors->at("h").values;
  EXPECT_THAT(values, ElementsAre(0.0f, -0.0f, 0x1p-24f, -1023 * 0x1p-24f, 0x1p-14f, 65504.0f, 1365 * 0x1p-12f,
                                  infinity, -infinity));
  EXPECT_TRUE(std::signbit(values[1]));
  const auto nan =
      TensorFile::Parse(SafetensorsBuilder().Add("h", "F16", {1}, RawBytes<uint16_t>({0x7e01})).Build(), "x");
  ASSERT_TRUE(nan.ok());
  EXPECT_TRUE(std::isnan(nan->at("h").values[0]));
}

TEST(SafetensorsTest, EmptyTensorsAndFilesAreFine) {
  const auto tensors =
      TensorFile::Parse(SafetensorsBuilder().AddF32("none", {0, 5}, {}).AddF32("one", {1}, {1}).Build(), "x");
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  EXPECT_THAT(tensors->at("none").values, IsEmpty());
  EXPECT_TRUE(TensorFile::Parse(SafetensorsBytes("{}", ""), "x").ok());
}

TEST(SafetensorsTest, TheHeaderMustFitTheFile) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("too few for a header"));
  EXPECT_THAT(ErrorOf("1234567"), HasSubstr("has 7 bytes"));
  EXPECT_THAT(ErrorOf(std::string(8, '\xff')), HasSubstr("18446744073709551615 bytes, but only 0 follow"));
  EXPECT_THAT(ErrorOf(std::string("\3\0\0\0\0\0\0\0{}", 10)), HasSubstr("cut off"));
  EXPECT_THAT(ErrorOf(SafetensorsBytes("", "")), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOf(SafetensorsBytes("[]", "")), HasSubstr("not an object"));
  EXPECT_THAT(ErrorOf(SafetensorsBytes(std::string(100000, '['), "")), HasSubstr("nested"));
  EXPECT_THAT(ErrorOf(SafetensorsBytes(R"({"w": 1, "w": 2})", "")), HasSubstr("twice"));
  std::string wide = R"({"__metadata__": [0)";
  for (int i = 0; i < 200000; ++i) wide += ",0";
  EXPECT_THAT(ErrorOf(SafetensorsBytes(wide + "]}", "")), HasSubstr("the header has more than 200000 values"));
}

TEST(SafetensorsTest, EntriesAreChecked) {
  EXPECT_EQ(ErrorWith({{"dtype", "F64"}}),
            "x.safetensors: tensor w has the type \"F64\"; readable are F32, F16, BF16, U16, U32 and I8");
  EXPECT_THAT(ErrorWith({{"dtype", 7}}), HasSubstr("type 7"));
  EXPECT_THAT(ErrorWith({{"dtype", nullptr}}), HasSubstr("must have the fields"));
  EXPECT_THAT(ErrorWith({{"extra", 1}}), HasSubstr("no other"));
  EXPECT_THAT(ErrorWith({{"shape", {3}}}), HasSubstr("of shape [3] needs 12 bytes, not the 8"));
  EXPECT_THAT(ErrorWith({{"shape", {-2}}}), HasSubstr("has the shape [-2]"));
  EXPECT_THAT(ErrorWith({{"shape", {2.0}}}), HasSubstr("has the shape [2.0]"));
  EXPECT_THAT(ErrorWith({{"shape", "2"}}), HasSubstr("has the shape"));
  EXPECT_THAT(ErrorWith({{"shape", std::vector<int>(9, 1)}}), HasSubstr("has the shape"));
  EXPECT_THAT(ErrorWith({{"data_offsets", {0, 9}}}), HasSubstr("data_offsets [0,9]; the file has 8 bytes"));
  EXPECT_THAT(ErrorWith({{"data_offsets", {8, 0}}}), HasSubstr("data_offsets"));
  EXPECT_THAT(ErrorWith({{"data_offsets", {-8, 0}}}), HasSubstr("data_offsets"));
  EXPECT_THAT(ErrorWith({{"data_offsets", {0}}}), HasSubstr("data_offsets"));
  EXPECT_THAT(ErrorOf(SafetensorsBytes(R"({"w": 1})", "")), HasSubstr("tensor w must have the fields"));
}

TEST(SafetensorsTest, AbsurdShapesDoNotOverflow) {
  const int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(ErrorWith({{"shape", {huge}}}), HasSubstr("has the shape"));
  EXPECT_THAT(ErrorWith({{"shape", {int64_t{1} << 32, int64_t{1} << 32}}}), HasSubstr("has the shape"));
  EXPECT_THAT(ErrorWith({{"shape", {int64_t{1} << 31, int64_t{1} << 31, 4}}}), HasSubstr("has the shape"));
  EXPECT_THAT(ErrorWith({{"shape", {int64_t{1} << 30}}}), HasSubstr("needs 4294967296 bytes"));
  EXPECT_THAT(ErrorWith({{"shape", {json::parse("18446744073709551615")}}}), HasSubstr("has the shape"));
  EXPECT_THAT(ErrorWith({{"data_offsets", {0, json::parse("18446744073709551615")}}}), HasSubstr("data_offsets"));
}

TEST(SafetensorsTest, NamesArePrintable) {
  for (const char* name : {"", "a b", "a\n", "ä", "a\\u0000"}) {
    const std::string header = std::string(R"({")") + (std::string(name) == "a\n" ? "a\\n" : name) +
                               R"(": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}})";
    EXPECT_THAT(ErrorOf(SafetensorsBytes(header, "")), HasSubstr("printable ASCII")) << name;
  }
}

TEST(SafetensorsTest, EveryByteBelongsToOneTensor) {
  const auto two = [](int a_begin, int a_end, int b_begin, int b_end) {
    const auto entry = [](int begin, int end) {
      return json{{"dtype", "I8"}, {"shape", {end - begin}}, {"data_offsets", {begin, end}}};
    };
    return SafetensorsBytes(json{{"a", entry(a_begin, a_end)}, {"b", entry(b_begin, b_end)}}.dump(),
                            std::string(8, '\0'));
  };
  EXPECT_THAT(ErrorOf(two(0, 5, 4, 8)), HasSubstr("tensor b overlaps"));
  EXPECT_THAT(ErrorOf(two(0, 8, 0, 8)), HasSubstr("overlaps"));
  EXPECT_THAT(ErrorOf(two(0, 3, 4, 8)), HasSubstr("tensor b comes after 1 bytes of no tensor"));
  EXPECT_THAT(ErrorOf(two(0, 4, 4, 7)), HasSubstr("ends with 1 bytes of no tensor"));
  EXPECT_THAT(ErrorOf(two(4, 8, 0, 4)), HasSubstr("a.scale")) << "any order will do";
}

TEST(SafetensorsTest, IntegersNeedTheirScale) {
  const std::string integers = RawBytes<int8_t>({1, 2, 3, 4});
  EXPECT_THAT(ErrorOf(SafetensorsBuilder().Add("w", "I8", {2, 2}, integers).Build()),
              HasSubstr("tensor w is I8 and needs the tensor w.scale"));
  EXPECT_THAT(ErrorOf(SafetensorsBuilder().Add("w", "I8", {2, 2}, integers).AddF32("w.scale", {3}, {1, 2, 3}).Build()),
              HasSubstr("tensor w.scale must be F32, one value for each of the 2 rows of w"));
  EXPECT_THAT(ErrorOf(SafetensorsBuilder()
                          .Add("w", "I8", {2, 2}, integers)
                          .Add("w.scale", "BF16", {2}, RawBytes<uint16_t>({1, 2}))
                          .Build()),
              HasSubstr("must be F32"));
  EXPECT_THAT(ErrorOf(SafetensorsBuilder().Add("w", "I8", {}, "x").AddF32("w.scale", {}, {1}).Build()),
              HasSubstr("w.scale"));
}

TEST(SafetensorsTest, AScaleOfNothingIsATensor) {
  const auto tensors = TensorFile::Parse(
      SafetensorsBuilder().AddF32("norm.scale", {1}, {3}).AddF32("w", {1}, {1}).AddF32("w.scale", {1}, {2}).Build(),
      "x");
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  EXPECT_EQ(tensors->size(), 3u);
}

TEST(SafetensorsTest, CutOffAnywhereItIsRefused) {
  const std::string whole = SmallSafetensors();
  for (size_t size = 0; size < whole.size(); ++size) {
    // A copy of the exact size, so that a sanitizer sees a read past the end.
    const std::vector<char> part(whole.begin(), whole.begin() + size);
    ErrorOf(std::string_view(part.data(), part.size()));
  }
  ErrorOf(whole + "x");
}

TEST(SafetensorsTest, BitsFlipped) {
  const std::string whole = SmallSafetensors();
  std::mt19937 random(6);
  int taken = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (uint32_t flips = 0; flips < 1 + random() % 4; ++flips) damaged[random() % damaged.size()] ^= 1 << random() % 8;
    const auto tensors = TensorFile::Parse(damaged, "x.safetensors");
    if (!tensors.ok()) continue;
    ++taken;
    int64_t elements = 0;
    for (const auto& [name, tensor] : *tensors) elements += tensor.elements();
    EXPECT_LE(elements, static_cast<int64_t>(damaged.size()));
  }
  EXPECT_GT(taken, 0) << "bits of the data may flip unseen";
}

class SafetensorsFolderTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& bytes) { WriteFile(temp_ / name, bytes); }
  void WriteIndex(const json& weight_map) {
    Write("model.safetensors.index.json", json{{"metadata", {{"total_size", 1}}}, {"weight_map", weight_map}}.dump());
  }
  absl::StatusOr<TensorFile> Load() const {
    int64_t memory = int64_t{1} << 30;
    return TensorFile::Load(folder_, /*copies=*/1, memory);
  }
  std::string LoadError(absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    const auto file = Load();
    EXPECT_EQ(file.status().code(), code) << file.status();
    return std::string(file.status().message());
  }

  const TempFolder temp_;
  const std::string& folder_ = temp_.path();
};

TEST_F(SafetensorsFolderTest, LoadsOneFile) {
  Write("model.safetensors", SmallSafetensors());
  const auto file = Load();
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(absl::IsNotFound(file->Get("b.weight.scale", {2}).status()));
  EXPECT_EQ(file->parameters(), 6 + 4 + 2 + 2 + 1 + 2);
  const auto tensor = file->Get("a.weight", {2, 3});
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ((*tensor)->values[5], 6);
}

TEST_F(SafetensorsFolderTest, GetNamesTensorAndShapes) {
  Write("model.safetensors", SmallSafetensors());
  const auto file = Load();
  ASSERT_TRUE(file.ok()) << file.status();
  const auto missing = file->Get("z", {1});
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.status().message(),
            "model.safetensors: tensor z is missing; config.json asks for it with shape [1]");
  const auto other = file->Get("a.weight", {3, 2});
  EXPECT_EQ(other.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(other.status().message(),
            "model.safetensors: tensor a.weight has shape [2, 3]; config.json asks for [3, 2]");
}

TEST_F(SafetensorsFolderTest, LoadsShardsEvenWithAScaleInAnother) {
  Write("model-00001-of-00002.safetensors",
        SafetensorsBuilder().Add("w", "I8", {1, 2}, RawBytes<int8_t>({2, 3})).AddF32("stale", {1}, {1}).Build());
  Write("model-00002-of-00002.safetensors",
        SafetensorsBuilder().AddF32("w.scale", {1}, {10}).AddF32("v", {1}, {5}).Build());
  Write("model.safetensors", "an older file, which the index overrides");
  WriteIndex({{"w", "model-00001-of-00002.safetensors"},
              {"w.scale", "model-00002-of-00002.safetensors"},
              {"v", "model-00002-of-00002.safetensors"}});
  const auto file = Load();
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT((*file->Get("w", {1, 2}))->values, ElementsAre(20, 30));
  EXPECT_TRUE(file->Get("v", {1}).ok());
  EXPECT_TRUE(absl::IsNotFound(file->Get("stale", {1}).status())) << "the index does not list it";
}

TEST_F(SafetensorsFolderTest, MissingFilesAreNamed) {
  EXPECT_THAT(LoadError(absl::StatusCode::kNotFound), HasSubstr(folder_ + "/model.safetensors"));
  WriteIndex({{"w", "gone.safetensors"}});
  EXPECT_THAT(LoadError(absl::StatusCode::kNotFound), HasSubstr(folder_ + "/gone.safetensors"));
}

TEST_F(SafetensorsFolderTest, AnIndexLeadsNowhereElse) {
  for (const char* name : {"../model.safetensors", "/etc/passwd", "a/b", "..", ".", "", ".hidden", "a\\b", "a\nb"}) {
    WriteIndex({{"w", name}});
    EXPECT_THAT(LoadError(), HasSubstr("must be the name of a file in the same folder")) << name;
  }
}

TEST_F(SafetensorsFolderTest, IndexesAreChecked) {
  for (const char* text : {"", "[]", "{}", R"({"weight_map": []})", R"({"weight_map": {"w": 3}})"}) {
    Write("model.safetensors.index.json", text);
    EXPECT_THAT(LoadError(), StartsWith("model.safetensors.index.json")) << text;
  }
  Write("a.safetensors", SafetensorsBuilder().AddF32("v", {1}, {5}).Build());
  WriteIndex({{"w", "a.safetensors"}});
  EXPECT_THAT(LoadError(), HasSubstr("tensor w is said to be in a.safetensors, which lacks it"));
}

TEST_F(SafetensorsFolderTest, WhatIsNoRegularFileIsRefused) {
  std::filesystem::create_directory(folder_ + "/model.safetensors");
  EXPECT_THAT(LoadError(), HasSubstr("not a regular file"));
  std::filesystem::remove(folder_ + "/model.safetensors");
  std::filesystem::create_symlink("/dev/zero", folder_ + "/model.safetensors");
  EXPECT_THAT(LoadError(), HasSubstr("not a regular file"));
}

// Most of a file may be a hole, which takes no room on the disk.
TEST_F(SafetensorsFolderTest, AHugeFileIsRefusedBeforeItIsRead) {
  constexpr int64_t kHuge = int64_t{48} << 30;
  const auto write_huge = [&](const std::string& name, const std::string& begin) {
    Write(name, begin);
    std::filesystem::resize_file(folder_ + "/" + name, kHuge);
  };
  write_huge("model.safetensors", "");
  EXPECT_THAT(LoadError(), HasSubstr("model.safetensors: the header is not valid JSON"));
  write_huge("model.safetensors", RawBytes<int64_t>({kHuge - 8}));
  EXPECT_THAT(LoadError(), HasSubstr("at most 16777216 are read"));
  write_huge("model.safetensors.index.json", "{");
  EXPECT_THAT(LoadError(), HasSubstr("model.safetensors.index.json has 51539607552 bytes; at most 16777216"));
}

TEST_F(SafetensorsFolderTest, TensorsThatMemoryCannotHoldAreRefusedBeforeTheyAreRead) {
  constexpr int64_t kMany = int64_t{12} << 30;
  const std::string header = json{{"w", {{"dtype", "I8"}, {"shape", {1, kMany}}, {"data_offsets", {0, kMany}}}},
                                  {"w.scale", {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {kMany, kMany + 4}}}}}
                                 .dump();
  Write("model.safetensors", SafetensorsBytes(header, ""));
  std::filesystem::resize_file(folder_ + "/model.safetensors", 8 + header.size() + kMany + 4);
  const absl::Status status = Load().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "model.safetensors: loading its tensors takes 51539607556 bytes of memory; 1073741824 are left: give this "
            "process more memory, end what else uses it, or take a smaller model");
}

TEST_F(SafetensorsFolderTest, CopiesCountAndFilesShareWhatMemoryThereIs) {
  Write("model.safetensors", SafetensorsBuilder().AddF32("w", {100}, std::vector<float>(100)).Build());
  int64_t memory = 2000;
  ASSERT_TRUE(TensorFile::Load(folder_, /*copies=*/2, memory).ok());
  EXPECT_EQ(memory, 1200);
  EXPECT_EQ(TensorFile::Read(folder_, "model.safetensors", /*copies=*/4, memory).status().code(),
            absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(TensorFile::Read(folder_, "model.safetensors", /*copies=*/3, memory).ok());
  EXPECT_EQ(memory, 0);
}

TEST_F(SafetensorsFolderTest, ALargeFileLoadsInAMoment) {
  constexpr int64_t kRows = 4096, kColumns = 4096;
  Write("model.safetensors",
        SafetensorsBuilder().Add("w", "BF16", {kRows, kColumns}, std::string(kRows * kColumns * 2, '\x3f')).Build());
  const absl::Time start = absl::Now();
  const auto file = Load();
  const absl::Duration took = absl::Now() - start;
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->parameters(), kRows * kColumns);
  RecordProperty("seconds", std::to_string(absl::ToDoubleSeconds(took)));
  EXPECT_LT(took, absl::Seconds(5)) << "32 MiB take some 50 ms; this leaves room for a busy machine and sanitizers";
}

}  // namespace
}  // namespace salient
