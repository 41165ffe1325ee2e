#include "client/report.h"

#include <sstream>
#include <string>

#include "client/models.h"
#include "client/progress.h"
#include "gmock/gmock.h"

namespace salient {
namespace {

using ::testing::HasSubstr;

Translation Example() {
  Translation translation;
  translation.segments_expected = 2;
  v1::TranslateDocumentResponse& response = translation.response;
  response.set_text("Eins.\nZwei.\n");
  response.set_model("en-de");
  response.mutable_selection()->set_policy(v1::SelectionControls::RATIO);
  response.mutable_selection()->set_value(0.05);
  response.mutable_depth()->set_policy(v1::DepthControls::FIXED);
  response.mutable_depth()->set_fixed_exit(3);
  response.mutable_search()->set_beam(4);
  response.add_segments()->set_index(0);
  response.add_segments()->set_index(1);
  response.mutable_segments(1)->set_length_limited(true);
  v1::CostReport& report = *response.mutable_report();
  report.set_segments(2);
  report.set_source_tokens(100);
  report.set_target_tokens(120);
  report.set_total_seconds(1.5);
  report.set_queue_seconds(0.25);
  report.set_attention_cost_ratio(0.075);
  report.mutable_keys_selected_ratio()->set_encoder(0.1);
  report.mutable_keys_selected_ratio()->set_decoder(0.02);
  report.mutable_keys_selected_ratio()->set_cross(0.05);
  report.set_mean_exit(3);
  for (const int64_t count : {0L, 0L, 120L, 0L, 0L, 0L}) report.add_exit_histogram(count);
  report.set_decoder_flops(4e9);
  report.set_decoder_flops_full_depth(8e9);
  report.set_peak_kv_bytes(6LL << 30);
  return translation;
}

TEST(CostTableTest, OneDocument) {
  EXPECT_EQ(CostTable({{"größe.txt", Example()}}),
            "model en-de, selection ratio:0.05, exit fixed:3, beam 4\n"
            "document   segments     tokens  seconds  queued  tokens/s  attention  keys enc/dec/cross       exit  "
            "decoder FLOPs          KV\n"
            "größe.txt         2  100 > 120     1.50    0.25        80      7.5 %            10/2/5 %  3.00 of 6  "
            "       50.0 %  6144.0 MiB\n");
}

TEST(CostTableTest, SeveralDocumentsHaveASum) {
  const std::string table = CostTable({{"a", Example()}, {"b", Example()}});
  EXPECT_THAT(table, HasSubstr("\n2 documents         4  200 > 240\n"));
}

TEST(CostTableTest, NoneIsNothing) { EXPECT_EQ(CostTable({}), ""); }

TEST(JsonTest, TheFieldsOfTheReportAreAtTheTop) {
  const nlohmann::ordered_json json = DocumentJson("a.txt", Example(), /*with_text=*/true);
  EXPECT_EQ(json["file"], "a.txt");
  EXPECT_EQ(json["model"], "en-de");
  EXPECT_EQ(json["selection"]["policy"], "RATIO");
  EXPECT_EQ(json["selection"]["value"], 0.05);
  EXPECT_FALSE(json["selection"].contains("min_keys")) << "unset";
  EXPECT_EQ(json["segments_in"], 2);
  EXPECT_EQ(json["segments_out"], 2);
  EXPECT_EQ(json["text"], "Eins.\nZwei.\n");
  EXPECT_EQ(json["length_limited_segments"], nlohmann::ordered_json({1}));
  // 64-bit numbers are numbers, unlike in protobuf's own JSON.
  EXPECT_EQ(json["peak_kv_bytes"], 6LL << 30);
  EXPECT_TRUE(json["peak_kv_bytes"].is_number_integer());
  EXPECT_EQ(json["exit_histogram"], nlohmann::ordered_json({0, 0, 120, 0, 0, 0}));
  const auto& fields = *v1::CostReport::descriptor();
  for (int i = 0; i < fields.field_count(); ++i) EXPECT_TRUE(json.contains(fields.field(i)->name()));
  EXPECT_FALSE(DocumentJson("a.txt", Example(), /*with_text=*/false).contains("text"));
}

TEST(JsonTest, FailuresHaveACodeAndAMessage) {
  const auto json = FailureJson("a.txt", absl::InvalidArgumentError("is empty"));
  EXPECT_EQ(json.dump(), R"({"file":"a.txt","error":{"code":"INVALID_ARGUMENT","message":"is empty"}})");
}

TEST(ModelsTableTest, NamesWhatAModelCanDo) {
  v1::ListModelsResponse models;
  v1::Model& model = *models.add_models();
  model.set_name("en-de");
  model.set_source_language("en");
  model.set_target_language("de");
  model.set_encoder_layers(6);
  model.set_decoder_layers(3);
  model.set_d_model(512);
  model.set_parameters(61500000);
  model.set_state(v1::Model::IDLE);
  model.add_selection_policies(v1::SelectionControls::DENSE);
  model.add_selection_policies(v1::SelectionControls::LEARNED);
  model.add_depth_policies(v1::DepthControls::GEOMETRIC);
  v1::OperatingPoint& point = *model.add_operating_points();
  point.set_name("fast");
  point.mutable_depth()->set_policy(v1::DepthControls::GEOMETRIC);
  point.mutable_depth()->add_thresholds(0.4);
  point.set_bleu(28.25);
  const std::string table = ModelsTable(models);
  EXPECT_THAT(table, HasSubstr("en > de"));
  EXPECT_THAT(table, HasSubstr("6 + 3"));
  EXPECT_THAT(table, HasSubstr("61.5 M"));
  EXPECT_THAT(table, HasSubstr("idle"));
  EXPECT_THAT(table, HasSubstr("--selection dense learned\n"));
  EXPECT_THAT(table, HasSubstr("--exit geometric\n"));
  EXPECT_THAT(table, HasSubstr("geometric:0.4"));
}

TEST(ModelsTableTest, OfAModelThatCouldNotBeLoadedOnlyTheNameIsKnown) {
  v1::ListModelsResponse models;
  models.add_models()->set_name("broken");
  models.mutable_models(0)->set_state(v1::Model::FAILED);
  EXPECT_EQ(ModelsTable(models),
            "model   languages  layers  width  parameters  chunk  device   state\n"
            "broken          -       -      -           -      -       -  failed\n");
}

TEST(ProgressTest, ALiveLineIsTakenAwayBeforeAnythingElse) {
  std::ostringstream out;
  Progress progress({"a.txt"}, out, /*live=*/true, /*quiet=*/false);
  progress.Update(0, {.done = 1, .total = 4, .share = 0.5});
  const std::string line = "\033[?7la.txt: 50 %, 1 of 4 segments\033[?7h";  // which does not wrap
  EXPECT_EQ(out.str(), line);
  progress.Say("message");
  EXPECT_EQ(out.str(), line + "\r\033[Kmessage\n");
  progress.Clear();
  EXPECT_EQ(out.str(), line + "\r\033[Kmessage\n") << "there is no line to take away";
}

TEST(ProgressTest, SeveralDocumentsAreCountedTogether) {
  std::ostringstream out;
  Progress progress({"a", "b"}, out, /*live=*/true, /*quiet=*/false);
  progress.Update(1, {.done = 3, .total = 4, .share = 0.8, .note = "queued"});
  EXPECT_THAT(out.str(), HasSubstr("l0 of 2 documents: 80 %, 3 of 4 segments (queued)"));
}

TEST(ProgressTest, WhereNobodyLooksOrWantsTo) {
  std::ostringstream file, quiet;
  Progress to_file({"a"}, file, /*live=*/false, /*quiet=*/false);
  to_file.Update(0, {.done = 1, .total = 4});
  EXPECT_EQ(file.str(), "") << "the first line comes after two seconds";
  Progress silent({"a"}, quiet, /*live=*/true, /*quiet=*/true);
  silent.Update(0, {.done = 1, .total = 4});
  EXPECT_EQ(quiet.str(), "");
  silent.Say("an error");
  EXPECT_EQ(quiet.str(), "an error\n");
}

}  // namespace
}  // namespace salient
