#include "documents/guard/calibration.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/files.h"
#include "nlohmann/json.hpp"

namespace salient {
namespace {

using nlohmann::json;

constexpr size_t kMostBytes = 1 << 20;

// Reads one number, if it is there.
absl::Status Read(const json& object, const char* group, const char* name, double least, double most, double* value) {
  const auto found = object.find(group);
  if (found == object.end()) return absl::OkStatus();
  if (!found->is_object()) return absl::InvalidArgumentError(absl::StrCat("guard.json: ", group, " is no object"));
  const auto field = found->find(name);
  if (field == found->end()) return absl::OkStatus();
  const double read = field->is_number() ? field->get<double>() : NAN;
  if (!(read >= least && read <= most)) {
    return absl::InvalidArgumentError(
        absl::StrCat("guard.json: ", group, ".", name, " must be a number from ", least, " to ", most));
  }
  *value = read;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GuardCalibration> ParseGuardCalibration(const std::string& text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return absl::InvalidArgumentError("guard.json: is no JSON object");
  GuardCalibration calibration;
  for (const absl::Status& status : {Read(object, "length", "shortest", 0, 1, &calibration.shortest),
                                     Read(object, "length", "longest", 1, 100, &calibration.longest),
                                     Read(object, "quality", "offset", -1000, 1000, &calibration.quality_offset),
                                     Read(object, "quality", "scale", 0, 1000, &calibration.quality_scale)}) {
    if (!status.ok()) return status;
  }
  return calibration;
}

absl::StatusOr<GuardCalibration> ReadGuardCalibration(const std::string& folder) {
  const absl::StatusOr<std::string> bytes = ReadRegular(folder + "/guard.json", kMostBytes);
  if (absl::IsNotFound(bytes.status())) return GuardCalibration{};
  if (!bytes.ok()) return absl::InvalidArgumentError(bytes.status().message());
  absl::StatusOr<GuardCalibration> parsed = ParseGuardCalibration(*bytes);
  if (parsed.ok()) return parsed;
  return absl::InvalidArgumentError(absl::StrCat(folder, "/", std::string(parsed.status().message())));
}

}  // namespace salient
