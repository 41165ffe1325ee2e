#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/documents/round_trip.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> MarkdownUnits(std::string_view text) { return Shown(*ParseAs("markdown", text)); }

std::string Translated(std::string_view text, const std::vector<std::pair<std::string, std::string>>& translated) {
  return RenderWith(*ParseAs("markdown", text), translated);
}

TEST(MarkdownTest, UnitsAreParagraphsHeadingsItemsAndCells) {
  EXPECT_THAT(MarkdownUnits("# A title #\n\nOne\nparagraph.\n\n- first\n- second\n\n> quoted\n\nSetext\n======\n\n"
                            "| a | b |\n|---|---|\n| one | two |\n"),
              ElementsAre("A title", "One paragraph.", "first", "second", "quoted", "Setext", "a", "b", "one", "two"));
}

TEST(MarkdownTest, EmphasisAndLinksArePairs) {
  EXPECT_THAT(MarkdownUnits("Some **bold *and italic* text**, a [link](http://x.org/a_(b) \"t\") and ~~gone~~."),
              ElementsAre("t",
                          "Some ⟦**⟧bold ⟦*⟧and italic⟦*⟧ text⟦**⟧, a ⟦[⟧link⟦](http://x.org/a_(b) \"t\")⟧ and "
                          "⟦~~⟧gone⟦~~⟧."));
  EXPECT_THAT(MarkdownUnits("a ***b*** c"), ElementsAre("a ⟦*⟧⟦**⟧b⟦**⟧⟦*⟧ c"));
  EXPECT_THAT(MarkdownUnits("[ref][id] and [id] and ![alt text](i.png).\n\n[id]: http://x.org 'Title'\n"),
              ElementsAre("Title", "alt text", "⟦[⟧ref⟦][id]⟧ and ⟦[⟧id⟦]⟧ and ⟦![alt text](i.png)⟧."));
}

TEST(MarkdownTest, AnImageIsAMarkerAndItsTextAUnit) {
  const std::string badges =
      "[![Build Status](b.svg)](u) [![License: MIT](l.svg 'The license')](LICENSE) ![](x.png) ![One more](m.svg)\n";
  EXPECT_THAT(MarkdownUnits(badges), ElementsAre("Build Status", "The license", "License: MIT", "One more"));
  EXPECT_EQ(
      RenderRot13(*ParseAs("markdown", badges)),
      "[![Ohvyq Fgnghf](b.svg)](u) [![Yvprafr: ZVG](l.svg 'Gur yvprafr')](LICENSE) ![](x.png) ![Bar zber](m.svg)\n");
  const std::string text =
      "Click ![the *gear*\n`icon`](g.png) to\ngo ![in ![to](a) it](b), **![all](c)**.\n\n"
      "See ![Label], ![label][] and ![it][Label] there.\n\n![Label]\n\n[label]: x.png\n";
  EXPECT_THAT(MarkdownUnits(text),
              ElementsAre("the ⟦*⟧gear⟦*⟧ ⟦`icon`⟧", "to", "in ⟦![to](a)⟧ it", "all",
                          "Click ⟦![the *gear*\n`icon`](g.png)⟧ to go ⟦![in ![to](a) it](b)⟧, "
                          "⟦**⟧⟦![all](c)⟧⟦**⟧.",
                          "⟦![⟧Label⟦]⟧", "⟦![⟧label⟦][]⟧", "⟦![⟧it⟦][Label]⟧",
                          "See ⟦![Label]⟧, ⟦![label][]⟧ and ⟦![it][Label]⟧ there.", "⟦![⟧Label⟦]⟧"));
  ExpectIdentity("markdown", text);
  ExpectTranslationIsRead("markdown", text);
  EXPECT_EQ(Translated("See ![Label] and ![label][] there.\n\n[label]: x.png\n",
                       {{"Label", "Knopf"}, {"label", "knopf"}, {"See  and  there.", "Sie  und  da."}}),
            "Sie ![Knopf][Label] und ![knopf][label] da.\n\n[label]: x.png\n");
  std::string deep;
  for (int i = 0; i < 300; ++i) deep = absl::StrCat("![", deep, "](b)");
  EXPECT_THAT(RefusalAs("markdown", deep), HasSubstr("images lie more than 200 deep"));
}

// The translation of a document with one unit.
std::string Rendered(std::string_view text, const MarkedText& translation) {
  const auto document = ParseAs("markdown", text);
  EXPECT_EQ(document->units().size(), 1u);
  return document->Render({translation}).value_or("");
}

TEST(MarkdownTest, EmphasisStandsWhereItIsRead) {
  // White space and punctuation go out of a pair that could not begin or end there.
  EXPECT_EQ(Rendered("Lets you **change the** version.", {"Erlaubt, die Version zu ändern.", {{7, 0}, {20, 1}}}),
            "Erlaubt, **die Version** zu ändern.");
  EXPECT_EQ(Rendered("The *new (small)* one.", {"Das neue(kleine)da ist gut.", {{8, 0}, {16, 1}}}),
            "Das neue(*kleine*)da ist gut.");
  EXPECT_EQ(Rendered("An ~~old~~ one.", {"Ein altes ist da.", {{3, 0}, {10, 1}}}), "Ein ~~altes~~ ist da.");
  EXPECT_EQ(Rendered("***Both*** here.", {"Hier beides, da.", {{4, 0}, {4, 1}, {12, 2}, {12, 3}}}),
            "Hier ***beides,*** da.");
  EXPECT_EQ(Rendered("Run **`a` now** at once.", {"Los jetzt.", {{3, 0}, {3, 1}, {9, 2}}}), "Los`a` **jetzt**.");
  // What has nothing to show is left out, and so is what cannot be read at all.
  EXPECT_EQ(Rendered("One **two** three.", {"Eins drei.", {{4, 0}, {4, 1}}}), "Eins drei.");
  EXPECT_EQ(Rendered("A ***both*** c ~~d~~.", {"A c d.", {{2, 0}, {2, 1}, {2, 2}, {2, 3}, {4, 4}, {5, 5}}}),
            "A c ~~d~~.");
  EXPECT_EQ(Rendered("A *user-friendly* client.", {"Ein HTTP-Client.", {{8, 0}, {9, 1}}}), "Ein HTTP-Client.");
  EXPECT_EQ(Rendered("*One* **two** c.", {"Einszwei d.", {{0, 0}, {4, 1}, {4, 2}, {8, 3}}}), "Eins**zwei** d.");
  // A part of a word.
  EXPECT_EQ(Rendered("The _text_ heading.", {"Die Textzeile.", {{4, 0}, {8, 1}}}), "Die *Text*zeile.");
}

TEST(MarkdownTest, CodeAndAddressesAreWords) {
  EXPECT_THAT(MarkdownUnits("Run `make all` or ``a ` b``; see <http://x.org> and https://y.org/z."),
              ElementsAre("Run ⟦`make all`⟧ or ⟦``a ` b``⟧; see ⟦<http://x.org>⟧ and ⟦https://y.org/z⟧."));
  // A reference by its text keeps its label. So the link is part of the unit, even if it encloses all of the text.
  const std::string list = "* [One two][]\n* [Three]\n\n[one two]: x\n[three]: y\n";
  const auto document = ParseAs("markdown", list);
  ASSERT_EQ(document->units().size(), 2u);
  EXPECT_EQ(*document->Render({{"Eins zwei", {{0, 0}, {9, 1}}}, {"Drei", {{0, 0}, {4, 1}}}}),
            "* [Eins zwei][One two]\n* [Drei][Three]\n\n[one two]: x\n[three]: y\n");
  EXPECT_THAT(MarkdownUnits("`code` first"), ElementsAre("⟦`code`⟧ first"));
}

TEST(MarkdownTest, CodeFrontMatterAndHtmlBlocksStay) {
  EXPECT_THAT(MarkdownUnits(
                  "---\ntitle: Not this\n---\n\nText.\n\n```sh\nnot this\n```\n\n    nor this\n\n<div>\nnor\n</div>\n"),
              ElementsAre("Text."));
}

TEST(MarkdownTest, TabsMayEndLinesOfSigns) {
  const std::string text =
      "Setext\n===\t\n\n```sh\ncode\n``` \t\n\nText.\n\n> Two\n> ---\t\n> ~~~\t\n> code\n> ~~~\t\n> Quoted.\n\n"
      "| a |\t\n|---|\t\n| b |\t\n\nOne\n***\t\nEnd.\n";
  EXPECT_THAT(MarkdownUnits(text), ElementsAre("Setext", "Text.", "Two", "Quoted.", "a", "b", "One", "End."));
  ExpectIdentity("markdown", text);
  ExpectTranslationIsRead("markdown", text);
}

TEST(MarkdownTest, FencesOfContainersStayAndEndParagraphs) {
  const std::string text =
      "Before\nit.\n:::note A title\nThis is\nthe note.\n:::\nAfter it.\n\n::::{tip}\r\n:::{warning}\r\nInside.\r\n"
      ":::\r\n::::\r\n\n- item\n\n  :::info\n  In the *list*.\n  :::\n\nA ::: here stays "
      "text.\n\n```\n:::\ncode\n```\n:::";
  EXPECT_THAT(MarkdownUnits(text), ElementsAre("Before it.", "This is the note.", "After it.", "Inside.", "item",
                                               "In the ⟦*⟧list⟦*⟧.", "A ::: here stays text."));
  ExpectIdentity("markdown", text);
  ExpectTranslationIsRead("markdown", text);
  EXPECT_EQ(Translated(":::note\nYes.\n:::\n", {{"Yes.", "Ja."}}), ":::note\nJa.\n:::\n");
}

// Changes all of the text, and expects the Markdown around it to stay.
void ExpectTranslated(const std::string& text, const std::string& expected) {
  ExpectIdentity("markdown", text);
  ExpectTranslationIsRead("markdown", text);
  EXPECT_EQ(RenderRot13(*ParseAs("markdown", text)), expected);
}

TEST(MarkdownTest, TablesAsGithubReadsThem) {
  ExpectTranslated("|A|B c|\n|-|:-|\n|`d`|e\\|f|\n", "|N|O p|\n|-|:-|\n|`d`|r\\|s|\n");
  ExpectTranslated("A | B\n--|--:\nc | d\n\n| E |\n| - |\n", "N | O\n--|--:\np | q\n\n| R |\n| - |\n");
  // Text may stand right before the header.
  ExpectTranslated("See\nthis:\n| A | B |\n|---|---|\n| c | d |\n", "Frr guvf:\n| N | O |\n|---|---|\n| p | q |\n");
  ExpectTranslated("> See:\r\n> | A |\r\n> |--|\r\n> | b |\r\n", "> Frr:\r\n> | N |\r\n> |--|\r\n> | o |\r\n");
  ExpectTranslated("- See:\n  | A |\n  |-|\n  | b |\n", "- Frr:\n  | N |\n  |-|\n  | o |\n");
  EXPECT_THAT(MarkdownUnits("```\n|a|\n|-|\n```\n\na | b\nc - d\n\n--|\n\na | b\n-|:|-\n"),
              ElementsAre("a | b c - d", "a | b -|:|-"));
}

TEST(MarkdownTest, FootnotesKeepTheirLabels) {
  const std::string text =
      "One[^1] and two.[^Note]\n\n[^1]: http://x.org/\n[^2]: Word\n[^Note]: A *note*\ngoes on.\n\n    And on.\n\n"
      "[^l]:\n    Below.\n\nEnd.\n";
  EXPECT_THAT(MarkdownUnits(text),
              ElementsAre("One⟦[^1]⟧ and two.", "Word", "A ⟦*⟧note⟦*⟧ goes on.", "And on.", "Below.", "End."));
  ExpectTranslated(text,
                   "Bar[^1] naq gjb.[^Note]\n\n[^1]: http://x.org/\n[^2]: Jbeq\n[^Note]: N *abgr* tbrf ba.\n\n"
                   "    Naq ba.\n\n[^l]:\n    Orybj.\n\nRaq.\n");
}

TEST(MarkdownTest, SignsOfAlertsStayInLinesOfTheirOwn) {
  ExpectTranslated("> [!NOTE]\n> Read\n> this.\n", "> [!NOTE]\n> Ernq guvf.\n");
  ExpectTranslated("> [!tip]- A title\r\n> Text.\r\n", "> [!tip]- N gvgyr\r\n> Grkg.\r\n");
  ExpectTranslated("> Text\n> [!tip] text\n", "> Grkg [!gvc] grkg\n");
  EXPECT_THAT(MarkdownUnits("> [!NOTE](x) y\n\n[!NOTE]\nz"), ElementsAre("⟦[⟧!NOTE⟦](x)⟧ y", "[!NOTE] z"));
}

TEST(MarkdownTest, AdmonitionsAndTabsKeepTheirLine) {
  ExpectTranslated("!!! note \"A *title*\"\n    Text\n    here.\n\n    - item\n\nAfter.\n",
                   "!!! note \"N *gvgyr*\"\n    Grkg urer.\n\n    - vgrz\n\nNsgre.\n");
  ExpectTranslated("??? danger\n\n    Text.\n\n    !!! tip \"\"\n        Inside.\n",
                   "??? danger\n\n    Grkg.\n\n    !!! tip \"\"\n        Vafvqr.\n");
  ExpectTranslated("=== \"Linux\"\n\n    Run.\n", "=== \"Yvahk\"\n\n    Eha.\n");
  EXPECT_THAT(MarkdownUnits("Wow\n!!! really\n\n!!! 5 \"of\" it\n\n=== a\n"),
              ElementsAre("Wow !!! really", "!!! 5 \"of\" it", "=== a"));
}

TEST(MarkdownTest, LinesOfTagsAndAttributesStay) {
  ExpectTranslated("{% if x %}\nOne\n{% else %}\nTwo\n{% endif %}\n{{< note >}}\nThree\n{{< /note >}}\n{: .a }\n",
                   "{% if x %}\nBar\n{% else %}\nGjb\n{% endif %}\n{{< note >}}\nGuerr\n{{< /note >}}\n{: .a }\n");
  ExpectTranslated("# Title {: #id .a }\n\nA [b](c){.d target=\"e\"} f.\n",
                   "# Gvgyr {: #id .a }\n\nN [o](c){.d target=\"e\"} s.\n");
  EXPECT_THAT(MarkdownUnits("<div\n{% if x %}\nclass=\"a\"\n{% endif %}\n>\n</div>\n"), ElementsAre());
  // In a table they are rows of it.
  ExpectTranslated("| A |\n|---|\n{% for x %}\n| b |\n", "| N |\n|---|\n{% for x %}\n| o |\n");
}

TEST(MarkdownTest, MathStays) {
  ExpectTranslated("The\n$$\nx = y \\\\\n\\text{if}\n$$\nend.\n", "Gur\n$$\nx = y \\\\\n\\text{if}\n$$\nraq.\n");
  ExpectTranslated("Here $a_1 \\{b\\}$ and $$c$$ are.\n", "Urer $a_1 \\{b\\}$ naq $$c$$ ner.\n");
  EXPECT_THAT(MarkdownUnits("From $5 to $10, US$5/CA$6.\n\n$$ a\nb\n"),
              ElementsAre("From $5 to $10, US$5/CA$6.", "$$ a b"));
  std::string open;
  for (int i = 0; i < 200000; ++i) open += "$$a\n";
  EXPECT_THAT(RefusalAs("markdown", open), HasSubstr("more than 2000 spans"));
}

TEST(MarkdownTest, ShortcodesAndUsersStay) {
  EXPECT_THAT(MarkdownUnits("Go :tada: to @me, at 10:30:45 and a:b:c, a@b."),
              ElementsAre("Go ⟦:tada:⟧ to ⟦@me⟧, at 10:30:45 and a:b:c, a@b."));
}

TEST(MarkdownTest, DefinitionsStayInLinesOfTheirOwn) {
  const std::string text =
      "A term\n: The first *definition*\n  goes on.\n: The second\r\n:   The third\n\n> Quoted\n> : text\n\n"
      "A ratio\n:of 1 : 2 or\n a: b\n\n: alone\n\n```\na\n: code\n```\n";
  EXPECT_THAT(MarkdownUnits(text),
              ElementsAre("A term⟦\n: ⟧The first ⟦*⟧definition⟦*⟧ goes on.⟦\n: ⟧The second⟦\r\n:   ⟧The third",
                          "Quoted : text", "A ratio :of 1 : 2 or a: b", ": alone"));
  ExpectIdentity("markdown", text);
  ExpectTranslationIsRead("markdown", text);
  EXPECT_EQ(RenderRot13(*ParseAs("markdown", "Term\n:   Yes.\n: No\n")), "Grez\n:   Lrf.\n: Ab\n");
}

TEST(MarkdownTest, BreaksAndInlineHtml) {
  EXPECT_THAT(MarkdownUnits("> one  \n> two\\\n> three\n> four"), ElementsAre("one⟦  \n> ⟧two⟦\\\n> ⟧three four"));
  EXPECT_THAT(MarkdownUnits("a <kbd>Key</kbd> b<br>c <!-- no --> d"),
              ElementsAre("a ⟦<kbd>Key</kbd>⟧ b⟦<br>⟧c ⟦<!-- no -->⟧ d"));
}

TEST(MarkdownTest, KeepsTheElementsThatHtmlKeeps) {
  const std::string text =
      "Type <code>git *commit* all</code> or <KBD>Ctrl</KBD>+<kbd>C</kbd>, not\n "
      "<span translate=\"no\">Do <span>not</span> translate</span>.\n\n"
      "> A **<i class='x notranslate'>Red ![House](a \"b\")\n> more</i>** and <i lang=fr>le mot</i> <i "
      "lang=en>here</i>.\n\n"
      "The <var>n</var>*th <code>a* b</code> <code>c.\n";
  EXPECT_THAT(MarkdownUnits(text),
              ElementsAre("Type ⟦<code>git *commit* all</code>⟧ or ⟦<KBD>Ctrl</KBD>⟧+⟦<kbd>C</kbd>⟧, not "
                          "⟦<span translate=\"no\">Do <span>not</span> translate</span>⟧.",
                          "A ⟦**⟧⟦<i class='x notranslate'>Red ![House](a \"b\")\n> more</i>⟧⟦**⟧ and "
                          "⟦<i lang=fr>le mot</i>⟧ ⟦<i lang=en>⟧here⟦</i>⟧.",
                          "The ⟦<var>n</var>⟧⟦*⟧th ⟦<code>⟧a⟦*⟧ b⟦</code>⟧ ⟦<code>⟧c."));
  ExpectIdentity("markdown", text);
  ExpectTranslationIsRead("markdown", text);
}

TEST(MarkdownTest, ATagOverTwoLinesIsOneMarker) {
  const std::string text =
      "A picture <img src=\"a.png\"  \n  width=\"30\"> of it.\n\n"
      "> A <a\n> href=\"u\">link</a> <!-- one\n> two\n> three --> here.\n\nA <a\nhref=\"u\"><b>link</b></a> there.\n";
  EXPECT_THAT(MarkdownUnits(text), ElementsAre("A picture ⟦<img src=\"a.png\"  \n  width=\"30\">⟧ of it.",
                                               "A ⟦<a\n> href=\"u\">⟧link⟦</a>⟧ ⟦<!-- one\n> two\n> three -->⟧ here.",
                                               "A ⟦<a\nhref=\"u\">⟧⟦<b>⟧link⟦</b>⟧⟦</a>⟧ there."));
  ExpectIdentity("markdown", text);
  ExpectTranslationIsRead("markdown", text);
}

TEST(MarkdownTest, HardBreaksEndSegmentsAndSoftOnesDoNot) {
  const auto document = ParseAs("markdown", "one *two\\\nthree*  \nfour\nfive<br>six");
  EXPECT_THAT(SegmentTexts(*document), ElementsAre("one two", "three", "four five", "six"));
  const auto segments = UnitSegments::Create(document->units(), {.source_language = "en"});
  EXPECT_EQ(*document->Render(segments->Join({"eins zwei", "drei", "vier und fünf", "sechs"})),
            "eins *zwei\\\ndrei*  \nvier und fünf<br>sechs");
}

TEST(MarkdownTest, ALineOfABackslashAloneIsABreakOfItsOwn) {
  const std::pair<std::string, std::string> cases[] = {
      {"a\n\\\n<b", "a ⟦\\\n⟧<b"},
      {"a <b\\\n\\\n</c", "a <b⟦\\\n⟧⟦\\\n⟧</c"},
      {"a  \n\\\r\n<b>c</b> d", "a⟦  \n⟧⟦\\\r\n⟧⟦<b>⟧c⟦</b>⟧ d"},
      {"> a\n> \\\n> *b*", "a ⟦\\\n> ⟧⟦*⟧b⟦*⟧"},
      {"a\\\n*\\\nb* c", "a⟦\\\n⟧⟦*⟧⟦\\\n⟧b⟦*⟧ c"},
  };
  for (const auto& [text, shown] : cases) {
    EXPECT_THAT(MarkdownUnits(text), ElementsAre(shown));
    ExpectIdentity("markdown", text);
    ExpectTranslationIsRead("markdown", text);
  }
}

TEST(MarkdownTest, ABackslashInATranslationEscapesNothing) {
  EXPECT_EQ(*ParseAs("markdown", "C:\\dir\\\nx")->Render({{"C:\\x", {{3, 0}}}}), "C:\\\\\\\nx");
  EXPECT_EQ(Translated("C:\\dir", {{"C:\\dir", "C:\\. D:\\dir"}}), "C:\\\\. D:\\dir");
}

TEST(MarkdownTest, EscapesAreUndoneAndDoneAgain) {
  EXPECT_THAT(MarkdownUnits("5 \\* 3 &amp; 2 \\[x\\]"), ElementsAre("5 * 3 & 2 [x]"));
  EXPECT_EQ(Translated("5 \\* 3 &amp; 2 \\[x\\]", {{"5 * 3 & 2 [x]", "fünf * drei & zwei [y]"}}),
            "fünf \\* drei & zwei \\[y\\]");
}

TEST(MarkdownTest, EscapesThatTheSourceNeedsStay) {
  const std::string text =
      "Options:\\\n\\- first\n\n- Years:  \n  1986\\. A great one\n\n### sharp \\#\n\nWow\\![link](u), yes.\n\n"
      "> One\\\n> \\> two\n\nA `code\\.` and C:\\dir.\n\n"
      "**\\- bold** word\n\nA\\\n\\\n\\# b ![c\nd](u)\\> e\n";
  ExpectIdentity("markdown", text);
  ExpectTranslationIsRead("markdown", text);
  EXPECT_EQ(RenderRot13(*ParseAs("markdown", text)),
            "Bcgvbaf:\\\n\\- svefg\n\n- Lrnef:  \n  1986\\. N terng bar\n\n### funec \\#\n\nJbj\\![yvax](u), lrf.\n\n"
            "> Bar\\\n> \\> gjb\n\nN `code\\.` naq P:\\qve.\n\n"
            "**\\- obyq** jbeq\n\nN\\\n\\\n\\# o ![p q](u)\\> r\n");
  const auto document = ParseAs("markdown", "one  \ntwo");
  EXPECT_EQ(*document->Render({{"eins - zwei", {{4, 0}}}}), "eins  \n \\- zwei");
  EXPECT_EQ(*document->Render({{"eins  1) zwei", {{4, 0}}}}), "eins  \n  1\\) zwei");
}

TEST(MarkdownTest, EscapesInTitlesAreUndoneAndDoneAgain) {
  const std::string text =
      "[One](u \"The \\\"big\\\" C:\\dir & \\&amp; &amp;amp;\") and ![two](v 'it\\'s &check; a\\\\b').";
  const auto document = ParseAs("markdown", text);
  EXPECT_EQ(Shown(*document)[0], "The \"big\" C:\\dir & &amp; &amp;");
  EXPECT_EQ(Shown(*document)[1], "it's ⟦&check;⟧ a\\b");
  ExpectIdentity("markdown", text);
  ExpectTranslationIsRead("markdown", text);
  EXPECT_EQ(Translated("[p](u \"The \\\"big\\\" title\")", {{"The \"big\" title", "Der \"große\" Titel\\"}}),
            "[p](u \"Der \\\"große\\\" Titel\\\\\")");
}

TEST(MarkdownTest, TitlesOfDefinitionsAreUnits) {
  const std::string text =
      "See [one][a], [two][a], [b], ![c][] and [d].\n\n[a]: u \"Read it first\"\n[b]: <v w>\n  'Now'\n"
      "[c]: x.png (A gear)\n[d]: y \"a &amp; b\"\n[e]: z \"Not shown\"\n\n> [f]\n>\n> [f]: w \"Quoted\"\n";
  EXPECT_THAT(MarkdownUnits(text),
              ElementsAre("Read it first", "Now", "A gear", "⟦![⟧c⟦][]⟧",
                          "See ⟦[⟧one⟦][a]⟧, ⟦[⟧two⟦][a]⟧, ⟦[⟧b⟦]⟧, ⟦![c][]⟧ and ⟦[⟧d⟦]⟧.", "Quoted", "⟦[⟧f⟦]⟧"));
  ExpectIdentity("markdown", text);
  EXPECT_EQ(
      Translated(text, {{"Read it first", "Erst \"lesen\""}, {"Now", "Mach's"}, {"A gear", "Ein (Rad)"}}),
      "See [one][a], [two][a], [b], ![c][] and [d].\n\n[a]: u \"Erst \\\"lesen\\\"\"\n[b]: <v w>\n  'Mach\\'s'\n"
      "[c]: x.png (Ein \\(Rad\\))\n[d]: y \"a &amp; b\"\n[e]: z \"Not shown\"\n\n> [f]\n>\n> [f]: w \"Quoted\"\n");
}

TEST(MarkdownTest, AttributesOfInlineHtmlAreUnits) {
  const std::string text =
      "Click <img src=\"g.png\" alt=\"the gear\"> or\n<a href=u title='More &amp; more'>this</a> "
      "<img translate=\"no\" alt=\"Not this\">.\n\n> <img\n> alt=\"nor this\"> Text\n";
  EXPECT_THAT(MarkdownUnits(text)[0], "the gear");
  EXPECT_THAT(MarkdownUnits(text)[1], "More & more");
  EXPECT_EQ(MarkdownUnits(text).size(), 4u);
  ExpectIdentity("markdown", text);
  ExpectTranslationIsRead("markdown", text);
  EXPECT_EQ(Translated("Click <img src=g alt='the gear'> now.", {{"the gear", "das <Rad>"}}),
            "Click <img src=g alt='das &lt;Rad&gt;'> now.");
}

// What follows the destination after white space is the title; where only one of the two stands, it is the destination.
TEST(MarkdownTest, ADestinationInQuotesIsNoTitle) {
  for (const char* link : {"[One](\"two\")", "[One]( \"two\")", "[One](\n\"two\")", "[One]( 'two\\')",
                           "[One](<two \"x\">)", "[One]((two))", "[One]( (two))", "[One](two\"x\")"}) {
    EXPECT_THAT(MarkdownUnits(link), ElementsAre("One")) << link;
    ExpectTranslationIsRead("markdown", link);
  }
  for (const char* link : {"[One](<b> \"two\")", "[One](<> 'two')", "[One](\"b\" \"two\")", "[One](<b \"c\">\n(two) )",
                           "[One](b\\ \"two\")", "> [One](\n> b\n> 'two'\n> )", "![One](b(c) (two))"}) {
    EXPECT_THAT(MarkdownUnits(link), ElementsAre("two", "One")) << link;
    ExpectTranslationIsRead("markdown", link);
  }
  EXPECT_THAT(MarkdownUnits("> [One](b \"two\n> three\")"), ElementsAre("two three", "One"));
  EXPECT_EQ(Translated("[p](u (The \\(big\\) title))", {{"The (big) title", "Der (große) Titel"}}),
            "[p](u (Der \\(große\\) Titel))");
}

TEST(MarkdownTest, TextThatLooksLikeAReferenceStaysText) {
  EXPECT_THAT(MarkdownUnits("Write &amp;check; or &amp;copy;"), ElementsAre("Write &check; or &copy;"));
  EXPECT_EQ(Translated("Write &amp;check; or &amp;copy;, R&D &copy more",
                       {{"Write &check; or &copy;, R&D &copy more", "&check; oder &copy;, R&D; &copy mehr"}}),
            "&amp;check; oder &amp;copy;, R&amp;D; &copy mehr");
}

TEST(MarkdownTest, ATranslationIsNeverReadAsMarkup) {
  EXPECT_EQ(Translated("First", {{"First", "1. Erstens"}}), "1\\. Erstens");
  EXPECT_EQ(Translated("Heading", {{"Heading", "# Titel"}}), "\\# Titel");
  EXPECT_EQ(Translated("Plus", {{"Plus", "+ mehr"}}), "\\+ mehr");
  EXPECT_EQ(Translated("A * b", {{"A * b", "* b"}}), "\\* b");
  EXPECT_EQ(Translated("Star", {{"Star", "*Stern* <b> `x`"}}), "\\*Stern\\* \\<b> \\`x\\`");
  EXPECT_EQ(Translated("| a |\n|---|\n| b |\n", {{"b", "x|y"}}), "| a |\n|---|\n| x\\|y |\n");
}

TEST(MarkdownTest, OnlyWhatChangesIsWritten) {
  const std::string text = "Title\n=====\n\n* one\n  goes on\n*   two\n\n[a]:  <b>   'c'\n\n\n\nend  \n";
  EXPECT_EQ(Translated(text, {{"two", "zwei"}}),
            "Title\n=====\n\n* one\n  goes on\n*   zwei\n\n[a]:  <b>   'c'\n\n\n\nend  \n");
  EXPECT_EQ(Translated(text, {{"one goes on", "eins geht weiter"}}),
            "Title\n=====\n\n* eins geht weiter\n*   two\n\n[a]:  <b>   'c'\n\n\n\nend  \n");
}

TEST(MarkdownTest, RoundTrips) {
  const std::string text = R"(# Title with `code`

Some *emphasis*, **strong [link *in*](a "Title")** words
over two lines with <b>html</b> and \_escapes\_ &copy; 2026.

1. One
2. Two
   > nested *quote*
   > goes on

- [ ] task **bold**
- [x] done

| Left | Right |
|:-----|------:|
| a *b* | `c\|d` |

![Alt *text*](image.png 'A title') and [a [b] c][ref].
***
**All bold.**

[ref]: <x y> "t"
)";
  ExpectIdentity("markdown", text);
  ExpectTranslationIsRead("markdown", text);
}

// A link by its text, and then what may begin a destination that has no end.
TEST(MarkdownTest, ManyLinksWithoutAnEndAreRead) {
  const size_t count = 200000;
  std::string paragraphs = "[a]: x\n\n", one_line = paragraphs;
  for (size_t i = 0; i < count; ++i) {
    paragraphs += "[a](<\n\n";
    one_line += "[a](b";
  }
  EXPECT_EQ(ParseAs("markdown", paragraphs)->units().size(), count);
  EXPECT_THAT(RefusalAs("markdown", one_line), HasSubstr("more than 2000 spans"));
}

TEST(MarkdownTest, RefusesWhatExpands) {
  std::string quotes;
  for (int i = 0; i < 300; ++i) quotes += "> ";
  EXPECT_THAT(RefusalAs("markdown", quotes + "x"), HasSubstr("more than 200 deep"));
  std::string links = "[a]: " + std::string(100000, 'x') + "\n\n";
  for (int i = 0; i < 10000; ++i) links += "[a] ";
  EXPECT_THAT(RefusalAs("markdown", links), HasSubstr("expand"));
  EXPECT_THAT(RefusalAs("markdown", "a\xffz"), HasSubstr("not UTF-8 text at byte 1"));
}

}  // namespace
}  // namespace salient
