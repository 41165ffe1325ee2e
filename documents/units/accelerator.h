// Accelerators: the mark of the key that opens a menu's item or presses a button ("&Open", "Save _As"). The mark is in
// the middle of a word, so that a model cannot read the word; it is taken out before translation and put back after it.

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace salient {

struct Accelerator {
  std::string text;  // without the mark
  char mark = '&';
  std::string key;  // the marked character, in UTF-8
};

// The accelerator of a string that has exactly one. `mark` is the mark that the file declares. Without one, "&" and "_"
// are marks in a label: at most 60 bytes in one line that do not end as a sentence does, where "_" stands before a
// word and "&" before a word or a lower-case letter ("E&xit", but not "R&D"). A doubled mark stands for itself,
// and "&lt;" is no mark. Of "打开(&O)" the whole parenthesis is the mark.
std::optional<Accelerator> FindAccelerator(std::string_view text, std::optional<char> mark);

// The translation with the mark before the same key: at the beginning of a word, else anywhere, else before the first
// letter. A translation that begins in Chinese, Japanese or Korean gets the key in parentheses at its end, as is usual
// there. Tags and placeholders stay whole; a translation without letters stays as it is.
std::string WithAccelerator(std::string_view translation, const Accelerator& accelerator);

}  // namespace salient
