// A server of a folder of models, as it is delivered, with the real engine and tiny models of random weights: models
// come and go by SIGHUP while documents are translated.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"
#include "tests/client/process.h"

namespace salient {
namespace {

using States = std::map<std::string, std::string>;

constexpr char kDocument[] = "The old house stands at the river. She opened the window.\n";

class ModelsDirTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(models_);
    Put("first", "base");
    Put("second", "opus");
    server_ = std::make_unique<Process>(std::vector<std::string>{
        SALIENT_SERVER_PROGRAM, "--models-dir", models_, "--model-idle-seconds", "2", "--kv-memory", "4MiB", "--listen",
        "127.0.0.1:0", "--http", "off", "--admin", "off", "--threads", "1", "--ready-file", folder_ / "ready"});
    ASSERT_TRUE(server_->WaitForFile(folder_ / "ready")) << server_->err();
    address_ = nlohmann::json::parse(ReadFile(folder_ / "ready"))["grpc"];
  }

  // A tiny model under a name of its own, put there as docs/operating.md says.
  void Put(const std::string& name, const std::string& variant) const {
    const std::string hidden = models_ + "/." + name, folder = models_ + "/" + name;
    std::filesystem::copy(std::string(SALIENT_TINY_MODELS) + "/" + variant, hidden);
    nlohmann::json config = nlohmann::json::parse(ReadFile(hidden + "/config.json"));
    config["name"] = name;
    WriteFile(hidden + "/config.json", config.dump());
    std::filesystem::remove_all(folder);
    std::filesystem::rename(hidden, folder);
  }

  ProcessResult Translate(const std::string& model, const std::string& text = kDocument) const {
    return RunProgram({SALIENT_PROGRAM, "translate", "--server", address_, "--model", model}, text);
  }

  States StatesNow() const {
    States states;
    std::istringstream lines(RunProgram({SALIENT_PROGRAM, "models", "--server", address_, "--report", "json"}).out);
    for (std::string line; std::getline(lines, line);) {
      const nlohmann::json model = nlohmann::json::parse(line);
      states[model["name"]] = model["state"];
    }
    return states;
  }

  void WaitFor(const std::function<bool(const States&)>& holds) const {
    for (int i = 0; i < 600; ++i) {
      ASSERT_FALSE(server_->HasEnded()) << server_->err();
      if (holds(StatesNow())) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    FAIL() << ::testing::PrintToString(StatesNow()) << server_->err();
  }

  TempFolder folder_;
  const std::string models_ = folder_ / "models";
  std::unique_ptr<Process> server_;
  std::string address_;
};

TEST_F(ModelsDirTest, ModelsComeAndGoWithoutARestartAndNoDocumentIsLost) {
  const std::string first = Translate("first").out, second = Translate("second").out;
  EXPECT_FALSE(first.empty());
  EXPECT_NE(first, second);

  // Documents for the first model while the others change, and while it is replaced by one of the same weights.
  std::atomic<bool> over = false;
  std::atomic<int> translated = 0;
  std::thread client([&] {
    while (!over) {
      const ProcessResult result = Translate("first");
      EXPECT_EQ(result.exit_status, 0) << result.err;
      EXPECT_EQ(result.out, first);
      ++translated;
    }
  });
  Put("third", "base");
  std::filesystem::create_directories(models_ + "/broken");
  server_->Signal(SIGHUP);
  WaitFor([](const States& s) { return s.contains("third") && s.contains("broken") && s.at("broken") == "FAILED"; });
  EXPECT_EQ(Translate("third").out, first) << "the same weights under another name";
  EXPECT_NE(Translate("broken").exit_status, 0);

  std::filesystem::remove_all(models_ + "/broken");
  std::filesystem::remove_all(models_ + "/third");
  WriteFile(models_ + "/first/README.md", "# Another card\n\nThis is new.\n");
  server_->Signal(SIGHUP);
  WaitFor([](const States& s) { return !s.contains("third") && !s.contains("broken"); });
  WaitFor([&](const States&) {
    const std::string log = server_->err();
    return log.find("loaded first", log.find("loaded third")) != std::string::npos;
  });
  EXPECT_NE(Translate("third").exit_status, 0);
  const int before = translated;
  while (translated < before + 3) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  over = true;
  client.join();

  // Nobody asks: they are dropped, and loaded again for the next document, with the same result.
  WaitFor([](const States& s) { return s == States{{"first", "IDLE"}, {"second", "IDLE"}}; });
  EXPECT_EQ(Translate("second").out, second);
  server_->Signal(SIGTERM);
  EXPECT_EQ(server_->Wait().exit_status, 0);
}

}  // namespace
}  // namespace salient
