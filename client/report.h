// The cost of translations, as a table and as JSON.

#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/call.h"
#include "nlohmann/json.hpp"

namespace salient {

struct ReportRow {
  std::string file;
  Translation translation;
};

// One line for each document, and the sum if there are several.
std::string CostTable(const std::vector<ReportRow>& rows);

// Columns have the width of their widest cell; the first is left-aligned, the others right-aligned.
std::string AlignColumns(const std::vector<std::vector<std::string>>& rows);

// A message with the field names of the .proto and, unlike the JSON mapping of protobuf, 64-bit integers as numbers.
// Fields with presence that are unset are left out.
nlohmann::ordered_json ToJson(const google::protobuf::Message& message);

// The object of one document: the fields of CostReport at the top level, and the file, the model, the controls that
// were used, and the segments with their translations. With `with_text` also the whole translation.
nlohmann::ordered_json DocumentJson(const std::string& file, const Translation& translation, bool with_text);
nlohmann::ordered_json FailureJson(const std::string& file, const absl::Status& status);

}  // namespace salient
