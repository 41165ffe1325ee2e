// SentencePiece in a process that uses another protobuf, as a server does: each of the two must use its own.

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <string>
#include <thread>
#include <vector>

#include "engine/text/tokenizer.h"
#include "gtest/gtest.h"

namespace salient {
namespace {

using google::protobuf::Struct;

std::string ThroughProtobuf(const std::string& json) {
  Struct message;
  std::string bytes, out;
  if (!google::protobuf::util::JsonStringToMessage(json, &message).ok()) return "not read";
  message.SerializeToString(&bytes);
  Struct copy;
  if (!copy.ParseFromString(bytes)) return "not parsed";
  return google::protobuf::util::MessageToJsonString(copy, &out).ok() ? out : "not written";
}

TEST(BesideProtobufTest, EachUsesItsOwn) {
  const std::string json = R"({"text":"Größe"})";
  EXPECT_EQ(ThroughProtobuf(json), json);
  for (int i = 0; i < 2; ++i) {  // opened, closed, and opened again
    const auto loaded = LoadTokenizers("models/en-pt", {.source_size = 32291, .target_size = 32291, .special = {}});
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    std::vector<std::thread> threads;
    std::vector<int> good(3);
    for (int& count : good) {
      threads.emplace_back([&] {
        for (int j = 0; j < 50; ++j) {
          const std::string text = loaded->target->Decode(loaded->source->Encode("The house, Größe 学校."));
          count += text == "The house, Größe 学校." && ThroughProtobuf(json) == json;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(good, std::vector<int>(3, 50));
  }
  EXPECT_EQ(ThroughProtobuf(json), json);
}

}  // namespace
}  // namespace salient
