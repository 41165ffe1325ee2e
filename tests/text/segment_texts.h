// The texts of a document's segments.

#pragma once

#include <string>
#include <vector>

#include "engine/text/document.h"

namespace salient {

inline std::vector<std::string> Texts(const SegmentedDocument& document) {
  std::vector<std::string> texts;
  for (const Segment& segment : document.segments) texts.push_back(segment.text);
  return texts;
}

}  // namespace salient
