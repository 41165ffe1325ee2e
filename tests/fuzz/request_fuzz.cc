// A request from its bytes, or its JSON, to resolved settings: what a client's document passes before the engine has
// it. The first byte chooses the form.

#include "absl/strings/str_cat.h"
#include "engine/options/resolve.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/util/json_util.h"
#include "grpcpp/support/slice.h"
#include "server/http/message.h"
#include "server/request/settings.h"
#include "server/request/wire.h"
#include "tests/fuzz/fuzz.h"
#include "tests/model/small_config.h"

namespace salient {

std::vector<std::string> Seeds() {
  const std::string json =
      R"({"document": {"text": "One. Two.", "segmentation": "SEGMENTATION_LINES"}, "model": "m",
          "source_language": "en", "selection": {"policy": "RATIO", "value": 0.1, "min_keys": 4}, "depth": {"policy": "CONFIDENCE",
          "thresholds": [0.9], "min_exit": 1}, "search": {"beam": 4, "n_best": 2, "prefix": "a", "length_penalty": 1},
          "trace": true, "priority": "PRIORITY_BULK"})";
  v1::TranslateDocumentRequest request;
  if (!google::protobuf::util::JsonStringToMessage(json, &request).ok()) std::abort();
  v1::TranslateDocumentRequest point;
  point.mutable_document()->set_text("text");
  point.set_latency_target_seconds(2);
  return {absl::StrCat("j", json), absl::StrCat("b", request.SerializeAsString()),
          absl::StrCat("b", point.SerializeAsString()), "t/v1/translate?timeout_seconds=3&a=%20b"};
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using salient::Require;
  [[maybe_unused]] static const auto former = google::protobuf::SetLogHandler(nullptr);  // else a line for each input
  if (size == 0) return 0;
  const std::string input(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 't') {
    salient::HttpRequest request;
    Require(!salient::ParseTarget(input, request) || request.path[0] == '/', "a target that is taken is a path");
    return 0;
  }
  salient::v1::TranslateDocumentRequest request;
  if (data[0] == 'j') {
    if (!salient::ParseJson(input, &request).ok()) return 0;
  } else {
    const grpc::Slice slice(input);
    const absl::Status parsed = salient::ParseMessage(grpc::ByteBuffer(&slice, 1), &request);
    Require(parsed.ok() || absl::IsInvalidArgument(parsed), "bytes that are no request are INVALID_ARGUMENT");
    if (!parsed.ok()) return 0;
  }
  static const salient::ModelInfo model = [] {
    salient::ModelInfo info;
    info.config = salient::SmallConfig();
    return info;
  }();
  const auto settings = salient::ReadSettings(request, model, 1000, [](double alone) { return alone; });
  if (!settings.ok()) {
    Require(!settings.status().message().empty(), "a refusal says why");
    return 0;
  }
  Require(settings->request.text.size() <= 1000, "a document is within its bound");
  const auto resolved = salient::Resolve(settings->request.options, model.config);
  Require(resolved.ok() || !resolved.status().message().empty(), "a refusal says why");
  if (resolved.ok()) Require(resolved->beam >= 1 && resolved->beam <= 16, "a beam is within its bound");
  return 0;
}
