// Runs a fuzz target without libFuzzer: on inputs mutated from its seeds, the same ones every time.
//
//   TARGET [--iterations N] [--seconds S]   the seeds, then inputs 0 .. N - 1, stopping after S seconds
//   TARGET --iteration I                    input I alone, to look into what failed
//   TARGET --corpus DIR ...                 with the files in DIR as seeds, too
//   TARGET FILE...                          the inputs in files
//   TARGET --write-seeds DIR                the seeds as files, for libFuzzer
//
// Input I depends on I and the seeds alone. When an input ends the process its number is printed.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/seeds.h"

// There with a sanitizer only, whose report ends the process without a signal.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace salient {
namespace {

volatile int64_t current_iteration = -1;

// Only what a signal handler may call.
void ReportIteration() {
  char text[64] = "\nended in --iteration ";
  size_t length = std::strlen(text);
  char digits[24];
  size_t count = 0;
  for (int64_t rest = current_iteration; rest >= 0 && count < sizeof(digits); rest /= 10) {
    digits[count++] = static_cast<char>('0' + rest % 10);
    if (rest < 10) break;
  }
  while (count > 0) text[length++] = digits[--count];
  text[length++] = '\n';
  if (write(STDERR_FILENO, text, length) < 0) _exit(1);
}

void OnSignal(int number) {
  ReportIteration();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

// What parsers trip over.
const char* const kTokens[] = {"{",
                               "}",
                               "[",
                               "]",
                               "\"",
                               ":",
                               ",",
                               "\\",
                               "null",
                               "true",
                               "1e308",
                               "-1",
                               "0",
                               "18446744073709551615",
                               "9223372036854775807",
                               "4294967296",
                               "\xff",
                               "\xc3",
                               "\xed\xa0\x80",
                               "\n",
                               "\r\n",
                               "\n\n",
                               " ",
                               ". ",
                               "\xe2\x80\xa8",
                               "\xef\xbb\xbf",
                               "- ",
                               "1. "};

class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, int64_t iteration)
      : seeds_(seeds), random_(static_cast<uint64_t>(iteration) * 0x9e3779b97f4a7c15u + 1) {}

  std::string Make() {
    std::string input = seeds_[Below(seeds_.size())];
    for (size_t changes = 1 + Below(6); changes > 0; --changes) Change(input);
    return input;
  }

 private:
  size_t Below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  void Change(std::string& input) {
    const size_t at = Below(input.size() + 1), length = Below(std::min<size_t>(64, input.size() - at) + 1);
    switch (Below(8)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ 1 << Below(8));
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<char>(Below(256));
        break;
      case 2:
        input.erase(at, length);
        break;
      case 3:
        input.insert(at, input.substr(Below(input.size()), length));
        break;
      case 4:
        input.insert(at, kTokens[Below(std::size(kTokens))]);
        break;
      case 5:
        input.replace(at, length, kTokens[Below(std::size(kTokens))]);
        break;
      case 6:
        input.resize(at);
        break;
      default: {
        const std::string& other = seeds_[Below(seeds_.size())];
        const size_t from = Below(other.size());
        input.replace(at, length, other.substr(from, Below(64)));
      }
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_;
};

// A copy of the exact size on the heap, so that a sanitizer sees a read past the end.
void RunOne(const std::string& input) {
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  Require(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()) == 0, "a target returns 0");
}

int RunMany(const std::vector<std::string>& seeds, int64_t iterations, double seconds) {
  for (const std::string& seed : seeds) RunOne(seed);
  const auto start = std::chrono::steady_clock::now();
  int64_t done = 0;
  for (; done < iterations; ++done) {
    current_iteration = done;
    RunOne(Mutator(seeds, done).Make());
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds) break;
  }
  std::cout << seeds.size() << " seeds and " << done << " inputs: no promise broken\n";
  return 0;
}

int RunFiles(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::cerr << "cannot read " << path << "\n";
      return 1;
    }
    RunOne({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()});
  }
  return 0;
}

int Main(const std::vector<std::string>& arguments) {
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(number, OnSignal);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(ReportIteration);
  std::vector<std::string> seeds = Seeds();
  int64_t iterations = 50000, only = -1;
  double seconds = 5;
  std::vector<std::string> files;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    const std::string value = i + 1 < arguments.size() ? arguments[i + 1] : "";
    if (!name.starts_with("--")) {
      files.push_back(name);
      continue;
    }
    ++i;
    if (name == "--write-seeds") return WriteSeeds(value) ? 0 : 1;
    if (name == "--corpus") {
      std::optional<std::vector<std::string>> corpus = ReadCorpus(value);
      if (!corpus.has_value()) {
        std::cerr << "cannot read " << value << "\n";
        return 1;
      }
      std::move(corpus->begin(), corpus->end(), std::back_inserter(seeds));
    } else if (name == "--iteration") {
      only = std::strtoll(value.c_str(), nullptr, 10);
    } else if (name == "--iterations") {
      iterations = std::strtoll(value.c_str(), nullptr, 10);
    } else if (name == "--seconds") {
      seconds = std::strtod(value.c_str(), nullptr);
    } else {
      std::cerr << "unknown option " << name << "; see the head of tests/fuzz/driver.cc\n";
      return 2;
    }
  }
  if (only >= 0) {
    RunOne(Mutator(seeds, only).Make());
    return 0;
  }
  return files.empty() ? RunMany(seeds, iterations, seconds) : RunFiles(files);
}

}  // namespace
}  // namespace salient

int main(int count, char** arguments) { return salient::Main({arguments + 1, arguments + count}); }
