// The whole server: its ports, its models, and its shutdown.
//
//   Server server(options);
// server.StartHttp();                  // both HTTP listeners: /healthz is OK, /readyz reports that models are loading
//   server.LoadModels();                 // or AddModel(engine, ...), once for each
//   server.StartGrpc();                  // ready
//   server.Drain({.delay = ..., .patience = ...});  // refuses new documents, finishes those in flight
//
// Thread safety: the methods are called from one thread, in this order; ReloadModels from any.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "engine/engine.h"
#include "grpcpp/server.h"
#include "server/access/access.h"
#include "server/admin.h"
#include "server/health.h"
#include "server/http/listener.h"
#include "server/http_api.h"
#include "server/models/model_loader.h"
#include "server/models/model_registry.h"
#include "server/rpc/call_gate.h"
#include "server/rpc/service.h"
#include "server/telemetry/metrics.h"
#include "server/translation/translator.h"

namespace salient {

struct ServerOptions {
  std::string listen = "0.0.0.0:50051";  // gRPC
  std::string http = "0.0.0.0:8080";     // empty: no HTTP
  std::string admin = "0.0.0.0:9464";    // probes and metrics; empty: none
  bool compat = false;                   // on the HTTP port also the APIs of other services
  std::string glossary_uploads;          // with compat: the folder of glossaries, in which clients may store theirs
  std::shared_ptr<const Access> access = std::make_shared<Access>();
  int64_t max_document_bytes = 4 << 20;
  // The age after which a connection is closed when its calls are done, so that clients also use new servers and leave
  // servers that drain; infinite: never.
  absl::Duration max_connection_age = absl::Minutes(5);
  // If an engine with work makes no iteration for this time, /healthz fails.
  absl::Duration stall_limit = absl::Minutes(2);
  // The deadline of calls that have none.
  absl::Duration default_deadline = absl::InfiniteDuration();
  // Called once, from a thread of the server's, when an engine has died; may be empty.
  std::function<void()> on_dead_engine;
  // A gRPC client that takes nothing of its reply for so long loses the call.
  absl::Duration reader_patience = absl::Seconds(60);
  GuardMode guard = GuardMode::kRetry;           // of requests that say nothing about it
  std::shared_ptr<LanguageResources> resources;  // glossaries and memories that requests name; null: none
  ModelSources models;
};

struct DrainOptions {
  absl::Duration delay = absl::ZeroDuration();
  absl::Duration patience = absl::Seconds(30);
};

class Server {
 public:
  explicit Server(const ServerOptions& options);
  ~Server();  // if Drain was not called, cancels the documents in flight

  absl::Status StartHttp();
  // Those of ServerOptions::models (server/models/model_loader.h).
  absl::Status LoadModels() { return loader_.LoadAll(); }
  absl::Status ReloadModels() { return loader_.Reload(); }
  absl::Status AddModel(std::unique_ptr<Engine> engine, const EngineOptions& options,
                        std::unique_ptr<StepObserver> observer);
  absl::Status StartGrpc();

  // From now on /readyz returns 503 and health is NOT_SERVING. For `delay`, documents are still accepted, from clients
  // that have not noticed yet. Then new documents get UNAVAILABLE, the gRPC port is closed, and its connections get a
  // GOAWAY. Waits until the documents in flight are finished, then two seconds at most for their replies to be read,
  // and closes HTTP. Documents that take longer than `patience` after the delay are cancelled with UNAVAILABLE; returns
  // their number.
  int Drain(const DrainOptions& options);

  int grpc_port() const { return grpc_port_; }
  int http_port() const { return http_port_; }
  int admin_port() const { return admin_port_; }
  Translator& translator() { return translator_; }

 private:
  void TellHealth();
  void TellHealthOfModels();

  // Sends GOAWAY at once, and returns when all calls are over, including those of documents in flight.
  void CloseGrpc(const std::function<void()>& finish_documents);

  const ServerOptions options_;
  Metrics metrics_;
  ModelRegistry models_;
  ModelLoader loader_;
  Health health_;
  Translator translator_;
  const std::shared_ptr<CallGate> gate_ = std::make_shared<CallGate>();
  TranslationService service_;
  HttpApi http_api_;
  Admin admin_;
  HttpListener http_, admin_listener_;
  std::unique_ptr<grpc::Server> grpc_;
  absl::Notification leaving_;               // after this the health service is not updated
  std::map<std::string, bool> told_models_;  // to the health service; after the start the teller's own
  std::thread health_teller_;
  int grpc_port_ = 0;
  int http_port_ = 0;
  int admin_port_ = 0;
};

}  // namespace salient
