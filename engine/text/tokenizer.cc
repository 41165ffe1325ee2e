#include "engine/text/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/files.h"
#include "engine/base/utf8.h"
#include "engine/model/json.h"
#include "engine/text/sentencepiece.h"
#include "engine/text/sentencepiece_check.h"

namespace salient {
namespace {

constexpr uintmax_t kMaxFileBytes = 32 << 20;     // 256,000 pieces have 5 MB
constexpr size_t kMaxVocabularyValues = 1100000;  // of vocabulary.json: config.json allows a million pieces
constexpr char kSeparatorPiece[] = "<sep>";
constexpr char kReplacementCharacter[] = "\xEF\xBF\xBD";

constexpr char kModelFile[] = "/tokenizer.model", kTargetModelFile[] = "/target_tokenizer.model";
constexpr char kVocabularyFile[] = "/vocabulary.json", kSourceVocabularyFile[] = "/source_vocabulary.json";

using Model = std::shared_ptr<const SentencePiece>;

// What a tokenizer is for. If the source has its own vocabulary, pad and begin belong to the target's, and their
// numbers may be ordinary pieces of the source's.
struct Side {
  bool source = true, target = true, own_source = false;
};

// Tokens that no text is tokenized to.
std::vector<int32_t> NeverInText(const TokenizerSpec& spec, const Side& side) {
  std::vector<int32_t> tokens = {spec.special.end, spec.special.separator};
  if (!side.own_source) tokens.insert(tokens.end(), {spec.special.pad, spec.special.begin});
  if (side.source) tokens.insert(tokens.end(), spec.source_languages.begin(), spec.source_languages.end());
  if (side.target) tokens.insert(tokens.end(), spec.target_languages.begin(), spec.target_languages.end());
  return tokens;
}

// A tokenizer of tokens 0 to size - 1.
class BoundedTokenizer : public Tokenizer {
 public:
  // `special`: tokens that no text is tokenized to.
  BoundedTokenizer(int32_t size, std::vector<int32_t> special, int32_t unknown)
      : size_(size), special_(std::move(special)), unknown_(unknown) {}

  bool IsWritten(int32_t token) const override { return IsKnown(token) && !IsSpecial(token) && token != unknown_; }

 protected:
  bool IsKnown(int32_t token) const { return token >= 0 && token < size_; }
  bool IsSpecial(int32_t token) const { return std::find(special_.begin(), special_.end(), token) != special_.end(); }
  int32_t unknown() const { return unknown_; }

 private:
  const int32_t size_;
  const std::vector<int32_t> special_;
  const int32_t unknown_;
};

// For models whose tokens are SentencePiece's own ids.
class OwnNumbers : public BoundedTokenizer {
 public:
  OwnNumbers(Model model, std::vector<int32_t> special, int32_t unknown)
      : BoundedTokenizer(model->size(), std::move(special), unknown), model_(std::move(model)) {}

  std::vector<int32_t> Encode(std::string_view text) const override {
    std::vector<int32_t> tokens = model_->Encode(text);
    // The model was checked so that text cannot give a special token. This is a second line of defence.
    std::replace_if(
        tokens.begin(), tokens.end(), [this](int32_t token) { return IsSpecial(token); }, unknown());
    return tokens;
  }

  std::string Decode(const std::vector<int32_t>& tokens) const override {
    std::vector<int> words;
    words.reserve(tokens.size());
    std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(words),
                 [this](int32_t token) { return IsWritten(token); });
    return model_->Decode(words);
  }

  std::string Piece(int32_t token) const override { return IsKnown(token) ? model_->Piece(token) : ""; }

 private:
  const Model model_;
};

// Replaces every byte that is not part of a valid UTF-8 character.
std::string WithoutInvalidBytes(std::string_view bytes) {
  std::string text;
  while (const std::optional<size_t> invalid = FirstInvalidUtf8(bytes)) {
    text += bytes.substr(0, *invalid);
    text += kReplacementCharacter;
    bytes.remove_prefix(*invalid + 1);
  }
  return text.append(bytes);
}

// For models whose tokens are indices into a list of pieces.
class ListedPieces : public BoundedTokenizer {
 public:
  ListedPieces(Model model, std::vector<std::string> pieces, std::vector<int32_t> special, int32_t unknown)
      : BoundedTokenizer(static_cast<int32_t>(pieces.size()), std::move(special), unknown),
        model_(std::move(model)),
        pieces_(std::move(pieces)) {
    for (size_t i = 0; i < pieces_.size(); ++i) tokens_[pieces_[i]] = static_cast<int32_t>(i);
    of_model_.reserve(model_->size());
    for (int i = 0; i < model_->size(); ++i) of_model_.push_back(Find(model_->Piece(i)));
  }

  std::vector<int32_t> Encode(std::string_view text) const override {
    std::vector<int32_t> tokens;
    model_->Encode(text, [&](int token, std::string_view piece) {
      tokens.push_back(token == model_->unknown() ? Find(piece) : of_model_[token]);
    });
    return tokens;
  }

  std::string Decode(const std::vector<int32_t>& tokens) const override {
    std::string bytes;
    for (const int32_t token : tokens) {
      if (!IsWritten(token)) continue;
      if (const std::optional<char> byte = ByteOf(pieces_[token])) {
        bytes += *byte;
        continue;
      }
      bytes += WithSpaces(pieces_[token]);
    }
    return WithoutInvalidBytes(std::string_view(bytes).substr(bytes.starts_with(' ') ? 1 : 0));
  }

  std::string Piece(int32_t token) const override { return IsKnown(token) ? pieces_[token] : ""; }

 private:
  int32_t Find(std::string_view piece) const {
    const auto found = tokens_.find(piece);
    return found == tokens_.end() || IsSpecial(found->second) ? unknown() : found->second;
  }

  const Model model_;
  const std::vector<std::string> pieces_;
  std::unordered_map<std::string_view, int32_t> tokens_;  // key: the piece
  std::vector<int32_t> of_model_;                         // index: SentencePiece's id
};

struct Expected {
  const char* name;  // its name in config.json
  int32_t id;        // its id in config.json
  int found;         // its id in the tokenizer; -1: none
};

// Checks a model whose tokens are SentencePiece's own ids.
absl::Status CheckTokens(const std::string& path, const SentencePiece& model, int32_t size,
                         const SpecialTokens& special) {
  if (model.size() != size) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has ", model.size(), " pieces; config.json says vocab_size ", size));
  }
  // A model with a separator comes from our own training, and each of its special tokens has its standard name. In
  // other models decoding may start from any control piece, and the padding token is not checked.
  const bool ours = special.separator >= 0;
  const Expected expected[] = {{"pad", special.pad, ours ? model.pad() : special.pad},
                               {"unk", special.unknown, model.unknown()},
                               {"bos", special.begin, ours ? model.begin() : special.begin},
                               {"eos", special.end, model.end()},
                               {"separator", special.separator, ours ? model.Find(kSeparatorPiece) : -1}};
  for (const Expected& token : expected) {
    if (token.id < 0) continue;  // the model has no separator
    if (token.id != token.found) {
      return absl::InvalidArgumentError(absl::StrCat(path, " has the ", token.name, " token at ", token.found,
                                                     "; config.json says tokens.", token.name, " ", token.id));
    }
    if (token.id != special.unknown && (token.id >= size || !model.IsControl(token.id))) {
      return absl::InvalidArgumentError(absl::StrCat(path, " has the ", token.name, " token, ", token.id,
                                                     ", as ordinary text; it must be a control symbol"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFull(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadRegular(path, kMaxFileBytes);
  if (bytes.ok() && bytes->empty()) return absl::InvalidArgumentError(absl::StrCat(path, " is empty"));
  return bytes;
}

absl::StatusOr<Model> LoadModel(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFull(path);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<std::unique_ptr<SentencePiece>> model = SentencePiece::Parse(*bytes);
  if (absl::IsInvalidArgument(model.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not a SentencePiece model that can be used: ", model.status().message()));
  }
  if (!model.ok()) return model.status();
  return Model(*std::move(model));
}

absl::StatusOr<std::vector<std::string>> LoadPieces(const std::string& path, int32_t size) {
  absl::StatusOr<std::string> bytes = ReadFull(path);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<Json> json = ParseJson(*bytes, path, {kMaxFileBytes, kMaxVocabularyValues});
  if (!json.ok()) return json.status();
  if (!json->is_array() || json->size() != static_cast<size_t>(size)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not an array of ", size, " pieces, as many as config.json says"));
  }
  std::vector<std::string> pieces;
  for (const Json& piece : *json) {
    if (!piece.is_string() || piece.get_ref<const std::string&>().size() > kMaxPieceBytes) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": piece ", pieces.size(), " is ", JsonExcerpt(piece),
                                                     "; it must be a string of at most ", kMaxPieceBytes, " bytes"));
    }
    pieces.push_back(piece.get<std::string>());
  }
  return pieces;
}

// `list`: the file with the list of pieces; empty if tokens are SentencePiece's own ids.
absl::StatusOr<std::shared_ptr<const Tokenizer>> MakeTokenizer(const std::string& path, Model model,
                                                               const std::string& list, int32_t size,
                                                               const TokenizerSpec& spec, const Side& side) {
  if (list.empty()) {
    if (const absl::Status good = CheckTokens(path, *model, size, spec.special); !good.ok()) return good;
    return std::make_shared<OwnNumbers>(std::move(model), NeverInText(spec, side), spec.special.unknown);
  }
  absl::StatusOr<std::vector<std::string>> pieces = LoadPieces(list, size);
  if (!pieces.ok()) return pieces.status();
  return std::make_shared<ListedPieces>(std::move(model), *std::move(pieces), NeverInText(spec, side),
                                        spec.special.unknown);
}

}  // namespace

std::optional<char> ByteOf(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  int byte = 0;
  for (const char c : piece.substr(3, 2)) {
    if (!(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'F')) return std::nullopt;
    byte = 16 * byte + (c <= '9' ? c - '0' : c - 'A' + 10);
  }
  return static_cast<char>(byte);
}

std::string WithSpaces(std::string_view piece) {
  constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";
  std::string text;
  for (size_t space; (space = piece.find(kSpaceSymbol)) != piece.npos;) {
    text.append(piece.substr(0, space)) += ' ';
    piece.remove_prefix(space + kSpaceSymbol.size());
  }
  return text.append(piece);
}

absl::StatusOr<Tokenizers> LoadTokenizers(const std::string& folder, const TokenizerSpec& spec) {
  std::error_code error;
  const auto has = [&](const char* file) { return std::filesystem::exists(folder + file, error); };
  const auto path_if = [&](const char* file) { return has(file) ? folder + file : std::string(); };
  absl::StatusOr<Model> model = LoadModel(folder + kModelFile);
  if (!model.ok()) return model.status();
  const std::string list = path_if(kVocabularyFile), source_list = path_if(kSourceVocabularyFile);
  const bool own_model = has(kTargetModelFile), one_for_both = !own_model && source_list.empty();
  // Otherwise it would give one side numbers that are no tokens there.
  if (one_for_both && spec.source_size != spec.target_size) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, kModelFile, " is the tokenizer of both sides, but config.json says source_vocab_size ",
                     spec.source_size, " and vocab_size ", spec.target_size,
                     "; add the target's target_tokenizer.model, or source_vocabulary.json and vocabulary.json"));
  }

  Tokenizers made;
  absl::StatusOr<std::shared_ptr<const Tokenizer>> source =
      MakeTokenizer(folder + kModelFile, *model, source_list.empty() ? list : source_list, spec.source_size, spec,
                    {.target = one_for_both, .own_source = !source_list.empty()});
  if (!source.ok()) return source.status();
  made.source = *std::move(source);
  made.target = made.source;
  if (one_for_both) return made;

  const std::string target_path = folder + (own_model ? kTargetModelFile : kModelFile);
  if (own_model) model = LoadModel(target_path);
  if (!model.ok()) return model.status();
  absl::StatusOr<std::shared_ptr<const Tokenizer>> target =
      MakeTokenizer(target_path, *model, list, spec.target_size, spec, {.source = false});
  if (!target.ok()) return target.status();
  made.target = *std::move(target);
  return made;
}

}  // namespace salient
