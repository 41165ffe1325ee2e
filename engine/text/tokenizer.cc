#include "engine/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/text/sentencepiece.h"

namespace salient {
namespace {

constexpr uintmax_t kMaxFileBytes = 64 << 20;
constexpr char kSeparatorPiece[] = "<sep>";

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(std::unique_ptr<SentencePiece> model, const SpecialTokens& special)
      : model_(std::move(model)), special_(special) {}

  std::vector<int32_t> Encode(std::string_view text) const override {
    std::vector<int> tokens = model_->Encode(text);
    // Load made sure that text can spell no special token; a model that finds a way must still not forge one.
    std::replace_if(
        tokens.begin(), tokens.end(), [this](int token) { return IsSpecial(token); }, special_.unknown);
    return tokens;
  }

  std::string Decode(const std::vector<int32_t>& tokens) const override {
    std::vector<int> words;
    words.reserve(tokens.size());
    for (const int32_t token : tokens) {
      if (IsKnown(token) && !IsSpecial(token) && token != special_.unknown) words.push_back(token);
    }
    return model_->Decode(words);
  }

  std::string Piece(int32_t token) const override { return IsKnown(token) ? model_->Piece(token) : ""; }

 private:
  bool IsKnown(int32_t token) const { return token >= 0 && token < model_->size(); }
  bool IsSpecial(int32_t token) const {
    return token == special_.pad || token == special_.begin || token == special_.end || token == special_.separator;
  }

  const std::unique_ptr<SentencePiece> model_;
  const SpecialTokens special_;
};

struct Expected {
  const char* name;  // as config.json calls it
  int32_t id;        // by config.json
  int found;         // by the tokenizer; -1: none
};

absl::Status CheckTokens(const std::string& path, const SentencePiece& model, int32_t vocab_size,
                         const SpecialTokens& special) {
  if (model.size() != vocab_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", model.size(), " pieces; config.json says vocab_size ", vocab_size));
  }
  const std::array<Expected, 5> expected = {{{"pad", special.pad, model.pad()},
                                             {"unk", special.unknown, model.unknown()},
                                             {"bos", special.begin, model.begin()},
                                             {"eos", special.end, model.end()},
                                             {"separator", special.separator, model.Find(kSeparatorPiece)}}};
  for (const Expected& token : expected) {
    if (token.id < 0) continue;  // the model has no separator
    if (token.id != token.found) {
      return absl::InvalidArgumentError(absl::StrCat(path, " has the ", token.name, " token at ", token.found,
                                                     "; config.json says tokens.", token.name, " ", token.id));
    }
    if (token.id != special.unknown && !model.IsControl(token.id)) {
      return absl::InvalidArgumentError(absl::StrCat(path, " has the ", token.name, " token, ", token.id,
                                                     ", as ordinary text; it must be a control symbol"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadTokenizerFile(const std::string& path, uintmax_t max_bytes) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return absl::NotFoundError(absl::StrCat(path, " does not exist or is not a file"));
  }
  if (std::filesystem::file_size(path, error) > max_bytes || error) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has more than ", max_bytes, " bytes"));
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad() || bytes.empty()) return absl::InvalidArgumentError(absl::StrCat(path, " is empty or unreadable"));
  return bytes;
}

absl::StatusOr<std::unique_ptr<SentencePiece>> LoadSentencePiece(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadTokenizerFile(path, kMaxFileBytes);
  if (!bytes.ok()) return bytes.status();
  std::string why;
  std::unique_ptr<SentencePiece> model = SentencePiece::Parse(*bytes, why);
  if (model == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a SentencePiece model: ", why));
  }
  return model;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::Load(const std::string& path, int32_t vocab_size,
                                                           const SpecialTokens& special) {
  absl::StatusOr<std::unique_ptr<SentencePiece>> model = LoadSentencePiece(path);
  if (!model.ok()) return model.status();
  if (absl::Status status = CheckTokens(path, **model, vocab_size, special); !status.ok()) return status;
  return std::make_unique<SentencePieceTokenizer>(*std::move(model), special);
}

}  // namespace salient
