// What a stranger may do to a listener: nothing.

#include "server/http/listener.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/loopback_socket.h"

namespace salient {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Client {
 public:
  explicit Client(int port) : socket_(port) {}

  bool Send(const std::string& bytes) { return socket_.Send(bytes); }
  // What comes until the server closes, `enough` has come, or nothing comes for a minute.
  std::string Read(const std::string& enough = "") {
    std::string text;
    char buffer[4096];
    pollfd descriptor = {socket_.descriptor(), POLLIN, 0};
    while (poll(&descriptor, 1, 60000) > 0) {
      const ssize_t size = recv(socket_.descriptor(), buffer, sizeof(buffer), 0);
      closed_ = size <= 0;
      if (closed_) break;
      text.append(buffer, static_cast<size_t>(size));
      if (!enough.empty() && text.find(enough) != std::string::npos) break;
    }
    return text;
  }
  bool closed() const { return closed_; }
  // Whether the server has closed a connection to which it sends nothing.
  bool IsClosed() const {
    char byte = 0;
    const ssize_t size = recv(socket_.descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return size == 0 || (size < 0 && errno != EAGAIN);
  }

 private:
  const LoopbackSocket socket_;
  bool closed_ = false;
};

class Echo final : public HttpHandler {
 public:
  std::variant<Sender, HttpResponse> Admit(const HttpRequest& request) override {
    if (request.header("X-Key") != "key") return HttpResponse{.status = 401, .body = "who are you?"};
    ++begun;
    return Sender{.id = request.header("X-Client"), .known = request.header("X-Key-In-Body").empty()};
  }
  std::function<void()> Handle(HttpRequest request, Reply reply) override {
    if (request.path == "/hold") {
      std::lock_guard lock(mutex);
      replies.push_back(std::move(reply));
      ++held;  // last: who has seen it may read `replies`
      return [this] { ++cancelled; };
    }
    if (request.path == "/none") {
      reply({.status = 204});
      return nullptr;
    }
    if (request.path == "/throw") throw std::runtime_error("a mistake");
    reply({.body = request.method + " " + request.path + " " + std::to_string(request.body.size())});
    return nullptr;
  }
  HttpResponse Error(const HttpRequest&, int status, const std::string& message) override {
    return {.status = status, .body = message};
  }

  std::atomic<int> begun = 0, held = 0, cancelled = 0;  // begun: a body may come
  std::mutex mutex;
  std::vector<Reply> replies;
};

class ListenerTest : public ::testing::Test {
 protected:
  void Start(HttpListenerOptions options = {}) {
    options.flag = "--http";
    options.address = "127.0.0.1:0";
    if (options.max_body_bytes == (1 << 20)) options.max_body_bytes = 1000;
    listener_ = std::make_unique<HttpListener>(options, echo_);
    const auto port = listener_->Start();
    ASSERT_TRUE(port.ok()) << port.status();
    port_ = *port;
  }
  std::string Ask(const std::string& request, const std::string& enough = "") {
    Client client(port_);
    client.Send(request);
    return client.Read(enough);
  }
  template <class Condition>
  static void WaitFor(Condition condition) {
    for (int i = 0; i < 60000 && !condition(); ++i) absl::SleepFor(absl::Milliseconds(1));
    EXPECT_TRUE(condition());
  }

  // A request and a part of its body, of 512 bytes together. The listener's only thread has read both at once when the
  // header is looked at, so it takes this part before any other client's.
  void SendUntilBegun(Client& client, const std::string& request) {
    ASSERT_LE(request.size(), 512u);
    const int begun = echo_.begun;
    client.Send(request);
    WaitFor([&] { return echo_.begun > begun; });
  }

  Echo echo_;
  std::unique_ptr<HttpListener> listener_;
  int port_ = 0;
};

constexpr char kKey[] = "Host: h\r\nX-Key: key\r\nConnection: close\r\n";
constexpr char kKeyInBody[] = "Host: h\r\nX-Key: key\r\nX-Key-In-Body: yes\r\n";

TEST_F(ListenerTest, Answers) {
  Start();
  EXPECT_THAT(Ask(std::string("GET /a%20b?c HTTP/1.1\r\n") + kKey + "\r\n"), HasSubstr("GET /a b 0"));
  EXPECT_THAT(Ask(std::string("POST / HTTP/1.1\r\n") + kKey + "Content-Length: 3\r\n\r\nabc"), HasSubstr("POST / 3"));
  EXPECT_THAT(
      Ask(std::string("POST / HTTP/1.1\r\n") + kKey + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
      HasSubstr("POST / 3"));
  EXPECT_THAT(Ask(std::string("POST / HTTP/1.1\r\n") + kKey + "Expect: 100-continue\r\nContent-Length: 0\r\n\r\n"),
              HasSubstr("POST / 0"));
}

TEST_F(ListenerTest, AnExceptionEndsTheRequestAndNotTheServer) {
  Start();
  const std::string answer = Ask(std::string("GET /throw HTTP/1.1\r\n") + kKey + "\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(answer, Not(HasSubstr("a mistake"))) << "which is for the log";
  EXPECT_THAT(Ask(std::string("GET /a HTTP/1.1\r\n") + kKey + "\r\n"), HasSubstr("GET /a 0"));
}

TEST_F(ListenerTest, KeepsAConnection) {
  Start();
  Client client(port_);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.Send("POST /x HTTP/1.1\r\nHost: h\r\nX-Key: key\r\nContent-Length: 2\r\n\r\nab"));
    EXPECT_THAT(client.Read("POST /x 2"), StartsWith("HTTP/1.1 200"));
  }
}

// Else a busy client would never find a server that was added, and would stay with one that drains until it is refused.
TEST_F(ListenerTest, AnOldConnectionEndsWithItsNextReply) {
  Start({.max_connection_age = absl::ZeroDuration()});
  EXPECT_THAT(Ask("GET /a HTTP/1.1\r\nHost: h\r\nX-Key: key\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\r\nConnection: close\r\n"), HasSubstr("GET /a 0")));
}

TEST_F(ListenerTest, EveryReplyIsTheLastOneOnceItLeaves) {
  Start();
  Client client(port_);
  for (const bool leaves : {false, true}) {
    if (leaves) listener_->Leave();
    ASSERT_TRUE(client.Send("GET /a HTTP/1.1\r\nHost: h\r\nX-Key: key\r\n\r\n"));
    const std::string reply = client.Read(leaves ? "" : "GET /a 0");
    EXPECT_THAT(reply, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("GET /a 0")));
    EXPECT_EQ(reply.find("\r\nConnection: close\r\n") != std::string::npos, leaves);
  }
  EXPECT_THAT(Ask("GET /b HTTP/1.1\r\nHost: h\r\nX-Key: key\r\n\r\n"), HasSubstr("GET /b 0"))
      << "new ones are answered";
}

// RFC 9110: such a response has no Content-Length.
TEST_F(ListenerTest, AResponseWithoutContentDoesNotSayHowLongItIs) {
  Start();
  Client client(port_);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(client.Send("DELETE /none HTTP/1.1\r\nHost: h\r\nX-Key: key\r\n\r\n"));
    const std::string response = client.Read("\r\n\r\n");
    EXPECT_THAT(response, StartsWith("HTTP/1.1 204 No Content\r\n"));
    EXPECT_THAT(response, Not(HasSubstr("Content-Length")));
    EXPECT_TRUE(response.ends_with("\r\n\r\n")) << response;
  }
}

TEST_F(ListenerTest, AHeadHasTheLengthOfTheBodyThatItLeavesOut) {
  Start();
  const std::string response = Ask(std::string("HEAD /a HTTP/1.1\r\n") + kKey + "\r\n");
  EXPECT_THAT(response, HasSubstr("\r\nContent-Length: 9\r\n"));
  EXPECT_TRUE(response.ends_with("\r\n\r\n")) << response;
}

TEST_F(ListenerTest, WhoMayNotIsToldBeforeItsBodyIsRead) {
  Start();
  for (const std::string framing : {"Content-Length: 400000000", "Transfer-Encoding: chunked"}) {
    Client client(port_);
    ASSERT_TRUE(client.Send("POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\n" + framing + "\r\n\r\n"));
    // Not a byte of a body was sent, and here is the answer.
    const std::string reply = client.Read("who are you?");
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 401")) << framing;
  }
}

TEST_F(ListenerTest, NoFramingPassesTheLimit) {
  Start();
  EXPECT_THAT(Ask(std::string("POST / HTTP/1.1\r\n") + kKey + "Content-Length: 1001\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  const std::string piece = "100\r\n" + std::string(256, 'a') + "\r\n";
  Client client(port_);
  client.Send(std::string("POST / HTTP/1.1\r\n") + kKey + "Transfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 4; ++i) client.Send(piece);  // 1,024 bytes, and no end
  EXPECT_THAT(client.Read(), StartsWith("HTTP/1.1 413"));
  EXPECT_TRUE(client.closed());
}

TEST_F(ListenerTest, RefusesWhatIsNotHttp) {
  Start();
  for (const std::string& request :
       {std::string("nonsense\r\n\r\n"), std::string("GET noslash HTTP/1.1\r\n\r\n"),
        std::string(40, '\0') + "\r\n\r\n", std::string("GET / HTTP/1.1\r\nX-Key: key\r\n\r\n"),
        std::string("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nX-Key: key\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\n") + kKey + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        std::string("POST / HTTP/1.1\r\n") + kKey + "Content-Length: -1\r\n\r\n",
        std::string("POST / HTTP/1.1\r\n") + kKey + "Transfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    EXPECT_THAT(Ask(request), StartsWith("HTTP/1.1 400")) << request;
  }
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\nX: " + std::string(20000, 'a') + "\r\n\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(Ask(std::string("POST / HTTP/1.1\r\n") + kKey + "Content-Encoding: zstd\r\nContent-Length: 1\r\n\r\n"),
              StartsWith("HTTP/1.1 415"));
}

// Its body would be taken for the next request: one that somebody else sent through the same proxy.
TEST_F(ListenerTest, ATransferCodingThatIsNotReadEndsTheConnection) {
  Start();
  for (const char* coding : {"identity", "xchunked", "chunked, identity", "gzip, chunked"}) {
    Client client(port_);
    client.Send(std::string("POST /first HTTP/1.1\r\nHost: h\r\nX-Key: key\r\nTransfer-Encoding: ") + coding +
                "\r\n\r\nPOST /second HTTP/1.1\r\n" + kKey + "\r\n");
    const std::string reply = client.Read();
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 501")) << coding;
    EXPECT_THAT(reply, HasSubstr(coding));
    EXPECT_THAT(reply, Not(HasSubstr("/second"))) << coding;
    EXPECT_TRUE(client.closed());
  }
}

TEST_F(ListenerTest, ASecondTransferCodingHidesNone) {
  Start();
  const auto ask = [this](const std::string& codings) {
    return Ask("POST /first HTTP/1.1\r\nHost: h\r\nX-Key: key\r\n" + codings + "\r\nPOST /second HTTP/1.1\r\n" + kKey +
               "\r\n");
  };
  const std::string chunked = "Transfer-Encoding: chunked\r\n", empty = "Transfer-Encoding:\r\n";
  for (const std::string& codings : {"Transfer-Encoding: chunked, gzip\r\n" + empty, empty, empty + chunked}) {
    const std::string reply = ask(codings);
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 501")) << codings;
    EXPECT_THAT(reply, Not(HasSubstr("/second"))) << codings;
  }
  EXPECT_THAT(ask(chunked + chunked), StartsWith("HTTP/1.1 400"));
}

TEST_F(ListenerTest, TricklingClientsAreClosed) {
  Start({.header_timeout = absl::Milliseconds(200), .request_timeout = absl::Milliseconds(300)});
  Client header(port_), body(port_), silent(port_);
  header.Send("GET / HTTP/1.1\r\nX-K");
  body.Send(std::string("POST / HTTP/1.1\r\n") + kKey + "Content-Length: 900\r\n\r\n");
  std::atomic<bool> stop = false;
  std::thread trickle([&] {  // a byte every 20 ms buys no time, or it would go on for ever
    while (!stop) {
      header.Send("a");
      body.Send("a");
      absl::SleepFor(absl::Milliseconds(20));
    }
  });
  for (Client* client : {&silent, &header, &body}) {
    client->Read();
    EXPECT_TRUE(client->closed());
  }
  stop = true;
  trickle.join();
}

TEST_F(ListenerTest, ThoseWhoSendNothingMakeRoom) {
  Start({.max_connections = 4});
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(std::make_unique<Client>(port_));
  EXPECT_THAT(Ask(std::string("GET / HTTP/1.1\r\n") + kKey + "\r\n"), StartsWith("HTTP/1.1 200"));
  WaitFor([&] {  // all but four
    return std::count_if(silent.begin(), silent.end(), [](const auto& client) { return client->IsClosed(); }) >= 16;
  });
}

TEST_F(ListenerTest, WhenAllAreBusyANewConnectionIsClosed) {
  Start({.max_connections = 2});
  Client first(port_), second(port_);
  for (Client* client : {&first, &second}) client->Send("POST /hold HTTP/1.1\r\nHost: h\r\nX-Key: key\r\n\r\n");
  WaitFor([&] { return echo_.held == 2; });
  Client third(port_);
  EXPECT_EQ(third.Read(), "");
  EXPECT_TRUE(third.closed());
  echo_.replies[0]({.body = "done"});
  echo_.replies[1]({.body = "done"});
  EXPECT_THAT(first.Read("done"), StartsWith("HTTP/1.1 200"));
}

// As many may send such a header as like to.
TEST_F(ListenerTest, WhoseBodyMustTellWhoTheyAreMakeRoom) {
  Start({.max_connections = 2});
  Client first(port_), second(port_);
  for (Client* client : {&first, &second}) {
    client->Send(std::string("POST / HTTP/1.1\r\n") + kKeyInBody + "Content-Length: 3\r\n\r\n");
  }
  WaitFor([&] { return echo_.begun == 2; });
  EXPECT_THAT(Ask(std::string("GET /a HTTP/1.1\r\n") + kKey + "\r\n"), HasSubstr("GET /a 0"));
  WaitFor([&] { return first.IsClosed(); });
  second.Send("abc");
  EXPECT_THAT(second.Read("POST / 3"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ListenerTest, ABodyThatMustTellWhoSendsItHasTheTimeOfAHeader) {
  Start({.header_timeout = absl::Milliseconds(200), .request_timeout = absl::Hours(1)});
  Client client(port_);
  client.Send(std::string("POST / HTTP/1.1\r\n") + kKeyInBody + "Content-Length: 3\r\n\r\nab");
  EXPECT_EQ(client.Read(), "");
  EXPECT_TRUE(client.closed());
}

TEST_F(ListenerTest, OnceItsBodyIsThereItIsNotClosedForAnother) {
  Start({.max_connections = 1});
  Client client(port_);
  client.Send(std::string("POST /hold HTTP/1.1\r\n") + kKeyInBody + "Content-Length: 3\r\n\r\nabc");
  WaitFor([&] { return echo_.held == 1; });
  Client other(port_);
  EXPECT_EQ(other.Read(), "");
  EXPECT_TRUE(other.closed());
  echo_.replies[0]({.body = "done"});
  EXPECT_THAT(client.Read("done"), StartsWith("HTTP/1.1 200"));
}

// Nor does it help a stranger to ask for what everybody may have, and not to read it.
TEST_F(ListenerTest, WhoReadsNoRepliesMakesRoomUnlessItIsKnown) {
  Start({.max_connections = 1});
  const auto reply_beside = [&](const std::string& header) {
    const size_t held = static_cast<size_t>(echo_.held);
    Client client(port_);
    client.Send("POST /hold HTTP/1.1\r\n" + header + "\r\n");
    WaitFor([&] { return static_cast<size_t>(echo_.held) > held; });
    echo_.replies[held]({.body = std::string(16 << 20, 'a')});
    EXPECT_THAT(client.Read("HTTP/1.1 200"), StartsWith("HTTP/1.1 200"));  // more than that fits into no socket
    return Ask(std::string("GET /a HTTP/1.1\r\n") + kKey + "\r\n");
  };
  EXPECT_THAT(reply_beside(kKeyInBody), HasSubstr("GET /a 0"));
  EXPECT_EQ(reply_beside(kKey), "");
}

TEST_F(ListenerTest, AClientThatLeavesIsNoticed) {
  Start();
  {
    Client client(port_);
    client.Send("POST /hold HTTP/1.1\r\nHost: h\r\nX-Key: key\r\n\r\n");
    WaitFor([&] { return echo_.held == 1; });
    EXPECT_EQ(echo_.cancelled, 0);
  }
  WaitFor([&] { return echo_.cancelled == 1; });
  echo_.replies[0]({.body = "too late"});  // nobody is there
}

TEST_F(ListenerTest, BodiesTogetherAreBounded) {
  Start({.threads = 1, .max_body_bytes = 400, .max_bodies_bytes = 600});
  Client first(port_), second(port_);
  for (Client* client : {&first, &second}) {
    SendUntilBegun(*client,
                   "POST / HTTP/1.1\r\nHost: h\r\nX-Key: key\r\nContent-Length: 400\r\n\r\n" + std::string(350, 'a'));
  }
  EXPECT_THAT(second.Read(), StartsWith("HTTP/1.1 503"));
  first.Send(std::string(50, 'a'));
  EXPECT_THAT(first.Read("POST / 400"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ListenerTest, AClientHasAShareOfTheMemoryForBodies) {
  Start({.threads = 1, .max_body_bytes = 1000, .max_bodies_bytes = 720});
  const auto begin = [this](Client& client, const char* name) {
    SendUntilBegun(client, absl::StrCat("POST / HTTP/1.1\r\nHost: h\r\nX-Key: key\r\nX-Client: ", name,
                                        "\r\nContent-Length: 300\r\n\r\n", std::string(299, 'a')));
  };
  Client first(port_), again(port_), other(port_);
  begin(first, "one");
  begin(again, "one");
  EXPECT_THAT(again.Read(), StartsWith("HTTP/1.1 503"));
  begin(other, "two");
  other.Send("a");
  EXPECT_THAT(other.Read("POST / 300"), StartsWith("HTTP/1.1 200"));
  first.Send("a");
  EXPECT_THAT(first.Read("POST / 300"), StartsWith("HTTP/1.1 200"));
}

TEST_F(ListenerTest, StopsInTimeAndReleasesThePort) {
  Start();
  Client idle(port_), busy(port_);
  busy.Send("POST /hold HTTP/1.1\r\nHost: h\r\nX-Key: key\r\n\r\n");
  WaitFor([&] { return echo_.held == 1; });
  std::thread replier([&] {
    WaitFor([&] { return idle.IsClosed(); });  // it stops
    echo_.replies[0]({.body = "done"});
  });
  listener_->Stop();
  replier.join();
  EXPECT_THAT(busy.Read(), HasSubstr("done"));
  EXPECT_EQ(idle.Read(), "");
}

TEST_F(ListenerTest, StopsWhileClientsArrive) {
  for (int i = 0; i < 100; ++i) {
    Start();
    std::vector<std::unique_ptr<Client>> clients;  // of which the last are accepted while the listener stops
    for (int n = 0; n < 1 + i % 10; ++n) clients.push_back(std::make_unique<Client>(port_));
    listener_->Stop();
  }
}

// Though it would make room for another one.
TEST_F(ListenerTest, StopsAfterTheReplyToASenderThatItsHeaderDoesNotTell) {
  Start();
  Client client(port_);
  client.Send(std::string("POST /hold HTTP/1.1\r\n") + kKeyInBody + "\r\n");
  WaitFor([&] { return echo_.held == 1; });
  echo_.replies[0]({.body = std::string(16 << 20, 'a') + "the end"});
  EXPECT_THAT(client.Read("HTTP/1.1 200"), StartsWith("HTTP/1.1 200"));
  std::thread stopper([&] { listener_->Stop(); });
  EXPECT_TRUE(client.Read().ends_with("the end"));
  stopper.join();
}

TEST(ListenerStartTest, SaysWhatIsWrongWithAnAddress) {
  Echo echo;
  HttpListener wrong({.flag = "--admin", .address = "nowhere"}, echo);
  EXPECT_THAT(wrong.Start().status().message(), HasSubstr("--admin: 'nowhere' is not HOST:PORT"));
  HttpListener first({.flag = "--http", .address = "127.0.0.1:0"}, echo);
  const auto port = first.Start();
  ASSERT_TRUE(port.ok());
  HttpListener second({.flag = "--http", .address = "127.0.0.1:" + std::to_string(*port)}, echo);
  EXPECT_THAT(second.Start().status().message(), HasSubstr("is the port taken"));
}

TEST_F(ListenerTest, WhatAResponseKeepsIsKeptUntilItIsWritten) {
  Start({.threads = 1});
  Client client(port_);
  client.Send(std::string("POST /hold HTTP/1.1\r\n") + kKey + "\r\n");
  WaitFor([&] { return echo_.held == 1; });
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = kept;
  echo_.replies[0]({.body = std::string(16 << 20, 'a') + "the end", .keep = std::move(kept)});
  EXPECT_THAT(client.Read("HTTP/1.1 200"), StartsWith("HTTP/1.1 200"));  // more than that fits into no socket
  EXPECT_THAT(Ask(std::string("GET /a HTTP/1.1\r\n") + kKey + "\r\n"), HasSubstr("GET /a 0"));  // by the one thread
  EXPECT_FALSE(watched.expired());
  EXPECT_TRUE(client.Read().ends_with("the end"));
  WaitFor([&] { return watched.expired(); });
}

TEST_F(ListenerTest, WhatAResponseKeepsIsLetGoOfIfTheClientLeaves) {
  Start();
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = kept;
  {
    Client client(port_);
    client.Send("POST /hold HTTP/1.1\r\nHost: h\r\nX-Key: key\r\n\r\n");
    WaitFor([&] { return echo_.held == 1; });
    echo_.replies[0]({.body = std::string(16 << 20, 'a'), .keep = std::move(kept)});
    EXPECT_THAT(client.Read("HTTP/1.1 200"), StartsWith("HTTP/1.1 200"));
  }
  WaitFor([&] { return watched.expired(); });
}

}  // namespace
}  // namespace salient
