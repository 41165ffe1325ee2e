// Fields in braces with a grammar of their own: ICU's messages, and the replacement fields of Python, C# and Rust.

#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace salient {

// Finds the arguments of ICU messages whose type has a style or branches, in one text:
//
//   {count, plural, =0{no files} one{one file} other{{count} files}}
//   {price, number, ::currency/USD .00}
//
// They nest, and an apostrophe before a brace begins quoted text. All calls together take linear time.
class MessageArguments {
 public:
  // `text` must outlive this.
  explicit MessageArguments(std::string_view text) : text_(text) {}

  // The end of the argument that begins at `at`, or `at` if none begins there or its braces do not balance.
  size_t End(size_t at);

 private:
  bool BeginsAt(size_t at) const;
  void MatchBraces(size_t begin);

  const std::string_view text_;
  bool matched_ = false;
  std::vector<size_t> end_;  // of each opening brace, by its place; 0: none
};

// The end of a replacement field at `at`, or `at`:
//
//   field   "{" [name] ["!" ("r" | "s" | "a")] [":" spec] "}"
//   name    (identifier | digits) ("." identifier | "[" index "]")*
//   spec    any characters without white space; braces in it are fields ("{:{width}}"). White space is taken in what
//           can be no prose: as the fill or the sign (":>10" with a space before ">"), in a date ("%d.%m. %H:%M"), and
//           in a field with a number ("{0:dd.MM. HH:mm}").
size_t ReplacementFieldEnd(std::string_view text, size_t at);

}  // namespace salient
