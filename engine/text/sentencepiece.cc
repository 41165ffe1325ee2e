#include "engine/text/sentencepiece.h"

#include <dlfcn.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/text/sentencepiece_check.h"

namespace salient {
namespace {

constexpr char kObject[] = "libsalient-sentencepiece.so";  // the program's run path leads to it

// The functions of our shared object, which is opened once in a process. With RTLD_DEEPBIND the object finds symbols in
// itself and its dependencies first, so libsentencepiece uses the protobuf that it contains (sentencepiece_module.h).
// dlmopen with LM_ID_BASE does the same as dlopen. Sanitizers replace dlopen and refuse RTLD_DEEPBIND there, because it
// hides their allocator. In builds with sanitizers the object is linked to the sanitizer's library first, so that
// nothing is hidden.
absl::StatusOr<const SalientSentencePiece*> Library() {
  static const absl::StatusOr<const SalientSentencePiece*> library =
      []() -> absl::StatusOr<const SalientSentencePiece*> {
    void* object = dlmopen(LM_ID_BASE, kObject, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    void* symbol = object == nullptr ? nullptr : dlsym(object, "salient_sentencepiece");
    if (symbol == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat("SentencePiece cannot be used: ", dlerror(),
                                                        "; install Debian's libsentencepiece0, and keep ", kObject,
                                                        " in ../lib/salient beside the program's folder"));
    }
    return reinterpret_cast<decltype(&salient_sentencepiece)>(symbol)();
  }();
  return library;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SentencePiece>> SentencePiece::Parse(std::string_view bytes) {
  SentencePieceModel model;
  if (!ReadSentencePieceModel(bytes, model)) {
    return absl::InvalidArgumentError(absl::StrCat("its bytes are not a sentencepiece.ModelProto of at most ",
                                                   SentencePieceModel::kMaxPieces, " pieces"));
  }
  if (const std::string wrong = CheckSentencePieceModel(model); !wrong.empty()) {
    return absl::InvalidArgumentError(wrong);
  }
  const absl::StatusOr<const SalientSentencePiece*> library = Library();
  if (!library.ok()) return library.status();
  const std::string checked = WriteSentencePieceModel(model);
  char error[256];
  void* handle = (*library)->open(checked.data(), checked.size(), error, sizeof(error));
  if (handle == nullptr) return absl::InvalidArgumentError(absl::StrCat("the library refuses it: ", error));
  model.normalizer.charsmap.clear();
  model.denormalizer.reset();
  return std::unique_ptr<SentencePiece>(new SentencePiece(std::move(model), *library, handle));
}

SentencePiece::SentencePiece(SentencePieceModel model, const SalientSentencePiece* library, void* handle)
    : model_(std::move(model)), library_(library), handle_(handle) {
  tokens_.reserve(model_.pieces.size());
  for (int token = 0; token < size(); ++token) {
    tokens_.emplace(model_.pieces[token].text, token);
    if (model_.pieces[token].type == PieceType::kUnknown) unknown_ = token;
  }
}

SentencePiece::~SentencePiece() { library_->close(handle_); }

void SentencePiece::Encode(std::string_view text,
                           absl::FunctionRef<void(int token, std::string_view piece)> take) const {
  const auto pass_on = [](void* context, int token, const char* piece, size_t piece_size) {
    (*static_cast<decltype(take)*>(context))(token, {piece, piece_size});
  };
  // A checked model encodes every text. If encoding fails all the same, the text becomes the unknown token, which a
  // reader sees.
  if (!library_->encode(handle_, text.data(), text.size(), &take, pass_on)) take(unknown_, text);
}

std::vector<int> SentencePiece::Encode(std::string_view text) const {
  std::vector<int> tokens;
  Encode(text, [&tokens](int token, std::string_view) { tokens.push_back(token); });
  return tokens;
}

std::string SentencePiece::Decode(const std::vector<int>& tokens) const {
  std::string decoded;
  const auto keep = [](void* context, const char* text, size_t size) {
    static_cast<std::string*>(context)->assign(text, size);
  };
  if (!library_->decode(handle_, tokens.data(), tokens.size(), &decoded, keep)) return "\xEF\xBF\xBD";
  return decoded;
}

int SentencePiece::Find(const std::string& piece) const {
  const auto found = tokens_.find(piece);
  return found == tokens_.end() ? -1 : found->second;
}

int SentencePiece::FindControl(const std::string& piece) const {
  const int token = Find(piece);
  return token >= 0 && IsControl(token) ? token : -1;
}

}  // namespace salient
