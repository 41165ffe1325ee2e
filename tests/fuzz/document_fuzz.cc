// SplitDocument: any bytes. What is text comes back whole, in segments that are fit to be translated.

#include <algorithm>
#include <string>
#include <string_view>

#include "engine/base/utf8.h"
#include "engine/text/document.h"
#include "tests/fuzz/fuzz.h"

namespace salient {
namespace {

// Without what unwrapping may change: white space, here all bytes that occur in it.
std::string WithoutSpace(std::string_view text) {
  std::string kept(text);
  for (const char* space : {" ",
                            "\t",
                            "\n",
                            "\v",
                            "\f",
                            "\r",
                            "\xc2\x85",
                            "\xc2\xa0",
                            "\xe2\x80\xa8",
                            "\xe2\x80\xa9",
                            "\xe3\x80\x80",
                            "\xef\xbb\xbf",
                            "\xe1\x9a\x80",
                            "\xe2\x81\x9f",
                            "\xe2\x80\xaf",
                            "\xe2\x80\x80",
                            "\xe2\x80\x81",
                            "\xe2\x80\x82",
                            "\xe2\x80\x83",
                            "\xe2\x80\x84",
                            "\xe2\x80\x85",
                            "\xe2\x80\x86",
                            "\xe2\x80\x87",
                            "\xe2\x80\x88",
                            "\xe2\x80\x89",
                            "\xe2\x80\x8a",
                            "\xe2\x80\x8b",
                            "\x1c",
                            "\x1d",
                            "\x1e",
                            "\x1f"}) {
    const std::string_view what(space);
    std::string rest;
    size_t at = 0;
    for (size_t found; (found = kept.find(what, at)) != std::string::npos; at = found + what.size()) {
      rest.append(kept, at, found - at);
    }
    rest.append(kept, at);
    kept = std::move(rest);
  }
  return kept;
}

void Check(std::string_view text, Segmentation segmentation, const std::string& language) {
  const auto document = SplitDocument(text, segmentation, language);
  Require(document.ok() == !FirstInvalidText(text).has_value(), "what is text is cut, and nothing else");
  if (!document.ok()) return;
  std::vector<std::string> texts;
  for (const Segment& segment : document->segments) {
    Require(!segment.text.empty(), "a segment has text");
    Require(segment.text.find_first_of("\n\r\v\f") == std::string::npos, "a segment has no line break");
    texts.push_back(segment.text);
  }
  const std::string joined = JoinDocument(*document, texts);
  if (segmentation == Segmentation::kLines) {
    Require(joined == text, "lines come back byte for byte");
  } else {
    Require(WithoutSpace(joined) == WithoutSpace(text), "sentences come back, white space apart");
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  return {
      "",
      "One sentence. And another one! \"Really?\" he asked. Dr. Smith met J. R. Jones, e.g. Today.\n\nNew paragraph.",
      "# Title\n\n- first\n- second\n  1. third\n> quoted\n***\n12.5\n",
      "It was the best of times, it was the worst of times, it was the age of\nwisdom, it was the age of foolishness. "
      "It "
      "was the epoch of belief, it\r\nwas the season of Light, it was the season of Darkness, it was also\nspring.\n",
      "\xef\xbb\xbf\tDas ist z. B. am 3. Oktober. \xe2\x80\x9eWirklich?\xe2\x80\x9c fragte "
      "er.\xc2\xa0\r\n\r\nEnde\xe2\x80\xa8hier",
      "\xe4\xbd\xa0\xe5\xa5\xbd\xe3\x80\x82\xe5\x86\x8d\xe8\xa7\x81\xe3\x80\x82\n\xf0\x9f\x98\x80 ok. "
      "\xd8\xb3\xd9\x84\xd8\xa7\xd9\x85.",
  };
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  salient::Check(text, salient::Segmentation::kSentences, size % 2 == 0 ? "en" : "de");
  salient::Check(text, salient::Segmentation::kLines, "en");
  return 0;
}
