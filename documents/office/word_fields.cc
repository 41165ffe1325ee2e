#include "documents/office/word_fields.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace salient {
namespace {

constexpr size_t kNoPosition = static_cast<size_t>(-1);

class FieldFinder {
 public:
  FieldFinder(std::string_view bytes, const std::vector<XmlEvent>& events, const std::string& prefix)
      : bytes_(bytes), events_(events), prefix_(prefix) {}

  std::vector<FieldPart> Find(const std::vector<std::string>& opaque) {
    for (size_t i = 0; i < events_.size(); ++i) {
      const XmlEvent& event = events_[i];
      if (event.kind == XmlEvent::Kind::kStart) {
        if (std::find(opaque.begin(), opaque.end(), event.name) != opaque.end()) {
          i = event.match;
        } else if (IsStory(event.name)) {
          stories_.push_back({i});
        } else if (event.name == prefix_ + "fldChar") {
          TakeMark(i);
        } else if (event.name == prefix_ + "instrText") {
          TakeInstruction(i);
        }
      } else if (event.kind == XmlEvent::Kind::kEnd && IsStory(event.name)) {
        stories_.pop_back();
      }
    }
    return OutermostParts();
  }

 private:
  struct OpenField {
    size_t begin = 0, separate = kNoPosition;
    std::string instruction;
  };

  // Text that is not part of the text around it: a field ends in the story in which it begins.
  struct Story {
    size_t start = 0;
    std::vector<OpenField> open;  // its fields that have not ended
  };

  bool IsStory(const std::string& name) const {
    return name == prefix_ + "txbxContent" || name == prefix_ + "footnote" || name == prefix_ + "endnote";
  }

  void TakeMark(size_t i) {
    std::vector<OpenField>& open = stories_.back().open;
    const std::string_view type = AttributeOf(bytes_, events_[i], prefix_ + "fldCharType");
    if (type == "begin") {
      open.push_back({i});
    } else if (type == "separate") {
      if (!open.empty() && open.back().separate == kNoPosition) open.back().separate = i;
    } else if (type == "end" && !open.empty()) {
      AddParts(open.back(), i);
      open.pop_back();
    }
  }

  void TakeInstruction(size_t start) {
    std::vector<OpenField>& open = stories_.back().open;
    if (open.empty() || open.back().separate != kNoPosition) return;
    for (size_t i = start + 1; i < events_[start].match; ++i) open.back().instruction.append(events_[i].text);
  }

  void AddParts(const OpenField& field, size_t end) {
    const size_t story = stories_.back().start;
    if (field.separate != kNoPosition && IsResultTranslated(field.instruction)) {
      parts_.push_back({FieldPart::Kind::kOpen, field.begin, field.separate, field.begin, story});
      parts_.push_back({FieldPart::Kind::kClose, end, end, field.begin, story});
    } else {
      parts_.push_back({FieldPart::Kind::kWhole, field.begin, end, field.begin, story});
    }
  }

  std::vector<FieldPart> OutermostParts() {
    std::sort(parts_.begin(), parts_.end(), [](const FieldPart& a, const FieldPart& b) { return a.first < b.first; });
    std::vector<FieldPart> outermost;
    for (const FieldPart& part : parts_) {
      if (outermost.empty() || part.first > outermost.back().last) outermost.push_back(part);
    }
    return outermost;
  }

  const std::string_view bytes_;
  const std::vector<XmlEvent>& events_;
  const std::string& prefix_;
  std::vector<Story> stories_ = {{}};  // outermost first
  std::vector<FieldPart> parts_;
};

}  // namespace

std::vector<FieldPart> FindFields(std::string_view bytes, const std::vector<XmlEvent>& events,
                                  const std::string& prefix, const std::vector<std::string>& opaque) {
  return FieldFinder(bytes, events, prefix).Find(opaque);
}

bool IsResultTranslated(std::string_view instruction) {
  const size_t begin = std::min(instruction.find_first_not_of(" \t\r\n"), instruction.size());
  size_t end = begin;
  while (end < instruction.size() && absl::ascii_isalpha(static_cast<unsigned char>(instruction[end]))) ++end;
  const std::string name = absl::AsciiStrToUpper(std::string(instruction.substr(begin, end - begin)));
  return name == "HYPERLINK" || name == "TOC";
}

}  // namespace salient
