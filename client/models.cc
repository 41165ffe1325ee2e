#include "client/models.h"

#include <chrono>
#include <ostream>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/connection.h"
#include "client/controls.h"
#include "client/report.h"
#include "grpcpp/client_context.h"

namespace salient {
namespace {

constexpr std::chrono::seconds kWithin(30);  // the server answers from memory

std::string SelectionPolicies(const v1::Model& model) {
  return absl::StrJoin(model.selection_policies(), " ", [](std::string* out, int policy) {
    *out +=
        absl::AsciiStrToLower(v1::SelectionControls::Policy_Name(static_cast<v1::SelectionControls::Policy>(policy)));
  });
}

std::string DepthPolicies(const v1::Model& model) {
  return absl::StrJoin(model.depth_policies(), " ", [](std::string* out, int policy) {
    *out += absl::AsciiStrToLower(v1::DepthControls::Policy_Name(static_cast<v1::DepthControls::Policy>(policy)));
  });
}

std::string PointsTable(const v1::Model& model) {
  std::vector<std::vector<std::string>> table = {
      {"  --operating-point", "selection", "exit", "beam", "BLEU", "attention", "mean exit", "s/1000 tokens"}};
  for (const v1::OperatingPoint& point : model.operating_points()) {
    table.push_back(
        {absl::StrCat("  ", point.name()), Describe(point.selection()), Describe(point.depth()),
         absl::StrCat(point.search().has_beam() ? point.search().beam() : 1), absl::StrFormat("%.1f", point.bleu()),
         absl::StrFormat("%.1f %%", 100 * point.attention_cost_ratio()), absl::StrFormat("%.2f", point.mean_exit()),
         absl::StrFormat("%.2f", point.seconds_per_1000_tokens())});
  }
  return AlignColumns(table);
}

// Nothing of a server that does not tell it.
std::string StateName(v1::Model::State state) {
  return state == v1::Model::STATE_UNSPECIFIED ? "" : absl::AsciiStrToLower(v1::Model::State_Name(state));
}

// Of a model that could not be loaded only the folder's name is known.
bool IsKnown(const v1::Model& model) { return model.d_model() > 0; }

std::string Details(const v1::Model& model) {
  if (!IsKnown(model)) return "";
  std::string text = absl::StrCat("\n", model.name(), "\n");
  if (!model.description().empty()) absl::StrAppend(&text, "  ", model.description(), "\n");
  absl::StrAppend(&text, "  --selection ", SelectionPolicies(model), "\n  --exit ", DepthPolicies(model), "\n");
  if (model.operating_points_size() > 0) absl::StrAppend(&text, PointsTable(model));
  return text;
}

}  // namespace

std::string ModelsTable(const v1::ListModelsResponse& models) {
  std::vector<std::vector<std::string>> table = {
      {"model", "languages", "layers", "width", "parameters", "chunk", "device", "state"}};
  for (const v1::Model& model : models.models()) {
    if (!IsKnown(model)) {
      table.push_back({model.name(), "-", "-", "-", "-", "-", "-", StateName(model.state())});
      continue;
    }
    table.push_back({model.name(), absl::StrCat(model.source_language(), " > ", model.target_language()),
                     absl::StrCat(model.encoder_layers(), " + ", model.decoder_layers()), absl::StrCat(model.d_model()),
                     absl::StrFormat("%.1f M", static_cast<double>(model.parameters()) / 1e6),
                     absl::StrCat(model.chunk_tokens(), " tokens"), model.device(), StateName(model.state())});
  }
  std::string text = AlignColumns(table);
  for (const v1::Model& model : models.models()) text += Details(model);
  return text;
}

int RunModels(const ModelsFlags& flags, std::ostream& out, std::ostream& err) {
  const auto fail = [&err](const absl::Status& status) {
    err << "salient: " << std::string(status.message()) << "\n";
    return 1;
  };
  auto stub = Connect(flags.connection);
  if (!stub.ok()) return fail(stub.status());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kWithin);
  v1::ListModelsResponse models;
  const grpc::Status status = (*stub)->ListModels(&context, {}, &models);
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return fail(absl::DeadlineExceededError(absl::StrCat("the server at ", flags.connection.server,
                                                         " did not answer within ", kWithin.count(), " seconds")));
  }
  if (!status.ok()) return fail(Explain(status, flags.connection.server));
  if (flags.report == ReportFormat::kTable) {
    out << ModelsTable(models);
  } else {
    for (const v1::Model& model : models.models()) out << ToJson(model).dump() << "\n";
  }
  if (!out.flush()) return fail(absl::UnavailableError("cannot write the list"));
  return 0;
}

}  // namespace salient
