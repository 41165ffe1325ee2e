// DrawingML, the text of slides, shapes and diagrams in all formats of Office Open XML.

#pragma once

#include <string_view>
#include <vector>

#include "documents/office/package.h"

namespace salient {

// Whether a part holds text that is drawn on a page: text boxes, SmartArt (its data, and the shapes that were drawn of
// them, which have the same texts), titles of charts. `folder` is the format's: "ppt/". What a chart takes from cells
// is not read, because it would become that of the cells again.
bool IsDrawing(std::string_view name, std::string_view folder);

PartContent ReadDrawing(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options);

}  // namespace salient
