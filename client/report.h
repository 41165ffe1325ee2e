// What translations cost, as a table for people and as JSON for programs.

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

// A line a document, and their sum where there are several.
std::string CostTable(const std::vector<ReportRow>& rows);

// Columns as wide as their widest cell; the first to the left, the others to the right.
std::string AlignColumns(const std::vector<std::vector<std::string>>& rows);

// A message with the field names of the .proto and, unlike the JSON mapping of protobuf, 64-bit integers as numbers.
// Fields with presence that are unset are left out.
nlohmann::ordered_json ToJson(const google::protobuf::Message& message);

// One document's object: the fields of CostReport at the top, beside file, model, the controls that were used, and the
// segments that went in and came out. With `with_text` also the translation itself.
nlohmann::ordered_json DocumentJson(const std::string& file, const Translation& translation, bool with_text);
nlohmann::ordered_json FailureJson(const std::string& file, const absl::Status& status);

}  // namespace salient
