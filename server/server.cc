#include "server/server.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "grpc/grpc.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/server_builder.h"

namespace salient {
namespace {

constexpr char kServiceName[] = "salient.v1.Translation";

// How long a call may take to end once its documents are finished.
constexpr absl::Duration kClosing = absl::Seconds(2);

constexpr std::chrono::milliseconds kProbeEvery = std::chrono::minutes(1);

// gRPC refuses a larger message before anyone has read it, without a word about documents. So its limit lies well above
// the document's, where the server can say what is wrong.
int MaxMessageBytes(int64_t max_document_bytes) {
  constexpr int64_t kRoom = 16 << 20;
  const int64_t bytes = 2 * max_document_bytes + kRoom;
  return static_cast<int>(std::min<int64_t>(bytes, std::numeric_limits<int>::max()));
}

}  // namespace

Server::Server(const ServerOptions& options)
    : options_(options),
      models_(metrics_),
      translator_(models_, metrics_, options.max_document_bytes),
      service_(translator_, *options_.access),
      http_(translator_, metrics_, *options_.access, readiness_, options.max_document_bytes) {}

Server::~Server() { Drain({.patience = absl::ZeroDuration()}); }

absl::Status Server::StartHttp() {
  if (options_.http.empty()) return absl::OkStatus();
  auto port = http_.Start(options_.http);
  if (!port.ok()) return port.status();
  http_port_ = *port;
  return absl::OkStatus();
}

absl::Status Server::AddModel(std::unique_ptr<Engine> engine, const EngineOptions& options,
                              std::unique_ptr<StepObserver> observer) {
  return models_.Add(std::move(engine), options, std::move(observer));
}

absl::Status Server::StartGrpc() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options_.listen, options_.access->GrpcCredentials(), &grpc_port_);
  builder.RegisterService(&service_);
  builder.SetMaxReceiveMessageSize(MaxMessageBytes(options_.max_document_bytes));
  builder.SetMaxSendMessageSize(-1);
  // A second server on the same port is a mistake, not a way to share it.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A client that is gone without a word is noticed, and its documents are cancelled.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(kProbeEvery.count()));
  if (options_.max_connection_age != absl::InfiniteDuration()) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                               static_cast<int>(absl::ToInt64Milliseconds(options_.max_connection_age)));
  }
  grpc_ = builder.BuildAndStart();
  if (grpc_ == nullptr || grpc_port_ == 0) {
    return absl::UnavailableError(absl::StrCat("--listen: cannot listen on ", options_.listen,
                                               "; is the port taken, or the address not this machine's?"));
  }
  grpc_->GetHealthCheckService()->SetServingStatus(kServiceName, true);
  readiness_ = Readiness::kServing;
  return absl::OkStatus();
}

int Server::Drain(const DrainOptions& options) {
  if (grpc_ != nullptr) {
    grpc_->GetHealthCheckService()->SetServingStatus(false);
    grpc_->GetHealthCheckService()->SetServingStatus(kServiceName, false);
    readiness_ = Readiness::kLeaving;
    absl::SleepFor(options.delay);
  }
  readiness_ = Readiness::kDraining;
  InFlight& in_flight = translator_.in_flight();
  in_flight.StartDraining();
  translator_.admission_retry_queue().Nudge();
  int cancelled = 0;
  CloseGrpc([&] {
    if (in_flight.WaitIdle(options.patience)) return;
    cancelled = in_flight.CancelAll();
    in_flight.WaitIdle(absl::InfiniteDuration());
  });
  http_.Stop();
  return cancelled;
}

void Server::CloseGrpc(const std::function<void()>& finish_documents) {
  if (grpc_ == nullptr) return finish_documents();
  absl::Notification closed;
  std::thread closing([&] {
    grpc_->Shutdown();  // no new connections and calls from here on; waits for the calls that there are
    closed.Notify();
  });
  finish_documents();
  // What is left are replies on their way, and calls that never end by themselves, such as those that watch the health.
  if (!closed.WaitForNotificationWithTimeout(kClosing)) grpc_server_cancel_all_calls(grpc_->c_server());
  closing.join();
  grpc_->Wait();
  grpc_.reset();
}

}  // namespace salient
