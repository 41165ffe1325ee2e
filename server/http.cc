#include "server/http.h"

#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/protobuf/util/json_util.h"
#include "httplib.h"
#include "nlohmann/json.hpp"
#include "openssl/ssl.h"
#include "server/http_page.h"
#include "server/service.h"
#include "server/status.h"

namespace salient {
namespace {

constexpr int kThreads = 32;
constexpr int kMaxTranslations = 24;
// JSON writes a byte as up to six ("\u0001"), so a body may be that much longer than its document.
constexpr int64_t kJsonExpansion = 6;

void ReplyError(const absl::Status& status, httplib::Response& response) {
  const nlohmann::json body = {{"error",
                                {{"code", static_cast<int>(status.code())},
                                 {"status", absl::StatusCodeToString(status.code())},
                                 {"message", std::string(status.message())}}}};
  response.status = ToHttp(status.code());
  if (const auto delay = GetRetryDelay(status)) {
    const auto seconds = static_cast<int64_t>(std::ceil(absl::ToDoubleSeconds(*delay)));
    response.set_header("Retry-After", std::to_string(seconds));
  }
  response.set_content(body.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n", "application/json");
}

void ReplyMessage(const google::protobuf::Message& message, httplib::Response& response) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) return ReplyError(absl::InternalError(status.ToString()), response);
  response.set_content(json, "application/json");
}

absl::Status NotReady(Readiness readiness) {
  return absl::UnavailableError(readiness == Readiness::kLoading ? "the server is still loading its models"
                                                                 : "the server is shutting down");
}

absl::StatusOr<absl::Time> ReadDeadline(const httplib::Request& request) {
  if (!request.has_param("timeout_seconds")) return absl::InfiniteFuture();
  const std::string text = request.get_param_value("timeout_seconds");
  double seconds = 0;
  if (!absl::SimpleAtod(text, &seconds) || !(seconds > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("timeout_seconds: '", text, "' is not a number above 0"));
  }
  return absl::Now() + absl::Seconds(seconds);
}

// httplib would let two servers share a port, each getting some of the connections.
void OwnPort(int socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

absl::StatusOr<std::pair<std::string, int>> SplitAddress(const std::string& address) {
  const size_t colon = address.rfind(':');
  int port = -1;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 0 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("--http: '", address, "' is not HOST:PORT, such as 0.0.0.0:8080 or [::]:8080"));
  }
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return std::make_pair(host.empty() ? std::string("0.0.0.0") : host, port);
}

std::unique_ptr<httplib::Server> MakeServer(const Access& access) {
  if (!access.encrypted()) return std::make_unique<httplib::Server>();
  return std::make_unique<httplib::SSLServer>([&access](SSL_CTX& context) { return access.SetUp(context); });
}

bool BroughtCertificate(const httplib::Request& request) {
  X509* const certificate = SSL_get1_peer_certificate(request.ssl);
  X509_free(certificate);
  return certificate != nullptr;  // the handshake fails where it is not a good one
}

}  // namespace

class HttpPort::Impl {
 public:
  Impl(Translator& translator, const Metrics& metrics, const Access& access, const std::atomic<Readiness>& readiness,
       int64_t max_document_bytes)
      : translator_(translator),
        metrics_(metrics),
        access_(access),
        readiness_(readiness),
        server_(MakeServer(access)) {
    server_->new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_->set_payload_max_length(max_document_bytes * kJsonExpansion + (1 << 20));
    server_->set_keep_alive_timeout(2);  // an idle connection occupies a thread
    server_->set_socket_options([](socket_t socket) { OwnPort(socket); });
    AddRoutes();
  }

  absl::StatusOr<int> Start(const std::string& address) {
    auto split = SplitAddress(address);
    if (!split.ok()) return split.status();
    auto [host, port] = *split;
    if (port == 0) {
      port = server_->bind_to_any_port(host);
    } else if (!server_->bind_to_port(host, port)) {
      port = -1;
    }
    if (port <= 0) {
      return absl::UnavailableError(absl::StrCat("--http: cannot listen on ", address,
                                                 "; is the port taken, or the address not this machine's?"));
    }
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    while (!server_->is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return port;
  }

  void Stop() {
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
  }

 private:
  void AddRoutes() {
    server_->Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("ok\n", "text/plain");
    });
    server_->Get("/readyz", WhenReady([](const httplib::Request&, httplib::Response& response) {
                   response.set_content("ready\n", "text/plain");
                 }));
    server_->Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      if (readiness_ != Readiness::kLoading) translator_.models().UpdateGauges();
      response.set_content(metrics_.Text(), "text/plain; version=0.0.4");
    });
    // Through a content reader, because httplib otherwise takes what curl -d sends for a form, of 8 KiB at most.
    server_->Post("/v1/translate", [this](const httplib::Request& request, httplib::Response& response,
                                          const httplib::ContentReader& read) {
      std::string body;
      const bool whole = read([&body](const char* data, size_t length) {
        body.append(data, length);
        return true;
      });
      if (!whole) return;  // httplib has set the status
      WhenAllowed([this, &body](const httplib::Request& asked, httplib::Response& reply) {
        Translate(asked, body, reply);
      })(request, response);
    });
    server_->Get("/v1/models", WhenAllowed([this](const httplib::Request&, httplib::Response& response) {
                   ReplyMessage(ListModels(translator_.models()), response);
                 }));
    server_->Get("/v1/models/(.+)", WhenAllowed([this](const httplib::Request& request, httplib::Response& response) {
                   auto model = GetModel(translator_.models(), request.matches[1]);
                   if (!model.ok()) return ReplyError(model.status(), response);
                   ReplyMessage(*model, response);
                 }));
    server_->Get("/", WhenAllowed([this](const httplib::Request&, httplib::Response& response) {
                   response.set_content(FrontPage(ListModels(translator_.models())), "text/html; charset=utf-8");
                 }));
    // For what httplib refuses by itself; our own errors have a body already.
    server_->set_error_handler([](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty()) return;
      const int status = response.status;
      if (status == 404) {
        ReplyError(absl::NotFoundError(absl::StrCat(request.method, " ", request.path,
                                                    ": there is POST /v1/translate, GET /v1/models, /v1/models/NAME, "
                                                    "/metrics, /healthz, /readyz and /")),
                   response);
      } else if (status == 413) {
        ReplyError(absl::InvalidArgumentError("the body is larger than any document that this server takes "
                                              "(--max-document-bytes); send the document in parts"),
                   response);
      } else {
        ReplyError(absl::InvalidArgumentError(absl::StrCat("HTTP status ", status)), response);
      }
      response.status = status;
    });
  }

  httplib::Server::Handler WhenReady(httplib::Server::Handler handler) {
    return WhenNot({Readiness::kLoading, Readiness::kLeaving, Readiness::kDraining}, std::move(handler));
  }

  httplib::Server::Handler WhenNot(std::vector<Readiness> states, httplib::Server::Handler handler) {
    return [this, states = std::move(states), handler = std::move(handler)](const httplib::Request& request,
                                                                           httplib::Response& response) {
      const Readiness now = readiness_;
      if (std::find(states.begin(), states.end(), now) != states.end()) return ReplyError(NotReady(now), response);
      handler(request, response);
    };
  }

  // While documents are taken, for those who may.
  httplib::Server::Handler WhenAllowed(httplib::Server::Handler handler) {
    return WhenNot(
        {Readiness::kLoading, Readiness::kDraining},
        [this, handler = std::move(handler)](const httplib::Request& request, httplib::Response& response) {
          if (const absl::Status status = Check(request); !status.ok()) {
            translator_.CountRefused(status.code());
            if (absl::IsUnauthenticated(status)) response.set_header("WWW-Authenticate", "Bearer");
            return ReplyError(status, response);
          }
          handler(request, response);
        });
  }

  absl::Status Check(const httplib::Request& request) const {
    if (access_.asks_for_certificate() && !BroughtCertificate(request)) {
      return absl::PermissionDeniedError("this server asks for a client certificate that --tls-client-ca has signed");
    }
    return access_.CheckKey(request.get_header_value("Authorization"), request.get_header_value("X-API-Key"));
  }

  void Translate(const httplib::Request& request, const std::string& body, httplib::Response& response) {
    auto deadline = ReadDeadline(request);
    if (!deadline.ok()) return ReplyError(deadline.status(), response);
    v1::TranslateDocumentRequest message;
    const auto parsed = google::protobuf::util::JsonStringToMessage(body, &message);
    if (!parsed.ok()) {
      // After the first line protobuf draws a picture of the place, which is no use within JSON.
      const std::string message_text(parsed.message());
      return ReplyError(absl::InvalidArgumentError(absl::StrCat("the body is not a TranslateDocumentRequest in JSON: ",
                                                                message_text.substr(0, message_text.find('\n')))),
                        response);
    }
    if (translations_.fetch_add(1) >= kMaxTranslations) {
      absl::Status status = absl::ResourceExhaustedError(
          absl::StrCat("more than ", kMaxTranslations, " translations over HTTP at once; try again, or use gRPC"));
      SetRetryDelay(status, absl::Seconds(1));
      ReplyError(status, response);
    } else {
      auto reply = translator_.Translate(message, *deadline);
      if (reply.ok()) {
        ReplyMessage(*reply, response);
      } else {
        ReplyError(reply.status(), response);
      }
    }
    translations_.fetch_sub(1);
  }

  Translator& translator_;
  const Metrics& metrics_;
  const Access& access_;
  const std::atomic<Readiness>& readiness_;
  std::atomic<int> translations_ = 0;
  const std::unique_ptr<httplib::Server> server_;
  std::thread thread_;
};

HttpPort::HttpPort(Translator& translator, const Metrics& metrics, const Access& access,
                   const std::atomic<Readiness>& readiness, int64_t max_document_bytes)
    : impl_(std::make_unique<Impl>(translator, metrics, access, readiness, max_document_bytes)) {}

HttpPort::~HttpPort() { Stop(); }

absl::StatusOr<int> HttpPort::Start(const std::string& address) { return impl_->Start(address); }

void HttpPort::Stop() { impl_->Stop(); }

}  // namespace salient
