#include "server/rpc/call_gate.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "grpc/grpc_security.h"
#include "grpcpp/security/auth_metadata_processor.h"

namespace salient {
namespace {

constexpr char kPathKey[] = ":path", kEncodingKey[] = "grpc-encoding";
constexpr char kServicePrefix[] = "/salient.v1.Translation/";

class Processor final : public grpc::AuthMetadataProcessor {
 public:
  explicit Processor(std::shared_ptr<CallGate> gate) : gate_(std::move(gate)) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext*, OutputMetadata*, OutputMetadata*) override {
    const auto value_of = [&metadata](const char* key) {
      const auto found = metadata.find(key);
      return found == metadata.end() ? grpc::string_ref() : found->second;
    };
    return gate_->Pass(value_of(kPathKey), value_of(kEncodingKey));
  }

 private:
  const std::shared_ptr<CallGate> gate_;
};

// grpc::InsecureServerCredentials lets nobody see its calls; these are the same, by way of gRPC's C interface.
class InsecureCredentials final : public grpc::ServerCredentials {
 public:
  explicit InsecureCredentials(std::shared_ptr<CallGate> gate) : gate_(std::move(gate)) {}

  // There is no other processor than the gate.
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    grpc_server_credentials* const credentials = grpc_insecure_server_credentials_create();
    grpc_server_credentials_set_auth_metadata_processor(credentials,
                                                        {Process, Destroy, new std::shared_ptr<CallGate>(gate_)});
    const int port = grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  static void Process(void* state, grpc_auth_context*, const grpc_metadata* metadata, size_t count,
                      grpc_process_auth_metadata_done_cb done, void* done_argument) {
    grpc::string_ref path, encoding;
    for (size_t i = 0; i < count; ++i) {
      const auto as_text = [](const grpc_slice& slice) {
        return grpc::string_ref(reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice));
      };
      if (as_text(metadata[i].key) == kPathKey) path = as_text(metadata[i].value);
      if (as_text(metadata[i].key) == kEncodingKey) encoding = as_text(metadata[i].value);
    }
    const grpc::Status status = (*static_cast<std::shared_ptr<CallGate>*>(state))->Pass(path, encoding);
    done(done_argument, nullptr, 0, nullptr, 0, static_cast<grpc_status_code>(status.error_code()),
         status.error_message().c_str());
  }

  static void Destroy(void* state) { delete static_cast<std::shared_ptr<CallGate>*>(state); }

  const std::shared_ptr<CallGate> gate_;
};

}  // namespace

grpc::Status CallGate::Pass(const grpc::string_ref& path, const grpc::string_ref& encoding) {
  if (!encoding.empty() && encoding != "identity") {
    return {grpc::StatusCode::UNIMPLEMENTED, "this server takes no compressed messages; call it without compression"};
  }
  std::lock_guard<std::mutex> lock(mutex_);
  if (closed_) return {grpc::StatusCode::UNAVAILABLE, "the server is shutting down; send the call to another one"};
  if (absl::StartsWith(absl::string_view(path.data(), path.size()), kServicePrefix)) ++arriving_;
  return grpc::Status::OK;
}

void CallGate::Begin() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (--arriving_ <= 0) none_arriving_.notify_all();
}

void CallGate::Close(absl::Duration patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  closed_ = true;
  none_arriving_.wait_for(lock, absl::ToChronoNanoseconds(patience), [this] { return arriving_ <= 0; });
}

std::shared_ptr<grpc::ServerCredentials> Guard(std::shared_ptr<CallGate> gate,
                                               std::shared_ptr<grpc::ServerCredentials> tls) {
  if (tls == nullptr) return std::make_shared<InsecureCredentials>(std::move(gate));
  tls->SetAuthMetadataProcessor(std::make_shared<Processor>(std::move(gate)));
  return tls;
}

}  // namespace salient
