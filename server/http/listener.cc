#include "server/http/listener.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "boost/asio/executor_work_guard.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/asio/strand.hpp"
#include "server/http/connection.h"

namespace salient {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using Error = boost::system::error_code;

constexpr std::chrono::seconds kClosing(2);
constexpr std::chrono::milliseconds kAfterFailedAccept(100);  // for example, with no descriptors left

struct Address {
  std::string host, port;
};

absl::StatusOr<Address> SplitAddress(const std::string& flag, const std::string& address) {
  const size_t colon = address.rfind(':');
  int port = -1;
  if (colon == std::string::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 0 || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": '", address, "' is not HOST:PORT, such as 0.0.0.0:8080 or [::]:8080"));
  }
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return Address{host.empty() ? "0.0.0.0" : host, std::to_string(port)};
}

}  // namespace

class HttpListener::Impl {
 public:
  Impl(const HttpListenerOptions& options, HttpHandler& handler)
      : shared_{options, handler}, acceptor_(asio::make_strand(io_)), pause_(acceptor_.get_executor()) {}
  ~Impl() { Stop(); }

  absl::StatusOr<int> Start() {
    const HttpListenerOptions& options = shared_.options;
    auto address = SplitAddress(options.flag, options.address);
    if (!address.ok()) return address.status();
    if (options.set_up_tls) {
      tls_.emplace(asio::ssl::context::tls_server);
      options.set_up_tls(*tls_->native_handle());
    }
    Error error;
    tcp::resolver resolver(io_);
    const auto found = resolver.resolve(address->host, address->port, tcp::resolver::passive, error);
    if (!error) Bind(found.begin()->endpoint(), error);
    if (error) {
      return absl::UnavailableError(absl::StrCat(options.flag, ": cannot listen on ", options.address, " (",
                                                 error.message(),
                                                 "); is the port taken, or the address not this machine's?"));
    }
    const int port = acceptor_.local_endpoint().port();
    Accept();
    for (int i = 0; i < std::max(options.threads, 1); ++i) threads_.emplace_back([this] { io_.run(); });
    return port;
  }

  void Leave() { shared_.leaving = true; }

  void Stop() {
    if (threads_.empty()) return;
    shared_.stopping = true;
    asio::post(acceptor_.get_executor(), [this] {
      Error ignored;
      acceptor_.close(ignored);
      pause_.cancel();
    });
    ForEach([](HttpConnection& connection) { connection.CloseWhenIdle(); });
    WaitUntilEmpty();
    ForEach([](HttpConnection& connection) { connection.Close(); });
    WaitUntilEmpty();
    io_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void Bind(const tcp::endpoint& endpoint, Error& error) {
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  }

  void Accept() {
    acceptor_.async_accept(asio::make_strand(io_), [this](Error error, tcp::socket socket) {
      if (shared_.stopping || error == asio::error::operation_aborted) return;
      if (error) return AcceptLater();
      Add(std::move(socket));
      Accept();
    });
  }

  void AcceptLater() {
    pause_.expires_after(kAfterFailedAccept);
    pause_.async_wait([this](Error error) {
      if (!error) Accept();
    });
  }

  void Add(tcp::socket socket) {
    Error ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    std::shared_ptr<HttpConnection> connection, evicted;
    {
      std::lock_guard lock(mutex_);
      if (static_cast<int>(connections_.size()) >= shared_.options.max_connections) {
        const auto oldest =
            std::find_if(connections_.begin(), connections_.end(), [](const auto& one) { return !one->passed(); });
        if (oldest == connections_.end()) return;  // without accepting: the socket is closed
        evicted = *oldest;
        connections_.erase(oldest);
      }
      connection = MakeHttpConnection(std::move(socket), shared_, tls_.has_value() ? &*tls_ : nullptr,
                                      [this](HttpConnection* one) { Remove(one); });
      connections_.push_back(connection);
    }
    if (evicted != nullptr) evicted->Close();
    connection->Begin();
  }

  void Remove(HttpConnection* connection) {
    std::lock_guard lock(mutex_);
    connections_.remove_if([connection](const auto& one) { return one.get() == connection; });
    if (connections_.empty()) empty_.notify_all();
  }

  template <class Visit>
  void ForEach(Visit visit) {
    std::lock_guard lock(mutex_);
    for (const auto& connection : connections_) visit(*connection);
  }

  void WaitUntilEmpty() {
    std::unique_lock lock(mutex_);
    empty_.wait_for(lock, kClosing, [this] { return connections_.empty(); });
  }

  HttpShared shared_;
  std::optional<asio::ssl::context> tls_;
  asio::io_context io_;
  tcp::acceptor acceptor_;  // with a strand of its own: Stop() closes it while a connection may be accepted
  asio::steady_timer pause_;
  std::mutex mutex_;
  std::condition_variable empty_;
  std::list<std::shared_ptr<HttpConnection>> connections_;  // oldest first
  std::vector<std::thread> threads_;
};

HttpListener::HttpListener(const HttpListenerOptions& options, HttpHandler& handler)
    : impl_(std::make_unique<Impl>(options, handler)) {}
HttpListener::~HttpListener() = default;
absl::StatusOr<int> HttpListener::Start() { return impl_->Start(); }
void HttpListener::Leave() { impl_->Leave(); }
void HttpListener::Stop() { impl_->Stop(); }

}  // namespace salient
