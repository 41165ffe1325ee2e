// LoadTokenizers: any bytes as vocabulary.json, beside a SentencePiece model that is sound. What is taken gives tokens
// of the list alone, none that is special, and translations that are UTF-8.

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "absl/status/status.h"
#include "engine/base/utf8.h"
#include "engine/text/sentencepiece.h"
#include "engine/text/tokenizer.h"
#include "nlohmann/json.hpp"
#include "tests/fuzz/fuzz.h"
#include "tests/text/tiny_tokenizer.h"

namespace salient {
namespace {

constexpr int32_t kPieces = 40;

// A model folder of this process, removed at its end.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("salient_vocabulary_fuzz_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
    Require(TrainTinyTokenizer(File("tokenizer.model")).empty(), "a tiny tokenizer can be trained");
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string path() const { return path_.string(); }
  std::string File(const char* name) const { return (path_ / name).string(); }

 private:
  const std::filesystem::path path_;
};

const Folder& TheFolder() {
  static const Folder folder;
  return folder;
}

void Write(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

std::vector<std::string> Seeds() {
  nlohmann::json pieces = {"</s>", "<unk>", "\u2581the", "<0x0A>", "<0xE5>", "\u2581", "h", "\u5b66"};
  while (pieces.size() < kPieces - 1) {
    std::string piece = std::to_string(pieces.size());
    pieces.push_back(piece.insert(0, 1, 'p'));
  }
  pieces.push_back("<s>");
  nlohmann::json twice = pieces;
  twice[10] = twice[2];
  twice[11] = "";
  nlohmann::json wrong = pieces;
  wrong[3] = 7;
  return {pieces.dump(), pieces.dump(1), twice.dump(), wrong.dump(), "[]", "{}", "[[[[[["};
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using salient::Require;
  const salient::Folder& folder = salient::TheFolder();
  salient::Write(folder.File("vocabulary.json"), {reinterpret_cast<const char*>(data), size});
  const salient::SpecialTokens special{
      .pad = salient::kPieces - 1, .unknown = 1, .begin = salient::kPieces - 1, .end = 0, .separator = -1};
  const auto made = salient::LoadTokenizers(
      folder.path(), {.source_size = salient::kPieces, .target_size = salient::kPieces, .special = special});
  if (!made.ok()) {
    Require(absl::IsInvalidArgument(made.status()) &&
                made.status().message().find("vocabulary.json") != std::string_view::npos,
            "an error names the file");
    return 0;
  }
  for (const std::string_view text : {"", "The old house.\n", "学校 😀 <s> </s> ▁the", "p9p10<0x0A>", "\xff\xc3"}) {
    std::vector<int32_t> tokens = made->source->Encode(text);
    for (const int32_t token : tokens) {
      Require(token >= 0 && token < salient::kPieces, "a token is one of the list's");
      Require(token != special.pad && token != special.end, "no text spells a special token");
    }
    for (const int32_t token : {-1, 0, 1, 2, 3, 4, salient::kPieces - 1, salient::kPieces}) tokens.push_back(token);
    Require(!salient::FirstInvalidUtf8(made->target->Decode(tokens)).has_value(), "a translation is UTF-8");
  }
  Require(made->target->Piece(-1).empty() && made->target->Piece(salient::kPieces).empty(),
          "no token, no name");
  return 0;
}
