// Measures the step loop between its steps, whose time must not grow with the queue, nor with documents that end.
//
//   steps_bench MODEL [--documents N] [--waiting N] [--book-characters N] [--threads N] [--rounds N]
//
// Some documents are always being decoded: a new one for each that ends. Steps are timed in three cases in turn: alone;
// with a thousand more documents in the queue; and beside a book, from before it is submitted until after it has ended.
// A gap is the time from the end of one step to the end of the next, minus the next step itself: a delay for all
// running documents. Encoding is not counted (the observer reports it). Prints a Markdown table, in milliseconds.
// Before that: the time of one client's document beside a thousand documents of another client.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "benchmarks/load.h"
#include "engine/engine.h"

namespace salient {
namespace {

struct Flags {
  std::string model;
  int documents = 16, waiting = 1000, threads = 2, rounds = 3;
  size_t book_characters = 1000000;
};

// The times of steps, and of the gaps before them.
class Stopwatch : public EngineObserver {
 public:
  void OnStep(int32_t, double seconds) override {
    const absl::Time now = absl::Now();
    std::lock_guard lock(mutex_);
    if (last_ != absl::InfinitePast()) {
      gaps_.push_back(std::max(0.0, absl::ToDoubleSeconds(now - last_) - seconds - encoded_));
      steps_.push_back(seconds);
    }
    last_ = now;
    encoded_ = 0;
  }
  void OnStall(double seconds) override {
    std::lock_guard lock(mutex_);
    encoded_ += seconds;
  }
  void OnPreempt() override {}

  // Moves out the times since the last call.
  void Take(std::vector<double>& gaps, std::vector<double>& steps) {
    std::lock_guard lock(mutex_);
    gaps.insert(gaps.end(), gaps_.begin(), gaps_.end());
    steps.insert(steps.end(), steps_.begin(), steps_.end());
    gaps_.clear();
    steps_.clear();
    last_ = absl::InfinitePast();
  }

 private:
  std::mutex mutex_;
  absl::Time last_ = absl::InfinitePast();
  double encoded_ = 0;
  std::vector<double> gaps_, steps_;
};

TranslationRequest RequestFor(std::string text, const std::string& client) {
  TranslationRequest request{.text = std::move(text), .client = client};
  request.options.depth.policy = DepthPolicy::kFixed;
  request.options.depth.fixed_exit = 1;
  return request;
}

std::string Sentences(int count, int seed) {
  static const char* const kSentences[] = {
      "The server decides how long a copy may be used before it asks again. ",
      "Nobody had expected that the river would rise so quickly in a single night. ",
      "A library that is closed on Mondays is of little use to those who work on other days. ",
      "She wrote three letters and sent none of them. ",
  };
  std::string text;
  for (int i = 0; i < count; ++i) text += kSentences[(seed + i * 7) % 4];
  return text;
}

struct Case {
  const char* name;
  std::vector<double> gaps = {}, steps = {};
};

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const size_t at = std::min(values.size() - 1, static_cast<size_t>(q * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(at), values.end());
  return 1e3 * values[at];
}

void WaitUntilStepping(Stopwatch& watch) {
  std::vector<double> ignored;
  absl::SleepFor(absl::Seconds(2));
  watch.Take(ignored, ignored);
}

void Alone(Stopwatch& watch, Case& result) {
  WaitUntilStepping(watch);
  absl::SleepFor(absl::Seconds(10));
  watch.Take(result.gaps, result.steps);
}

// The documents stay in the queue for the whole time, because their client's share is a hundredth.
void BesideWaiting(Engine& engine, const Flags& flags, Stopwatch& watch, Case& result) {
  std::vector<std::shared_ptr<TranslationTicket>> tickets;
  std::atomic<int> ended = 0;
  for (int i = 0; i < flags.waiting; ++i) {
    TranslationRequest request = RequestFor(Sentences(200, i), "many");
    request.weight = 0.01;
    auto ticket =
        engine.Submit(std::move(request), std::make_shared<OnceDone>([&ended](const TranslationResult*) { ++ended; }));
    if (!ticket.ok()) std::abort();
    tickets.push_back(*std::move(ticket));
  }
  while (engine.status().documents_waiting < flags.waiting / 2) absl::SleepFor(absl::Milliseconds(20));
  WaitUntilStepping(watch);
  absl::SleepFor(absl::Seconds(10));
  watch.Take(result.gaps, result.steps);
  std::cerr << "  " << engine.status().documents_waiting << " still waited at the end\n";
  for (const auto& ticket : tickets) ticket->Cancel();
  while (ended < flags.waiting) absl::SleepFor(absl::Milliseconds(5));
}

// From before the book is submitted until after it has ended.
void BesideBook(Engine& engine, const Flags& flags, Stopwatch& watch, Case& result) {
  std::string book;
  for (int chapter = 0; book.size() < flags.book_characters; ++chapter) book += Sentences(40, chapter) + "\n\n";
  WaitUntilStepping(watch);
  std::atomic<bool> ended = false;
  TranslationRequest request = RequestFor(std::move(book), "book");
  request.weight = 100;
  const auto ticket = engine.Submit(std::move(request),
                                    std::make_shared<OnceDone>([&ended](const TranslationResult*) { ended = true; }));
  if (!ticket.ok()) std::abort();
  while (!ended) absl::SleepFor(absl::Milliseconds(20));
  absl::SleepFor(absl::Milliseconds(200));
  watch.Take(result.gaps, result.steps);
}

double SecondsOfALetter(Engine& engine) {
  const absl::Time begun = absl::Now();
  if (!engine.Translate(RequestFor(Sentences(8, 3), "other")).ok()) std::abort();
  return absl::ToDoubleSeconds(absl::Now() - begun);
}

// One client's single document, alone and with a thousand documents of another client in the queue.
void Letters(Engine& engine, const Flags& flags) {
  std::vector<double> alone, beside;
  for (int i = 0; i < 20; ++i) alone.push_back(SecondsOfALetter(engine));
  const Load load(engine, flags.waiting,
                  [&](int number) { return RequestFor(Sentences(8 + number % 5, number), "many"); });
  while (load.documents() < flags.waiting / 10) absl::SleepFor(absl::Milliseconds(5));
  const int64_t documents = load.documents();
  const absl::Time begun = absl::Now();
  for (int i = 0; i < 20; ++i) beside.push_back(SecondsOfALetter(engine));
  const double each = absl::ToDoubleSeconds(absl::Now() - begun) / static_cast<double>(load.documents() - documents);
  std::printf(
      "A document of one client: %.0f ms alone (median of 20; longest %.0f). Beside %d waiting documents like it of "
      "another client: %.0f ms (longest %.0f); in turn it would have waited %.0f ms.\n\n",
      Quantile(alone, 0.5), Quantile(alone, 1), flags.waiting, Quantile(beside, 0.5), Quantile(beside, 1),
      1e3 * each * flags.waiting);
}

int Run(const Flags& flags) {
  Stopwatch watch;
  auto engine = Engine::Create({.model_folder = flags.model,
                                .device = "cpu",
                                .threads = flags.threads,
                                .max_queued_documents = flags.waiting + flags.documents + 10,
                                .max_queued_bytes = 1 << 30,
                                .max_queued_tokens = 1 << 30},
                               &watch);
  if (!engine.ok()) {
    std::cerr << engine.status() << "\n";
    return 1;
  }
  Letters(**engine, flags);
  Case cases[] = {{"alone"}, {"beside documents that wait"}, {"beside a book, from its coming to its end"}};
  const Load load(**engine, flags.documents,
                  [](int number) { return RequestFor(Sentences(8 + number % 5, number), "load"); });
  for (int round = 0; round < flags.rounds; ++round) {
    Alone(watch, cases[0]);
    BesideWaiting(**engine, flags, watch, cases[1]);
    BesideBook(**engine, flags, watch, cases[2]);
  }
  std::printf(
      "| %d documents decoded | steps | step p50 | gap p50 | gap p99 | gap p99.9 | longest gap |\n"
      "|---|---:|---:|---:|---:|---:|---:|\n",
      flags.documents);
  for (const Case& c : cases) {
    std::printf("| %s | %zu | %.2f | %.3f | %.3f | %.2f | %.2f |\n", c.name, c.gaps.size(), Quantile(c.steps, 0.5),
                Quantile(c.gaps, 0.5), Quantile(c.gaps, 0.99), Quantile(c.gaps, 0.999), Quantile(c.gaps, 1));
  }
  return 0;
}

}  // namespace
}  // namespace salient

int main(int count, char** arguments) {
  salient::Flags flags;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    const long long value = name.starts_with("--") && i + 1 < count ? std::atoll(arguments[++i]) : 0;
    if (!name.starts_with("--")) {
      flags.model = name;
    } else if (name == "--documents") {
      flags.documents = static_cast<int>(value);
    } else if (name == "--waiting") {
      flags.waiting = static_cast<int>(value);
    } else if (name == "--rounds") {
      flags.rounds = static_cast<int>(value);
    } else if (name == "--threads") {
      flags.threads = static_cast<int>(value);
    } else if (name == "--book-characters") {
      flags.book_characters = static_cast<size_t>(value);
    } else {
      flags.model.clear();
      break;
    }
  }
  if (flags.model.empty()) {
    std::cerr << "steps_bench MODEL [--documents N] [--waiting N] [--book-characters N] [--threads N] [--rounds N]\n";
    return 2;
  }
  return salient::Run(flags);
}
