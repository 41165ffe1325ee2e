#include "engine/document/job.h"

#include <memory>
#include <string>

#include "engine/text/copier.h"
#include "gtest/gtest.h"
#include "tests/testing/listener.h"
#include "tests/text/letters.h"

namespace salient {
namespace {

using ::salient::testing::RecordingListener;

// With what a document needs to be cut.
class DocumentJobTest : public ::testing::Test {
 protected:
  DocumentJobTest() : letters_(std::make_shared<CountedLetters>()), workers_(1) {
    config_.tokens = Letters::kSpecial;
    config_.chunk_tokens = 100;
    tokenizers_.source = tokenizers_.target = letters_;
  }

  // The document is wanted when that is asked for the first `times` times.
  absl::StatusOr<std::unique_ptr<DocumentJob>> Prepare(const std::string& text, int times) {
    Submission submission{{.text = text}, {}, absl::InfinitePast(), std::make_shared<RecordingListener>()};
    submission.options.max_length_ratio = 2;
    return DocumentJob::Prepare(std::move(submission), config_, tokenizers_, workers_, [&times] {
      return times-- > 0 ? absl::OkStatus() : absl::CancelledError("nobody waits");
    });
  }

  const std::shared_ptr<CountedLetters> letters_;
  Workers workers_;
  ModelConfig config_;
  Tokenizers tokenizers_;
};

TEST_F(DocumentJobTest, WhatNobodyWantsAnyMoreIsNotTokenised) {
  const std::string text = "The house.\nThe river.\nThe lake.\n";
  EXPECT_EQ(Prepare(text, 0).status(), absl::CancelledError("nobody waits"));
  EXPECT_EQ(letters_->asked, 0);
  const auto job = Prepare(text, 100);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_GT((*job)->chunks(), 0);
  EXPECT_GE(letters_->asked, 3);
}

TEST_F(DocumentJobTest, WhatNobodyWantsAnyMoreIsNotTokenisedAfterItsCopiesAreFound) {
  tokenizers_.copier = std::make_shared<Copier>(tokenizers_, config_.tokens, "");
  const std::string text = "The house.\nThe river.\nThe lake.\n";
  ASSERT_TRUE(Prepare(text, 2).ok());  // and the copier remembers the letters
  letters_->asked = 0;
  EXPECT_EQ(Prepare(text, 1).status(), absl::CancelledError("nobody waits"));
  EXPECT_EQ(letters_->asked, 0);
}

}  // namespace
}  // namespace salient
