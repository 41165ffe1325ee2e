#include "client/bench.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/connection.h"
#include "client/documents.h"
#include "client/latency.h"
#include "client/settings.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "nlohmann/json.hpp"
#include "salient/v1/translation.grpc.pb.h"

namespace salient {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

constexpr std::chrono::seconds kTellEvery(1);
constexpr int kMostArrivals = 10000000;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string CodeName(grpc::StatusCode code) {
  return absl::AsciiStrToLower(absl::StatusCodeToString(static_cast<absl::StatusCode>(code)));
}

// Documents and tokens per second, from the end of the first document to the end of the last one that was added.
class Throughput {
 public:
  void Add(Clock::time_point end, int64_t tokens) {
    if (documents_++ == 0) {
      first_ = end;
    } else {
      tokens_ += tokens;
    }
    last_ = end;
  }
  std::pair<double, double> PerSecond() const {
    const double seconds = Seconds(last_ - first_);
    if (!(seconds > 0)) return {0, 0};
    return {static_cast<double>(documents_ - 1) / seconds, static_cast<double>(tokens_) / seconds};
  }

 private:
  int64_t documents_ = 0, tokens_ = 0;  // tokens without the first document's
  Clock::time_point first_, last_;
};

// What was measured. Thread safe.
class Tally {
 public:
  void Begin() {
    std::lock_guard lock(mutex_);
    ++in_flight_;
  }
  void First(double seconds) {
    std::lock_guard lock(mutex_);
    first_.Add(seconds);
  }
  void End(const grpc::Status& status, double seconds, int64_t tokens) {
    std::lock_guard lock(mutex_);
    ++outcomes_[status.error_code()];
    if (status.ok() && sending_) throughput_.Add(Clock::now(), tokens);
    if (!status.ok() && failure_.ok()) failure_ = status;
    (status.ok() ? whole_ : refused_).Add(seconds);
    if (--in_flight_ == 0) idle_.notify_all();
  }
  void NotSent() {
    std::lock_guard lock(mutex_);
    ++not_sent_;
  }
  // No more documents are sent. What is still in flight does not count for the throughput, since fewer and fewer
  // documents share the server then.
  void EndSending() {
    std::lock_guard lock(mutex_);
    sending_ = false;
  }
  int in_flight() const {
    std::lock_guard lock(mutex_);
    return in_flight_;
  }
  void WaitUntilIdle() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return in_flight_ == 0; });
  }

  // Of the first document that failed; OK if a document was translated.
  grpc::Status failure_of_all() const {
    std::lock_guard lock(mutex_);
    return outcomes_.contains(grpc::StatusCode::OK) ? grpc::Status::OK : failure_;
  }

  std::string Progress(double seconds, size_t sent, size_t all) const {
    std::lock_guard lock(mutex_);
    const auto ok = outcomes_.find(grpc::StatusCode::OK);
    return absl::StrFormat("%.0f s: %d of %d sent, %d in flight, %d done, %d failed", seconds, sent, all, in_flight_,
                           ok == outcomes_.end() ? 0 : ok->second, refused_.count());
  }

  ordered_json Report(const BenchFlags& flags, double seconds) const {
    std::lock_guard lock(mutex_);
    const auto [documents, tokens] = throughput_.PerSecond();
    ordered_json report = {{"rate", flags.rate},
                           {"end_rate", flags.end_rate},
                           {"seconds", seconds},
                           {"documents_per_second", documents},
                           {"target_tokens_per_second", tokens},
                           {"not_sent", not_sent_}};
    for (const auto& [code, count] : outcomes_) report["outcomes"][CodeName(code)] = count;
    report["first_segment_seconds"] = Of(first_);
    report["whole_seconds"] = Of(whole_);
    report["failed_seconds"] = Of(refused_);
    return report;
  }

 private:
  static ordered_json Of(const LatencyHistogram& histogram) {
    ordered_json json = {{"count", histogram.count()}, {"mean", histogram.mean()}};
    for (const double percent : {50.0, 75.0, 90.0, 95.0, 99.0, 99.9}) {
      json[absl::StrFormat("p%g", percent)] = histogram.Percentile(percent);
    }
    json["max"] = histogram.max();
    return json;
  }

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  bool sending_ = true;
  int in_flight_ = 0;
  int64_t not_sent_ = 0;
  Throughput throughput_;
  std::map<grpc::StatusCode, int64_t> outcomes_;
  grpc::Status failure_;  // the first one
  LatencyHistogram first_, whole_, refused_;
};

// One document's call; deletes itself when it is over.
class Call final : public grpc::ClientReadReactor<v1::StreamTranslateDocumentResponse> {
 public:
  Call(v1::Translation::Stub& stub, const v1::TranslateDocumentRequest& request, double timeout_seconds,
       Clock::time_point intended, Tally& tally)
      : request_(request), intended_(intended), tally_(tally) {
    if (timeout_seconds > 0) {
      context_.set_deadline(std::chrono::system_clock::now() +
                            std::chrono::microseconds(static_cast<int64_t>(timeout_seconds * 1e6)));
    }
    tally_.Begin();
    stub.async()->StreamTranslateDocument(&context_, &request_, this);
    StartRead(&event_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (event_.has_segment() && !first_seen_) {
      first_seen_ = true;
      tally_.First(Seconds(Clock::now() - intended_));
    }
    if (event_.has_result()) tokens_ = event_.result().report().target_tokens();
    StartRead(&event_);
  }
  void OnDone(const grpc::Status& status) override {
    tally_.End(status, Seconds(Clock::now() - intended_), tokens_);
    delete this;
  }

 private:
  const v1::TranslateDocumentRequest& request_;
  const Clock::time_point intended_;
  Tally& tally_;
  grpc::ClientContext context_;
  v1::StreamTranslateDocumentResponse event_;
  bool first_seen_ = false;
  int64_t tokens_ = 0;
};

// Every document with every setting: what arrivals choose from.
absl::StatusOr<std::vector<v1::TranslateDocumentRequest>> Mix(const BenchFlags& flags) {
  std::vector<v1::TranslateDocumentRequest> settings;
  if (!flags.settings.empty()) {
    auto read = ReadSettings(flags.settings);
    if (!read.ok()) return read.status();
    settings = *std::move(read);
  }
  if (settings.empty()) settings.emplace_back();  // the flags alone
  std::vector<v1::TranslateDocumentRequest> mix;
  for (const std::string& path : flags.files) {
    auto text = ReadDocument(path);
    if (!text.ok()) return absl::Status(text.status().code(), absl::StrCat(path, " ", text.status().message()));
    for (const v1::TranslateDocumentRequest& setting : settings) {
      v1::TranslateDocumentRequest& request = mix.emplace_back(flags.request);
      request.MergeFrom(setting);
      request.mutable_document()->set_text(*text);
    }
  }
  return mix;
}

void PrintTable(const ordered_json& report, std::ostream& out) {
  out << absl::StrFormat("%.1f s, %.2f documents/s, %.1f target tokens/s\n", report["seconds"].get<double>(),
                         report["documents_per_second"].get<double>(),
                         report["target_tokens_per_second"].get<double>());
  for (const auto& [code, count] : report["outcomes"].items()) out << "  " << code << ": " << count << "\n";
  if (report["not_sent"] != 0) out << "  not sent (--in-flight): " << report["not_sent"] << "\n";
  out << absl::StrFormat("%-16s %8s %9s %9s %9s %9s %9s %9s\n", "seconds", "count", "p50", "p90", "p95", "p99", "p99.9",
                         "max");
  for (const char* name : {"first_segment", "whole", "failed"}) {
    const auto& of = report[absl::StrCat(name, "_seconds")];
    out << absl::StrFormat("%-16s %8d %9.4f %9.4f %9.4f %9.4f %9.4f %9.4f\n", name, of["count"].get<int64_t>(),
                           of["p50"].get<double>(), of["p90"].get<double>(), of["p95"].get<double>(),
                           of["p99"].get<double>(), of["p99.9"].get<double>(), of["max"].get<double>());
  }
}

}  // namespace

std::vector<double> Arrivals(double rate, double end_rate, double seconds, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> gap(1);
  std::vector<double> arrivals;
  // A Poisson process of rate 1, its time stretched: arrival number x comes when so many are expected, rate t + slope
  // t^2 / 2 = x.
  const double slope = (end_rate - rate) / seconds;
  for (double expected = gap(random);; expected += gap(random)) {
    const double inside = rate * rate + 2 * slope * expected;
    if (inside < 0) return arrivals;
    const double denominator = rate + std::sqrt(inside);
    const double at = denominator > 0 ? 2 * expected / denominator : seconds + 1;
    if (!(at <= seconds)) return arrivals;
    arrivals.push_back(at);
  }
}

int RunBench(const BenchFlags& flags, std::ostream& out, std::ostream& err) {
  const auto fail = [&err](const absl::Status& status) {
    err << "salient: " << std::string(status.message()) << "\n";
    return 1;
  };
  auto mix = Mix(flags);
  if (!mix.ok()) return fail(mix.status());
  const double expected = (flags.rate + flags.end_rate) / 2 * flags.seconds;
  if (expected > kMostArrivals) {
    return fail(absl::InvalidArgumentError(
        absl::StrFormat("--rate and --seconds: %.0f documents; at most %d are sent", expected, kMostArrivals)));
  }
  auto stub = Connect(flags.connection, Retries::kNever);  // a refusal is a result, and costs the server once
  if (!stub.ok()) return fail(stub.status());
  const std::vector<double> arrivals = Arrivals(flags.rate, flags.end_rate, flags.seconds, flags.seed);
  std::mt19937_64 random(flags.seed + 1);
  Tally tally;
  const Clock::time_point start = Clock::now();
  Clock::time_point told = start;
  size_t sent = 0;
  const auto tell = [&](Clock::time_point now) {
    if (flags.quiet || now - told < kTellEvery) return;
    told = now;
    err << tally.Progress(Seconds(now - start), sent, arrivals.size()) << "\n";
  };
  for (const double arrival : arrivals) {
    const auto intended = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(arrival));
    for (auto now = Clock::now(); now < intended; now = Clock::now()) {
      std::this_thread::sleep_until(std::min(intended, now + std::chrono::milliseconds(200)));
      tell(Clock::now());
    }
    ++sent;
    const v1::TranslateDocumentRequest& request = (*mix)[random() % mix->size()];
    if (tally.in_flight() >= flags.in_flight) {
      tally.NotSent();
    } else {
      new Call(**stub, request, flags.timeout_seconds, intended, tally);
    }
  }
  tally.EndSending();
  while (tally.in_flight() > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    tell(Clock::now());
  }
  tally.WaitUntilIdle();
  const ordered_json report = tally.Report(flags, Seconds(Clock::now() - start));
  if (flags.report == ReportFormat::kJson) {
    out << report.dump() << "\n";
  } else {
    PrintTable(report, out);
  }
  if (!out.flush()) return fail(absl::UnavailableError("cannot write the report"));
  const grpc::Status failure = tally.failure_of_all();
  if (failure.ok()) return 0;
  return fail(absl::UnknownError(absl::StrCat("no document was translated; the first failure was ",
                                              CodeName(failure.error_code()), ": ", failure.error_message())));
}

}  // namespace salient
