// HTTP requests and responses as values, and the interface of handlers. Independent of translation.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace salient {

struct HttpRequest {
  // Header names are compared case-insensitively.
  struct NameLess {
    bool operator()(const std::string& a, const std::string& b) const;
  };

  std::string method;                             // "GET"
  std::string path;                               // decoded, without the query
  std::multimap<std::string, std::string> query;  // decoded; the values of a name are in their order
  std::map<std::string, std::string, NameLess> headers;
  std::string body;                 // decompressed; empty in Admit
  std::string peer_address;         // such as "127.0.0.1"
  std::string certificate_subject;  // of the client's certificate, RFC 2253; empty: none

  // Empty if there is no such header.
  std::string header(const std::string& name) const;
  // Of a name with several values the last. Nothing if the query has no such name.
  std::optional<std::string> query_value(const std::string& name) const;
  // Whether its header says that a body follows.
  bool has_body() const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain";
  std::string body;
  std::map<std::string, std::string> headers;  // except Content-Type and Content-Length
  std::shared_ptr<void> keep;                  // let go of when the response is written, or the client is gone
};

// Answers requests. Called from the listener's threads, several at a time.
class HttpHandler {
 public:
  using Reply = std::function<void(HttpResponse)>;

  virtual ~HttpHandler() = default;

  // Who sends a request, as far as its header tells.
  struct Sender {
    std::string id;      // the bodies of one sender take at most its share of the memory for bodies that arrive
    bool known = false;  // false: anybody may send such a header; Handle looks for the key in the body, or needs none
  };
  // Called when the header of a request has arrived, before its body is read. A response refuses the request; its body
  // is not stored.
  virtual std::variant<Sender, HttpResponse> Admit(const HttpRequest& request) = 0;

  // Called with a complete request that was not refused. Must call `reply` once, now or later, from any thread. Returns
  // a function that is called if the client disconnects before that; may be empty.
  virtual std::function<void()> Handle(HttpRequest request, Reply reply) = 0;

  // The response to a request that the listener refuses by itself, such as 413. If the header could not be read,
  // `request` has only the peer's address and certificate.
  virtual HttpResponse Error(const HttpRequest& request, int status, const std::string& message) = 0;
};

// Decodes escapes such as %20. False if one is invalid.
bool DecodeEscapes(std::string_view text, bool plus_is_space, std::string& decoded);

// Appends the fields of "a=1&b=%20" (application/x-www-form-urlencoded), decoded and in their order. False if an escape
// is invalid.
using FormFields = std::vector<std::pair<std::string, std::string>>;
bool ParseForm(std::string_view form, FormFields& fields);

// Splits "/path%20x?a=1&b=2" into path and query, decoded; also "http://host/path?a=1", as a proxy may ask for it.
// False if the target is something else, or an escape is invalid.
bool ParseTarget(std::string_view target, HttpRequest& request);

}  // namespace salient
