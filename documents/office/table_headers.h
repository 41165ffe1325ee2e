// The header cells of Excel tables. Their texts are the names of the columns, which must equal those in the part of the
// table, and by which formulas refer to the columns: `SUM(Table1[Total price])`.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "documents/syntax/xml_events.h"

namespace salient {

// The headers of all tables in a sheet.
class TableHeaders {
 public:
  // Adds those of a table; `bytes` and `events` are its part: <table ref="A1:C9" headerRowCount="1">.
  void Add(std::string_view bytes, const std::vector<XmlEvent>& events);

  // The start events of a sheet's cells that are headers. `prefix` is that of the element names.
  std::vector<size_t> CellsOf(std::string_view bytes, const std::vector<XmlEvent>& events,
                              const std::string& prefix) const;

 private:
  bool Contains(int64_t row, int64_t column) const;

  // Of each row, the columns that are headers: the first and the last of each stretch. Stretches are disjoint.
  std::map<int64_t, std::map<int64_t, int64_t>> rows_;
};

}  // namespace salient
