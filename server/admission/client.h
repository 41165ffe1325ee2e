// Who asks, as far as the server tells clients apart: by the name of its API key, else the subject of its certificate,
// else its address. Clients share the engines, and have limits of their own.

#pragma once

#include <cstdint>
#include <string>

namespace salient {

struct ClientLimits {
  double weight = 1;              // its share of an engine, over others' weights
  int64_t tokens_per_minute = 0;  // of source; 0: as many as there are
  int32_t documents = 0;          // at once, waiting ones included; 0: as many as there is room for
  friend bool operator==(const ClientLimits&, const ClientLimits&) = default;
};

struct Client {
  enum class Kind { kKey, kCertificate, kAddress };

  Kind kind = Kind::kAddress;
  std::string name;  // of a key, a subject, an address
  ClientLimits limits;

  // Unlike that of any other client of another kind.
  std::string id() const { return std::string(KindName()) + ":" + name; }
  const char* KindName() const {
    return kind == Kind::kKey ? "key" : kind == Kind::kCertificate ? "certificate" : "address";
  }
};

// A document's call: who makes it, and how it is told apart in logs.
struct CallInfo {
  Client client;
  std::string request_id;   // taken from the call (x-request-id), or made
  std::string traceparent;  // W3C, as the call brought it; empty: none
  const char* transport = "grpc";
};

}  // namespace salient
