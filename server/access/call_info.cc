#include "server/access/call_info.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "grpc/grpc_security_constants.h"

namespace salient {
namespace {

std::string_view Metadata(const grpc::CallbackServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

std::string SubjectOf(const grpc::CallbackServerContext& context) {
  const auto auth = context.auth_context();
  if (auth == nullptr || !auth->IsPeerAuthenticated()) return {};
  for (const char* property : {GRPC_X509_SUBJECT_PROPERTY_NAME, GRPC_X509_CN_PROPERTY_NAME}) {
    const auto values = auth->FindPropertyValues(property);
    if (!values.empty()) return {values[0].data(), values[0].size()};
  }
  return "no subject";
}

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Of a trace, or of a span in it: W3C forbids zeros alone.
bool IsId(std::string_view text) { return IsHex(text) && text.find_first_not_of('0') != std::string_view::npos; }

}  // namespace

std::string RequestId(std::string_view brought) {
  const bool fit = !brought.empty() && brought.size() <= 128 && std::all_of(brought.begin(), brought.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("._:/+=-").find(c) != std::string_view::npos;
  });
  if (fit) return std::string(brought);
  thread_local std::mt19937_64 random{std::random_device{}()};
  return absl::StrCat(absl::Hex(random(), absl::kZeroPad16));
}

std::string TraceParent(std::string_view brought) {
  const bool fit = brought.size() == 55 && brought[2] == '-' && brought[35] == '-' && brought[52] == '-' &&
                   IsHex(brought.substr(0, 2)) && brought.substr(0, 2) != "ff" && IsId(brought.substr(3, 32)) &&
                   IsId(brought.substr(36, 16)) && IsHex(brought.substr(53));
  return fit ? std::string(brought) : std::string();
}

std::string AddressOf(const std::string& peer) {
  const std::string plain = absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}});
  const size_t scheme = plain.find(':'), port = plain.rfind(':');
  if (scheme == std::string::npos || port <= scheme) return plain;
  return absl::StrReplaceAll(plain.substr(scheme + 1, port - scheme - 1), {{"[", ""}, {"]", ""}});
}

absl::Status ReadCallInfo(const Access& access, const grpc::CallbackServerContext& context, CallInfo* call) {
  const std::string subject = SubjectOf(context), address = AddressOf(context.peer());
  *call = {{Client::Kind::kAddress, address, {}},
           RequestId(Metadata(context, "x-request-id")),
           TraceParent(Metadata(context, "traceparent")),
           "grpc"};
  auto client = access.Identify({.authorization = Metadata(context, "authorization"),
                                 .api_key = Metadata(context, "x-api-key"),
                                 .certificate_subject = subject,
                                 .address = address});
  if (client.ok()) call->client = *std::move(client);
  return client.status();
}

absl::Status ReadCallInfo(const Access& access, const HttpRequest& request, CallInfo* call) {
  *call = {{Client::Kind::kAddress, request.peer_address, {}},
           RequestId(request.header("X-Request-Id")),
           TraceParent(request.header("traceparent")),
           "http"};
  const std::string authorization = request.header("Authorization"), key = request.header("X-API-Key");
  auto client = access.Identify({.authorization = authorization,
                                 .api_key = key,
                                 .certificate_subject = request.certificate_subject,
                                 .address = request.peer_address});
  if (client.ok()) call->client = *std::move(client);
  return client.status();
}

}  // namespace salient
