#include "server/compat/csv.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace salient {
namespace {

// Reads the field at `*at`, and what ends it: a comma, or else a line break or the end. False: a quotation mark is not
// closed, or something follows it.
bool ReadField(std::string_view csv, size_t* at, std::string* field) {
  field->clear();
  if (*at >= csv.size() || csv[*at] != '"') {
    const size_t end = std::min(csv.find_first_of(",\r\n", *at), csv.size());
    field->assign(csv.substr(*at, end - *at));
    *at = end;
    return true;
  }
  for (++*at; *at < csv.size(); ++*at) {
    if (csv[*at] != '"') {
      field->push_back(csv[*at]);
    } else if (csv.substr(*at + 1, 1) == "\"") {
      field->push_back(csv[(*at)++]);
    } else {
      ++*at;
      return *at == csv.size() || std::string_view(",\r\n").find(csv[*at]) != std::string_view::npos;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<std::string> TsvOfCsv(std::string_view csv) {
  std::string tsv, field;
  size_t row = 1;
  for (size_t at = 0; at < csv.size(); ++row) {
    std::vector<std::string> fields;
    do {
      if (!fields.empty()) ++at;  // the comma
      if (!ReadField(csv, &at, &field)) {
        return absl::InvalidArgumentError(absl::StrCat("row ", row, " has a quotation mark that is not closed"));
      }
      if (field.find_first_of("\t\r\n") != field.npos) {
        return absl::InvalidArgumentError(absl::StrCat("row ", row, " has a tab or a line break in a term"));
      }
      if (fields.size() < 2) fields.push_back(field);
    } while (at < csv.size() && csv[at] == ',');
    if (csv.substr(at, 2) == "\r\n") ++at;
    ++at;
    if (fields.size() == 1 && fields[0].empty()) continue;
    if (fields.size() < 2) {
      return absl::InvalidArgumentError(absl::StrCat("row ", row, " is not a source, a comma and its target"));
    }
    absl::StrAppend(&tsv, fields[0], "\t", fields[1], "\n");
  }
  return tsv;
}

}  // namespace salient
