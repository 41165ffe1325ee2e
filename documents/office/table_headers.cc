#include "documents/office/table_headers.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/numbers.h"

namespace salient {
namespace {

constexpr size_t kMostLetters = 3;    // of a column
constexpr size_t kMostRowDigits = 7;  // of a row

struct CellPlace {
  int64_t row = 0, column = 0;  // from 1
};

// "B12" is row 12, column 2.
std::optional<CellPlace> ReadPlace(std::string_view reference) {
  CellPlace place;
  size_t letters = 0;
  while (letters < reference.size() && reference[letters] >= 'A' && reference[letters] <= 'Z') {
    if (letters == kMostLetters) return std::nullopt;
    place.column = place.column * 26 + (reference[letters++] - 'A' + 1);
  }
  const std::string row(reference.substr(letters));
  if (letters == 0 || row.size() > kMostRowDigits || !absl::SimpleAtoi(row, &place.row)) return std::nullopt;
  return place;
}

// The number in an attribute, or `otherwise` if there is none, or one that no sheet has.
int64_t NumberOf(std::string_view bytes, const XmlEvent& event, std::string_view attribute, int64_t otherwise) {
  const std::string value(AttributeOf(bytes, event, attribute));
  int64_t number = 0;
  return value.size() <= kMostRowDigits && absl::SimpleAtoi(value, &number) ? number : otherwise;
}

}  // namespace

void TableHeaders::Add(std::string_view bytes, const std::vector<XmlEvent>& events) {
  const auto table = std::find_if(events.begin(), events.end(),
                                  [](const XmlEvent& event) { return event.kind == XmlEvent::Kind::kStart; });
  if (table == events.end() || NumberOf(bytes, *table, "headerRowCount", 1) == 0) return;
  const std::string_view reference = AttributeOf(bytes, *table, "ref");
  const size_t colon = std::min(reference.find(':'), reference.size());
  const std::optional<CellPlace> first = ReadPlace(reference.substr(0, colon));
  if (!first.has_value()) return;
  const CellPlace last = ReadPlace(reference.substr(std::min(colon + 1, reference.size()))).value_or(*first);
  // The stretch takes in those that it touches.
  std::map<int64_t, int64_t>& stretches = rows_[first->row];
  int64_t begin = first->column, end = std::max(first->column, last.column);
  auto at = stretches.upper_bound(begin);
  if (at != stretches.begin() && std::prev(at)->second >= begin) --at;
  while (at != stretches.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = stretches.erase(at);
  }
  stretches[begin] = end;
}

bool TableHeaders::Contains(int64_t row, int64_t column) const {
  const auto stretches = rows_.find(row);
  if (stretches == rows_.end()) return false;
  const auto after = stretches->second.upper_bound(column);
  return after != stretches->second.begin() && column <= std::prev(after)->second;
}

std::vector<size_t> TableHeaders::CellsOf(std::string_view bytes, const std::vector<XmlEvent>& events,
                                          const std::string& prefix) const {
  const std::string row_name = prefix + "row", cell_name = prefix + "c";
  std::vector<size_t> cells;
  CellPlace place;  // of a cell or row that does not tell its place: after the one before it
  for (size_t i = 0; i < events.size(); ++i) {
    if (events[i].kind != XmlEvent::Kind::kStart) continue;
    if (events[i].name == row_name) {
      place = {NumberOf(bytes, events[i], "r", place.row + 1), 0};
    } else if (events[i].name == cell_name) {
      place = ReadPlace(AttributeOf(bytes, events[i], "r")).value_or(CellPlace{place.row, place.column + 1});
      if (Contains(place.row, place.column)) cells.push_back(i);
    }
  }
  return cells;
}

}  // namespace salient
