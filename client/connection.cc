#include "client/connection.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/files.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/client_interceptor.h"

namespace salient {
namespace {

constexpr std::chrono::seconds kConnectWithin(5);

// Calls go to all of a name's addresses in turn, but to those that say that they are leaving; what a server refused or
// did not live to answer is tried again, on the next one. That of deploy/clients/service-config.json, which other
// clients use.
constexpr char kServiceConfig[] = R"({
  "loadBalancingConfig": [{"round_robin": {}}],
  "healthCheckConfig": {"serviceName": "salient.v1.Translation"},
  "methodConfig": [{
    "name": [{"service": "salient.v1.Translation"}],
    "retryPolicy": {
      "maxAttempts": 5,
      "initialBackoff": "0.2s",
      "maxBackoff": "3s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]
    }
  }]
})";

// New addresses are asked for when a server leaves, at most this often; gRPC's own 30 s would outlive a rolling update.
constexpr int kResolveEveryMs = 500;

// A call is kept for another try while it fits in here, which must be more than the largest document.
constexpr int kRetryBytes = 64 << 20;

constexpr int kFirstReconnectMs = 200;
constexpr int kLastReconnectMs = 2000;
constexpr int kProbeEveryMs = 30000;  // a server that is gone without a word is noticed while a call waits

// kind: "CERTIFICATE" or "PRIVATE KEY", one of which the file must have. gRPC says of another only that it fails.
absl::Status ReadPem(const char* flag, const std::string& path, const char* kind, std::string* pem) {
  if (path.empty()) return absl::OkStatus();
  absl::StatusOr<std::string> bytes = ReadBytes(path);
  if (!bytes.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(flag, ": ", path, " ", std::string(bytes.status().message())));
  }
  if (bytes->empty()) return absl::InvalidArgumentError(absl::StrCat(flag, ": ", path, " is empty"));
  if (!absl::StrContains(*bytes, "-----BEGIN ")) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", path,
                     " is not in PEM format, which has a line that begins with -----BEGIN; convert it with openssl"));
  }
  if (!absl::StrContains(*bytes, absl::StrCat(kind, "-----"))) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": ", path, " is another kind of PEM file; it needs a part -----BEGIN ", kind, "-----"));
  }
  *pem = *std::move(bytes);
  return absl::OkStatus();
}

// A file for it says so as well as the flag.
bool SpeaksTls(const ConnectionFlags& flags) {
  return flags.tls || !flags.tls_ca.empty() || !flags.tls_certificate.empty() || !flags.tls_key.empty();
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> Credentials(const ConnectionFlags& flags) {
  if (!SpeaksTls(flags)) return grpc::InsecureChannelCredentials();
  if (flags.tls_certificate.empty() != flags.tls_key.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key need each other");
  }
  grpc::SslCredentialsOptions options;
  for (const auto& [flag, path, kind, pem] :
       {std::tuple("--tls-ca", flags.tls_ca, "CERTIFICATE", &options.pem_root_certs),
        std::tuple("--tls-cert", flags.tls_certificate, "CERTIFICATE", &options.pem_cert_chain),
        std::tuple("--tls-key", flags.tls_key, "PRIVATE KEY", &options.pem_private_key)}) {
    if (absl::Status status = ReadPem(flag, path, kind, pem); !status.ok()) return status;
  }
  return grpc::SslCredentials(options);
}

// Adds the API key to every call. gRPC's own call credentials would refuse to send it without TLS, where a proxy beside
// the client may well add that.
class KeyInterceptor final : public grpc::experimental::Interceptor {
 public:
  explicit KeyInterceptor(const std::string& key) : value_("Bearer " + key) {}
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->emplace("authorization", value_);
    }
    methods->Proceed();
  }

 private:
  const std::string value_;
};

class KeyInterceptors final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  explicit KeyInterceptors(std::string key) : key_(std::move(key)) {}
  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo*) override {
    return new KeyInterceptor(key_);
  }

 private:
  const std::string key_;
};

std::shared_ptr<grpc::Channel> MakeChannel(const ConnectionFlags& flags,
                                           const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                           Retries retries) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetServiceConfigJSON(kServiceConfig);
  if (retries == Retries::kNever) arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, kResolveEveryMs);
  arguments.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE, kRetryBytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLastReconnectMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kProbeEveryMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // as many as it takes
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> interceptors;
  if (!flags.api_key.empty()) interceptors.push_back(std::make_unique<KeyInterceptors>(flags.api_key));
  return grpc::experimental::CreateCustomChannelWithInterceptors(flags.server, credentials, arguments,
                                                                 std::move(interceptors));
}

absl::Status Unreachable(const ConnectionFlags& flags) {
  if (SpeaksTls(flags)) {
    return absl::UnavailableError(
        absl::StrCat("cannot reach a server over TLS at ", flags.server,
                     ": a server must run there with TLS. Its certificate must be for this name, and signed by an "
                     "authority that this machine trusts or --tls-ca names. A server with --tls-client-ca also needs "
                     "--tls-cert and --tls-key of its clients"));
  }
  return absl::UnavailableError(absl::StrCat("cannot reach a server at ", flags.server,
                                             ": start one with `salient-server --model DIR`, or name another with "
                                             "--server HOST:PORT, and with --tls if it speaks TLS"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<v1::Translation::Stub>> Connect(const ConnectionFlags& flags, Retries retries) {
  // gRPC ends the program if a header has another character, and prints it.
  if (!std::all_of(flags.api_key.begin(), flags.api_key.end(), absl::ascii_isgraph)) {
    return absl::InvalidArgumentError(
        "the API key (SALIENT_API_KEY) has a character that is not printable ASCII, such as a line break at its end");
  }
  auto credentials = Credentials(flags);
  if (!credentials.ok()) return credentials.status();
  const std::shared_ptr<grpc::Channel> channel = MakeChannel(flags, *credentials, retries);
  // Until the channel fails for the first time, since a server that is not there refuses at once.
  const auto deadline = std::chrono::system_clock::now() + kConnectWithin;
  grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
  while (state != GRPC_CHANNEL_READY) {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || !channel->WaitForStateChange(state, deadline)) {
      return Unreachable(flags);
    }
    state = channel->GetState(true);
  }
  return v1::Translation::NewStub(channel);
}

absl::Status Explain(const grpc::Status& status, const std::string& server) {
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return absl::OkStatus();
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return absl::Status(
          code, "not finished in time; allow more with --timeout SECONDS, or ask for less with --latency SECONDS");
    case grpc::StatusCode::UNIMPLEMENTED:
      return absl::Status(code, absl::StrCat("what listens at ", server, " is not a salient-server of this version"));
    case grpc::StatusCode::UNAUTHENTICATED:
      return absl::Status(code, absl::StrCat(status.error_message(), "; set SALIENT_API_KEY"));
    case grpc::StatusCode::UNAVAILABLE:
      return absl::Status(code, absl::StrCat("the server at ", server, " went away: ", status.error_message()));
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      // gRPC's own words for a message that is far larger than any document which the server takes.
      if (absl::StartsWith(status.error_message(), "Received message larger than max")) {
        return absl::Status(code, absl::StrCat("too large for the server at ", server,
                                               "; send it in parts, or start the server with a larger "
                                               "--max-document-bytes (",
                                               status.error_message(), ")"));
      }
      return absl::Status(code, status.error_message());
    default:
      return absl::Status(code, status.error_message());
  }
}

}  // namespace salient
