// What the parts of an Office Open XML archive are. Their names are free: [Content_Types].xml lists the types of parts.

#pragma once

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "documents/document.h"
#include "documents/syntax/zip_archive.h"

namespace salient {

enum class PartKind {
  kOther,
  kMain,  // the one that the archive's relationships name
  // Text that is drawn on a page: text boxes, SmartArt (its data, and the shapes that were drawn of them, which have
  // the same texts), titles of charts.
  kDrawing,
  kWordText,  // headers, footers and notes of a text
  kWordStyles,
  kWordNumbering,
  kSlide,  // and its notes
  kSheet,
  kSharedStrings,
  kTable,  // of a sheet
  kPivotTable,
  kPivotCache,  // what a pivot table shows
};

class PartKinds {
 public:
  // Knows only names if the archive has no [Content_Types].xml. The errors are those of reading it. `folder` is the
  // format's: "ppt/".
  static absl::StatusOr<PartKinds> Read(std::string_view folder, std::string_view what, const DocumentLimits& limits,
                                        ZipArchive* archive);

  // By the part's type, or by its name as Office chooses it, where its type is not given or says nothing.
  PartKind KindOf(std::string_view name) const;

 private:
  std::string folder_;
  std::map<std::string, PartKind> kinds_;  // by names in lower case; of types that are known
};

}  // namespace salient
