#include "server/http/connection.h"

#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "boost/asio/dispatch.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/ssl/stream.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/beast/core.hpp"
#include "boost/beast/http.hpp"
#include "boost/beast/ssl.hpp"
#include "openssl/ssl.h"
#include "server/http/body_decoder.h"
#include "spdlog/spdlog.h"

namespace salient {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using Error = boost::system::error_code;

constexpr int kNoContent = 204;  // the status of a response that has no body, nor says how long it is
constexpr size_t kMaxHeader = 16 << 10;
constexpr size_t kBodyPiece = 64 << 10;
constexpr size_t kSlowestReader = 64 << 10;               // bytes/s: the slowest rate of a client
constexpr std::chrono::milliseconds kLookForClient(250);  // how often to check that the client is still connected
constexpr std::chrono::seconds kLinger(2);                // how long to keep reading from a client that was refused

std::string SubjectOf(SSL* connection) {
  X509* const certificate = SSL_get1_peer_certificate(connection);
  if (certificate == nullptr) return {};
  BIO* const text = BIO_new(BIO_s_mem());
  X509_NAME_print_ex(text, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* data = nullptr;
  const long size = BIO_get_mem_data(text, &data);  // NOLINT: OpenSSL's type
  std::string subject(data, static_cast<size_t>(size));
  BIO_free(text);
  X509_free(certificate);
  return subject.empty() ? "no subject" : subject;  // the handshake has already checked the certificate
}

template <class Stream>
class Connection final : public HttpConnection, public std::enable_shared_from_this<Connection<Stream>> {
  static constexpr bool kTls = !std::is_same_v<Stream, beast::tcp_stream>;

 public:
  template <class... Context>
  Connection(HttpShared& shared, std::function<void(HttpConnection*)> gone, tcp::socket socket, Context&... context)
      : shared_(shared),
        gone_(std::move(gone)),
        stream_(std::move(socket), context...),
        watch_(stream_.get_executor()) {
    Error error;
    const auto peer = Lowest().socket().remote_endpoint(error);
    if (!error) peer_address_ = peer.address().to_string();
  }
  ~Connection() override { ForgetBody(); }

  void Begin() override {
    asio::dispatch(stream_.get_executor(), [self = this->shared_from_this()] { self->Open(); });
  }
  void Close() override {
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] { self->End(); });
  }
  void CloseWhenIdle() override {
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] {
      if (!self->in_progress_) self->End();
    });
  }

 private:
  beast::tcp_stream& Lowest() { return beast::get_lowest_layer(stream_); }
  void ExpireAfter(absl::Duration time) { Lowest().expires_after(absl::ToChronoNanoseconds(time)); }

  void Open() {
    ExpireAfter(shared_.options.header_timeout);
    if constexpr (kTls) {
      stream_.async_handshake(asio::ssl::stream_base::server, [self = this->shared_from_this()](Error error) {
        if (error) return self->End();
        self->subject_ = SubjectOf(self->stream_.native_handle());
        self->ReadHeader();
      });
    } else {
      ReadHeader();
    }
  }

  void ReadHeader() {
    passed_ = in_progress_ = false;
    sender_ = {};
    if (shared_.stopping) return End();
    request_ = HttpRequest();
    request_.peer_address = peer_address_;
    request_.certificate_subject = subject_;
    parser_.emplace();
    parser_->header_limit(kMaxHeader);
    parser_->body_limit(
        std::numeric_limits<uint64_t>::max());  // the limit is looked at below, once it is known who asks
    ExpireAfter(shared_.options.header_timeout);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = this->shared_from_this()](Error error, size_t) { self->TakeHeader(error); });
  }

  void TakeHeader(Error error) {
    if (error == http::error::header_limit) return Refuse(431, "the request's header is larger than 16 KiB");
    if (error && error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message) {
      return Refuse(400, absl::StrCat("not an HTTP/1.1 request: ", error.message()));
    }
    if (error) return End();
    const auto& header = parser_->get();
    request_.method = std::string(header.method_string());
    if (header.version() >= 11 && header.count(http::field::host) != 1) {
      return Refuse(400, "an HTTP/1.1 request has one Host header");
    }
    if (!ParseTarget({header.target().data(), header.target().size()}, request_)) {
      return Refuse(400, "the request's target is not a path");
    }
    for (const auto& field : header) request_.headers[std::string(field.name_string())] = std::string(field.value());
    // Beast takes a request of another coding for one without a body, and its body for the next request.
    const auto codings = header.equal_range(http::field::transfer_encoding);
    for (auto coding = codings.first; coding != codings.second; ++coding) {
      if (absl::EqualsIgnoreCase(std::string(coding->value()), "chunked") && coding == codings.first) continue;
      return Refuse(501, absl::StrCat("Transfer-Encoding: '", std::string(coding->value()),
                                      "' is not one that this server reads; send the body chunked, and say so once"));
    }
    auto admitted = shared_.handler.Admit(request_);
    if (auto* const refusal = std::get_if<HttpResponse>(&admitted)) {
      return Send(std::move(*refusal), /*close=*/!parser_->is_done());
    }
    if (parser_->content_length().value_or(0) > shared_.options.max_body_bytes) return RefuseSize();
    auto decoder = BodyDecoder::Open(request_.header("Content-Encoding"), shared_.options.max_body_bytes);
    if (!decoder.ok()) return Refuse(415, std::string(decoder.status().message()));
    decoder_ = *std::move(decoder);
    sender_ = std::get<HttpHandler::Sender>(std::move(admitted));
    passed_ = sender_.known;
    in_progress_ = true;
    ExpireAfter(sender_.known ? shared_.options.request_timeout : shared_.options.header_timeout);
    if (absl::EqualsIgnoreCase(request_.header("Expect"), "100-continue")) return SendContinue();
    ReadBody();
  }

  void SendContinue() {
    static constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(kContinue, sizeof(kContinue) - 1),
                      [self = this->shared_from_this()](Error error, size_t) {
                        if (error) return self->End();
                        self->ReadBody();
                      });
  }

  void ReadBody() {
    if (parser_->is_done()) return TakeRequest();
    if (piece_ == nullptr) piece_ = std::make_unique<std::array<char, kBodyPiece>>();
    parser_->get().body().data = piece_->data();
    parser_->get().body().size = piece_->size();
    http::async_read_some(stream_, buffer_, *parser_,
                          [self = this->shared_from_this()](Error error, size_t) { self->TakePiece(error); });
  }

  void TakePiece(Error error) {
    if (error == http::error::need_buffer) error = {};
    if (error == beast::error::timeout || error == asio::error::operation_aborted) return End();
    if (error == http::error::partial_message || error == http::error::end_of_stream) return End();
    if (error) return Refuse(400, absl::StrCat("the body is not HTTP/1.1: ", error.message()));
    received_ += piece_->size() - parser_->get().body().size;
    if (received_ > shared_.options.max_body_bytes) return RefuseSize();
    const absl::Status added =
        decoder_->Add({piece_->data(), static_cast<size_t>(piece_->size() - parser_->get().body().size)});
    if (absl::IsResourceExhausted(added)) return RefuseSize();
    if (!added.ok()) return Refuse(400, std::string(added.message()));
    if (!HoldBody(decoder_->size())) {
      return Refuse(503, "bodies that arrive take all the memory for them, or this client's share of it; try again");
    }
    ReadBody();
  }

  void TakeRequest() {
    auto body = decoder_->Finish();
    decoder_.reset();
    piece_.reset();
    if (!body.ok()) return Refuse(400, std::string(body.status().message()));
    request_.body = *std::move(body);
    passed_ = true;
    Lowest().expires_never();
    const std::weak_ptr<Connection> weak = this->weak_from_this();
    const auto answer = [weak](HttpResponse response) {
      if (const auto self = weak.lock()) {
        asio::post(self->stream_.get_executor(), [self, response = std::move(response)]() mutable {
          if (self->ended_) return;
          self->cancel_ = nullptr;
          self->watch_.cancel();
          self->Send(std::move(response), /*close=*/false);
        });
      }
    };
    // `cancel_` is set before the reply is handled, because both happen in the connection's strand.
    try {
      cancel_ = shared_.handler.Handle(std::move(request_), answer);
    } catch (const std::exception& error) {  // a mistake of ours ends this request, not the server
      spdlog::error("an HTTP request was not handled: {}", error.what());
      return Send(shared_.handler.Error({}, 500, "the server failed to handle this request; its log says why"),
                  /*close=*/true);
    }
    ForgetBody();
    if (cancel_) Watch();
  }

  // Ends the connection when the client closes it. Nothing reads from the socket at this time, so this polls for it.
  void Watch() {
    watch_.expires_after(kLookForClient);
    watch_.async_wait([self = this->shared_from_this()](Error error) {
      if (error || !self->cancel_ || self->ended_) return;
      pollfd descriptor = {self->Lowest().socket().native_handle(), POLLRDHUP, 0};
      if (poll(&descriptor, 1, 0) > 0 && (descriptor.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) {
        return self->End();
      }
      self->Watch();
    });
  }

  void RefuseSize() {
    Refuse(413, absl::StrCat("the body is larger than the ", shared_.options.max_body_bytes, " bytes that are taken"));
  }
  void Refuse(int status, const std::string& message) {
    Send(shared_.handler.Error(request_, status, message), /*close=*/true);
  }

  void Send(HttpResponse answer, bool close) {
    passed_ = sender_.known;  // a stranger may ask much, and read none of it
    ForgetBody();
    decoder_.reset();
    keep_ = std::move(answer.keep);
    const auto& header = parser_->get();
    const bool keep_alive = !close && header.keep_alive() && !shared_.leaving && !shared_.stopping &&
                            absl::Now() - opened_ < shared_.options.max_connection_age;
    response_.emplace();
    response_->version(11);
    response_->result(static_cast<unsigned>(answer.status));
    response_->set(http::field::content_type, answer.content_type);
    for (const auto& [name, value] : answer.headers) response_->set(name, value);
    response_->keep_alive(keep_alive);
    if (answer.status != kNoContent) response_->content_length(answer.body.size());
    if (header.method() != http::verb::head) response_->body() = std::move(answer.body);
    ExpireAfter(shared_.options.request_timeout +
                absl::Seconds(static_cast<int64_t>(response_->body().size() / kSlowestReader)));
    http::async_write(stream_, *response_, [self = this->shared_from_this(), keep_alive, close](Error error, size_t) {
      self->response_.reset();
      self->keep_.reset();
      if (error) return self->End();
      if (keep_alive) return self->ReadHeader();
      if (close) return self->Linger();
      self->ShutDown();
    });
  }

  // Reads and discards what the client still sends, for a short time. Otherwise the connection would be reset before
  // the client has read the reply.
  void Linger() {
    passed_ = in_progress_ = false;
    Lowest().expires_after(kLinger);
    Error ignored;
    if constexpr (!kTls) Lowest().socket().shutdown(tcp::socket::shutdown_send, ignored);
    piece_ = std::make_unique<std::array<char, kBodyPiece>>();
    Discard();
  }
  void Discard() {
    stream_.async_read_some(asio::buffer(*piece_), [self = this->shared_from_this()](Error error, size_t) {
      if (error) return self->End();
      self->Discard();
    });
  }

  void ShutDown() {
    passed_ = false;
    if constexpr (kTls) {
      Lowest().expires_after(kLinger);
      stream_.async_shutdown([self = this->shared_from_this()](Error) { self->End(); });
    } else {
      Error ignored;
      Lowest().socket().shutdown(tcp::socket::shutdown_both, ignored);
      End();
    }
  }

  void End() {
    if (ended_) return;
    ended_ = true;
    watch_.cancel();
    if (auto cancel = std::exchange(cancel_, nullptr)) cancel();
    Lowest().close();
    gone_(this);
  }

  bool HoldBody(size_t bytes) {
    if (bytes <= held_) return true;
    if (!shared_.bodies.Take(sender_.id, bytes - held_)) return false;
    held_ = bytes;
    return true;
  }
  void ForgetBody() {
    shared_.bodies.Return(sender_.id, held_);
    held_ = 0;
    received_ = 0;
  }

  HttpShared& shared_;
  const std::function<void(HttpConnection*)> gone_;
  const absl::Time opened_ = absl::Now();
  Stream stream_;
  asio::steady_timer watch_;
  beast::flat_buffer buffer_{kMaxHeader + kBodyPiece};
  std::optional<http::request_parser<http::buffer_body>> parser_;
  std::unique_ptr<BodyDecoder> decoder_;
  std::unique_ptr<std::array<char, kBodyPiece>> piece_;
  std::optional<http::response<http::string_body>> response_;
  std::shared_ptr<void> keep_;  // of the response that is being written
  HttpRequest request_;
  std::string peer_address_, subject_;
  HttpHandler::Sender sender_;  // of the request in progress
  std::function<void()> cancel_;
  size_t received_ = 0, held_ = 0;
  bool in_progress_ = false;  // a request that was not refused, until its reply is sent
  bool ended_ = false;
};

}  // namespace

std::shared_ptr<HttpConnection> MakeHttpConnection(tcp::socket socket, HttpShared& shared, asio::ssl::context* tls,
                                                   std::function<void(HttpConnection*)> gone) {
  if (tls == nullptr) {
    return std::make_shared<Connection<beast::tcp_stream>>(shared, std::move(gone), std::move(socket));
  }
  return std::make_shared<Connection<beast::ssl_stream<beast::tcp_stream>>>(shared, std::move(gone), std::move(socket),
                                                                            *tls);
}

}  // namespace salient
