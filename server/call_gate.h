// Stands before gRPC's calls while the server shuts gRPC down.
//
// From the moment of grpc::Server::Shutdown, gRPC ends as CANCELLED every call that arrives, and every call whose
// message has not arrived yet. Clients do not retry CANCELLED. So the server closes this gate first: a call that comes
// now ends as UNAVAILABLE, which clients send to another server, and a call that has passed the gate gets time to
// arrive.
//
// The gate is asked where gRPC asks for credentials, which is before it looks whether it is shutting down.
//
// Thread safety: all methods may be called from any thread.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "absl/time/time.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/support/status.h"
#include "grpcpp/support/string_ref.h"

namespace salient {

class CallGate {
 public:
  // A call's first step; `path` is "/service/method". UNAVAILABLE once the gate is closed.
  grpc::Status Pass(grpc::string_ref path);

  // The handler of a call to the service has begun.
  void Begin();

  // Refuses calls from now on. Returns when each call that has passed before has begun, or after `patience`: one whose
  // client has gone never begins.
  void Close(absl::Duration patience);

 private:
  std::mutex mutex_;
  std::condition_variable none_arriving_;
  bool closed_ = false;
  int64_t arriving_ = 0;
};

// Credentials whose port asks `gate` about every call. `tls` is null for a port without encryption.
std::shared_ptr<grpc::ServerCredentials> Guard(std::shared_ptr<CallGate> gate,
                                               std::shared_ptr<grpc::ServerCredentials> tls);

}  // namespace salient
