// TranslateDocument and StreamTranslateDocument over a real connection: replies, statuses, deadlines, cancellation.

#include "server/rpc/document_call.h"

#include <chrono>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "proto/retry_info.h"
#include "tests/server/http2_client.h"
#include "tests/server/one_document_client.h"
#include "tests/server/test_server.h"
#include "tests/server/translate.h"

namespace salient {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// The status of a request that must fail.
grpc::Status Refused(const v1::TranslateDocumentRequest& request, const FakeEngineOptions& options = {}) {
  TestServer server(options);
  return Translate(server.Start(), request).status;
}

TEST(TranslateDocumentTest, RepliesWithTextSegmentsAndReport) {
  TestServer server;
  v1::TranslateDocumentRequest request = RequestFor("one\ntwo");
  request.mutable_selection()->set_policy(v1::SelectionControls::RATIO);
  request.mutable_selection()->set_value(0.05);
  request.mutable_depth()->set_policy(v1::DepthControls::GEOMETRIC);
  const Reply reply = Translate(server.Start(), request);
  ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
  EXPECT_EQ(reply.response.text(), "ONE\nTWO");
  EXPECT_EQ(reply.response.model(), "fake");
  ASSERT_EQ(reply.response.segments_size(), 2);
  EXPECT_EQ(reply.response.segments(1).index(), 1);
  EXPECT_EQ(reply.response.segments(1).text(), "TWO");
  EXPECT_EQ(reply.response.report().segments(), 2);
  EXPECT_EQ(reply.response.report().source_tokens(), 7);
  EXPECT_DOUBLE_EQ(reply.response.report().attention_cost_ratio(), 0.07);
  EXPECT_THAT(reply.response.report().exit_histogram(), ElementsAre(0, 7, 0, 0, 0, 0));
  EXPECT_EQ(reply.response.selection().policy(), v1::SelectionControls::RATIO);
  EXPECT_EQ(reply.response.depth().policy(), v1::DepthControls::GEOMETRIC);
}

TEST(TranslateDocumentTest, EveryControlReachesTheEngine) {
  TestServer server;
  v1::TranslateDocumentRequest request = RequestFor("text");
  request.mutable_document()->set_segmentation(v1::SEGMENTATION_LINES);
  v1::SelectionControls& selection = *request.mutable_selection();
  selection.set_policy(v1::SelectionControls::MASS);
  selection.set_value(0.9);
  selection.set_cross_value(0.5);
  selection.set_min_keys(3);
  v1::DepthControls& depth = *request.mutable_depth();
  depth.set_policy(v1::DepthControls::CONFIDENCE);
  depth.add_thresholds(0.8);
  depth.set_min_exit(2);
  depth.set_max_exit(5);
  v1::SearchControls& search = *request.mutable_search();
  search.set_beam(4);
  search.set_length_penalty(0.6);
  search.set_max_length_ratio(2);
  search.set_n_best(2);
  search.set_prefix("Der");
  search.set_shortlist(true);
  request.set_trace(true);
  ASSERT_TRUE(Translate(server.Start(), request).status.ok());

  const TranslationRequest seen = server.engine().request(0);
  EXPECT_EQ(seen.text, "text");
  EXPECT_EQ(seen.segmentation, Segmentation::kLines);
  EXPECT_EQ(seen.options.selection.policy, SelectionPolicy::kMass);
  EXPECT_EQ(seen.options.selection.value, 0.9);
  EXPECT_EQ(seen.options.selection.module_value[static_cast<int>(Module::kCross)], 0.5);
  EXPECT_EQ(seen.options.selection.module_value[static_cast<int>(Module::kEncoder)], std::nullopt);
  EXPECT_EQ(seen.options.selection.min_keys, 3);
  EXPECT_EQ(seen.options.depth.policy, DepthPolicy::kConfidence);
  EXPECT_THAT(seen.options.depth.thresholds, ElementsAre(0.8));
  EXPECT_EQ(seen.options.depth.min_exit, 2);
  EXPECT_EQ(seen.options.depth.max_exit, 5);
  EXPECT_EQ(seen.options.search.beam, 4);
  EXPECT_EQ(seen.options.search.length_penalty, 0.6);
  EXPECT_EQ(seen.options.search.max_length_ratio, 2);
  EXPECT_EQ(seen.options.search.n_best, 2);
  EXPECT_EQ(seen.options.search.prefix, "Der");
  EXPECT_EQ(seen.options.search.shortlist, true);
  EXPECT_TRUE(seen.options.trace);
  EXPECT_EQ(seen.deadline, absl::InfiniteFuture());
}

TEST(TranslateDocumentTest, AnUnknownModelIsNotFoundAndTheOthersAreNamed) {
  v1::TranslateDocumentRequest request = RequestFor("text");
  request.set_model("none");
  const grpc::Status status = Refused(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "model: there is no 'none'; this server has fake (en to de)");
}

TEST(TranslateDocumentTest, LanguagesThatNoModelHasAreNotFound) {
  v1::TranslateDocumentRequest request = RequestFor("text");
  request.set_source_language("fr");
  const grpc::Status status = Refused(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("fr to any language"), HasSubstr("fake (en to de)")));
}

TEST(TranslateDocumentTest, LanguagesChooseTheModel) {
  TestServer server;
  server.AddEngine({.name = "back", .source_language = "de", .target_language = "en"});
  server.AddEngine({.name = "other", .source_language = "de", .target_language = "en"});
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor("text");
  request.set_source_language("en-GB");
  request.set_target_language("DE");
  EXPECT_EQ(Translate(server, request).response.model(), "fake");
  request.set_source_language("de");
  request.set_target_language("en");
  const Reply reply = Translate(server, request);
  EXPECT_EQ(reply.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(reply.status.error_message(), AllOf(HasSubstr("back (de to en)"), HasSubstr("other (de to en)")));
  request.set_model("fake");
  EXPECT_EQ(Translate(server, request).status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.set_model("other");
  EXPECT_EQ(Translate(server, request).response.model(), "other");
}

TEST(TranslateDocumentTest, ARatioOfTwoIsInvalid) {
  v1::TranslateDocumentRequest request = RequestFor("text");
  request.mutable_selection()->set_policy(v1::SelectionControls::RATIO);
  request.mutable_selection()->set_value(2);
  const grpc::Status status = Refused(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("selection.value"));
}

TEST(TranslateDocumentTest, ANegativeBeamIsInvalid) {
  v1::TranslateDocumentRequest request = RequestFor("text");
  request.mutable_search()->set_beam(-1);
  const grpc::Status status = Refused(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("search.beam"));
}

TEST(TranslateDocumentTest, EnumValuesThatTheServerDoesNotKnowAreInvalid) {
  v1::TranslateDocumentRequest request = RequestFor("text");
  request.mutable_selection()->set_policy(static_cast<v1::SelectionControls::Policy>(17));
  EXPECT_THAT(Refused(request).error_message(), AllOf(HasSubstr("selection.policy: 17"), HasSubstr("WINDOW (5)")));
  request = RequestFor("text");
  request.mutable_depth()->set_policy(static_cast<v1::DepthControls::Policy>(-1));
  EXPECT_THAT(Refused(request).error_message(), HasSubstr("depth.policy: -1"));
  request = RequestFor("text");
  request.mutable_document()->set_segmentation(static_cast<v1::Segmentation>(9));
  EXPECT_THAT(Refused(request).error_message(), HasSubstr("document.segmentation: 9"));
}

TEST(TranslateDocumentTest, AnEmptyDocumentIsInvalid) {
  const grpc::Status status = Refused(RequestFor(""));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("document.text is empty"));
}

TEST(TranslateDocumentTest, ADocumentOfFiveMegabytesIsInvalidAndTheLimitIsNamed) {
  const grpc::Status status = Refused(RequestFor(std::string(5 << 20, 'a')));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("document.text"), HasSubstr("5242880"), HasSubstr("4194304"),
                                            HasSubstr("--max-document-bytes")));
}

TEST(TranslateDocumentTest, TextThatIsNotUtf8IsInvalidAndThePlaceIsNamed) {
  const grpc::Status status = Refused(RequestFor("caf\xE9 noir"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("document.text: not UTF-8 at byte 3"));
}

// A client of gRPC takes 8 KiB of trailers.
TEST(TranslateDocumentTest, AnErrorThatRepeatsMuchIsCut) {
  v1::TranslateDocumentRequest request = RequestFor("text");
  std::string name = "m";
  for (int i = 0; i < 10000; ++i) name += "ö";
  request.set_model(name);
  const grpc::Status status = Refused(request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << status.error_message();
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("model: there is no 'mö"), EndsWith("ö...")));
  EXPECT_LT(status.error_message().size(), 2010u);
}

// A thousand source tokens, about 4,000 bytes, take 10 seconds at the best point alone, and 1 at the fast one.
FakeEngineOptions WithPoints(bool automatic = true) {
  FakeEngineOptions options{.automatic = automatic};
  OperatingPoint best, fast;
  best.name = "best";
  best.bleu = 30;
  best.seconds_per_1000_tokens = 10;
  best.options.search.beam = 4;
  fast.name = "fast";
  fast.bleu = 28;
  fast.seconds_per_1000_tokens = 1;
  fast.options.selection.policy = SelectionPolicy::kLearned;
  fast.options.depth.policy = DepthPolicy::kFixed;
  fast.options.depth.fixed_exit = 3;
  options.points = {best, fast};
  return options;
}

TEST(TranslateDocumentTest, OperatingPointsAreUsedAndReported) {
  TestServer server(WithPoints());
  server.Start();

  v1::TranslateDocumentRequest request = RequestFor("text");
  request.set_operating_point("fast");
  request.mutable_search()->set_prefix("Der");
  Reply reply = Translate(server, request);
  ASSERT_TRUE(reply.status.ok()) << reply.status.error_message();
  EXPECT_EQ(reply.response.operating_point(), "fast");
  EXPECT_EQ(reply.response.depth().fixed_exit(), 3);
  EXPECT_EQ(server.engine().request(0).options.search.prefix, "Der");

  request.set_latency_target_seconds(-1);
  EXPECT_THAT(Translate(server, request).status.error_message(), HasSubstr("latency_target_seconds: -1"));
  request.set_operating_point("slow");
  EXPECT_EQ(Translate(server, request).status.error_code(), grpc::StatusCode::NOT_FOUND);
  request.set_operating_point("fast");
  request.mutable_depth()->set_policy(v1::DepthControls::FULL);
  reply = Translate(server, request);
  EXPECT_EQ(reply.status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(reply.status.error_message(), AllOf(HasSubstr("operating_point"), HasSubstr("depth")));
}

TEST(TranslateDocumentTest, ATimeLimitChoosesThePoint) {
  for (const auto& [seconds, point, beam] : {std::tuple(20, "best", 4), std::tuple(5, "fast", 1)}) {
    TestServer server(WithPoints());
    server.Start();
    v1::TranslateDocumentRequest request = RequestFor(std::string(4000, 'a'));
    request.set_latency_target_seconds(seconds);
    const Reply reply = Translate(server, request);
    EXPECT_EQ(reply.response.operating_point(), point);
    EXPECT_EQ(reply.response.search().beam(), beam);
  }
}

TEST(TranslateDocumentTest, ATimeLimitCountsWhatIsUnderWay) {
  TestServer server(WithPoints(false));
  server.Start();
  v1::TranslateDocumentRequest request = RequestFor(std::string(4000, 'a'));
  request.set_latency_target_seconds(15);
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i) {
    callers.emplace_back(
        [&, i] { EXPECT_EQ(Translate(server, request).response.operating_point(), i == 0 ? "best" : "fast"); });
    server.engine().WaitForAdmitted(i + 1);
  }
  for (int i = 0; i < 2; ++i) server.engine().Finish(i);
  for (std::thread& caller : callers) caller.join();
}

TEST(TranslateDocumentTest, AFullQueueSaysWhenToRetry) {
  TestServer server({.automatic = false, .capacity = 1});
  server.Start();
  std::thread first([&server] { EXPECT_TRUE(Translate(server, RequestFor("first")).status.ok()); });
  server.engine().WaitForAdmitted(1);
  const grpc::Status status = Translate(server, RequestFor("second")).status;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const auto delay = RetryDelay(status);
  ASSERT_TRUE(delay.has_value());
  EXPECT_GT(*delay, absl::ZeroDuration());
  EXPECT_LE(*delay, absl::Seconds(30));
  server.engine().Finish(0);
  first.join();
}

TEST(TranslateDocumentTest, TheDeadlineReachesTheEngineAndStopsTheWork) {
  TestServer server({.automatic = false});
  server.Start();
  const absl::Time first = absl::Now() + absl::Milliseconds(200);
  std::chrono::system_clock::time_point deadline;
  // On a busy machine the first deadlines may pass before the request arrives. It may still arrive afterwards.
  for (auto time = std::chrono::milliseconds(200); server.engine().admitted() == 0; time *= 2) {
    grpc::ClientContext context;
    deadline = std::chrono::system_clock::now() + time;
    context.set_deadline(deadline);
    v1::TranslateDocumentResponse response;
    const grpc::Status status = server.stub().TranslateDocument(&context, RequestFor("text"), &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  server.engine().WaitForCancelled(1);
  // As the server reckons it, from the time left when the request was sent.
  const absl::Time seen = server.engine().request(0).deadline;
  EXPECT_GT(seen, first - absl::Seconds(1));
  EXPECT_LT(seen, absl::FromChrono(deadline) + absl::Minutes(1));
}

TEST(TranslateDocumentTest, TheDefaultDeadlineIsForCallsThatHaveNone) {
  TestServer server(FakeEngineOptions{}, ServerOptions{.default_deadline = absl::Seconds(5)});
  server.Start();
  const absl::Time start = absl::Now();
  for (const bool has_deadline : {false, true}) {
    grpc::ClientContext context;
    if (has_deadline) context.set_deadline(absl::ToChronoTime(start + absl::Minutes(1)));
    v1::TranslateDocumentResponse reply;
    EXPECT_TRUE(server.stub().TranslateDocument(&context, RequestFor("text"), &reply).ok());
  }
  EXPECT_LT(server.engine().request(0).deadline, start + absl::Seconds(30));
  EXPECT_GT(server.engine().request(1).deadline, start + absl::Seconds(30));
}

TEST(TranslateDocumentTest, ADeadlineMayBeFartherThanATimePointHolds) {
  TestServer server({.automatic = false});
  server.Start();
  Http2Client client(server.server().grpc_port());
  client.Call("/salient.v1.Translation/TranslateDocument", RequestFor("text").SerializeAsString(), 60000, "99999999H");
  for (int i = 0; i < 2000 && server.engine().admitted() == 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  ASSERT_EQ(server.engine().admitted(), 1);
  EXPECT_GT(server.engine().request(0).deadline, absl::Now() + 1000 * 365 * absl::Hours(24));
}

TEST(TranslateDocumentTest, WhatTheEngineSaysOfADeadlineIsTold) {
  TestServer server({.automatic = false});
  server.Start();
  std::thread caller([&server] {
    const grpc::Status status = Translate(server, RequestFor("text")).status;
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_THAT(status.error_message(), HasSubstr("latency_target_seconds"));
  });
  server.engine().WaitForAdmitted(1);
  server.engine().Fail(0, absl::DeadlineExceededError("late"));
  caller.join();
}

TEST(TranslateDocumentTest, CancellingReachesTheEngine) {
  TestServer server({.automatic = false});
  server.Start();
  grpc::ClientContext context;
  std::thread caller([&] {
    v1::TranslateDocumentResponse response;
    EXPECT_EQ(server.stub().TranslateDocument(&context, RequestFor("text"), &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  server.engine().WaitForAdmitted(1);
  context.TryCancel();
  server.engine().WaitForCancelled(1);
  caller.join();
}

TEST(StreamTranslateDocumentTest, SegmentsComeInOrderThenTheResult) {
  TestServer server({.automatic = false});
  server.Start();
  grpc::ClientContext context;
  auto reader = server.stub().StreamTranslateDocument(&context, RequestFor("one\ntwo\nthree"));
  server.engine().WaitForAdmitted(1);
  v1::StreamTranslateDocumentResponse event;

  server.engine().Progress(0, 0, 3);
  ASSERT_TRUE(reader->Read(&event));
  ASSERT_TRUE(event.has_progress());
  EXPECT_EQ(event.progress().segments_total(), 3);
  for (int i = 0; i < 3; ++i) {
    server.engine().Segment(0, i);
    ASSERT_TRUE(reader->Read(&event));
    ASSERT_TRUE(event.has_segment());
    EXPECT_EQ(event.segment().index(), i);
  }
  EXPECT_EQ(event.segment().text(), "THREE");
  server.engine().Finish(0);
  ASSERT_TRUE(reader->Read(&event));
  ASSERT_TRUE(event.has_result());
  EXPECT_EQ(event.result().text(), "ONE\nTWO\nTHREE");
  EXPECT_EQ(event.result().segments_size(), 0) << "they were sent already";
  EXPECT_EQ(event.result().report().segments(), 3);
  EXPECT_FALSE(reader->Read(&event));
  EXPECT_TRUE(reader->Finish().ok());
}

TEST(StreamTranslateDocumentTest, ASlowReaderLosesNoSegment) {
  constexpr int kSegments = 2000;
  std::string text;
  for (int i = 0; i < kSegments; ++i) text += std::string(1000, static_cast<char>('a' + i % 26)) + "\n";
  TestServer server({.automatic = false});
  server.Start();
  grpc::ClientContext context;
  auto reader = server.stub().StreamTranslateDocument(&context, RequestFor(text));
  server.engine().WaitForAdmitted(1);
  // All is told before anything is read: 2 MB more than a connection holds.
  for (int i = 0; i < kSegments; ++i) {
    server.engine().Segment(0, i);
    server.engine().Progress(0, i + 1, kSegments);
  }
  server.engine().Finish(0);
  v1::StreamTranslateDocumentResponse event;
  int segments = 0;
  bool has_result = false;
  while (reader->Read(&event)) {
    EXPECT_FALSE(has_result) << "the result is last";
    if (event.has_segment()) {
      EXPECT_EQ(event.segment().index(), segments++);
    }
    has_result = event.has_result();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_TRUE(has_result);
  EXPECT_EQ(segments, kSegments);
}

TEST(StreamTranslateDocumentTest, ErrorsAreStatuses) {
  TestServer server;
  server.Start();
  grpc::ClientContext context;
  auto reader = server.stub().StreamTranslateDocument(&context, RequestFor(""));
  v1::StreamTranslateDocumentResponse event;
  EXPECT_FALSE(reader->Read(&event));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST(StreamTranslateDocumentTest, CancellingInTheMiddleReachesTheEngine) {
  TestServer server({.automatic = false});
  server.Start();
  grpc::ClientContext context;
  auto reader = server.stub().StreamTranslateDocument(&context, RequestFor("one\ntwo"));
  server.engine().WaitForAdmitted(1);
  server.engine().Segment(0, 0);
  v1::StreamTranslateDocumentResponse event;
  ASSERT_TRUE(reader->Read(&event));
  context.TryCancel();
  server.engine().WaitForCancelled(1);
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

// Cancellation at any moment of a call's life, many calls at once.
TEST(StreamTranslateDocumentTest, CancelledAtAnyMoment) {
  TestServer server;
  server.Start();
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&server, caller] {
      for (int i = 0; i < 50; ++i) {
        grpc::ClientContext context;
        auto reader = server.stub().StreamTranslateDocument(&context, RequestFor("one\ntwo"));
        std::thread canceller([&context, i] {
          for (int spin = 0; spin < 1000 * (i % 10); ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
          context.TryCancel();
        });
        v1::StreamTranslateDocumentResponse event;
        if (caller % 2 == 0) {
          while (reader->Read(&event)) {
          }
        }
        canceller.join();
        const grpc::Status status = reader->Finish();
        EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::CANCELLED) << status.error_message();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(StreamTranslateDocumentTest, EventsThatNobodyReadsCountAsTheirClients) {
  const OneDocumentClient client;
  TestServer server({.automatic = false}, {.access = client.access(), .guard = GuardMode::kOff});
  server.Start();
  const auto stub = client.StubOf(server);
  grpc::ClientContext context, other_context;
  for (grpc::ClientContext* one : {&context, &other_context}) client.Introduce(*one);
  auto reader = stub->StreamTranslateDocument(&context, RequestFor(std::string(1 << 20, 'a')));
  server.engine().WaitForAdmitted(1);
  server.engine().Finish(0);
  ASSERT_EQ(client.Call(*stub).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  // It waits for the place of the one that is unread.
  auto other = stub->TranslateDocuments(&other_context);
  v1::TranslateDocumentsRequest request;
  *request.mutable_request() = RequestFor("other");
  ASSERT_TRUE(other->Write(request));
  v1::StreamTranslateDocumentResponse event;
  while (reader->Read(&event)) {
  }
  EXPECT_TRUE(reader->Finish().ok());
  server.engine().WaitForAdmitted(2);
  server.engine().Finish(1);
  other->WritesDone();
  v1::TranslateDocumentsResponse reply;
  ASSERT_TRUE(other->Read(&reply));
  EXPECT_EQ(reply.response().text(), "OTHER");
  EXPECT_TRUE(other->Finish().ok());
}

// Of 320,000 bytes for documents a client may have half.
constexpr int64_t kSmallDocuments = 10000;
v1::TranslateDocumentRequest SmallDocument() { return RequestFor(std::string(9900, 'a')); }

TEST(StreamTranslateDocumentTest, SegmentsThatNobodyReadsCountBeforeTheResult) {
  const OneDocumentClient client;
  TestServer server({.automatic = false}, {.max_document_bytes = kSmallDocuments, .guard = GuardMode::kOff});
  server.Start();
  const auto stub = client.StubOf(server);
  grpc::ClientContext context;
  auto reader = stub->StreamTranslateDocument(&context, SmallDocument());
  server.engine().WaitForAdmitted(1);
  for (int i = 0; i < 30; ++i) server.engine().Segment(0, 0);  // 20 KB each
  const grpc::Status refused = client.Call(*stub);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("bytes of documents, of 320000"));
  for (int i = 0; i < 100; ++i) server.engine().Segment(0, 0);
  server.engine().Finish(0);
  int segments = 0;
  v1::StreamTranslateDocumentResponse event;
  while (reader->Read(&event)) segments += event.has_segment() ? 1 : 0;
  EXPECT_EQ(segments, 130);
  EXPECT_TRUE(reader->Finish().ok()) << "a document that is alone may exceed the limits";
}

TEST(StreamTranslateDocumentTest, WhoIsFarBehindIsCancelledWhileTheMemoryIsFull) {
  const OneDocumentClient client;
  TestServer server({.automatic = false}, {.max_document_bytes = kSmallDocuments, .guard = GuardMode::kOff});
  server.Start();
  const auto stub = client.StubOf(server), other_stub = client.StubOf(server);
  grpc::ClientContext context, other_context;
  auto reader = stub->StreamTranslateDocument(&context, SmallDocument());
  server.engine().WaitForAdmitted(1);
  auto other = other_stub->StreamTranslateDocument(&other_context, SmallDocument());
  server.engine().WaitForAdmitted(2);
  for (int i = 0; i < 100; ++i) server.engine().Segment(0, 0);
  server.engine().WaitForCancelled(1);
  server.engine().Segment(1, 0);
  server.engine().Finish(1);
  v1::StreamTranslateDocumentResponse event;
  while (reader->Read(&event)) {
  }
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  while (other->Read(&event)) {
  }
  EXPECT_TRUE(other->Finish().ok());
}

}  // namespace
}  // namespace salient
