// salient-server as a process, with the real engine, on an emulated GPU that fails for good while it translates.

#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "httplib.h"
#include "nlohmann/json.hpp"
#include "tests/client/process.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

class DeadEngineTest : public ::testing::Test {
 protected:
  // The device fails in the first translation. The start takes about 900 launches, the translation thousands.
  void Start(std::vector<std::string> flags) {
    setenv("SALIENT_TEST_FAIL_AFTER", "3000", 1);
    const std::string model = std::string(SALIENT_TINY_MODELS) + "/base", local = "127.0.0.1:0";
    flags.insert(flags.begin(), {SALIENT_DOOMED_SERVER, "--model", model, "--device", "cuda", "--listen", local,
                                 "--http", local, "--admin", local, "--threads", "1", "--max-rows", "16",
                                 "--kv-memory", "8MiB", "--guard", "off", "--ready-file", folder_ / "ready"});
    server_ = std::make_unique<Process>(flags);
    ASSERT_TRUE(server_->WaitForFile(folder_ / "ready")) << server_->err();
    const nlohmann::json ready = nlohmann::json::parse(ReadFile(folder_ / "ready"));
    http_ = std::make_unique<httplib::Client>("http://" + ready["http"].get<std::string>());
    admin_ = std::make_unique<httplib::Client>("http://" + ready["admin"].get<std::string>());
    http_->set_read_timeout(300);
    ASSERT_EQ(Get("/readyz").status, 200);
    ASSERT_TRUE(EngineIs("healthy"));
  }

  // A document long enough for the device to fail in it.
  int Translate() {
    std::string text;
    for (int i = 0; i < 20; ++i) text += "The old house stands at the river. She opened the window. ";
    const nlohmann::json request = {{"document", {{"text", text}}}};
    const auto response = http_->Post("/v1/translate", request.dump(), "application/json");
    return response ? response->status : 0;
  }

  httplib::Response Get(const std::string& path) const {
    const auto response = admin_->Get(path);
    return response ? *response : httplib::Response();
  }

  // What the metrics say.
  bool EngineIs(const std::string& state) const {
    const std::string sample = "salient_engine_state{model=\"tiny-base\",state=\"" + state + "\"} 1\n";
    return Get("/metrics").body.find(sample) != std::string::npos;
  }

  // Until it holds, for two minutes at most.
  static bool WaitUntil(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  TempFolder folder_;
  std::unique_ptr<Process> server_;
  std::unique_ptr<httplib::Client> http_, admin_;
};

TEST_F(DeadEngineTest, IsReportedAndTheServerStays) {
  ASSERT_NO_FATAL_FAILURE(Start({}));
  EXPECT_EQ(Translate(), 503);
  ASSERT_TRUE(WaitUntil([this] { return EngineIs("dead"); })) << server_->err();
  for (const char* probe : {"/readyz", "/healthz"}) {
    const httplib::Response said = Get(probe);
    EXPECT_EQ(said.status, 503) << probe;
    EXPECT_THAT(said.body, HasSubstr("the engine of tiny-base is dead")) << probe;
  }
  EXPECT_EQ(Translate(), 503) << "what comes later is refused";
  EXPECT_FALSE(server_->HasEnded());
  server_->Signal(SIGTERM);
  EXPECT_EQ(server_->Wait().exit_status, 0);
}

TEST_F(DeadEngineTest, EndsTheServerWithAStatusOfItsOwn) {
  ASSERT_NO_FATAL_FAILURE(Start({"--exit-when-dead", "--drain-delay", "5"}));
  EXPECT_EQ(Translate(), 503);
  bool was_not_ready = false, was_dead = false;
  ASSERT_TRUE(WaitUntil([&] {
    was_not_ready |= Get("/readyz").status == 503;
    was_dead |= EngineIs("dead");
    return server_->HasEnded();
  }));
  const ProcessResult result = server_->Wait();
  EXPECT_EQ(result.exit_status, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("an engine is dead (--exit-when-dead)"));
  EXPECT_TRUE(was_not_ready);
  EXPECT_TRUE(was_dead);
}

}  // namespace
}  // namespace salient
