#include "tests/text/tiny_tokenizer.h"

#include <sentencepiece_trainer.h>

#include <fstream>
#include <unordered_map>
#include <utility>
#include <vector>

namespace salient {
namespace {

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(std::vector<std::string> sentences) : sentences_(std::move(sentences)) {}
  bool done() const override { return next_ == sentences_.size(); }
  void Next() override { ++next_; }
  const std::string& value() const override { return sentences_[next_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string> sentences_;
  size_t next_ = 0;
};

}  // namespace

std::string TrainTinyTokenizer(const std::string& path, const TinyTokenizerOptions& options) {
  Sentences sentences({
      "The old house stands at the river.",
      "Das alte Haus steht am Fluss.",
      "She opened the chunk and looked out.",
      "Sie öffnete das Fenster und sah hinaus.",
      "Three birds sat on the roof.",
      "Drei Vögel saßen auf dem Dach.",
      "The water was cold and clear.",
      "Das Wasser war kalt und klar.",
      "Nobody knew the answer to the question.",
      "Niemand wusste die Antwort auf die Frage.",
  });
  const std::string separator = options.separator_in_text ? "user_defined_symbols" : "control_symbols";
  std::unordered_map<std::string, std::string> settings = {{"model_type", options.model_type},
                                                           {"vocab_size", std::to_string(options.vocab_size)},
                                                           {"byte_fallback", options.byte_fallback ? "true" : "false"},
                                                           {"normalization_rule_name", options.normalization},
                                                           {separator, "<sep>"},
                                                           {"pad_id", "0"},
                                                           {"unk_id", "1"},
                                                           {"bos_id", "2"},
                                                           {"eos_id", "3"},
                                                           {"minloglevel", "2"},
                                                           {"hard_vocab_limit", "true"},
                                                           {"num_threads", "1"}};
  for (const auto& [name, value] : options.more) settings[name] = value;
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &sentences, &model);
  if (!status.ok()) return status.ToString();
  std::ofstream file(path, std::ios::binary);
  file << model;
  return file.flush() ? "" : "cannot write " + path;
}

}  // namespace salient
