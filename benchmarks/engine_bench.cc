// The throughput of the engine without a server: for some seconds the engine always has the same number of documents,
// made from a file. `salient bench --in-flight` measures the same through a server; benchmarks/overload compares the
// two.
//
// engine_bench MODEL FILE DOCUMENTS SECONDS [DEVICE]
//   DEVICE: cpu (the default) or cuda
//   prints {"documents_per_second": ..., "target_tokens_per_second": ...}

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "absl/time/clock.h"
#include "benchmarks/load.h"
#include "engine/engine.h"

namespace salient {
namespace {

int Run(const std::string& model, const std::string& file, int documents, double seconds, const std::string& device) {
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  auto engine = Engine::Create({.model_folder = model, .device = device, .max_queued_documents = 1 << 20});
  if (!engine.ok() || text.empty()) {
    std::cerr << engine.status() << (text.empty() ? ", no text in " + file : "") << "\n";
    return 1;
  }
  const Load load(**engine, documents, [&](int) { return TranslationRequest{.text = text}; });
  while (load.documents() < documents) absl::SleepFor(absl::Milliseconds(10));  // until everything is warm
  const absl::Time begun = absl::Now();
  const int64_t documents_before = load.documents(), tokens_before = load.tokens();
  absl::SleepFor(absl::Seconds(seconds));
  const double took = absl::ToDoubleSeconds(absl::Now() - begun);
  std::cout << "{\"documents_per_second\": " << static_cast<double>(load.documents() - documents_before) / took
            << ", \"target_tokens_per_second\": " << static_cast<double>(load.tokens() - tokens_before) / took << "}\n";
  return 0;
}

}  // namespace
}  // namespace salient

int main(int count, char** arguments) {
  if (count != 5 && count != 6) {
    std::cerr << "engine_bench MODEL FILE DOCUMENTS SECONDS [DEVICE]\n";
    return 2;
  }
  return salient::Run(arguments[1], arguments[2], std::stoi(arguments[3]), std::stod(arguments[4]),
                      count == 6 ? arguments[5] : "cpu");
}
