#include "documents/syntax/html_tokens.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "documents/ascii.h"
#include "documents/input.h"

namespace salient {
namespace {

constexpr size_t kMostAttributes = 100;

bool IsHtmlSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r'; }

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  absl::AsciiStrToLower(&lower);
  return lower;
}

// What ends SVG or MathML that was left open.
bool BreaksOut(std::string_view name) {
  return IsOneOf(name, {"blockquote", "body", "br",  "center", "dd",   "div",   "dl",   "dt", "h1", "h2",
                        "h3",         "h4",   "h5",  "h6",     "head", "hr",    "img",  "li", "ol", "p",
                        "pre",        "span", "sub", "sup",    "b",    "table", "code", "em", "i",  "ul"});
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text)
      : text_(text), is_xhtml_(text.substr(ByteOrderMark(text)).starts_with("<?xml")) {}

  std::vector<HtmlToken> Run(size_t most) {
    while (at_ < text_.size() && tokens_.size() < most) {
      if (!Markup()) ++at_;
    }
    FlushText(at_);
    return std::move(tokens_);
  }

 private:
  char At(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  void FlushText(size_t end, bool raw = false) {
    if (text_begin_ < end) tokens_.push_back({HtmlToken::Kind::kText, {text_begin_, end}, "", {}, false, raw});
    text_begin_ = end;
  }

  void Add(HtmlToken token, size_t end) {
    FlushText(at_);
    token.range = {at_, end};
    tokens_.push_back(std::move(token));
    at_ = text_begin_ = end;
  }

  void AddOther(size_t end) { Add({HtmlToken::Kind::kOther}, std::min(end, text_.size())); }

  // Behind the next `what`, or the end of the text.
  size_t After(std::string_view what, size_t from) const {
    const size_t found = text_.find(what, from);
    return found == std::string_view::npos ? text_.size() : found + what.size();
  }

  // Takes what begins at at_ if that is anything but text.
  bool Markup() {
    if (text_[at_] != '<') return false;
    const char next = At(at_ + 1);
    if (IsLetter(next)) {
      StartTag();
    } else if (next == '/' && IsLetter(At(at_ + 2))) {
      HtmlToken token{HtmlToken::Kind::kEnd};
      const size_t end = Tag(at_ + 2, token);
      if (foreign_ > 0 && IsOneOf(token.name, {"svg", "math"})) --foreign_;
      Add(std::move(token), end);
    } else if (next == '/' && at_ + 2 < text_.size()) {
      AddOther(After(">", at_ + 2));
    } else if (text_.substr(at_).starts_with("<!--")) {
      AddOther(CommentEnd());
    } else if (foreign_ > 0 && text_.substr(at_).starts_with("<![CDATA[")) {
      AddOther(After("]]>", at_ + 9));
    } else if (next == '!' || next == '?') {
      AddOther(After(">", at_ + 2));
    } else {
      return false;
    }
    return true;
  }

  size_t CommentEnd() const {
    const std::string_view rest = text_.substr(at_ + 4);
    if (rest.starts_with(">")) return at_ + 5;
    if (rest.starts_with("->")) return at_ + 6;
    for (size_t i = text_.find("--", at_ + 4); i != std::string_view::npos; i = text_.find("--", i + 1)) {
      if (At(i + 2) == '>') return i + 3;
      if (At(i + 2) == '!' && At(i + 3) == '>') return i + 4;
    }
    return text_.size();
  }

  // Reads a tag's name and attributes; returns where it ends. `from`: where its name begins.
  size_t Tag(size_t from, HtmlToken& token) const {
    size_t i = from;
    while (i < text_.size() && !IsHtmlSpace(text_[i]) && text_[i] != '/' && text_[i] != '>') ++i;
    token.name = LowerCase(text_.substr(from, i - from));
    while (i < text_.size()) {
      while (i < text_.size() && (IsHtmlSpace(text_[i]) || text_[i] == '/')) {
        token.self_closing = text_[i] == '/' && At(i + 1) == '>';
        ++i;
      }
      if (i >= text_.size()) break;
      if (text_[i] == '>') return i + 1;
      token.self_closing = false;
      i = Attribute(i, token);
    }
    token.kind = HtmlToken::Kind::kOther;  // a tag that the text ends in is none
    return text_.size();
  }

  size_t Attribute(size_t i, HtmlToken& token) const {
    const size_t name_begin = i++;  // a "=" at the beginning is a part of the name
    while (i < text_.size() && !IsHtmlSpace(text_[i]) && text_[i] != '/' && text_[i] != '>' && text_[i] != '=') ++i;
    HtmlAttribute attribute{LowerCase(text_.substr(name_begin, i - name_begin)), {i, i}};
    size_t value = i;
    while (value < text_.size() && IsHtmlSpace(text_[value])) ++value;
    if (At(value) == '=') {
      ++value;
      while (value < text_.size() && IsHtmlSpace(text_[value])) ++value;
      i = value;
      if (At(value) == '"' || At(value) == '\'') {
        attribute.quote = text_[value];
        i = std::min(text_.find(attribute.quote, value + 1), text_.size());
        attribute.value = {value + 1, i};
        i = std::min(i + 1, text_.size());
      } else {
        while (i < text_.size() && !IsHtmlSpace(text_[i]) && text_[i] != '>') ++i;
        attribute.value = {value, i};
      }
    }
    if (token.attributes.size() < kMostAttributes && token.Find(attribute.name) == nullptr) {
      token.attributes.push_back(std::move(attribute));
    }
    return i;
  }

  bool DeclaresXhtml(const HtmlToken& token) const {
    const HtmlAttribute* space = token.Find("xmlns");
    return token.name == "html" && space != nullptr &&
           text_.substr(space->value.begin, space->value.end - space->value.begin) == "http://www.w3.org/1999/xhtml";
  }

  void StartTag() {
    HtmlToken token{HtmlToken::Kind::kStart};
    const size_t end = Tag(at_ + 1, token);
    const std::string name = token.name;
    is_xhtml_ = is_xhtml_ || DeclaresXhtml(token);
    const bool complete = token.kind == HtmlToken::Kind::kStart, self_closing = token.self_closing;
    if (foreign_ > 0 && BreaksOut(name)) foreign_ = 0;
    const bool foreign = foreign_ > 0;
    if (complete && !self_closing && IsOneOf(name, {"svg", "math"})) ++foreign_;
    const bool is_empty = self_closing && (foreign || is_xhtml_ || IsOneOf(name, {"svg", "math"}));
    token.is_empty = is_empty;
    Add(std::move(token), end);
    if (!complete || foreign || is_empty) return;
    if (name == "plaintext") {
      at_ = text_.size();
      FlushText(at_, /*raw=*/true);
    } else if (IsOneOf(name, {"title", "textarea"}) && EndTagComes(name)) {
      at_ = RawEnd(name, at_);
      FlushText(at_);
    } else if (IsOneOf(name, {"xmp", "iframe", "noembed", "noframes"}) && EndTagComes(name)) {
      at_ = RawEnd(name, at_);
      FlushText(at_, /*raw=*/true);
    } else if (IsOneOf(name, {"script", "style"}) && (!self_closing || EndTagComes(name))) {
      at_ = name == "script" ? ScriptEnd() : RawEnd(name, at_);
      FlushText(at_, /*raw=*/true);
    }
  }

  // If none comes once, none comes later; so all calls take linear time.
  bool EndTagComes(const std::string& name) {
    if (unended_.contains(name)) return false;
    const bool comes = RawEnd(name, at_) < text_.size();
    if (!comes) unended_.insert(name);
    return comes;
  }

  bool IsTagAt(size_t i, std::string_view name) const {
    if (text_.size() - i < name.size()) return false;
    for (size_t k = 0; k < name.size(); ++k) {
      if (absl::ascii_tolower(static_cast<unsigned char>(text_[i + k])) != name[k]) return false;
    }
    const char next = At(i + name.size());
    return i + name.size() < text_.size() && (IsHtmlSpace(next) || next == '/' || next == '>');
  }

  // Where the end tag of an element begins that holds text only.
  size_t RawEnd(std::string_view name, size_t from) const {
    for (size_t i = text_.find("</", from); i != std::string_view::npos; i = text_.find("</", i + 2)) {
      if (IsTagAt(i + 2, name)) return i;
    }
    return text_.size();
  }

  // A script may hold one more in a comment: `<!-- <script> </script> -->` does not end it.
  size_t ScriptEnd() const {
    bool in_comment = false, in_inner = false;
    for (size_t i = at_; i < text_.size(); ++i) {
      const std::string_view rest = text_.substr(i, 4);
      if (!in_comment && rest == "<!--") {
        in_comment = true;
        i += 1;  // its dashes may end it: "<!-->"
      } else if (in_comment && rest.starts_with("-->")) {
        in_comment = in_inner = false;
      } else if (rest.starts_with("</") && IsTagAt(i + 2, "script")) {
        if (!in_inner) return i;
        in_inner = false;
      } else if (in_comment && rest.starts_with("<") && IsTagAt(i + 1, "script")) {
        in_inner = true;
      }
    }
    return text_.size();
  }

  const std::string_view text_;
  size_t at_ = 0, text_begin_ = 0;
  int foreign_ = 0;  // open SVG and MathML elements
  bool is_xhtml_;
  std::set<std::string> unended_;  // names of which no end tag comes
  std::vector<HtmlToken> tokens_;
};

}  // namespace

const HtmlAttribute* HtmlToken::Find(std::string_view attribute) const {
  for (const HtmlAttribute& known : attributes) {
    if (known.name == attribute) return &known;
  }
  return nullptr;
}

std::vector<HtmlToken> TokenizeHtml(std::string_view text, size_t most) { return Tokenizer(text).Run(most); }

}  // namespace salient
