// Stands before gRPC's calls: refuses those that come while the server shuts gRPC down, and those that are compressed.
//
// From the moment of grpc::Server::Shutdown, gRPC ends as CANCELLED every call that arrives, and every call whose
// message has not arrived yet. Clients do not retry CANCELLED. So the server closes this gate first: a call that comes
// now ends as UNAVAILABLE, which clients send to another server, and a call that has passed the gate gets time to
// arrive.
//
// gRPC unpacks a compressed message before anybody sees it, and has no bound on what it is unpacked to: a few megabytes
// may become as many gigabytes.
//
// The gate is asked where gRPC asks for credentials, which is before it reads a message, and before it looks whether it
// is shutting down.
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
  // A call's first step; `path` is "/service/method", `encoding` that of its messages. UNAVAILABLE once the gate is
  // closed; UNIMPLEMENTED for any encoding but "identity" and none.
  grpc::Status Pass(const grpc::string_ref& path, const grpc::string_ref& encoding);

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
