// A gRPC call made of raw HTTP/2 frames, by a client that does what one of the gRPC library does not: it never allows
// the server to send more than its first window, or it begins a message that it never ends.

#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
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
  // `timeout` is the header grpc-timeout; empty: none.
  void Call(std::string_view path, std::string_view message, uint16_t window, std::string_view timeout = "") {
    const std::string settings = std::string("\0\4", 2) + Store32(window);  // SETTINGS_INITIAL_WINDOW_SIZE
    Send(Begin(path, settings, timeout) + Frame(kData, kEndStream, 1, MessageHead(message.size()).append(message)));
  }

  // Sends a unary call to `path` on stream 1 with a message of `size` bytes, and stops before the last byte. Returns
  // how many bytes the server took: fewer if it ended the call, or did not allow more within `time`.
  size_t CallWithoutEnd(std::string_view path, size_t size, absl::Duration time) {
    constexpr size_t kFrameBytes = 16384;
    const absl::Time end = absl::Now() + time;
    Send(Begin(path, ""));
    std::string head = MessageHead(size);
    const size_t bytes = head.size() + size - 1;
    size_t sent = 0;
    while (sent < bytes) {
      const auto part = std::min(
          {static_cast<int64_t>(bytes - sent), static_cast<int64_t>(kFrameBytes), connection_window_, stream_window_});
      if (part <= 0) {
        if (!ReadFrame(end) || ended_) break;
        continue;
      }
      std::string payload = std::exchange(head, "");
      payload.resize(static_cast<size_t>(part), 'a');
      if (!socket_.Send(Frame(kData, 0, 1, payload))) break;
      sent += payload.size();
      connection_window_ -= part;
      stream_window_ -= part;
    }
    return sent;
  }

  // Whether the server has ended the call or the connection, as far as it has said so by now.
  bool Ended() {
    while (!ended_ && HasInput(absl::Now())) {
      if (!ReadFrame(absl::Now() + absl::Seconds(10))) ended_ = true;
    }
    return ended_;
  }

  // Waits until the server resets stream 1. Returns how many bytes of the reply came before that; none if `time`
  // passes. Settings and pings are answered meanwhile.
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
  static constexpr char kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kGoAway = 7, kWindowUpdate = 8;
  static constexpr char kAck = 1, kEndStream = 1, kEndHeaders = 4;

  static std::string Begin(std::string_view path, std::string_view settings, std::string_view timeout = "") {
    std::string headers;
    for (const auto& [name, value] : {std::pair<std::string_view, std::string_view>{":method", "POST"},
                                      {":scheme", "http"},
                                      {":path", path},
                                      {":authority", "localhost"},
                                      {"content-type", "application/grpc"},
                                      {"te", "trailers"},
                                      {"grpc-timeout", timeout}}) {
      if (value.empty()) continue;
      headers.append(1, '\0').append(Literal(name)).append(Literal(value));  // HPACK: a field that is not indexed
    }
    return std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .append(Frame(kSettings, 0, 0, settings))
        .append(Frame(kHeaders, kEndHeaders, 1, headers));
  }

  // What gRPC puts before a message that is not compressed.
  static std::string MessageHead(size_t size) {
    return std::string(1, '\0').append(Store32(static_cast<uint32_t>(size)));
  }

  // Takes in what it says of windows and ends. False at the end of the time or of the connection.
  bool ReadFrame(absl::Time end) {
    const std::optional<std::string> head = Receive(9, end);
    if (!head) return false;
    const std::optional<std::string> payload = Receive(Load32(*head) >> 8, end);
    if (!payload) return false;
    const char type = (*head)[3], flags = (*head)[4];
    const bool of_connection = Load32(head->substr(5)) == 0;
    if (type == kReset || type == kGoAway || (type == kHeaders && (flags & kEndStream))) ended_ = true;
    if (type == kWindowUpdate) (of_connection ? connection_window_ : stream_window_) += Load32(*payload);
    if (type == kPing && !(flags & kAck)) return socket_.Send(Frame(kPing, kAck, 0, *payload));
    if (type != kSettings || (flags & kAck)) return true;
    for (size_t at = 0; at + 6 <= payload->size(); at += 6) {
      if ((*payload)[at + 1] != 4) continue;  // SETTINGS_INITIAL_WINDOW_SIZE
      const int64_t window = Load32(payload->substr(at + 2));
      stream_window_ += window - std::exchange(first_stream_window_, window);
    }
    return socket_.Send(Frame(kSettings, kAck, 0, ""));
  }

  // Big-endian, 32 bits.
  static std::string Store32(uint32_t value) {
    return {static_cast<char>(value >> 24), static_cast<char>(value >> 16 & 0xff), static_cast<char>(value >> 8 & 0xff),
            static_cast<char>(value & 0xff)};
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
    std::string frame = Store32(static_cast<uint32_t>(payload.size())).substr(1);  // 24 bits
    frame += {type, flags, '\0', '\0', '\0', stream};
    return frame.append(payload);
  }

  void Send(std::string_view bytes) { EXPECT_TRUE(socket_.Send(bytes)); }
  bool HasInput(absl::Time end) const {
    pollfd descriptor = {socket_.descriptor(), POLLIN, 0};
    const int64_t left = std::max<int64_t>(0, absl::ToInt64Milliseconds(end - absl::Now()));
    return poll(&descriptor, 1, static_cast<int>(left)) > 0;
  }
  // Exactly so many bytes; none at the end of the time or of the connection.
  std::optional<std::string> Receive(size_t count, absl::Time end) {
    std::string bytes(count, '\0');
    for (size_t have = 0; have < count;) {
      if (!HasInput(end)) return std::nullopt;
      const ssize_t got = recv(socket_.descriptor(), bytes.data() + have, count - have, 0);
      if (got <= 0) return std::nullopt;
      have += got;
    }
    return bytes;
  }

  const LoopbackSocket socket_;
  int64_t connection_window_ = 65535, stream_window_ = 65535, first_stream_window_ = 65535;  // the server's
  bool ended_ = false;
};

}  // namespace salient
