// A gRPC call made of raw HTTP/2 frames, by a client that reads frames and never allows the server to send more than
// its first window. A client of the gRPC library would widen the window by itself.

#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/testing/loopback_socket.h"

namespace salient {

class Http2Client {
 public:
  explicit Http2Client(int port) : socket_(port) {}

  // Sends a unary call to `path` on stream 1 with a serialized message. The server may send `window` bytes of the
  // reply. `message` must fit into the server's first window (65,535 bytes) and into one frame (16,384 bytes).
  void Call(std::string_view path, std::string_view message, uint16_t window) {
    const std::string settings = std::string("\0\4", 2) + Store32(window);  // SETTINGS_INITIAL_WINDOW_SIZE
    std::string headers;
    for (const auto& [name, value] : {std::pair<std::string_view, std::string_view>{":method", "POST"},
                                      {":scheme", "http"},
                                      {":path", path},
                                      {":authority", "localhost"},
                                      {"content-type", "application/grpc"},
                                      {"te", "trailers"}}) {
      headers += std::string(1, '\0') + Literal(name) + Literal(value);  // HPACK: a field that is not indexed
    }
    std::string body(1, '\0');  // not compressed
    body += Store32(static_cast<uint16_t>(message.size()));
    body += message;
    Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, settings) +
         Frame(kHeaders, kEndHeaders, 1, headers) + Frame(kData, kEndStream, 1, body));
  }

  // Waits until the server resets stream 1. Returns how many bytes of the reply came before that; none if `time` passes.
  // Settings and pings are answered meanwhile.
  std::optional<size_t> WaitForReset(absl::Duration time) {
    const absl::Time end = absl::Now() + time;
    size_t bytes = 0;
    while (const std::optional<std::string> head = Receive(9, end)) {
      const uint32_t length = Load32(*head) >> 8;
      const char type = (*head)[3], flags = (*head)[4];
      const std::optional<std::string> payload = Receive(length, end);
      if (!payload) break;
      if (type == kReset) return bytes;
      if (type == kData) bytes += length;
      if (type == kSettings && !(flags & kAck)) Send(Frame(kSettings, kAck, 0, ""));
      if (type == kPing && !(flags & kAck)) Send(Frame(kPing, kAck, 0, *payload));
    }
    return std::nullopt;
  }

 private:
  static constexpr char kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6;
  static constexpr char kAck = 1, kEndStream = 1, kEndHeaders = 4;

  // Big-endian, 32 bits.
  static std::string Store32(uint16_t value) {
    return {'\0', '\0', static_cast<char>(value >> 8), static_cast<char>(value & 0xff)};
  }
  static uint32_t Load32(std::string_view bytes) {
    uint32_t value = 0;
    for (const unsigned char byte : bytes.substr(0, 4)) value = value << 8 | byte;
    return value;
  }
  static std::string Literal(std::string_view text) {
    EXPECT_LT(text.size(), 127u);
    return std::string(1, static_cast<char>(text.size())) + std::string(text);
  }
  static std::string Frame(char type, char flags, char stream, std::string_view payload) {
    std::string frame = Store32(static_cast<uint16_t>(payload.size())).substr(1);  // 24 bits
    frame += {type, flags, '\0', '\0', '\0', stream};
    return frame.append(payload);
  }

  void Send(std::string_view bytes) { EXPECT_TRUE(socket_.Send(bytes)); }
  // Exactly so many bytes; none at the end of the time or of the connection.
  std::optional<std::string> Receive(size_t count, absl::Time end) {
    std::string bytes(count, '\0');
    for (size_t have = 0; have < count;) {
      pollfd descriptor = {socket_.descriptor(), POLLIN, 0};
      const int64_t left = absl::ToInt64Milliseconds(end - absl::Now());
      if (left <= 0 || poll(&descriptor, 1, static_cast<int>(left)) <= 0) return std::nullopt;
      const ssize_t got = recv(socket_.descriptor(), bytes.data() + have, count - have, 0);
      if (got <= 0) return std::nullopt;
      have += got;
    }
    return bytes;
  }

  const LoopbackSocket socket_;
};

}  // namespace salient
