// Holds a backend's translations of real documents against another's, both in fp32, token by token. The other is the
// plain reference, or one that has been held against it.
//
// Two implementations round differently, so that once in a while two tokens that are almost equally probable change
// places, and what follows is another translation. So where a token differs, the reference is made to say the backend's
// tokens up to and including it: that tells how much less probable it finds the token, which must be next to nothing,
// and then it goes on from there. Thus every token is compared after the same tokens before it.
//
//   agreement_test DEVICE REFERENCE MODEL_FOLDER DOCUMENT...

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>

#include "engine/decode/batch.h"
#include "engine/model/model.h"
#include "engine/text/chunk.h"
#include "engine/text/tokenizer.h"
#include "gtest/gtest.h"
#include "tests/parity/backends.h"

namespace salient {
namespace {

constexpr double kLeastShare = 0.999;

std::string g_device, g_reference, g_model;
std::vector<std::string> g_documents;

struct Setting {
  std::string name;
  TranslationOptions options;
  // How much less probable the reference may find a token that it would not have said, in nats. With selection and
  // exits another set of keys or another layer, itself a near tie, comes before another token.
  double near_tie;
};

std::vector<Setting> Settings() {
  Setting dense{"dense, full depth", {}, 1e-3};
  dense.options.selection.policy = SelectionPolicy::kDense;
  Setting learned{"learned selection, full depth", {}, 0.05};
  learned.options.selection.policy = SelectionPolicy::kLearned;
  Setting early = learned;
  early.name = "learned selection, geometric exits";
  early.options.depth.policy = DepthPolicy::kGeometric;
  early.options.depth.thresholds = {0.5};
  return {dense, learned, early};
}

struct Token {
  int32_t token = 0;
  double log_probability = 0;
};

// A model on a backend, which translates a chunk at a time.
class Translator {
 public:
  explicit Translator(absl::StatusOr<std::unique_ptr<Backend>> backend) {
    if (!backend.ok()) {
      status_ = backend.status();
      return;
    }
    backend_ = *std::move(backend);
    absl::StatusOr<std::unique_ptr<Model>> model = Model::Load(g_model, *backend_);
    status_ = model.status();
    if (!model.ok()) return;
    model_ = *std::move(model);
    pools_ = std::make_unique<KeyPools>(backend_->memory(), 256 << 20);
    stores_ = std::make_unique<KeyStores>(*model_, *backend_, std::nullopt, *pools_);
    batch_ = std::make_unique<Batch>(*model_, *backend_, *stores_, BatchOptions{.max_rows = 1});
  }

  const absl::Status& status() const { return status_; }
  const ModelConfig& config() const { return model_->config; }

  // The chunk's tokens, separators and end included, of which the first are `prefix`.
  std::vector<Token> Translate(const Chunk& chunk, const ResolvedOptions& options, const std::vector<int32_t>& prefix) {
    Sequence sequence(chunk, options, prefix, config(), *backend_, batch_->stores().self, batch_->stores().cross);
    Sequence* const joining[] = {&sequence};
    batch_->Join(joining);
    while (!sequence.encoded()) batch_->Encode(absl::InfiniteDuration());
    batch_->Schedule(sequence);
    while (!sequence.done()) batch_->Step();
    batch_->Leave(sequence);
    std::vector<Token> tokens;
    const std::vector<DecodedPiece> pieces = sequence.Results().front();
    for (const DecodedPiece& piece : pieces) {
      double closing = piece.score;
      for (const DecodedToken& token : piece.tokens) {
        tokens.push_back({token.token, token.log_probability});
        closing -= token.log_probability;
      }
      const bool last = &piece == &pieces.back();
      tokens.push_back({last ? config().tokens.end : config().tokens.separator, closing});
    }
    return tokens;
  }

 private:
  absl::Status status_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<KeyPools> pools_;
  std::unique_ptr<KeyStores> stores_;
  std::unique_ptr<Batch> batch_;
};

std::vector<int32_t> FirstTokens(const std::vector<Token>& tokens, size_t count) {
  std::vector<int32_t> first;
  for (size_t i = 0; i < count; ++i) first.push_back(tokens[i].token);
  return first;
}

struct Tally {
  int64_t tokens = 0, different = 0;
  double greatest = 0;  // how much less probable the reference found such a token
};

void Compare(Translator& device, Translator& reference, const Chunk& chunk, const ResolvedOptions& options,
             Tally& tally) {
  const std::vector<Token> ours = device.Translate(chunk, options, {});
  std::vector<Token> theirs = reference.Translate(chunk, options, {});
  tally.tokens += static_cast<int64_t>(ours.size());
  const auto same = [](const Token& a, const Token& b) { return a.token == b.token; };
  for (size_t from = 0;;) {
    // Up to `from` they are the same; both end in the only end there is, so neither is the beginning of the other.
    const auto at = std::mismatch(ours.begin() + from, ours.end(), theirs.begin() + from, theirs.end(), same);
    if (at.first == ours.end()) return;
    from = at.first - ours.begin();
    const double own_choice = theirs[from].log_probability;
    theirs = reference.Translate(chunk, options, FirstTokens(ours, from + 1));
    ++tally.different;
    tally.greatest = std::max(tally.greatest, own_choice - theirs[from].log_probability);
    ++from;
  }
}

std::vector<Chunk> ChunksOf(const std::string& path, const ModelConfig& config, const Tokenizer& tokenizer) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const absl::StatusOr<SegmentedDocument> document =
      SplitDocument(text, Segmentation::kSentences, config.source_language);
  EXPECT_TRUE(document.ok()) << path << ": " << document.status();
  if (!document.ok()) return {};
  std::vector<Chunk> chunks = MakeChunks(*document, tokenizer, config.tokens, config.chunk_tokens);
  EXPECT_FALSE(chunks.empty()) << path << ": nothing to translate";
  return chunks;
}

TEST(AgreementTest, TranslationsDifferAtNearTiesOnly) {
  Translator device(OpenInF32(g_device)), reference(OpenInF32(g_reference));
  ASSERT_TRUE(device.status().ok()) << device.status();
  ASSERT_TRUE(reference.status().ok()) << reference.status();
  const ModelConfig& config = reference.config();
  const auto tokenizers = LoadTokenizers(
      g_model, {.source_size = config.source_vocab_size, .target_size = config.vocab_size, .special = config.tokens});
  ASSERT_TRUE(tokenizers.ok()) << tokenizers.status();
  for (const Setting& setting : Settings()) {
    const absl::StatusOr<ResolvedOptions> options = Resolve(setting.options, config);
    ASSERT_TRUE(options.ok()) << options.status();
    Tally tally;
    for (const std::string& path : g_documents) {
      for (const Chunk& chunk : ChunksOf(path, config, *tokenizers->source)) {
        Compare(device, reference, chunk, *options, tally);
      }
    }
    std::cout << setting.name << ": " << tally.different << " of " << tally.tokens << " tokens differ; the reference "
              << "finds them less probable than its own by " << tally.greatest << " nats at most\n";
    EXPECT_LE(tally.different, (1 - kLeastShare) * static_cast<double>(tally.tokens)) << setting.name;
    EXPECT_LE(tally.greatest, setting.near_tie) << setting.name;
  }
}

}  // namespace
}  // namespace salient

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc < 5) {
    std::cerr << "usage: agreement_test cpu|cuda reference|cpu MODEL_FOLDER DOCUMENT...\n";
    return 2;
  }
  salient::g_device = argv[1];
  salient::g_reference = argv[2];
  salient::g_model = argv[3];
  salient::g_documents.assign(argv + 4, argv + argc);
  return RUN_ALL_TESTS();
}
