#include "engine/text/vocabulary.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/utf8.h"
#include "engine/model/json.h"
#include "engine/text/normalizer.h"
#include "engine/text/sentencepiece.h"

namespace salient {
namespace {

constexpr size_t kMaxJsonBytes = 128 << 20;
constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581, SentencePiece's mark of a space
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// The byte that a piece such as "<0xA4>" stands for; -1: it is no such piece.
int ByteOf(const std::string& piece) {
  const auto digit = [&](size_t at) {
    const char c = piece[at];
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>' || digit(3) < 0 || digit(4) < 0) return -1;
  return digit(3) * 16 + digit(4);
}

std::string WithSpaces(const std::string& piece) {
  std::string text;
  for (size_t from = 0; from < piece.size();) {
    const size_t mark = std::min(piece.find(kSpace, from), piece.size());
    text.append(piece, from, mark - from);
    if (mark < piece.size()) text += ' ';
    from = mark + kSpace.size();
  }
  return text;
}

// What cuts text into pieces, and the token of each piece that it knows.
struct Cutter {
  std::unique_ptr<SentencePiece> model;
  std::vector<int32_t> token_of;

  std::vector<int32_t> Encode(std::string_view text) const {
    std::vector<int32_t> tokens;
    for (const int piece : model->Encode(text)) tokens.push_back(token_of[piece]);
    return tokens;
  }
};

class VocabularyTokenizer : public Tokenizer {
 public:
  VocabularyTokenizer(Cutter source, Cutter target, std::vector<std::string> source_pieces,
                      std::vector<std::string> target_pieces, std::set<int32_t> unspoken)
      : source_(std::move(source)),
        target_(std::move(target)),
        source_pieces_(std::move(source_pieces)),
        target_pieces_(std::move(target_pieces)),
        unspoken_(std::move(unspoken)) {}

  std::vector<int32_t> Encode(std::string_view text) const override { return source_.Encode(text); }
  std::vector<int32_t> EncodeTarget(std::string_view text) const override {
    return (target_.model == nullptr ? source_ : target_).Encode(text);
  }
  std::string Piece(int32_t token) const override { return PieceOf(target_pieces_, token); }
  std::string SourcePiece(int32_t token) const override {
    return PieceOf(source_pieces_.empty() ? target_pieces_ : source_pieces_, token);
  }

  std::string Decode(const std::vector<int32_t>& tokens) const override {
    std::string text, bytes;
    const auto flush_bytes = [&text, &bytes] {
      for (size_t i = 0; i < bytes.size();) {
        const size_t length = CharacterLength(std::string_view(bytes).substr(i));
        text += length == 0 ? kReplacement : std::string_view(bytes).substr(i, length);
        i += std::max<size_t>(length, 1);
      }
      bytes.clear();
    };
    for (const int32_t token : tokens) {
      if (token < 0 || token >= static_cast<int32_t>(target_pieces_.size()) || unspoken_.contains(token)) continue;
      if (const int byte = ByteOf(target_pieces_[token]); byte >= 0) {
        bytes += static_cast<char>(byte);
        continue;
      }
      flush_bytes();
      text += WithSpaces(target_pieces_[token]);
    }
    flush_bytes();
    return text.starts_with(' ') ? text.substr(1) : text;
  }

 private:
  static std::string PieceOf(const std::vector<std::string>& pieces, int32_t token) {
    return token >= 0 && token < static_cast<int32_t>(pieces.size()) ? pieces[token] : "";
  }

  const Cutter source_, target_;
  const std::vector<std::string> source_pieces_, target_pieces_;  // the source's: empty where it is the target's
  const std::set<int32_t> unspoken_;
};

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

absl::StatusOr<std::vector<std::string>> LoadVocabulary(const std::string& path, int32_t size) {
  absl::StatusOr<std::string> json = ReadTokenizerFile(path, kMaxJsonBytes);
  if (!json.ok()) return json.status();
  return ParseVocabulary(*json, path, size);
}

// `unspoken`: tokens that text never yields, whatever it spells.
absl::StatusOr<Cutter> LoadCutter(const std::string& path, const std::vector<std::string>& pieces, int32_t unknown,
                                  const std::set<int32_t>& unspoken) {
  absl::StatusOr<std::unique_ptr<SentencePiece>> model = LoadSentencePiece(path);
  if (!model.ok()) return model.status();
  std::unordered_map<std::string_view, int32_t> tokens;
  for (size_t i = 0; i < pieces.size(); ++i) tokens.emplace(pieces[i], static_cast<int32_t>(i));
  Cutter cutter{*std::move(model), {}};
  for (int piece = 0; piece < cutter.model->size(); ++piece) {
    const auto found = tokens.find(cutter.model->Piece(piece));
    const bool usable = found != tokens.end() && !cutter.model->IsControl(piece) && !unspoken.contains(found->second);
    cutter.token_of.push_back(usable ? found->second : unknown);
  }
  return cutter;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseVocabulary(std::string_view json, const std::string& file, int32_t size) {
  absl::StatusOr<Json> parsed = ParseJson(json, file, kMaxJsonBytes);
  if (!parsed.ok()) return parsed.status();
  const auto is_piece = [](const Json& piece) { return piece.is_string(); };
  if (!parsed->is_array() || !std::all_of(parsed->begin(), parsed->end(), is_piece)) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": it must be an array of pieces"));
  }
  if (parsed->size() != static_cast<size_t>(size)) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": it has ", parsed->size(), " pieces; by config.json it must have ", size));
  }
  std::vector<std::string> pieces;
  for (const Json& piece : *parsed) pieces.push_back(piece.get<std::string>());
  for (const std::string& piece : pieces) {
    if (FirstInvalidUtf8(piece).has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(file, ": a piece is not UTF-8"));
    }
  }
  return pieces;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> LoadTokenizer(const std::string& folder, const ModelConfig& config) {
  const std::string model = folder + "/tokenizer.model", target_model = folder + "/target_tokenizer.model";
  const std::string vocabulary = folder + "/vocabulary.json", source_vocabulary = folder + "/source_vocabulary.json";
  if (!Exists(vocabulary)) {
    if (config.has_source_vocabulary) {
      return absl::NotFoundError(absl::StrCat(vocabulary,
                                              " does not exist; config.json's source_vocab_size asks for it "
                                              "and for source_vocabulary.json"));
    }
    return Tokenizer::Load(model, config.vocab_size, config.tokens);
  }
  absl::StatusOr<std::vector<std::string>> target = LoadVocabulary(vocabulary, config.vocab_size);
  if (!target.ok()) return target.status();
  absl::StatusOr<std::vector<std::string>> source = std::vector<std::string>();
  if (config.has_source_vocabulary) source = LoadVocabulary(source_vocabulary, config.source_vocab_size);
  if (!source.ok()) return source.status();

  const SpecialTokens& special = config.tokens;
  std::set<int32_t> unspoken = {special.pad, special.unknown, special.begin, special.end, special.separator};
  for (const auto& [language, token] : config.languages.tokens) unspoken.insert(token);
  const std::vector<std::string>& source_pieces = source->empty() ? *target : *source;
  absl::StatusOr<Cutter> source_cutter = LoadCutter(model, source_pieces, special.unknown, unspoken);
  if (!source_cutter.ok()) return source_cutter.status();
  absl::StatusOr<Cutter> target_cutter = Cutter();
  if (config.has_source_vocabulary || Exists(target_model)) {
    target_cutter = LoadCutter(Exists(target_model) ? target_model : model, *target, special.unknown, unspoken);
  }
  if (!target_cutter.ok()) return target_cutter.status();
  return std::make_unique<VocabularyTokenizer>(*std::move(source_cutter), *std::move(target_cutter), *std::move(source),
                                               *std::move(target), std::move(unspoken));
}

}  // namespace salient
