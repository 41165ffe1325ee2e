#include "engine/device.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

constexpr size_t kMaxDescriptionBytes = 4096;  // a reply about all models has the description of each

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> OpenBackend(const EngineOptions& options, std::string device,
                                                     std::string* opened) {
  *opened = device;
  if (device == "reference") return MakeReferenceBackend();
  if (device == "auto" || device == "cuda") {
    absl::StatusOr<std::unique_ptr<Backend>> cuda = MakeCudaBackend({.compute = options.compute});
    *opened = "cuda";
    if (cuda.ok()) return cuda;
    if (device == "cuda") {
      return absl::Status(cuda.status().code(),
                          absl::StrCat("device is cuda: ", cuda.status().message(), "; use auto or cpu"));
    }
  } else if (device != "cpu") {
    return absl::InvalidArgumentError(absl::StrCat("device is \"", device, "\"; it must be auto, cpu or cuda"));
  }
  *opened = "cpu";
  return MakeCpuBackend({.threads = options.threads, .compute = options.compute});
}

std::string Description(const std::string& card) {
  std::istringstream lines(card);
  std::string line, paragraph;
  while (std::getline(lines, line)) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line[0] == '#') {
      if (!paragraph.empty()) break;
      continue;
    }
    absl::StrAppend(&paragraph, paragraph.empty() ? "" : " ", line);
  }
  if (FirstInvalidText(paragraph).has_value()) return "";
  return std::string(Utf8Prefix(paragraph, kMaxDescriptionBytes));
}

}  // namespace salient
