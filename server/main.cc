// salient-server: flags, models, ports; then it waits for a signal and drains.

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "engine/base/cpu_features.h"
#include "nlohmann/json.hpp"
#include "server/descriptors.h"
#include "server/flags.h"
#include "server/server.h"
#include "server/signals.h"
#include "server/telemetry/log.h"
#include "spdlog/spdlog.h"

namespace salient {
namespace {

// "0.0.0.0:50051" with the port that was really taken, at an address that a client on this machine can use.
std::string Reachable(const std::string& address, int port) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.empty() || host == "0.0.0.0" || host == "[::]") host = "localhost";
  return absl::StrCat(host, ":", port);
}

// Whole or not at all: a reader never sees half of it.
absl::Status WriteReadyFile(const ServerFlags& flags, const Server& server) {
  nlohmann::json ready = {{"grpc", Reachable(flags.server.listen, server.grpc_port())}};
  if (server.http_port() != 0) ready["http"] = Reachable(flags.server.http, server.http_port());
  if (server.admin_port() != 0) ready["admin"] = Reachable(flags.server.admin, server.admin_port());
  const std::string unfinished = flags.ready_file + ".new";
  std::ofstream(unfinished) << ready.dump() << "\n";
  std::error_code error;
  std::filesystem::rename(unfinished, flags.ready_file, error);
  if (!error) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("--ready-file: cannot write ", flags.ready_file, ": ", error.message()));
}

absl::Status StartAll(const ServerFlags& flags, Server& server) {
  if (auto status = server.StartHttp(); !status.ok()) return status;
  if (auto status = server.LoadModels(); !status.ok()) return status;
  if (auto status = server.StartGrpc(); !status.ok()) return status;
  spdlog::info("gRPC on {}, at most {} bytes a document", Reachable(flags.server.listen, server.grpc_port()),
               flags.server.max_document_bytes);
  if (server.http_port() != 0) {
    spdlog::info("HTTP on {}: /v1/translate /v1/models{}", Reachable(flags.server.http, server.http_port()),
                 flags.server.compat ? ", and the APIs of DeepL, LibreTranslate and Google" : "");
  }
  if (server.admin_port() != 0) {
    spdlog::info("admin on {}: /metrics /healthz /readyz /models", Reachable(flags.server.admin, server.admin_port()));
  }
  return flags.ready_file.empty() ? absl::OkStatus() : WriteReadyFile(flags, server);
}

// Ends the process on a signal that comes while models load or, as the second, while documents drain.
void StopAtOnce(int number) {
  spdlog::warn("{}: stopping at once", strsignal(number));
  spdlog::shutdown();
  std::_Exit(128 + number);
}

// Why the process ends: a signal's number, or that an engine is dead (--exit-when-dead).
constexpr int kDeadEngine = -1;
constexpr int kDeadEngineStatus = 3;

struct Signals {
  void Stop(int reason) {
    if (!stopped.exchange(true)) first.set_value(reason);
  }
  // SIGHUP: reloads the models, once they are loaded.
  void Reload() {
    std::lock_guard lock(mutex);
    if (reload) reload();
  }
  void OnReload(std::function<void()> what) {
    std::lock_guard lock(mutex);
    reload = std::move(what);
  }
  std::atomic<bool> loading = true, stopped = false;
  std::promise<int> first;
  std::mutex mutex;
  std::function<void()> reload;
};

// The thread may outlive the waiting function, so both own what they share.
std::shared_ptr<Signals> ListenForSignals() {
  auto signals = std::make_shared<Signals>();
  std::thread([signals] {
    const auto wait_for_stop = [&signals] {
      while (true) {
        const int number = WaitForSignal();
        if (number != SIGHUP) return number;
        signals->Reload();
      }
    };
    const int number = wait_for_stop();
    if (signals->loading) StopAtOnce(number);
    signals->Stop(number);
    StopAtOnce(wait_for_stop());
  }).detach();
  return signals;
}

// A misspelt option on the command line or in a file is an error. A variable may be of something else: Kubernetes sets
// several for a service whose name is salient-server.
void WarnOfUnknownVariables(const ServerFlags& flags) {
  if (flags.unknown_variables.empty()) return;
  spdlog::warn("ignored variables of the environment, which are not options: {}; --help lists the options",
               absl::StrJoin(flags.unknown_variables, ", "));
}

void WarnOfFewDescriptors() {
  const int64_t descriptors = RaiseDescriptorLimit();
  if (descriptors >= kFewDescriptors) return;
  spdlog::warn("this process may have {} files and connections open (ulimit -Hn); once it has, gRPC takes no more",
               descriptors);
}

// Translations may differ between instruction sets, so whoever names one is told if it is not the one in use.
void WarnOfInstructionSet() {
  const char* wanted = std::getenv("SALIENT_CPU_ISA");
  const char* used = CpuIsaName(DetectCpuIsa());
  if (wanted == nullptr || *wanted == '\0' || std::strcmp(wanted, used) == 0) return;
  spdlog::warn(
      "SALIENT_CPU_ISA is \"{}\", which is none of amx, avx512, avx2 and scalar, or not in this processor; "
      "{} is used",
      wanted, used);
}

int Run(const ServerFlags& flags) {
  const std::shared_ptr<Signals> signals = ListenForSignals();
  WarnOfUnknownVariables(flags);
  WarnOfFewDescriptors();
  WarnOfInstructionSet();
  ServerOptions options = flags.server;
  options.models.open = Engine::Create;
  auto access = Access::Open(flags.access);
  if (!access.ok()) {
    spdlog::error("{}", std::string(access.status().message()));
    return 2;
  }
  options.access = *std::move(access);
  if (flags.exit_when_dead) {
    options.on_dead_engine = [signals] { signals->Stop(kDeadEngine); };
  }
  if (options.access->asks_for_key() && !options.access->encrypted()) {
    spdlog::warn("API keys are asked for, but travel in the clear without --tls-cert and --tls-key");
  }
  if (const absl::Status status = options.resources->Check(); !status.ok()) {
    spdlog::error("{}", std::string(status.message()));
    return 2;
  }
  Server server(options);
  if (const absl::Status status = StartAll(flags, server); !status.ok()) {
    spdlog::error("{}", std::string(status.message()));
    spdlog::shutdown();
    std::_Exit(1);
  }
  signals->OnReload([&server] {
    spdlog::info("SIGHUP: looking at the models again");
    const absl::Status status = server.ReloadModels();
    if (!status.ok()) spdlog::error("{}", std::string(status.message()));
  });
  signals->loading = false;

  const int number = signals->first.get_future().get();
  signals->OnReload(nullptr);
  const std::string delay = flags.drain.delay > absl::ZeroDuration()
                                ? absl::StrCat("taking more for ", absl::FormatDuration(flags.drain.delay), ", then ")
                                : "";
  spdlog::info("{}: {} documents in flight; {}draining for {} at most",
               number == kDeadEngine ? "an engine is dead (--exit-when-dead)" : strsignal(number),
               server.translator().in_flight().size(), delay, absl::FormatDuration(flags.drain.patience));
  const int cancelled = server.Drain(flags.drain);
  if (cancelled > 0) spdlog::warn("{} documents were not finished in time and were cancelled", cancelled);
  if (!flags.ready_file.empty()) std::remove(flags.ready_file.c_str());
  spdlog::info("stopped");
  return number == kDeadEngine ? kDeadEngineStatus : 0;
}

}  // namespace
}  // namespace salient

int main(int argc, char** argv) {
  auto parsed = salient::ParseServerFlags(argc, argv);
  if (parsed.exit_code.has_value()) return *parsed.exit_code;
  salient::HoldSignals(!parsed.flags.server.models.folder.empty());
  salient::StartLog(parsed.flags.log_level, parsed.flags.log_format);
  return salient::Run(parsed.flags);
}
