// An HTTP client that asks, and then leaves what it is told unread.

#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/loopback_socket.h"

namespace salient {

class UnreadReply {
 public:
  explicit UnreadReply(int port) : socket_(port) {}

  // Posts JSON, and returns the status line when the first bytes of the reply are there. A reply of 12 MiB or more does
  // not fit between server and client: the server keeps it.
  std::string Post(const std::string& path, const std::string& body, const std::string& key) {
    EXPECT_TRUE(socket_.Send("POST " + path + " HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + key +
                             "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                             "\r\n\r\n"));
    EXPECT_TRUE(socket_.Send(body));
    reply_.clear();
    while (reply_.find("\r\n") == std::string::npos && Receive(1)) {
    }
    return reply_.substr(0, reply_.find("\r\n"));
  }

  // Takes the rest, and returns the size of the reply's body.
  size_t Read() {
    while (reply_.find("\r\n\r\n") == std::string::npos && Receive(1)) {
    }
    const size_t head = reply_.find("\r\n\r\n") + 4;
    const size_t length = std::strtoul(reply_.substr(reply_.find("Content-Length: ") + 16, 20).c_str(), nullptr, 10);
    while (reply_.size() < head + length && Receive(1 << 20)) {
    }
    EXPECT_EQ(reply_.size(), head + length);
    return length;
  }

 private:
  bool Receive(size_t most) {
    std::vector<char> buffer(most);
    const ssize_t size = recv(socket_.descriptor(), buffer.data(), buffer.size(), 0);
    EXPECT_GT(size, 0) << "the server has closed the connection";
    if (size > 0) reply_.append(buffer.data(), static_cast<size_t>(size));
    return size > 0;
  }

  const LoopbackSocket socket_;
  std::string reply_;
};

}  // namespace salient
