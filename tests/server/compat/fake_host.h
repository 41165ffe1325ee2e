// A door behind which nobody translates but the test: texts come back in capitals, at once or when the test says so.

#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/admission/retry_delay.h"
#include "server/compat/compat.h"
#include "tests/testing/temp_folder.h"

namespace salient {

class FakeHost final : public CompatHost {
 public:
  std::string key;                 // that calls must bring; empty: none
  std::string caller = "anybody";  // who calls if there is no key
  bool automatic = true;           // documents finish at once
  int capacity = 1000;             // documents at once; more are refused with RESOURCE_EXHAUSTED
  absl::Status start_failure;      // of every document
  int documents = 0;               // that a client may have at once; 0: any number
  int64_t tokens_per_minute = 0;   // of a client; 0: any number
  // Of documents, and of what calls hold beside them.
  std::unique_ptr<Admission> admission = std::make_unique<Admission>(int64_t{1} << 40);
  std::unique_ptr<Admission> held = std::make_unique<Admission>(int64_t{1} << 40);
  v1::ListModelsResponse models;
  std::vector<CompatGlossary> glossaries;

  FakeHost() { AddModel("en-de", "en", "de"); }

  void AddModel(const std::string& name, const std::string& source, const std::string& target) {
    v1::Model& model = *models.add_models();
    model.set_name(name);
    model.add_source_languages(source);
    model.add_target_languages(target);
  }

  absl::StatusOr<CallInfo> Identify(const HttpRequest& request, const std::string& given) override {
    const std::string bearer = request.header("Authorization");
    if (!key.empty() && given != key && bearer != "Bearer " + key) return absl::UnauthenticatedError("wrong key");
    return CallInfo{{Client::Kind::kKey,
                     key.empty() ? caller : key,
                     {.tokens_per_minute = tokens_per_minute, .documents = documents}},
                    "id-1",
                    "",
                    "http"};
  }

  absl::StatusOr<std::function<void()>> Start(const v1::TranslateDocumentRequest& request, const CallInfo& call,
                                              Listener listener, WhenFull /*when_full*/) override {
    if (!start_failure.ok()) return start_failure;
    const auto text_bytes =
        static_cast<int64_t>(request.document().text().size() + request.document().content().size());
    auto permit = Enter(*admission, {static_cast<int64_t>(request.ByteSizeLong()), text_bytes}, call);
    if (!permit.ok()) return permit.status();
    size_t index = 0;
    {
      std::lock_guard lock(mutex_);
      if (running_ >= capacity) {
        absl::Status full = absl::ResourceExhaustedError("the queue is full");
        SetRetryDelay(full, absl::Milliseconds(1500));
        return full;
      }
      index = requests_.size();
      ++running_;
      most_ = std::max(most_, running_);
      requests_.push_back(request);
      own_glossaries_.push_back(call.own_glossary);
      listeners_.push_back(std::move(listener));
      permits_.push_back(*std::move(permit));
    }
    started_.notify_all();
    if (automatic) Finish(index);
    return [this] {
      std::lock_guard lock(mutex_);
      ++cancelled_;
    };
  }

  absl::StatusOr<std::unique_ptr<Admission::Permit>> Hold(int64_t bytes, const CallInfo& call) override {
    CallInfo unlimited = call;
    unlimited.client.limits = {};
    return Enter(*held, {.bytes = bytes}, unlimited);
  }

  absl::StatusOr<std::shared_ptr<ReservedTokens>> Reserve(int64_t tokens, const CallInfo& call) override {
    Refusal refusal = Refusal::kOther;
    return admission->Reserve(call.client, tokens, absl::Now(), &refusal);
  }

  void TellRefused(const CallInfo& call, const absl::Status& status) override {
    std::lock_guard lock(mutex_);
    refused_.push_back(call.client.id() + ": " + std::string(status.message()));
  }

  v1::ListModelsResponse Models() const override { return models; }
  std::vector<CompatGlossary> Glossaries() const override { return glossaries; }
  absl::StatusOr<std::string> GlossaryTerms(const std::string& id) const override { return id + "\tWort\n"; }

  void WaitForStarted(size_t count) {
    std::unique_lock lock(mutex_);
    started_.wait(lock, [&] { return requests_.size() >= count; });
  }

  void Progress(size_t index, const v1::Progress& progress) { Of(index).progress(progress); }
  void Finish(size_t index) { End(index, Translate(request(index))); }
  void End(size_t index, absl::StatusOr<v1::TranslateDocumentResponse> result) {
    Listener listener;
    std::unique_ptr<Admission::Permit> permit;
    {
      std::lock_guard lock(mutex_);
      listener = std::exchange(listeners_.at(index), {});
      --running_;
      permit = std::move(permits_.at(index));
      if (result.ok()) permit->Spend();
      if (own_glossaries_[index] != nullptr) own_glossary_ = *own_glossaries_[index];
      own_glossaries_[index] = nullptr;
    }
    listener.result(std::move(result), std::move(permit));
  }

  v1::TranslateDocumentRequest request(size_t index) const {
    std::lock_guard lock(mutex_);
    return requests_.at(index);
  }
  // The id of the client's own glossary that the document which ended last had; empty: none did.
  std::string own_glossary() const {
    std::lock_guard lock(mutex_);
    return own_glossary_;
  }
  size_t started() const {
    std::lock_guard lock(mutex_);
    return requests_.size();
  }
  int most_at_once() const {
    std::lock_guard lock(mutex_);
    return most_;
  }
  int cancelled() const {
    std::lock_guard lock(mutex_);
    return cancelled_;
  }
  // "CLIENT: MESSAGE" of each request that an API has refused by itself.
  std::vector<std::string> refused() const {
    std::lock_guard lock(mutex_);
    return refused_;
  }

 private:
  static absl::StatusOr<std::unique_ptr<Admission::Permit>> Enter(Admission& admission, const DocumentSize& size,
                                                                  const CallInfo& call) {
    Refusal refusal = Refusal::kOther;
    return admission.Enter(call.client, size, absl::Now(), &refusal, call.reserved);
  }

  static v1::TranslateDocumentResponse Translate(const v1::TranslateDocumentRequest& request) {
    v1::TranslateDocumentResponse response;
    response.set_text(absl::AsciiStrToUpper(request.document().text()));
    response.set_content(absl::AsciiStrToUpper(request.document().content()));
    response.set_mime_type(request.document().mime_type());
    response.set_model("en-de");
    response.mutable_report()->set_attention_cost_ratio(0.07);
    response.add_segments()->set_source(request.document().text() + request.document().content());
    for (int i = 1; i < request.search().n_best(); ++i) response.add_alternatives("other");
    *response.mutable_selection() = request.selection();
    return response;
  }

  Listener Of(size_t index) const {
    std::lock_guard lock(mutex_);
    return listeners_.at(index);
  }

  mutable std::mutex mutex_;
  std::condition_variable started_;
  std::vector<v1::TranslateDocumentRequest> requests_;
  std::vector<Listener> listeners_;
  std::vector<std::unique_ptr<Admission::Permit>> permits_;         // of those that have not ended
  std::vector<std::shared_ptr<const std::string>> own_glossaries_;  // of those that have not ended
  std::string own_glossary_;
  std::vector<std::string> refused_;
  int running_ = 0, most_ = 0, cancelled_ = 0;
};

// The services over a FakeHost, asked without a network between.
class CompatTest : public ::testing::Test {
 protected:
  static HttpRequest Request(const std::string& method, const std::string& target, std::string body = "",
                             const std::string& type = "") {
    HttpRequest request;
    request.method = method;
    EXPECT_TRUE(ParseTarget(target, request));
    request.headers["Content-Length"] = std::to_string(body.size());
    if (!type.empty()) request.headers["Content-Type"] = type;
    request.body = std::move(body);
    return request;
  }

  // What the server replies; as the HTTP API does, the header is looked at first.
  HttpResponse Ask(const HttpRequest& request) {
    Begin(request);
    return Wait();
  }
  HttpResponse Post(const std::string& target, const nlohmann::json& body) {
    return Ask(Request("POST", target, body.dump(), "application/json"));
  }
  HttpResponse PostForm(const std::string& target, const std::string& form) {
    return Ask(Request("POST", target, form, "application/x-www-form-urlencoded"));
  }
  HttpResponse PostFile(const std::string& target, const std::string& name, const std::string& content,
                        const std::vector<std::pair<std::string, std::string>>& fields) {
    std::string body;
    for (const auto& [field, value] : fields) {
      body += "--b0undary\r\nContent-Disposition: form-data; name=\"" + field + "\"\r\n\r\n" + value + "\r\n";
    }
    body += "--b0undary\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\n" + content +
            "\r\n--b0undary--\r\n";
    HttpRequest request = Request("POST", target, body, "multipart/form-data; boundary=b0undary");
    request.headers["Host"] = "mt.example:8080";
    return Ask(request);
  }
  HttpResponse Get(const std::string& target) { return Ask(Request("GET", target)); }

  void Begin(const HttpRequest& request) {
    CompatService* const service = compat_.Find(request);
    ASSERT_NE(service, nullptr) << request.path;
    replied_ = std::make_shared<Replied>();
    if (const absl::Status status = service->Admit(request).status(); !status.ok()) {
      replied_->Take(service->Error(status));
      return;
    }
    cancel_ =
        service->Handle(request, [replied = replied_](HttpResponse response) { replied->Take(std::move(response)); });
  }
  HttpResponse Wait() { return replied_->Wait(); }

  // The client that the header tells; "nobody" if the request is taken without, "refused" if it is not.
  std::string CallerOf(const HttpRequest& request) {
    const auto caller = compat_.Find(request)->Admit(request);
    if (!caller.ok()) return "refused";
    return caller->has_value() ? (*caller)->id() : "nobody";
  }

  static nlohmann::json Json(const HttpResponse& response) {
    return nlohmann::json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  }

  FakeHost host_;
  const TempFolder uploads_;
  Compat compat_{host_, {.max_document_bytes = 4 << 20, .uploads_folder = uploads_.path()}};
  std::function<void()> cancel_;

 private:
  class Replied {
   public:
    void Take(HttpResponse response) {
      std::lock_guard lock(mutex_);
      EXPECT_FALSE(done_) << "a second reply: " << response.body;
      done_ = true;
      response_ = std::move(response);
      changed_.notify_all();
    }
    HttpResponse Wait() {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return done_; });
      return std::move(response_);  // with what it keeps
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false;
    HttpResponse response_;
  };
  std::shared_ptr<Replied> replied_;
};

}  // namespace salient
