#include "engine/text/abbreviations.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace salient {
namespace {

constexpr size_t kLongestWord = 24;  // bytes; no abbreviation is longer

struct Abbreviations {
  std::string_view language;
  std::initializer_list<std::string_view> words;           // lower case, without the last full stop
  std::initializer_list<std::string_view> before_numbers;  // only where a digit follows
};

const Abbreviations kAbbreviations[] = {
    {"en",
     {"mr",  "mrs",  "ms",   "messrs", "dr",  "prof", "rev",    "hon", "st",  "mt",   "gen",
      "col", "capt", "cmdr", "lt",     "sgt", "maj",  "sen",    "rep", "gov", "pres", "vs",
      "cf",  "viz",  "e.g",  "i.e",    "eg",  "ie",   "approx", "fig", "figs"},
     {"no", "nos", "vol", "vols", "pp", "ch", "sec", "art", "eq", "para"}},
    {"de",
     {"hr",    "fr",   "dr",   "prof", "dipl",  "ing", "st",  "z.b", "d.h",  "u.a", "u.u",
      "i.d.r", "o.g",  "s.g",  "v.a",  "sog",   "bzw", "ca",  "vgl", "evtl", "ggf", "inkl",
      "exkl",  "bspw", "insb", "zzgl", "abzgl", "mio", "mrd", "abb", "geb"},
     {"nr", "abs", "art", "bd", "kap", "tab", "aufl", "str"}},
    {"fr",
     {"mm", "mme", "mmes", "mlle", "mlles", "dr", "pr", "me", "st", "ste", "cf", "env", "p.ex", "ex", "av", "bd"},
     {"no", "nos", "n°", "art", "p", "pp", "fig", "chap", "vol"}},
    {"es",
     {"sr",   "sra", "srta", "sres", "dr",  "dra", "prof", "dña", "ud",  "uds", "vd",
      "p.ej", "ej",  "av",   "avda", "lic", "ing", "gral", "sto", "sta", "ee"},
     {"núm", "num", "art", "pág", "págs", "vol", "fig", "cap"}},
    {"it",
     {"sig", "sigg", "sig.ra", "dott", "dott.ssa", "prof", "prof.ssa", "avv", "ing", "geom", "on", "mons", "gen",
      "p.es", "es", "cfr"},
     {"art", "artt", "pag", "pagg", "cap", "fig", "vol", "sez", "nn"}},
    {"pt",
     {"sr", "sra", "srta", "srs", "dr", "dra", "prof", "profa", "eng", "exmo", "exma", "av", "p.ex", "ex"},
     {"nº", "art", "pág", "págs", "vol", "fig", "cap"}},
    {"nl",
     {"dhr",   "mevr", "mw",    "dr",  "drs",   "ir",  "ing", "prof", "mr",   "bijv", "bv",
      "d.w.z", "dwz",  "m.b.t", "o.a", "t.o.v", "jhr", "st",  "incl", "excl", "ca"},
     {"nr", "nrs", "art", "blz", "hfst", "fig", "afb", "vol"}},
    {"sv",
     {"t.ex", "bl.a", "d.v.s", "dvs", "s.k", "resp", "ca", "dr", "prof", "hr", "fr", "f.d", "f.n", "inkl", "exkl"},
     {"nr", "kap", "art", "fig", "sid"}},
    {"da",
     {"f.eks", "bl.a", "dvs", "hr", "fr", "dr", "prof", "ca", "inkl", "ekskl", "kgl", "red"},
     {"nr", "kap", "art", "fig", "stk"}},
    {"nb", {"f.eks", "bl.a", "dvs", "hr", "fr", "dr", "prof", "ca", "inkl", "ekskl"}, {"nr", "kap", "art", "fig"}},
    {"no", {"f.eks", "bl.a", "dvs", "hr", "fr", "dr", "prof", "ca", "inkl", "ekskl"}, {"nr", "kap", "art", "fig"}},
    {"pl",
     {"prof", "inż", "mgr", "hab", "św", "ul", "al", "np", "tzn", "tj", "tzw", "m.in", "ok", "gen", "płk", "ks", "im"},
     {"nr", "art", "ust", "pkt", "str", "rys", "tab", "poz"}},
    {"cs",
     {"např", "tj", "tzv", "mj", "ing", "mgr", "bc", "mudr", "judr", "prof", "doc", "dr", "sv", "ul", "nám", "popř",
      "resp", "cca"},
     {"č", "čl", "str", "odst", "kap", "obr"}},
    {"sk",
     {"napr", "tj", "tzv", "ing", "mgr", "bc", "mudr", "judr", "prof", "doc", "dr", "sv", "ul", "nám", "resp"},
     {"č", "čl", "str", "ods", "kap", "obr"}},
    {"ru",
     {"т.е", "т.к", "т.н", "напр", "им", "ул", "пр", "просп", "проф", "акад", "др"},
     {"рис", "табл", "стр", "пп", "ст", "гл"}},
    {"uk", {"напр", "ім", "вул", "просп", "проф", "акад", "т.зв"}, {"рис", "табл", "стор", "пп", "ст", "гл"}},
    {"fi", {"esim", "prof", "ns", "toim", "n"}, {"nro", "kuva", "luku"}},
    {"hu", {"pl", "dr", "ifj", "özv", "ún", "kb", "prof"}, {}},
    {"ro", {"dl", "dna", "dr", "prof", "ing", "str", "bd", "sf", "ex", "cca"}, {"nr", "art", "pag", "alin", "fig"}},
    {"el", {"π.χ", "δηλ", "βλ", "κ.κ", "δρ", "αγ"}, {"αρ", "σελ", "εικ", "άρθρ"}},
    {"tr", {"dr", "prof", "doç", "av", "sn", "örn"}, {"no", "md"}},
};

constexpr std::string_view kOrdinalLanguages[] = {"de", "da", "nb", "nn", "no", "fi", "et", "lv",
                                                  "cs", "sk", "sl", "hr", "hu", "pl", "is", "tr"};

std::string_view PrimaryLanguage(std::string_view tag) { return tag.substr(0, tag.find('-')); }

UChar32 CharacterAt(std::string_view text, size_t at) {
  UChar32 c = 0;
  const int32_t offset = static_cast<int32_t>(at), length = static_cast<int32_t>(text.size());
  if (offset < length) U8_GET(reinterpret_cast<const uint8_t*>(text.data()), 0, offset, length, c);
  return c;
}

// The character that ends at `at`. Moves `at` to the character's beginning.
UChar32 CharacterBefore(std::string_view text, size_t& at) {
  int32_t offset = static_cast<int32_t>(at);
  UChar32 c = 0;
  if (offset > 0) U8_PREV(reinterpret_cast<const uint8_t*>(text.data()), 0, offset, c);
  at = static_cast<size_t>(offset);
  return c;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The word that ends at `end`, in lower case. A word begins after a space or opening punctuation, so "(e.g" gives
// "e.g". Empty if the word is too long for an abbreviation.
std::string WordBefore(std::string_view text, size_t end, size_t& begin) {
  begin = end;
  for (size_t at = end; at > 0 && end - begin <= kLongestWord;) {
    const UChar32 c = CharacterBefore(text, at);
    if (!u_isalnum(c) && c != '.' && c != 0xb0) break;  // "n°"
    begin = at;
  }
  if (end - begin > kLongestWord) return "";
  std::string word;
  for (size_t at = begin; at < end;) {
    UChar32 c;
    U8_NEXT(reinterpret_cast<const uint8_t*>(text.data()), at, end, c);
    char lower[U8_MAX_LENGTH];
    size_t length = 0;
    U8_APPEND_UNSAFE(lower, length, u_tolower(c));
    word.append(lower, length);
  }
  return word;
}

bool IsListed(const std::string& word, std::string_view language, bool number_follows) {
  for (const Abbreviations& known : kAbbreviations) {
    if (known.language != language) continue;
    if (std::find(known.words.begin(), known.words.end(), word) != known.words.end()) return true;
    return number_follows &&
           std::find(known.before_numbers.begin(), known.before_numbers.end(), word) != known.before_numbers.end();
  }
  return false;
}

// `end`: the position of the full stop.
bool IsAbbreviation(std::string_view text, size_t end, bool number_follows, std::string_view language) {
  size_t begin = 0;
  const std::string word = WordBefore(text, end, begin);
  if (word.empty()) return false;
  if (std::all_of(word.begin(), word.end(), IsDigit)) {
    return word.size() <= 2 && std::find(std::begin(kOrdinalLanguages), std::end(kOrdinalLanguages), language) !=
                                   std::end(kOrdinalLanguages);
  }
  size_t first = end;
  const UChar32 last = CharacterBefore(text, first);
  if (first == begin && u_isalpha(last)) return !(language == "en" && last == 'I');
  return IsListed(word, language, number_follows);
}

}  // namespace

bool IsFalseSentenceBoundary(std::string_view text, size_t at, std::string_view language) {
  const UChar32 next = CharacterAt(text, at);
  size_t end = at;
  UChar32 last = CharacterBefore(text, end);
  while (end > 0 && u_isUWhiteSpace(last)) last = CharacterBefore(text, end);
  if (last == '.') return IsAbbreviation(text, end, u_isdigit(next), PrimaryLanguage(language));
  const bool closes_quotation = last == '"' || last == '\'' || u_charType(last) == U_FINAL_PUNCTUATION ||
                                u_charType(last) == U_INITIAL_PUNCTUATION;  // “ closes in German
  return closes_quotation && u_islower(next);
}

}  // namespace salient
