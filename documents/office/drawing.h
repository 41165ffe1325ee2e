// DrawingML, the text of slides, shapes and diagrams in all formats of Office Open XML.

#pragma once

#include <string_view>
#include <vector>

#include "documents/office/package.h"

namespace salient {

// What a chart takes from cells is not read, because it would become that of the cells again.
PartContent ReadDrawing(std::string_view bytes, const std::vector<XmlEvent>& events, const ParseOptions& options);

}  // namespace salient
