// An HTTP exchange as values: what a listener reads, what a handler answers. Knows nothing of translation.

#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace salient {

struct HttpRequest {
  // Header names compare without case.
  struct NameLess {
    bool operator()(const std::string& a, const std::string& b) const;
  };

  std::string method;                        // "GET"
  std::string path;                          // decoded, without the query
  std::map<std::string, std::string> query;  // decoded; the last of a name counts
  std::map<std::string, std::string, NameLess> headers;
  std::string body;                 // unpacked (Content-Encoding); empty when the header is checked
  std::string peer_address;         // such as "127.0.0.1"
  std::string certificate_subject;  // of the client's certificate, RFC 2253; empty: it brought none

  // Empty where there is none.
  std::string header(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain";
  std::string body;
  std::map<std::string, std::string> headers;  // beside Content-Type and Content-Length
};

// Answers requests. Called from the listener's threads, several at once.
class HttpHandler {
 public:
  using Reply = std::function<void(HttpResponse)>;

  virtual ~HttpHandler() = default;

  // Of a request whose header has arrived and of whose body not one byte was read. A response refuses it: the body is
  // never kept.
  virtual std::optional<HttpResponse> Refuse(const HttpRequest& request) = 0;

  // Of a whole request that was not refused. `reply` is called once, now or later, from any thread. Returns what to do
  // if the client goes away before that; may be empty.
  virtual std::function<void()> Handle(HttpRequest request, Reply reply) = 0;

  // A response for what the listener refuses by itself, such as 413. Of the request it has what was read so far.
  virtual HttpResponse Error(const HttpRequest& request, int status, const std::string& message) = 0;
};

// Appends the fields of "a=1&b=%20", decoded, in their order (application/x-www-form-urlencoded). False where an escape
// is none.
using FormFields = std::vector<std::pair<std::string, std::string>>;
bool ParseForm(std::string_view form, FormFields& fields);

// Splits "/path%20x?a=1&b=2" into path and query, decoded. False where the target is not a path, or an escape is none.
bool ParseTarget(std::string_view target, HttpRequest& request);

}  // namespace salient
