#include "server/server.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "google/protobuf/message.h"
#include "grpc/grpc.h"
#include "grpc/health/v1/health.pb.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server_builder.h"

namespace salient {
namespace {

constexpr char kServiceName[] = "salient.v1.Translation";

// How long a document may take to arrive whose call came before the drain.
constexpr absl::Duration kArriving = absl::Seconds(1);

// How long a call may take to end once its documents are finished.
constexpr absl::Duration kClosing = absl::Seconds(2);

constexpr absl::Duration kLookAtHealth = absl::Milliseconds(500);

constexpr std::chrono::milliseconds kProbeEvery = std::chrono::minutes(1);

// gRPC refuses a larger message before anyone has read it, without a word about documents. So its limit lies well above
// the document's, where the server can say what is wrong.
int MaxMessageBytes(int64_t max_document_bytes) {
  constexpr int64_t kRoom = 1 << 20;
  const int64_t bytes = 2 * max_document_bytes + kRoom;
  return static_cast<int>(std::min<int64_t>(bytes, std::numeric_limits<int>::max()));
}

constexpr std::chrono::milliseconds kHandshake = std::chrono::seconds(10);
constexpr std::chrono::milliseconds kLeastPingInterval = std::chrono::seconds(5);
constexpr int kStreamsAConnection = 256;
constexpr int kMetadataBytes = 16 << 10;

size_t QuotaBytes(int64_t max_document_bytes) {
  constexpr size_t kLeast = 256 << 20, kMessages = 8;
  return std::max(kLeast, kMessages * static_cast<size_t>(MaxMessageBytes(max_document_bytes)));
}

// Bodies that arrive at once, in all, over the largest single one.
constexpr size_t kBodiesAtOnce = 8;

HttpListenerOptions ForClients(const ServerOptions& options) {
  HttpListenerOptions http{.flag = "--http", .address = options.http};
  http.max_connection_age = options.max_connection_age;
  http.max_body_bytes = HttpApi::MaxBodyBytes(options.max_document_bytes);
  http.max_bodies_bytes = kBodiesAtOnce * http.max_body_bytes;
  if (options.access->encrypted()) {
    http.set_up_tls = [access = options.access](ssl_ctx_st& context) { access->SetUp(context); };
  }
  return http;
}

HttpListenerOptions ForPlatform(const ServerOptions& options) {
  return {.flag = "--admin", .address = options.admin, .threads = 1, .max_connections = 64, .max_body_bytes = 0};
}

}  // namespace

Server::Server(const ServerOptions& options)
    : options_(options),
      models_(metrics_),
      loader_(options.models, models_, metrics_),
      health_(models_, options.stall_limit),
      translator_(models_, metrics_,
                  {.max_document_bytes = options.max_document_bytes,
                   .default_deadline = options.default_deadline,
                   .reader_patience = options.reader_patience,
                   .guard = options.guard},
                  options.resources),
      service_(translator_, *options_.access, *gate_),
      http_api_(translator_, *options_.access, health_,
                {.compat = options_.compat,
                 .glossary_uploads = options_.glossary_uploads,
                 .max_document_bytes = options_.max_document_bytes}),
      admin_(models_, loader_, metrics_, health_),
      http_(ForClients(options_), http_api_),
      admin_listener_(ForPlatform(options_), admin_) {}

Server::~Server() {
  Drain({.patience = absl::ZeroDuration()});
  loader_.Stop();  // it submits documents that have waited
}

absl::Status Server::StartHttp() {
  const auto start = [](HttpListener& listener, const std::string& address, int& port) {
    if (address.empty()) return absl::OkStatus();
    auto started = listener.Start();
    if (started.ok()) port = *started;
    return started.status();
  };
  if (auto status = start(admin_listener_, options_.admin, admin_port_); !status.ok()) return status;
  return start(http_, options_.http, http_port_);
}

absl::Status Server::AddModel(std::unique_ptr<Engine> engine, const EngineOptions& options,
                              std::unique_ptr<StepObserver> observer) {
  return loader_.Add(std::move(engine), options, std::move(observer));
}

absl::Status Server::StartGrpc() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  // Reflection describes the services whose messages are linked. Nothing else here uses those of the health service.
  google::protobuf::LinkMessageReflection<grpc::health::v1::HealthCheckRequest>();
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options_.listen, Guard(gate_, options_.access->GrpcCredentials()), &grpc_port_);
  builder.RegisterService(&service_);
  builder.SetMaxReceiveMessageSize(MaxMessageBytes(options_.max_document_bytes));
  builder.SetMaxSendMessageSize(-1);
  // A second server on the same port is a mistake, not a way to share it.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A connection that says nothing is closed.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, static_cast<int>(kHandshake.count()));
  // A client that is gone without a word is noticed, and its documents are cancelled.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(kProbeEvery.count()));
  // One that asks more often than this whether the server is there is told to calm down, and closed.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             static_cast<int>(kLeastPingInterval.count()));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsAConnection);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytes);
  // What all connections may hold in memory while messages arrive.
  builder.SetResourceQuota(grpc::ResourceQuota("salient").Resize(QuotaBytes(options_.max_document_bytes)));
  if (options_.max_connection_age != absl::InfiniteDuration()) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                               static_cast<int>(absl::ToInt64Milliseconds(options_.max_connection_age)));
  }
  grpc_ = builder.BuildAndStart();
  if (grpc_ == nullptr || grpc_port_ == 0) {
    return absl::UnavailableError(absl::StrCat("--listen: cannot listen on ", options_.listen,
                                               "; is the port taken, or the address not this machine's?"));
  }
  health_.Set(Readiness::kServing);
  grpc_->GetHealthCheckService()->SetServingStatus(kServiceName, health_.Ready().ok());
  TellHealthOfModels();
  health_teller_ = std::thread([this] { TellHealth(); });
  return absl::OkStatus();
}

// gRPC's health service is told, where /readyz asks.
void Server::TellHealth() {
  bool told = false, told_dead = false;
  while (!leaving_.WaitForNotificationWithTimeout(kLookAtHealth)) {
    const bool ready = health_.Ready().ok();
    if (ready != told) grpc_->GetHealthCheckService()->SetServingStatus(kServiceName, ready);
    told = ready;
    TellHealthOfModels();
    if (told_dead || !options_.on_dead_engine || !health_.HasDeadEngine()) continue;
    told_dead = true;
    options_.on_dead_engine();
  }
}

// Each has a service of its own, so that a proxy can send a model's documents where it is.
void Server::TellHealthOfModels() {
  std::map<std::string, bool> usable;
  for (const auto& slot : models_.models()) usable[slot->name()] = Health::Usable(*slot);
  for (auto& [name, was] : told_models_) {
    if (!usable.contains(name)) usable[name] = false;
  }
  for (const auto& [name, is] : usable) {
    const auto [at, is_new] = told_models_.try_emplace(name, is);
    if (is_new || at->second != is) {
      grpc_->GetHealthCheckService()->SetServingStatus(absl::StrCat(kServiceName, "/", name), is);
    }
    at->second = is;
  }
}

int Server::Drain(const DrainOptions& options) {
  metrics_.SetDraining(true);
  http_.Leave();
  if (health_teller_.joinable()) {
    leaving_.Notify();
    health_teller_.join();
  }
  if (grpc_ != nullptr) {
    grpc_->GetHealthCheckService()->SetServingStatus(false);
    grpc_->GetHealthCheckService()->SetServingStatus(kServiceName, false);
    health_.Set(Readiness::kLeaving);
    absl::SleepFor(options.delay);
  }
  health_.Set(Readiness::kDraining);
  InFlight& in_flight = translator_.in_flight();
  in_flight.StartDraining();
  gate_->Close(kArriving);
  translator_.admission_retry_queue().Nudge();
  int cancelled = 0;
  CloseGrpc([&] {
    if (in_flight.WaitIdle(options.patience)) return;
    cancelled = in_flight.CancelAll();
    in_flight.WaitIdle(absl::InfiniteDuration());
  });
  http_.Stop();
  admin_listener_.Stop();
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
