// Several models in one server: loaded, replaced, unloaded and dropped while it runs. A folder's model is a fake engine
// whose name and target language are in its config.json.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "httplib.h"
#include "nlohmann/json.hpp"
#include "server/models/folder_print.h"
#include "tests/server/test_server.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

// Polls, since loads and unloads are nobody's reply.
void Eventually(const std::function<bool()>& holds, const char* what) {
  for (int i = 0; i < 12000; ++i) {
    if (holds()) return;
    absl::SleepFor(absl::Milliseconds(5));
  }
  FAIL() << "this never came: " << what;
}

// A folder of model folders, and what opens them.
class Folders {
 public:
  const std::string& path() const { return path_; }
  void Write(const std::string& folder, const std::string& name, const std::string& to = "de") const {
    std::filesystem::create_directories(path_ + "/" + folder);
    std::ofstream(path_ + "/" + folder + "/config.json") << name << " " << to;
  }
  void Remove(const std::string& folder) const { std::filesystem::remove_all(path_ + "/" + folder); }

  ModelSources Sources(absl::Duration idle = absl::InfiniteDuration()) {
    ModelSources sources;
    sources.folder = path_;
    sources.idle = idle;
    sources.options.max_queued_documents = 2;
    sources.open = [this](const EngineOptions& options, EngineObserver*) { return Open(options); };
    return sources;
  }

  void OpenByHand() { automatic_ = false; }  // the engines that follow are held in the test's hand
  void Hold() { held_ = true; }
  void LetGo() { held_ = false; }
  int opened() const { return opened_; }
  // The last one that was opened for this folder.
  FakeEngine& engine(const std::string& folder) {
    std::lock_guard lock(mutex_);
    return *engines_.at(folder);
  }

 private:
  absl::StatusOr<std::unique_ptr<Engine>> Open(const EngineOptions& options) {
    while (held_) absl::SleepFor(absl::Milliseconds(1));
    ++opened_;
    std::ifstream file(options.model_folder + "/config.json");
    FakeEngineOptions fake{.automatic = automatic_};
    if (!(file >> fake.name >> fake.target_language)) {
      return absl::NotFoundError(absl::StrCat(options.model_folder, "/config.json: there is no such file"));
    }
    auto engine = std::make_unique<FakeEngine>(fake);
    std::lock_guard lock(mutex_);
    engines_[std::filesystem::path(options.model_folder).filename()] = engine.get();
    return engine;
  }

  const TempFolder temp_;
  const std::string& path_ = temp_.path();
  std::atomic<bool> held_ = false, automatic_ = true;
  std::atomic<int> opened_ = 0;
  std::mutex mutex_;
  std::map<std::string, FakeEngine*> engines_;
};

// A server of these folders, and a client.
class ModelsServer {
 public:
  explicit ModelsServer(ModelSources sources) : server_(OnFreePorts(std::move(sources))) {
    EXPECT_TRUE(server_.StartHttp().ok());
  }
  absl::Status Load() { return server_.LoadModels(); }
  ModelsServer& Start() {
    EXPECT_TRUE(Load().ok());
    EXPECT_TRUE(server_.StartGrpc().ok());
    channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_.grpc_port()), grpc::InsecureChannelCredentials());
    stub_ = v1::Translation::NewStub(channel_);
    return *this;
  }

  Server& server() { return server_; }
  v1::Translation::Stub& stub() { return *stub_; }
  const std::shared_ptr<grpc::Channel>& channel() { return channel_; }

  std::map<std::string, std::string> States() {
    grpc::ClientContext context;
    v1::ListModelsResponse models;
    EXPECT_TRUE(stub_->ListModels(&context, {}, &models).ok());
    std::map<std::string, std::string> states;
    for (const v1::Model& model : models.models()) states[model.name()] = v1::Model::State_Name(model.state());
    return states;
  }
  void WaitForStates(const std::map<std::string, std::string>& states) {
    Eventually([&] { return States() == states; }, ::testing::PrintToString(states).c_str());
  }
  grpc::Status Translate(const std::string& model, v1::TranslateDocumentResponse* reply = nullptr,
                         grpc::ClientContext* context = nullptr) {
    grpc::ClientContext own;
    v1::TranslateDocumentResponse ignored;
    v1::TranslateDocumentRequest request = RequestFor("text");
    request.set_model(model);
    return stub_->TranslateDocument(context != nullptr ? context : &own, request, reply != nullptr ? reply : &ignored);
  }
  std::string Get(const std::string& path) {
    return httplib::Client("127.0.0.1", server_.admin_port()).Get(path)->body;
  }
  int StatusOf(const std::string& path) { return httplib::Client("127.0.0.1", server_.admin_port()).Get(path)->status; }
  int Reload() { return httplib::Client("127.0.0.1", server_.admin_port()).Post("/models/reload")->status; }
  // What the last reload found is loaded: reloads come one after the other, and this is the last.
  void ReloadAndWait(const Folders& folders) {
    const std::string marker = absl::StrCat("marker-", folders.opened());
    folders.Write(marker, marker, "xx");
    ASSERT_EQ(Reload(), 202);
    Eventually([&] { return States()[marker] == "SERVING"; }, "the end of a reload");
    folders.Remove(marker);
    ASSERT_EQ(Reload(), 202);
    Eventually([&] { return !States().contains(marker); }, "the end of a second reload");
  }

 private:
  static ServerOptions OnFreePorts(ModelSources sources) {
    ServerOptions options{.models = std::move(sources)};
    options.listen = options.http = options.admin = "127.0.0.1:0";
    return options;
  }

  Server server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Translation::Stub> stub_;
};

TEST(ModelsDirTest, EveryFolderIsAModelAndOneThatFailsLeavesTheOthersAlone) {
  Folders folders;
  folders.Write("one", "en-de");
  folders.Write("two", "en-pt", "pt");
  folders.Write(".hidden", "hidden");
  std::filesystem::create_directories(folders.path() + "/lost+found");  // where the folder is an ext4 volume's root
  std::filesystem::create_directories(folders.path() + "/broken");
  std::ofstream(folders.path() + "/a-file") << "no model";
  ModelsServer server(folders.Sources());
  server.Start();
  EXPECT_EQ(server.States(),
            (std::map<std::string, std::string>{{"en-de", "SERVING"}, {"en-pt", "SERVING"}, {"broken", "FAILED"}}));
  EXPECT_EQ(server.StatusOf("/readyz"), 200);
  EXPECT_TRUE(server.Translate("en-pt").ok());
  const grpc::Status broken = server.Translate("broken");
  EXPECT_EQ(broken.error_code(), grpc::StatusCode::INTERNAL) << "of UNAVAILABLE clients would try again for a minute";
  EXPECT_THAT(broken.error_message(), HasSubstr("'broken' could not be loaded"));
  EXPECT_THAT(broken.error_message(), Not(HasSubstr(folders.path()))) << "paths are no business of clients";

  const auto told = nlohmann::json::parse(server.Get("/models"))["models"];
  ASSERT_EQ(told.size(), 3);
  for (const auto& model : told) {
    EXPECT_EQ(model.contains("failure"), model["name"] == "broken") << model;
  }
  EXPECT_THAT(server.Get("/models"), HasSubstr("/broken/config.json: there is no such file"));
  const std::string metrics = server.Get("/metrics");
  EXPECT_THAT(metrics, HasSubstr("salient_model_state{model=\"en-pt\",state=\"serving\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("salient_model_state{model=\"broken\",state=\"failed\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("salient_model_loads_total{model=\"broken\",outcome=\"failed\"} 1"));
  EXPECT_THAT(metrics, HasSubstr("salient_model_load_failed{model=\"en-pt\"} 0"));
  EXPECT_THAT(metrics, HasSubstr("salient_model_load_failed{model=\"broken\"} 1"));
  // The folder's name was the model's until that was known.
  EXPECT_THAT(metrics, Not(HasSubstr("{model=\"one\"")));
}

TEST(ModelsDirTest, AFolderThatIsNamedMustLoad) {
  Folders folders;
  ModelSources sources = folders.Sources();
  sources.models = {{.model_folder = folders.path() + "/none"}};
  EXPECT_FALSE(ModelsServer(sources).Load().ok());
  sources = folders.Sources();
  sources.folder = folders.path() + "/none";
  const absl::Status status = ModelsServer(sources).Load();
  EXPECT_THAT(std::string(status.message()), HasSubstr("--models-dir"));
}

TEST(ModelsDirTest, AReloadLoadsNewFoldersAndUnloadsThoseThatAreGone) {
  Folders folders;
  folders.OpenByHand();
  folders.Write("one", "en-de");
  ModelsServer server(folders.Sources());
  server.Start();
  v1::TranslateDocumentResponse reply;
  grpc::Status status;
  std::thread caller([&] { status = server.Translate("en-de", &reply); });
  FakeEngine& engine = folders.engine("one");
  engine.WaitForAdmitted(1);
  folders.Remove("one");
  folders.Write("two", "en-pt", "pt");
  EXPECT_EQ(server.Reload(), 202);
  server.WaitForStates({{"en-pt", "SERVING"}});
  EXPECT_EQ(server.Translate("en-de").error_code(), grpc::StatusCode::NOT_FOUND);
  engine.Finish(0);  // what it has begun it ends
  caller.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.text(), "TEXT");
  EXPECT_THAT(server.Get("/metrics"), Not(HasSubstr("salient_model_state{model=\"en-de\"")));
}

TEST(ModelsDirTest, AFolderOfOtherContentsReplacesTheModelAndLosesNoDocument) {
  Folders folders;
  folders.OpenByHand();
  folders.Write("one", "en-de");
  ModelsServer server(folders.Sources());
  server.Start();
  FakeEngine& old = folders.engine("one");
  grpc::Status first, second;
  v1::TranslateDocumentResponse first_reply, second_reply;
  std::thread before([&] { first = server.Translate("en-de", &first_reply); });
  old.WaitForAdmitted(1);
  folders.Write("one", "en-de", "de-AT");
  server.ReloadAndWait(folders);
  FakeEngine& now = folders.engine("one");
  ASSERT_NE(&now, &old);
  std::thread after([&] { second = server.Translate("en-de", &second_reply); });
  now.WaitForAdmitted(1);
  EXPECT_EQ(old.admitted(), 1);
  old.Finish(0);
  now.Finish(0);
  before.join();
  after.join();
  EXPECT_TRUE(first.ok()) << first.error_message();
  EXPECT_TRUE(second.ok()) << second.error_message();
  EXPECT_EQ(first_reply.text(), "TEXT");
}

TEST(ModelsDirTest, OnlyContentsCount) {
  Folders folders;
  folders.Write("one", "en-de");
  ModelsServer server(folders.Sources());
  server.Start();
  const FakeEngine* const engine = &folders.engine("one");
  folders.Write("one", "en-de");  // the same, at another time
  server.ReloadAndWait(folders);
  EXPECT_EQ(&folders.engine("one"), engine);
  folders.Write("one", "en-de", "nl");
  server.ReloadAndWait(folders);
  EXPECT_NE(&folders.engine("one"), engine);
}

TEST(ModelsDirTest, WhatReplacesAModelAndDoesNotLoadLeavesItAsItWas) {
  Folders folders;
  folders.Write("one", "en-de");
  ModelsServer server(folders.Sources());
  server.Start();
  std::ofstream(folders.path() + "/one/config.json") << "";
  server.ReloadAndWait(folders);
  EXPECT_EQ(server.States()["en-de"], "SERVING");
  EXPECT_TRUE(server.Translate("en-de").ok());
  EXPECT_THAT(server.Get("/models"), HasSubstr("failure"));
  EXPECT_THAT(server.Get("/metrics"), HasSubstr("salient_model_load_failed{model=\"en-de\"} 1"));
  folders.Write("one", "en-de");
  server.ReloadAndWait(folders);
  EXPECT_THAT(server.Get("/models"), Not(HasSubstr("failure")));
  EXPECT_THAT(server.Get("/metrics"), HasSubstr("salient_model_load_failed{model=\"en-de\"} 0"));
}

TEST(ModelsDirTest, TwoFoldersOfOneNameAreNotBothServed) {
  Folders folders;
  folders.Write("a", "en-de");
  folders.Write("b", "en-de");
  ModelsServer server(folders.Sources());
  server.Start();
  EXPECT_EQ(server.States(), (std::map<std::string, std::string>{{"en-de", "SERVING"}, {"b", "FAILED"}}));
  EXPECT_THAT(server.Get("/models"), HasSubstr("as another folder does"));
}

TEST(ModelsDirTest, AFolderThatCannotBeListedChangesNothing) {
  Folders folders;
  folders.Write("one", "en-de");
  ModelsServer server(folders.Sources());
  server.Start();
  std::filesystem::rename(folders.path(), folders.path() + ".away");  // a mount that is gone
  EXPECT_EQ(server.Reload(), 202);
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_TRUE(server.Translate("en-de").ok());
  std::filesystem::rename(folders.path() + ".away", folders.path());
  server.ReloadAndWait(folders);
  EXPECT_EQ(folders.opened(), 2) << "en-de once, and the marker of ReloadAndWait";
}

TEST(ModelsDirTest, WithoutModelsTheServerIsNotReadyAndAReloadMakesItSo) {
  Folders folders;
  ModelsServer server(folders.Sources());
  server.Start();
  EXPECT_EQ(server.StatusOf("/readyz"), 503);
  EXPECT_EQ(server.StatusOf("/healthz"), 200);
  folders.Write("one", "en-de");
  EXPECT_EQ(server.Reload(), 202);
  server.WaitForStates({{"en-de", "SERVING"}});
  EXPECT_EQ(server.StatusOf("/readyz"), 200);
}

TEST(ModelsDirTest, ThereIsNothingToReloadWithoutAFolder) {
  TestServer server;
  server.Start();
  httplib::Client admin("127.0.0.1", server.admin_port());
  EXPECT_EQ(admin.Post("/models/reload")->status, 400);
  EXPECT_EQ(admin.Get("/models/reload")->status, 404);
}

class IdleTest : public ::testing::Test {
 protected:
  // A server whose only model has been dropped from memory, since nobody asked for it.
  void SetUp() override {
    folders_.Write("one", "en-de");
    server_.Start();
    server_.WaitForStates({{"en-de", "IDLE"}});
    ASSERT_EQ(folders_.opened(), 1);
  }

  Folders folders_;
  ModelsServer server_{folders_.Sources(absl::Milliseconds(200))};
};

TEST_F(IdleTest, TheNextRequestLoadsItAndOthersWaitForTheSameLoad) {
  EXPECT_EQ(server_.StatusOf("/readyz"), 200) << "it is loaded when it is asked for";
  EXPECT_THAT(server_.Get("/metrics"), HasSubstr("salient_model_state{model=\"en-de\",state=\"idle\"} 1"));
  folders_.Hold();
  std::vector<std::thread> callers;
  std::atomic<int> translated = 0;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back([&] {
      v1::TranslateDocumentResponse reply;
      const grpc::Status status = server_.Translate("en-de", &reply);
      EXPECT_TRUE(status.ok()) << status.error_message();
      translated += reply.text() == "TEXT";
    });
  }
  Eventually([&] { return server_.server().translator().in_flight().size() == 2; }, "two documents that wait");
  EXPECT_EQ(server_.States()["en-de"], "LOADING");
  Eventually([&] { return absl::StrContains(server_.Get("/metrics"), "salient_requests_waiting{model=\"en-de\"} 2"); },
             "the gauge of those who wait");

  // The queue is full.
  const grpc::Status third = server_.Translate("en-de");
  EXPECT_EQ(third.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(third.error_message(), HasSubstr("wait until the model is loaded"));

  folders_.LetGo();
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(translated, 2);
  EXPECT_EQ(folders_.opened(), 2);
  EXPECT_THAT(server_.Get("/metrics"), HasSubstr("salient_model_loads_total{model=\"en-de\",outcome=\"ok\"} 2"));
}

TEST_F(IdleTest, ItIsKeptWhileItTranslates) {
  folders_.OpenByHand();
  grpc::Status status;
  std::thread caller([&] { status = server_.Translate("en-de"); });
  Eventually([&] { return folders_.opened() == 2 && server_.States()["en-de"] == "SERVING"; }, "the load");
  absl::SleepFor(absl::Milliseconds(500));
  EXPECT_EQ(server_.States()["en-de"], "SERVING");
  folders_.engine("one").Finish(0);
  caller.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  server_.WaitForStates({{"en-de", "IDLE"}});
}

TEST_F(IdleTest, WaitingIsBoundedByTheDeadline) {
  folders_.Hold();
  httplib::Client http("127.0.0.1", server_.server().http_port());
  const auto late =
      http.Post("/v1/translate?timeout_seconds=0.2", R"({"document": {"text": "text"}})", "application/json");
  EXPECT_EQ(late->status, 504) << late->body;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  EXPECT_EQ(server_.Translate("en-de", nullptr, &context).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  Eventually([&] { return server_.server().translator().in_flight().size() == 0; }, "that nothing waits");
  EXPECT_THAT(server_.Get("/metrics"), HasSubstr("salient_deadline_missed_total{model=\"en-de\",stage=\"queue\"}"));
  std::thread caller([&] { EXPECT_TRUE(server_.Translate("en-de").ok()) << "the load went on"; });
  Eventually([&] { return server_.server().translator().in_flight().size() == 1; }, "a document that waits");
  folders_.LetGo();  // not before: the model is not kept for long
  caller.join();
  EXPECT_EQ(folders_.opened(), 2);
}

TEST_F(IdleTest, ACancelledCallWaitsNoLongerAndMakesRoom) {
  folders_.Hold();
  for (int i = 0; i < 5; ++i) {  // more than may wait at once
    grpc::ClientContext context;
    std::thread caller(
        [&] { EXPECT_EQ(server_.Translate("en-de", nullptr, &context).error_code(), grpc::StatusCode::CANCELLED); });
    Eventually([&] { return server_.server().translator().in_flight().size() == 1; }, "a document that waits");
    context.TryCancel();
    caller.join();
    Eventually([&] { return server_.server().translator().in_flight().size() == 0; }, "that nothing waits");
  }
  folders_.LetGo();
  EXPECT_TRUE(server_.Translate("en-de").ok());
}

TEST_F(IdleTest, IfItCannotBeLoadedAgainThoseWhoWaitAreTold) {
  folders_.Remove("one");
  std::filesystem::create_directories(folders_.path() + "/one");
  const grpc::Status status = server_.Translate("en-de");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("could not be loaded"));
  EXPECT_EQ(server_.States()["en-de"], "FAILED");
  EXPECT_EQ(server_.StatusOf("/readyz"), 503);
  EXPECT_EQ(server_.Translate("en-de").error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(folders_.opened(), 2) << "not every request tries again";
  folders_.Write("one", "en-de");
  EXPECT_EQ(server_.Reload(), 202);
  Eventually([&] { return server_.Translate("en-de").ok(); }, "the mended model");
}

TEST_F(IdleTest, ADocumentThatIsWrongIsToldSoAfterTheLoad) {
  v1::TranslateDocumentRequest request = RequestFor("");
  grpc::ClientContext context;
  v1::TranslateDocumentResponse reply;
  const grpc::Status status = server_.stub().TranslateDocument(&context, request, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("document.text is empty"));
}

TEST_F(IdleTest, AStreamOfDocumentsWaitsForRoomAndLosesNone) {
  grpc::ClientContext context;
  auto stream = server_.stub().TranslateDocuments(&context);
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) {  // ten times as many as may wait
      v1::TranslateDocumentsRequest request;
      request.set_id(std::to_string(i));
      *request.mutable_request() = RequestFor("text");
      stream->Write(request);
    }
    stream->WritesDone();
  });
  int translated = 0;
  v1::TranslateDocumentsResponse reply;
  while (stream->Read(&reply)) translated += reply.response().text() == "TEXT";
  writer.join();
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(translated, 20);
}

TEST_F(IdleTest, ADrainWaitsForWhoWaits) {
  folders_.Hold();
  grpc::Status status;
  std::thread caller([&] { status = server_.Translate("en-de"); });
  Eventually([&] { return server_.server().translator().in_flight().size() == 1; }, "a document that waits");
  std::thread drainer([&] { EXPECT_EQ(server_.server().Drain({.patience = absl::InfiniteDuration()}), 0); });
  Eventually([&] { return server_.server().translator().in_flight().draining(); }, "the drain");
  folders_.LetGo();
  drainer.join();
  caller.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(IdleTest, AnImpatientDrainCancelsWhoWaits) {
  folders_.Hold();
  grpc::Status status;
  std::thread caller([&] { status = server_.Translate("en-de"); });
  Eventually([&] { return server_.server().translator().in_flight().size() == 1; }, "a document that waits");
  EXPECT_EQ(server_.server().Drain({.patience = absl::Milliseconds(50)}), 1);
  caller.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  folders_.LetGo();
}

TEST(FolderPrintTest, TellsNamesAndContentsApart) {
  Folders folders;
  folders.Write("a", "x");
  folders.Write("b", "x");
  const auto digest = [&](const std::string& folder) { return *FolderDigest(folders.path() + "/" + folder); };
  EXPECT_EQ(digest("a").size(), 64);
  EXPECT_EQ(digest("a"), digest("b"));
  EXPECT_NE(*FolderStamp(folders.path() + "/a"), *FolderStamp(folders.path() + "/b"));
  std::ofstream(folders.path() + "/a/extra") << "";
  EXPECT_NE(digest("a"), digest("b"));
  std::ofstream(folders.path() + "/b/other") << "";
  EXPECT_NE(digest("a"), digest("b"));
  EXPECT_FALSE(FolderDigest(folders.path() + "/none").ok());
}

}  // namespace
}  // namespace salient
