// A server with --compat, and an HTTP client for it.

#pragma once

#include <memory>
#include <string>

#include "httplib.h"
#include "nlohmann/json.hpp"
#include "tests/server/test_server.h"
#include "tests/testing/temp_folder.h"

namespace salient {

constexpr char kTestKey[] = "a-key-of-the-test-0123";

// Access that asks for kTestKey.
inline std::shared_ptr<const Access> AccessWithKey() {
  const TempFolder folder;
  WriteFile(folder / "keys", std::string(kTestKey) + " name=tester\n");
  auto access = Access::Open({.api_keys = folder / "keys"});
  EXPECT_TRUE(access.ok()) << access.status();
  return *access;
}

class CompatServer : public TestServer {
 public:
  explicit CompatServer(const FakeEngineOptions& options = {}, int64_t max_document_bytes = 4 << 20,
                        std::shared_ptr<const Access> access = std::make_shared<Access>())
      : CompatServer(options, {.access = std::move(access), .max_document_bytes = max_document_bytes}) {}
  CompatServer(const FakeEngineOptions& options, ServerOptions server)
      : TestServer(options, WithCompat(std::move(server))) {
    Start();
  }

  httplib::Client Client() const {
    httplib::Client client("127.0.0.1", http_port());
    client.set_read_timeout(60);
    return client;
  }

  httplib::Response Post(const std::string& path, const nlohmann::json& body,
                         const httplib::Headers& headers = {}) const {
    return Take(Client().Post(path.c_str(), headers, body.dump(), "application/json"));
  }
  httplib::Response PostForm(const std::string& path, const std::string& form,
                             const httplib::Headers& headers = {}) const {
    return Take(Client().Post(path.c_str(), headers, form, "application/x-www-form-urlencoded"));
  }
  httplib::Response PostFile(const std::string& path, const httplib::MultipartFormDataItems& items,
                             const httplib::Headers& headers = {}) const {
    return Take(Client().Post(path.c_str(), headers, items));
  }
  httplib::Response Get(const std::string& path, const httplib::Headers& headers = {}) const {
    return Take(Client().Get(path.c_str(), headers));
  }

  static nlohmann::json Json(const httplib::Response& response) {
    return nlohmann::json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  }

 private:
  static ServerOptions WithCompat(ServerOptions options) {
    options.compat = true;
    return options;
  }
  // Fails the test rather than crash where there is no answer.
  static httplib::Response Take(const httplib::Result& result) {
    EXPECT_TRUE(result) << "no answer: " << result.error();
    return result ? *result : httplib::Response();
  }
};

}  // namespace salient
