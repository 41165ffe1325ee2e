// Keeps from a model the characters that it does not know, and puts them into its translation.
//
// A model that has seen a character in training often enough has a piece for it, or reads and writes it in bytes. Of
// other characters it makes other words: "£5" became "$5", and "Łukasz" "Lkasz". Yet it copies markers (SpecialTokens),
// and the search holds it to them. So a marker stands for what the model does not know:
//
//   Łukasz paid £5 for “pi”.   ->   ⟦0⟧ paid ⟦2⟧5 for "pi".   ->   Łukasz pagou £5 para "pi".
//
// A word is kept whole if the source's vocabulary lacks one of its letters, or the target's lacks some of them; if it
// lacks all of them, the word is of another script and there to be translated. A word in small letters is read without
// its accents instead ("café"), because it is hardly a name. Typographic quotes, hyphens and dashes that the source's
// vocabulary lacks are read as those of ASCII, and white space as a space. Invisible characters are left out.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/special_tokens.h"
#include "engine/text/known_characters.h"
#include "engine/text/substitutions.h"
#include "engine/text/tokenizer.h"

namespace salient {

// Immutable and thread safe.
class Copier {
 public:
  // `byte_characters`: of KnownCharacters. The model must have markers.
  Copier(const Tokenizers& tokenizers, const SpecialTokens& special, std::string_view byte_characters);

  // From a segment's text, which is valid UTF-8, to the text that the model reads. Copies take the markers with even
  // numbers whose pairs the text does not spell, which thus close nothing; when these are used up, characters stay as
  // they are. What `prefix`, the given beginning of the translation, contains is not copied: it has no markers. After
  // 1,024 different words and symbols it is searched no more, and others that may be in it stay as they are, too.
  std::vector<Substitution> For(std::string_view text, std::string_view prefix = {}) const;

 private:
  class Scan;

  const KnownCharacters known_;
  std::vector<std::string> markers_;  // as text spells them, by number
};

// From the text that a model wrote to the translation of `source`, whose substitutions are given: copies in place of
// markers. A space separates a copy from a punctuation mark before it if the source has none there.
std::vector<Substitution> CopiesIn(std::string_view written, std::string_view source,
                                   const std::vector<Substitution>& substitutions);

}  // namespace salient
