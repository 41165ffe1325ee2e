#include "client/settings.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/documents.h"
#include "engine/base/files.h"
#include "google/protobuf/util/json_util.h"

namespace salient {
namespace {

using Setting = v1::TranslateDocumentRequest;
using Selection = v1::SelectionControls;
using Depth = v1::DepthControls;

Setting Of(Selection::Policy selection, Depth::Policy depth) {
  Setting setting;
  setting.mutable_selection()->set_policy(selection);
  setting.mutable_depth()->set_policy(depth);
  return setting;
}

// The same for two settings that do the same.
std::string Meaning(const v1::SelectionControls& selection, const v1::DepthControls& depth, v1::SearchControls search) {
  if (search.beam() == 1) search.clear_beam();
  if (!search.shortlist()) search.clear_shortlist();
  return absl::StrCat(selection.SerializeAsString(), "/", depth.SerializeAsString(), "/", search.SerializeAsString());
}

// Settings without those that do the same as an earlier one.
class Distinct {
 public:
  void Add(const Setting& setting) {
    AddIfNew(Meaning(setting.selection(), setting.depth(), setting.search()), setting);
  }
  void Add(const v1::OperatingPoint& point) {
    Setting setting;
    setting.set_operating_point(point.name());
    AddIfNew(Meaning(point.selection(), point.depth(), point.search()), setting);
  }
  const std::vector<Setting>& settings() const { return settings_; }

 private:
  void AddIfNew(std::string meaning, const Setting& setting) {
    if (meanings_.insert(std::move(meaning)).second) settings_.push_back(setting);
  }
  std::set<std::string> meanings_;
  std::vector<Setting> settings_;
};

template <typename Policies>
bool Has(const Policies& policies, int policy) {
  return std::find(policies.begin(), policies.end(), policy) != policies.end();
}

// The exit next to half the layers, at least one layer before the last; 0 if there is none.
int HalfOf(const v1::Model& model) {
  int half = 0;
  for (const int exit : model.exits()) {
    if (exit < model.decoder_layers() && 2 * exit <= model.decoder_layers() + 1) half = std::max(half, exit);
  }
  return half;
}

}  // namespace

absl::StatusOr<std::vector<Setting>> ReadSettings(const std::string& file) {
  const auto text = ReadNamed(file, kMostDocumentBytes);
  if (!text.ok()) return text.status();
  std::vector<Setting> settings;
  int number = 0;
  for (const auto& line : absl::StrSplit(*text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    const auto parsed = google::protobuf::util::JsonStringToMessage(std::string(line), &settings.emplace_back());
    if (parsed.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        file, ", line ", number, ": not a TranslateDocumentRequest in JSON: ", std::string(parsed.message())));
  }
  return settings;
}

Setting DenseAtFullDepth() { return Of(Selection::DENSE, Depth::FULL); }

std::vector<Setting> SettingsOf(const v1::Model& model) {
  const Selection::Policy sparse =
      Has(model.selection_policies(), Selection::LEARNED) ? Selection::LEARNED : Selection::DENSE;
  const Depth::Policy adaptive = Has(model.depth_policies(), Depth::GEOMETRIC) ? Depth::GEOMETRIC : Depth::FULL;
  Distinct distinct;
  distinct.Add(DenseAtFullDepth());
  for (const v1::OperatingPoint& point : model.operating_points()) distinct.Add(point);
  distinct.Add(Of(sparse, Depth::FULL));
  if (const int half = HalfOf(model); half > 0 && Has(model.depth_policies(), Depth::FIXED)) {
    for (const Selection::Policy selection : {Selection::DENSE, sparse}) {
      Setting fixed = Of(selection, Depth::FIXED);
      fixed.mutable_depth()->set_fixed_exit(half);
      distinct.Add(fixed);
    }
  }
  for (const Depth::Policy depth : {Depth::GEOMETRIC, Depth::CONFIDENCE}) {
    if (Has(model.depth_policies(), depth)) distinct.Add(Of(sparse, depth));
  }
  if (model.has_shortlist()) {
    Setting shortlist = Of(sparse, adaptive);
    shortlist.mutable_search()->set_shortlist(true);
    distinct.Add(shortlist);
  }
  Setting beam = DenseAtFullDepth();
  beam.mutable_search()->set_beam(4);
  distinct.Add(beam);
  return distinct.settings();
}

}  // namespace salient
