// JSON, YAML, PO and plain text.

#include "absl/strings/str_cat.h"
#include "documents/units/string_unit.h"
#include "gmock/gmock.h"
#include "tests/documents/round_trip.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(JsonTest, TranslatesValuesThatAreText) {
  const std::string json = R"({"title": "Good morning", "id": "user_id", "n": 3, "@title": {"description": "not this"},
  "list": ["Yes, {name}", "img/logo.png", null, true, "a\u00e9\n\"b\""], "$schema": "Not this"})";
  const auto document = ParseAs("json", json);
  EXPECT_THAT(Shown(*document), ElementsAre("Good morning", "Yes, ⟦{name}⟧", "a\u00e9\n\"b\""));
  EXPECT_EQ(RenderWith(*document, {{"Good morning", "Guten \"Morgen\""}}),
            std::string(json).replace(json.find("Good morning"), 12, "Guten \\\"Morgen\\\""));
  ExpectIdentity("json", json);
  ExpectTranslationIsRead("json", json);
}

TEST(StringsTest, LabelsAreText) {
  for (const char* label : {"Loading...",
                            "Searching...",
                            "Yes/No",
                            "Username/Password",
                            "Username/Password:",
                            "<b>Attention</b>",
                            "<b>Yes/No</b>",
                            "Warning!<br/>",
                            "[Required]",
                            "[Loading...]",
                            "Welcome,{{name}}!",
                            "{count}files",
                            "Hello!{name}",
                            "Name:{name}",
                            "Username:",
                            "Hi,%s!",
                            "Total:",
                            "<a href=\"a_b/c.html\">Help</a>",
                            "Search",
                            "self-service",
                            "<b>{count}</b>files",
                            "Wait...what?",
                            "Gr\u00f6\u00dfe/Farbe"}) {
    EXPECT_FALSE(LooksLikeCode(label)) << label;
  }
}

TEST(StringsTest, IdentifiersAndPathsAreCode) {
  for (
      const char* code :
      {"app.title",     "snake_case",        "src/main.cc", "src/main",  "/usr/lib",  "text/html",   "en-US",
       "zh_CN",         "#ff0000",           "camelCase",   "v1.2",      "a:b",       "std::vector", "std::vector<int>",
       "List<String>",  "img/{name}.png",    "user_{id}",   "item-{id}", "user:{id}", "{base}/api",  "[a-z]",
       "[0-9]x",        "Europe/Berlin",     "C:\\temp",    "a=b",       "@name",     "$var",        ".gitignore",
       "2024-01-01T10", "<b>user_id</b>",    "Users/a/b",   "N/A",       "a|b",       "arr[i]",      "url(a.png)",
       "<p>Open",       "img/{{ name }}.png"}) {
    EXPECT_TRUE(LooksLikeCode(code)) << code;
  }
}

TEST(StringsTest, LabelsAreTranslated) {
  const std::string json =
      R"({"a": "Loading...", "b": "<b>Attention</b>", "c": "Welcome,{{name}}!", "d": "src/main.cc", "e": "https://x.org/a"})";
  EXPECT_THAT(Shown(*ParseAs("json", json)), ElementsAre("Loading...", "⟦<b>⟧Attention⟦</b>⟧", "Welcome,⟦{{name}}⟧!"));
  const std::string yaml = "a: Loading...\nb: Yes/No\nc: '{count}files'\nd: app.title\ne: \"[Required]\"\n";
  EXPECT_THAT(Shown(*ParseAs("yaml", yaml)), ElementsAre("Loading...", "Yes/No", "⟦{count}⟧files", "[Required]"));
  ExpectIdentity("json", json);
  ExpectTranslationIsRead("json", json);
  ExpectIdentity("yaml", yaml);
}

TEST(StringsTest, ReferencesAreCharactersOfTheText) {
  const std::string json =
      R"({"a": "Terms &amp; don&#8217;t, it&#8217;s &lt;b&gt;x&lt;/b&gt;", "b": "<a href=\"?c&amp;d\">R&D</a>&nbsp;x &x; &#10;"})";
  const auto document = ParseAs("json", json);
  EXPECT_THAT(Shown(*document), ElementsAre("Terms & don’t, it’s ⟦&lt;b&gt;⟧x⟦&lt;/b&gt;⟧",
                                            "⟦<a href=\"?c&amp;d\">⟧R&D⟦</a>⟧\u00a0x &x; &#10;"));
  ExpectIdentity("json", json);
  ExpectTranslationIsRead("json", json);
  EXPECT_EQ(*ParseAs("json", R"(["A &amp; &rsquo;&quot; <b>c</b>"])")->Render({{"’ö\" & <", {{5, 0}, {8, 1}}}}),
            R"(["&rsquo;ö<b>&quot; &amp;</b> <"])");
  EXPECT_EQ(RenderWith(*ParseAs("po", "msgid \"One &raquo; &amp;\"\nmsgstr \"\"\n"), {{"One » &", "Eins & »"}}),
            "msgid \"One &raquo; &amp;\"\nmsgstr \"Eins &amp; &raquo;\"\n");
}

TEST(StringsTest, ElementsThatHtmlKeepsAreWords) {
  const std::string json =
      R"(["Run <code>wp cache flush</code> now", "The <span class=\"notranslate\">Red <span>House</span></span> &lt;kbd&gt;is it&lt;/kbd&gt;",
      "See <pre>a b\nc</pre> and <i lang=\"fr\">le mot</i>, <i lang=\"en-GB\">here</i> <b>x <code> y</b>", "<code>not this</code>"])";
  EXPECT_THAT(
      Shown(*ParseAs("json", json)),
      ElementsAre("Run ⟦<code>wp cache flush</code>⟧ now",
                  "The ⟦<span class=\"notranslate\">Red <span>House</span></span>⟧ ⟦&lt;kbd&gt;is it&lt;/kbd&gt;⟧",
                  "See ⟦<pre>a b\nc</pre>⟧ and ⟦<i lang=\"fr\">le mot</i>⟧, ⟦<i lang=\"en-GB\">⟧here⟦</i>⟧ "
                  "⟦<b>⟧x ⟦<code>⟧ y⟦</b>⟧"));
  ExpectIdentity("json", json);
  ExpectTranslationIsRead("json", json);
  const std::string yaml = "a: Press <kbd>Enter key</kbd> to go\nb: A <i lang=\"fr\">le mot</i> here\n";
  EXPECT_THAT(Shown(*ParseAs("yaml", yaml)),
              ElementsAre("Press ⟦<kbd>Enter key</kbd>⟧ to go", "A ⟦<i lang=\"fr\">le mot</i>⟧ here"));
  EXPECT_THAT(Shown(*ParseAs("po", "msgid \"Run <code>wp cache flush</code> now\"\nmsgstr \"\"\n")),
              ElementsAre("Run ⟦<code>wp cache flush</code>⟧ now"));
  const std::string xml = "<r><s><![CDATA[Run <code>a b</code> now]]></s></r>";
  EXPECT_THAT(Shown(*ParseAs("xml", xml)), ElementsAre("Run ⟦<code>a b</code>⟧ now"));
  EXPECT_EQ(RenderRot13(*ParseAs("xml", xml)), "<r><s><![CDATA[Eha <code>a b</code> abj]]></s></r>");
}

TEST(JsonTest, ArgumentsOfIcuMessagesStay) {
  const std::string json = R"({"a": "{n, plural, =0{No messages} other{{n} messages}}",
  "b": "You have {n, plural, one{a <b>file</b>} other{{n} files}} in {folder}."})";
  const auto document = ParseAs("json", json);
  EXPECT_THAT(Shown(*document),
              ElementsAre("You have ⟦{n, plural, one{a <b>file</b>} other{{n} files}}⟧ in ⟦{folder}⟧."));
  ExpectIdentity("json", json);
  ExpectTranslationIsRead("json", json);
}

TEST(JsonTest, RefusesByName) {
  EXPECT_THAT(RefusalAs("json", "{\"a\": }"), HasSubstr("JSON: byte 7"));
  EXPECT_THAT(RefusalAs("json", std::string(1000, '[')), HasSubstr("more than 200 deep"));
  EXPECT_THAT(RefusalAs("json", ""), HasSubstr("JSON"));
}

TEST(YamlTest, TranslatesValuesThatAreText) {
  const std::string yaml = R"(# A comment, not this
title: Good morning
count: 3
on: yes
when: 2026-01-01
path: /usr/lib
quoted: "Say \"hello\" to {name}"
single: 'It''s here'
custom: !Ref not this
list:
  - First one
  - &anchor Second one
  - *anchor
  - [flow one, "flow two"]
literal: |
  Line one.

  Line two.
folded: >-
  These words
  go on.
  
  Next.

end: Last
)";
  const auto document = ParseAs("yaml", yaml);
  EXPECT_THAT(Shown(*document),
              ElementsAre("Good morning", "Say \"hello\" to ⟦{name}⟧", "It's here", "First one", "Second one",
                          "flow one", "flow two", "Line one.\n\nLine two.\n", "These words go on.\nNext.", "Last"));
  ExpectIdentity("yaml", yaml);
  ExpectTranslationIsRead("yaml", yaml);
  std::string expected = yaml;
  expected.replace(expected.find("Good morning"), 12, "\"Guten: Morgen\"");
  expected.replace(expected.find("'It''s here'"), 12, "'Da ist''s'");
  expected.replace(expected.find("Second one"), 10, "Zweites");
  expected.replace(expected.find("  Line one.\n\n  Line two."), 24, "  Zeile eins.\n\n  Zeile zwei.");
  EXPECT_EQ(RenderWith(*document, {{"Good morning", "Guten: Morgen"},
                                   {"It's here", "Da ist's"},
                                   {"Second one", "Zweites"},
                                   {"Line one.\n\nLine two.\n", "Zeile eins.\n\nZeile zwei.\n"}}),
            expected);
}

TEST(YamlTest, ByteOffsetsHoldBeyondAscii) {
  const std::string yaml =
      "\xef\xbb\xbf"
      "ä: Grüße\n日本: 'text ü'\nz: end\n";
  EXPECT_EQ(RenderWith(*ParseAs("yaml", yaml), {{"text ü", "Text"}, {"end", "Ende"}}),
            "\xef\xbb\xbf"
            "ä: Grüße\n日本: 'Text'\nz: Ende\n");
}

TEST(YamlTest, APlainScalarStaysOne) {
  for (const char* translation : {"yes", "12", "- a", "a: b", "a #b", "'a'", "@a", "null", "a:", "x\ny"}) {
    const std::string rendered = RenderWith(*ParseAs("yaml", "a: Some text\n"), {{"Some text", translation}});
    EXPECT_THAT(rendered, HasSubstr("a: \"")) << translation;
  }
  EXPECT_EQ(RenderWith(*ParseAs("yaml", "a: [Some text]\n"), {{"Some text", "x, y"}}), "a: [\"x, y\"]\n");
}

// What only an escape can represent stays in double quotes, or gets them.
TEST(YamlTest, ControlCharactersStay) {
  for (const char* yaml :
       {R"(a: "text\r with \x01 and \x7f and \u0085\u009f")", R"(a: "text \u2028 of \uFEFF lines")"}) {
    ExpectIdentity("yaml", yaml);
    ExpectTranslationIsRead("yaml", yaml);
  }
  for (const char* yaml : {"a: Some text\n", "a: 'Some text'\n"}) {
    const std::string rendered = RenderWith(*ParseAs("yaml", yaml), {{"Some text", "Ein\u0085Text\x01"}});
    EXPECT_EQ(rendered, "a: \"Ein\\u0085Text\\u0001\"\n");
  }
}

TEST(YamlTest, ABlockGetsQuotesForWhatItCannotHold) {
  const std::string yaml = "a: |\n  first\u2028  line\n  second\n\nb: >-\n  other\n";
  EXPECT_THAT(Shown(*ParseAs("yaml", yaml)), ElementsAre("first\u2028line\nsecond\n", "other"));
  ExpectIdentity("yaml", yaml);
  ExpectTranslationIsRead("yaml", yaml);
  EXPECT_EQ(RenderWith(*ParseAs("yaml", yaml), {{"other", "an\u0085dere"}}),
            "a: |\n  first\u2028  line\n  second\n\nb: \"an\\u0085dere\"\n");
  EXPECT_EQ(RenderWith(*ParseAs("yaml", "a:\r\n|\n  other\n"), {{"other\n", "an\u0085dere\n"}}),
            "a:\r\n  \"an\\u0085dere\\n\"\n");
}

// Data may hide in strings; the rest of the document is translated.
TEST(StringsTest, AStringWithANulStays) {
  const struct {
    const char *format, *bytes;
  } cases[] = {{"json", R"({"a": "some \u0000 data", "b": "some text"})"},
               {"yaml", R"(["some \0 data", "some text"])"},
               {"po", "msgid \"some \\000 data\"\nmsgstr \"\"\n\nmsgid \"some text\"\nmsgstr \"\"\n"}};
  for (const auto& one : cases) {
    EXPECT_THAT(Shown(*ParseAs(one.format, one.bytes)), ElementsAre("some text")) << one.format;
  }
}

// An anchor ends where its name does, and the scalar may begin right there: such a scalar stays.
TEST(YamlTest, AnAnchorIsNoText) {
  const std::string yaml = "p: &q:r 'some' text\nt: &u # no text\n\u2029\n  more text\n";
  const auto document = ParseAs("yaml", yaml);
  EXPECT_THAT(Shown(*document), ElementsAre("more text"));
  ExpectIdentity("yaml", yaml);
  const std::string rendered = RenderWith(*document, {{"more text", "# x: \"y\""}});
  EXPECT_EQ(rendered, "p: &q:r 'some' text\nt: &u # no text\n\u2029\n  \"# x: \\\"y\\\"\"\n");
  EXPECT_NE(ParseAs("yaml", rendered), nullptr);
}

TEST(YamlTest, ATabOnALineOfItsOwnStaysReadable) {
  const std::string yaml = "- one text\n- other text\n \t\n";
  const auto document = ParseAs("yaml", yaml);
  EXPECT_THAT(Shown(*document), ElementsAre("one text"));
  ExpectIdentity("yaml", yaml);
  EXPECT_NE(ParseAs("yaml", RenderWith(*document, {{"one text", "- x"}})), nullptr);
}

TEST(YamlTest, BlankLinesOfABlockStay) {
  const std::string yaml =
      "k: |\n\n\n  hello there\n\n  you\nl: >\n \n\n  some text\n\n\n  more text\n"
      "m: >\n  first line\n  \tsecond line\n\n  third line\nn: |-\n  last line \n";
  EXPECT_THAT(Shown(*ParseAs("yaml", yaml)), ElementsAre("\n\nhello there\n\nyou\n", "\n\nsome text\n\nmore text\n",
                                                         "first line\n\tsecond line\n\nthird line\n", "last line "));
  ExpectIdentity("yaml", yaml);
  ExpectTranslationIsRead("yaml", yaml);
  EXPECT_EQ(RenderWith(*ParseAs("yaml", "k: |\n\n\n  hello there\n"), {{"\n\nhello there\n", "\n\nhallo du\n"}}),
            "k: |\n\n\n  hallo du\n");
}

TEST(YamlTest, ABlockMayGiveItsIndentation) {
  const std::string yaml =
      "a:\n  b: |2 # why not\n      first line\n    second\n\n  c: >2-\n\n     third\n     line\n    fourth\n    line\n"
      "d: |1+\n \n  \n fifth\n\ne: last\n";
  EXPECT_THAT(Shown(*ParseAs("yaml", yaml)),
              ElementsAre("  first line\nsecond\n", "\n third\n line\nfourth line", "\n \nfifth\n\n", "last"));
  ExpectIdentity("yaml", yaml);
  ExpectTranslationIsRead("yaml", yaml);
  EXPECT_EQ(RenderWith(*ParseAs("yaml", "a: |2\n    one\n  two\nb: c\n"), {{"  one\ntwo\n", "  eins\nzwei\n"}}),
            "a: |2\n    eins\n  zwei\nb: c\n");
}

TEST(YamlTest, ABlockThatALineSeparatorEndsStays) {
  for (const std::string yaml : {"a: |2\n    b\n  c\u2028d: more text\n", "a: |\n  b c\u2028d: more text\n"}) {
    const auto document = ParseAs("yaml", yaml);
    EXPECT_THAT(Shown(*document), ElementsAre("more text"));
    ExpectIdentity("yaml", yaml);
    EXPECT_NE(ParseAs("yaml", RenderRot13(*document)), nullptr);
  }
}

TEST(YamlTest, LineBreaksOfABlockAreThoseOfTheFile) {
  EXPECT_EQ(RenderRot13(*ParseAs("yaml", "a: |\r\n  one\r\n\r\n  two\r\nb: >\r\n  one\r\n\r\n  two\r\n")),
            "a: |\r\n  bar\r\n\r\n  gjb\r\nb: >\r\n  bar\r\n\r\n  gjb\r\n");
}

TEST(YamlTest, WordsOfHexadecimalLettersAreText) {
  EXPECT_THAT(Shown(*ParseAs("yaml", "- Facade 2\n- Decade 5\n- Café 3\n- 5 bad\n- A 1\n")),
              ElementsAre("Facade 2", "Decade 5", "Café 3", "5 bad", "A 1"));
  for (const char* value : {"0xFF", "-0x1f", "0o17", "0b10", "1e6", "+1_0.5E-3", "2026-11-27T07:30:00Z", "1:30",
                            "2026-11-27 07:30:00.5 Z", "2026-11-27t07:30:00 +01:00", "+.inf", ".5e3"}) {
    EXPECT_THAT(Shown(*ParseAs("yaml", absl::StrCat("- ", value, "\n"))), ElementsAre()) << value;
    EXPECT_EQ(RenderWith(*ParseAs("yaml", "a: Some text\n"), {{"Some text", value}}),
              absl::StrCat("a: \"", value, "\"\n"));
  }
}

// Libyaml compares each with all before it.
TEST(YamlTest, TagsHaveFewDirectives) {
  const auto tagged = [](const std::string& before, const char* line_break, int count) {
    std::string yaml = before;
    for (int i = 0; i < count; ++i) absl::StrAppend(&yaml, "%TAG !t", i, "! tag:example.org,2000:", line_break);
    return yaml + "---" + line_break + "a: Good morning" + line_break;
  };
  for (const char* before : {"", "\xEF\xBB\xBF"}) {
    for (const char* line_break : {"\n", "\r\n", "\r", "\u2028", "\u0085"}) {
      EXPECT_THAT(RefusalAs("yaml", tagged(before, line_break, 101)), HasSubstr("more than 100 directives %TAG"));
    }
  }
  EXPECT_THAT(Shown(*ParseAs("yaml", tagged("", "\n", 100))), ElementsAre("Good morning"));
}

TEST(YamlTest, RefusesByName) {
  EXPECT_THAT(RefusalAs("yaml", "a: [b\n"), HasSubstr("YAML: line 2"));
  EXPECT_THAT(RefusalAs("yaml", std::string(1000, '[')), HasSubstr("YAML"));
  std::string deep;
  for (int i = 0; i < 300; ++i) deep += "- ";
  EXPECT_THAT(RefusalAs("yaml", deep + "x"), HasSubstr("more than 200 deep"));
}

constexpr char kPo[] = R"(# Translators
msgid ""
msgstr ""
"Language: en\n"
"Content-Type: text/plain; charset=UTF-8\n"

#, c-format
msgid "Copied %d files to <b>%s</b>."
msgstr ""

msgid "Open"
msgstr "Öffnen"

msgctxt "menu"
msgid ""
"One line.\n"
"Another \"line\".\n"
msgstr ""

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

#~ msgid "Old"
#~ msgstr ""
)";

TEST(PoTest, TranslatesWhatHasNoTranslation) {
  const auto document = ParseAs("po", kPo, {.source_language = "en", .target_language = "pt-BR"});
  EXPECT_THAT(Shown(*document), ElementsAre("Copied ⟦%d⟧ files to ⟦<b>⟧⟦%s⟧⟦</b>⟧.", "One line.\nAnother \"line\".\n",
                                            "⟦%d⟧ file", "⟦%d⟧ files"));
  std::string expected = kPo;
  const auto put = [&expected](const std::string& before, const std::string& old, const std::string& now) {
    const size_t at = expected.find(old, expected.find(before));
    expected.replace(at, old.size(), now);
  };
  put("Language", " en", " pt_BR");
  put("Copied", "msgstr \"\"", "msgstr \"Copied %d files to <b>%s</b>.\"");
  put("Another", "msgstr \"\"", "msgstr \"\"\n\"One line.\\n\"\n\"Another \\\"line\\\".\\n\"");
  put("msgstr[0]", "\"\"", "\"%d file\"");
  put("msgstr[1]", "\"\"", "\"%d files\"");
  EXPECT_EQ(*document->Render(Sources(*document)), expected);
  // Existing translations stay.
  const auto again = ParseAs("po", expected);
  EXPECT_THAT(again->units(), IsEmpty());
  EXPECT_EQ(*again->Render({}), expected);
}

TEST(PoTest, TheOnlyFormOfALanguageIsForAllNumbers) {
  const std::string po = "msgid \"One file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\n";
  EXPECT_THAT(Shown(*ParseAs("po", po)), ElementsAre("⟦%d⟧ files"));
  EXPECT_THAT(Shown(*ParseAs("po", po + "msgstr[1] \"\"\nmsgstr[2] \"\"\n")),
              ElementsAre("One file", "⟦%d⟧ files", "⟦%d⟧ files"));
  // A file that is not complete. A template has no number there.
  const auto header = [](const char* forms) {
    return absl::StrCat("msgid \"\"\nmsgstr \"Plural-Forms: nplurals", forms, "; plural=0;\\n\"\n\n");
  };
  for (const char* forms : {"=2", " = 3", "=11"}) {
    EXPECT_THAT(Shown(*ParseAs("po", header(forms) + po)), ElementsAre("One file")) << forms;
  }
  for (const char* forms : {"=1", " = 1", "=INTEGER"}) {
    EXPECT_THAT(Shown(*ParseAs("po", header(forms) + po)), ElementsAre("⟦%d⟧ files")) << forms;
  }
}

TEST(PoTest, NamesOfTranslatorsAreNotTranslated) {
  EXPECT_THAT(Shown(*ParseAs("po",
                             "msgid \"translator-credits\"\nmsgstr \"\"\n\nmsgctxt \"NAME OF TRANSLATORS\"\n"
                             "msgid \"Your names\"\nmsgstr \"\"\n\nmsgid \"Your names\"\nmsgstr \"\"\n")),
              ElementsAre("Your names"));
}

std::string PoHeader(const std::string& language, const std::string& charset) {
  return "#, fuzzy\nmsgid \"\"\nmsgstr \"\"\n\"Language:" + language +
         "\\n\"\n\"Content-Type: text/plain; charset=" + charset + "\\n\"\n";
}

TEST(PoTest, TheHeaderNamesTheLanguageAndUtf8) {
  const auto translated = [](const std::string& po) {
    return *ParseAs("po", po, {.source_language = "en", .target_language = "de"})->Render({});
  };
  for (const char* charset : {"CHARSET", "ISO-8859-1", ""}) {
    EXPECT_EQ(translated(PoHeader(" de", charset)), PoHeader(" de", "UTF-8"));
  }
  EXPECT_EQ(translated(PoHeader("", "utf-8")), PoHeader(" de", "utf-8"));
  EXPECT_EQ(translated(PoHeader(" pt_BR", "utf-8")), PoHeader(" de", "utf-8"));
  EXPECT_EQ(translated(PoHeader(" de_AT", "utf-8")), PoHeader(" de_AT", "utf-8"));
}

TEST(PoTest, FuzzyMessagesStay) {
  const auto document = ParseAs("po", "#, c-format, fuzzy\nmsgid \"One\"\nmsgstr \"\"\n\nmsgid \"Two\"\nmsgstr \"\"\n");
  EXPECT_THAT(Shown(*document), ElementsAre("Two"));
}

TEST(PoTest, FlagsOfAnObsoleteMessageAreNotThoseOfTheNext) {
  const std::string po = "#, fuzzy\n#~ msgid \"Old\"\n#~ msgstr \"Alt\"\n\nmsgid \"New\"\nmsgstr \"\"\n";
  EXPECT_THAT(Shown(*ParseAs("po", po)), ElementsAre("New"));
}

TEST(PoTest, QuotesWhatItWrites) {
  EXPECT_EQ(RenderWith(*ParseAs("po", "msgid \"a\"\nmsgstr \"\"\n"), {{"a", "x\"y\\z\n\tw"}}),
            "msgid \"a\"\nmsgstr \"\"\n\"x\\\"y\\\\z\\n\"\n\"\\tw\"\n");
}

TEST(PoTest, LineBreaksAndEscapesAreThoseOfTheFile) {
  EXPECT_EQ(RenderRot13(*ParseAs("po", "msgid \"a\\n\"\r\n\"b\"\r\nmsgstr \"\"\r\n")),
            "msgid \"a\\n\"\r\n\"b\"\r\nmsgstr \"\"\r\n\"n\\n\"\r\n\"o\"\r\n");
  EXPECT_EQ(RenderRot13(*ParseAs("po", R"(msgid "\x41\101\a bell\v"
msgstr "")")),
            R"(msgid "\x41\101\a bell\v"
msgstr "NN\a oryy\v")");
}

TEST(PoTest, AcceleratorsAreNotPartOfTheText) {
  const std::string open = "msgid \"&Open\"\nmsgstr \"\"\n", save = "msgid \"S~ave.\"\nmsgstr \"\"\n";
  EXPECT_THAT(Shown(*ParseAs("po", open)), ElementsAre("Open"));
  EXPECT_EQ(RenderWith(*ParseAs("po", open), {{"Open", "Offen"}}), "msgid \"&Open\"\nmsgstr \"&Offen\"\n");
  EXPECT_EQ(RenderWith(*ParseAs("po", open), {{"Open", "Open"}}), "msgid \"&Open\"\nmsgstr \"&Open\"\n");
  const std::string header = "msgid \"\"\nmsgstr \"X-Accelerator-Marker: ~\\n\"\n\n";
  EXPECT_THAT(Shown(*ParseAs("po", header + open + save)), ElementsAre("&Open", "Save."));
  EXPECT_EQ(RenderWith(*ParseAs("po", header + save), {{"Save.", "Sichern."}}),
            header + "msgid \"S~ave.\"\nmsgstr \"~Sichern.\"\n");
}

TEST(PoTest, RefusesByLine) {
  EXPECT_THAT(RefusalAs("po", "msgid \"a\"\nmsgtr \"\"\n"), HasSubstr("PO: line 2"));
  EXPECT_THAT(RefusalAs("po", "msgid \"a\n"), HasSubstr("quotation marks"));
  EXPECT_THAT(RefusalAs("po", "\"a\"\n"), HasSubstr("no keyword"));
  EXPECT_THAT(RefusalAs("po", "msgid \"a\\\"\n"), HasSubstr("line 1"));
}

// Each of them would have a copy of the source.
TEST(PoTest, AMessageHasFewTranslations) {
  const auto message = [](int forms) {
    std::string po = "msgid \"a day\"\nmsgid_plural \"days\"\n";
    for (int i = 0; i < forms; ++i) absl::StrAppend(&po, "msgstr[", i, "] \"\"\n");
    return po;
  };
  EXPECT_EQ(ParseAs("po", message(16))->units().size(), 16u);
  EXPECT_THAT(RefusalAs("po", message(17)), HasSubstr("PO: line 19 is one of more than 16 translations of a message"));
}

TEST(PlainTextTest, SentencesAreUnits) {
  const std::string text = "A title\n\nOne is here, at https://x.org/ab. Two is {n}.\n- item one\n";
  const auto document = ParseAs("text", text);
  EXPECT_THAT(Shown(*document),
              ElementsAre("A title", "One is here, at ⟦https://x.org/ab⟧.", "Two is ⟦{n}⟧.", "item one"));
  ExpectIdentity("text", text);
  EXPECT_EQ(RenderWith(*document, {{"item one", "Punkt eins"}}),
            std::string(text).replace(text.find("item one"), 8, "Punkt eins"));
}

TEST(PlainTextTest, LinesAreUnitsIfAskedFor) {
  const std::string text = "- One. Two,\twith {n}.\n\n12\nThree\n";
  const ParseOptions options{.keep_terms = {"Two"}, .lines = true};
  const auto document = ParseAs("text", text, options);
  EXPECT_THAT(Shown(*document), ElementsAre("- One. ⟦Two⟧,\twith ⟦{n}⟧.", "Three"));
  EXPECT_EQ(RenderWith(*document, {{"Three", "Drei"}}), "- One. Two,\twith {n}.\n\n12\nDrei\n");
}

TEST(PlainTextTest, WrappedLinesComeBackAsTheyWere) {
  const std::string text =
      "It was the best of times, it was the worst of times, it was the age of\r\n"
      "  wisdom, it was the age of foolishness, it was the epoch of belief, it\r\n"
      "was the epoch of incredulity.\r\n";
  const auto document = ParseAs("text", text);
  ASSERT_EQ(document->units().size(), 1u);
  EXPECT_EQ(document->units()[0].source.text.find('\n'), std::string::npos);
  ExpectIdentity("text", text);
}

}  // namespace
}  // namespace salient
