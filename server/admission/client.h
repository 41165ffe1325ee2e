// The identity of a client: the name of its API key, otherwise the subject of its certificate, otherwise its address.
// Clients share the engines, and have limits of their own.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace salient {

struct ClientLimits {
  double weight = 1;              // its share of an engine, relative to other clients' weights
  int64_t tokens_per_minute = 0;  // source tokens; 0: no limit
  int32_t documents = 0;          // in flight, waiting ones included; 0: no limit
  friend bool operator==(const ClientLimits&, const ClientLimits&) = default;
};

struct Client {
  enum class Kind { kKey, kCertificate, kAddress };

  Kind kind = Kind::kAddress;
  std::string name;  // name of a key, subject of a certificate, or address
  ClientLimits limits;

  // Unique over all kinds of clients.
  std::string id() const { return std::string(KindName()) + ":" + name; }
  const char* KindName() const {
    return kind == Kind::kKey ? "key" : kind == Kind::kCertificate ? "certificate" : "address";
  }
};

class ReservedTokens;  // admission.h

// The client of a call, and its identification in logs.
struct CallInfo {
  Client client;
  std::string request_id;   // from the header x-request-id, or generated
  std::string traceparent;  // W3C, from the header; empty: none
  const char* transport = "grpc";
  // For the documents of the call; null: each asks for its own tokens.
  std::shared_ptr<ReservedTokens> reserved = nullptr;
  // The id of a glossary that this client has made, for the request; null: none. It is no field of the request, so that
  // nobody can name another client's.
  std::shared_ptr<const std::string> own_glossary = nullptr;
};

}  // namespace salient
