#include "cli/numbers.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace salient {

CLI::Validator Between(double least, double most) {
  const auto check = [least, most](const std::string& typed) -> std::string {
    double value = 0;
    if (absl::SimpleAtod(typed, &value) && value >= least && value <= most) return "";
    return absl::StrCat("'", typed, "' is not a number from ", least, " to ", most);
  };
  return CLI::Validator(check, "");
}

}  // namespace salient
