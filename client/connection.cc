#include "client/connection.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"

namespace salient {
namespace {

constexpr std::chrono::seconds kConnectWithin(5);

}  // namespace

absl::StatusOr<std::unique_ptr<v1::Translation::Stub>> Connect(const std::string& server) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  auto channel = grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
  // Until the channel fails for the first time, since a server that is not there refuses at once.
  const auto deadline = std::chrono::system_clock::now() + kConnectWithin;
  grpc_connectivity_state state = channel->GetState(/*try_to_connect=*/true);
  while (state != GRPC_CHANNEL_READY) {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || !channel->WaitForStateChange(state, deadline)) {
      return absl::UnavailableError(absl::StrCat("cannot reach a server at ", server,
                                                 ": start one with `salient-server --model DIR`, or name another with "
                                                 "--server HOST:PORT"));
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
      return absl::Status(code, "not finished within --timeout; allow more, or ask for less with --latency SECONDS");
    case grpc::StatusCode::UNIMPLEMENTED:
      return absl::Status(code, absl::StrCat("what listens at ", server, " is not a salient-server of this version"));
    case grpc::StatusCode::UNAVAILABLE:
      return absl::Status(code, absl::StrCat("the server at ", server, " went away: ", status.error_message()));
    default:
      return absl::Status(code, status.error_message());
  }
}

}  // namespace salient
