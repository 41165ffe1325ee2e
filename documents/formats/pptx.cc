// Presentations: the text of slides, of what is drawn on them, and of their notes is translated. Layouts and comments
// are not.

#include "documents/formats/parsers.h"
#include "documents/office/drawing.h"

namespace salient {
namespace {

PartReader SlideReaderOf(const PackagePart& part) {
  return part.kind == PartKind::kSlide || part.kind == PartKind::kDrawing ? ReadDrawing : nullptr;
}

}  // namespace

ParsedDocument ParsePptx(std::string_view bytes, const ParseOptions& options) {
  return ParsePackage(bytes, options, {"PPTX", "ppt/presentation.xml", SlideReaderOf});
}

}  // namespace salient
