#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/documents/round_trip.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kBook[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE book>
<book>
  <title lang="en">Cats &amp; dogs</title>
  <!-- not this -->
  <para>A <em>very <code>big</code></em> cat<br/> sat.</para>
  <para translate="no">Kept</para>
  <list><item>One</item><item>Two</item></list>
</book>
)";

TEST(XmlTest, ElementsWithTextBesideThemStandInTheSentence) {
  const auto document = ParseAs("xml", kBook);
  EXPECT_THAT(Shown(*document),
              ElementsAre("Cats & dogs", "A ⟦<em>⟧very ⟦<code>⟧big⟦</code>⟧⟦</em>⟧ cat⟦<br/>⟧ sat.", "One", "Two"));
  ExpectIdentity("xml", kBook);
}

TEST(XmlTest, APieceNeedsNoElementAroundIt) {
  const std::string text = "Click <x id=\"0\"></x> &lt;now&gt; or <b>wait</b>.";
  const auto document = ParseAs("xml", text, {.elements = {.keep = {"x"}}});
  EXPECT_THAT(Shown(*document), ElementsAre("Click ⟦<x id=\"0\"></x>⟧ <now> or ⟦<b>⟧wait⟦</b>⟧."));
  ExpectIdentity("xml", text);
  MarkedText changed = document->units()[0].source;
  changed.text.replace(0, 5, "K & K");
  EXPECT_EQ(*document->Render({changed}), "K &amp; K <x id=\"0\"></x> &lt;now&gt; or <b>wait</b>.");
  EXPECT_THAT(Shown(*ParseAs("xml", "<p>One</p><p>Two</p>")), ElementsAre("One", "Two"));
}

TEST(XmlTest, WhatIsAroundTheElementsOfAPieceIsNoText) {
  for (const std::string text :
       {"\ufeff<p>One</p><p>Two</p>", "<!-- a --><p>One</p>\n<?b c?><p>Two</p> <!-- d -->\r"}) {
    EXPECT_THAT(Shown(*ParseAs("xml", text)), ElementsAre("One", "Two"));
    ExpectIdentity("xml", text);
    ExpectTranslationIsRead("xml", text);
  }
  EXPECT_THAT(Shown(*ParseAs("xml", "\ufeffOne <b>two</b>]\r")), ElementsAre("One ⟦<b>⟧two⟦</b>⟧]"));
  EXPECT_THAT(ParseAs("xml", "")->units(), IsEmpty());
}

TEST(XmlTest, ADocumentMayBeginWithAComment) {
  const std::string text = "<!-- license --><!DOCTYPE foo SYSTEM \"f.dtd\"><foo>Some text</foo>";
  EXPECT_THAT(Shown(*ParseAs("xml", text)), ElementsAre("Some text"));
  ExpectIdentity("xml", text);
}

TEST(XmlTest, AsciiBecomesUtf8) {
  const std::string text = "<?xml version='1.0' encoding='us-ascii'?>\n<p>Size</p>";
  EXPECT_EQ(RenderWith(*ParseAs("xml", text), {{"Size", "Größe"}}),
            "<?xml version='1.0' encoding='UTF-8'?>\n<p>Größe</p>");
}

TEST(XmlTest, RulesSayWhereSentencesEnd) {
  const std::string text = "A <p>one</p> B <i>two</i>";
  EXPECT_THAT(Shown(*ParseAs("xml", text, {.elements = {.block = {"p"}}})),
              ElementsAre("A", "one", "B ⟦<i>⟧two⟦</i>⟧"));
  const std::string blocks = "<p>one</p><i>two</i>";
  EXPECT_THAT(Shown(*ParseAs("xml", blocks, {.elements = {.listed_only = true}})),
              ElementsAre("⟦<p>⟧one⟦</p>⟧⟦<i>⟧two⟦</i>⟧"));
  EXPECT_THAT(Shown(*ParseAs("xml", blocks, {.elements = {.block = {"p"}, .listed_only = true}})),
              ElementsAre("one", "two"));
  EXPECT_THAT(Shown(*ParseAs("xml", "<p>one</p><p>two</p>", {.elements = {.in_text = {"p"}}})),
              ElementsAre("⟦<p>⟧one⟦</p>⟧⟦<p>⟧two⟦</p>⟧"));
  EXPECT_THAT(ParseAs("xml", "<a><b>one</b></a>", {.elements = {.keep = {"a"}}})->units(), IsEmpty());
}

TEST(XmlTest, SectionsHavePlaceholdersAndTags) {
  const std::string text = "<r><s><![CDATA[Hello {name}, you & %d others]]></s><s>A <![CDATA[{0}]]> b</s></r>";
  const auto document = ParseAs("xml", text);
  EXPECT_THAT(Shown(*document), ElementsAre("Hello ⟦{name}⟧, you & ⟦%d⟧ others", "A ⟦{0}⟧ b"));
  EXPECT_EQ(RenderRot13(*document),
            "<r><s><![CDATA[Uryyb {name}, lbh & %d bguref]]></s><s>N <![CDATA[{0}]]> o</s></r>");
  ExpectIdentity("xml", text);
  ExpectTranslationIsRead("xml", text);
  EXPECT_EQ(RenderRot13(*ParseAs("xml", "<r><s>\n <![CDATA[\n <p>A <b>b</b></p>\n c  d ]]>\n</s><s> e</s></r>")),
            "<r><s>\n <![CDATA[\n <p>N <b>o</b></p>\n p  q ]]>\n</s><s> r</s></r>");
  EXPECT_EQ(RenderWith(*ParseAs("xml", "<r><![CDATA[One]]></r>"), {{"One", "a[b[0]]>c"}}),
            "<r><![CDATA[a[b[0]]]]><![CDATA[>c]]></r>");
}

TEST(XmlTest, WhatXmlMustNotHaveIsLeftOut) {
  const std::string translation = std::string("a\0b\x1f", 4) + "c\uFFFEd\uFFFF\uFFFDe\tf";
  EXPECT_EQ(RenderWith(*ParseAs("xml", "<r>One</r>"), {{"One", translation}}), "<r>abcd\uFFFDe\tf</r>");
  EXPECT_EQ(RenderWith(*ParseAs("xml", "<r><![CDATA[One]]></r>"), {{"One", translation}}),
            "<r><![CDATA[abcd\uFFFDe\tf]]></r>");
}

TEST(XmlTest, WhiteSpaceIsTextWhereItIsPreserved) {
  const std::string text =
      "<r><v>One\n  two</v><d xml:space=\"preserve\"><v> One\r\n  two <b xml:space='default'>x  y</b>  z</v></d></r>";
  EXPECT_THAT(Shown(*ParseAs("xml", text)), ElementsAre("One two", "One\n  two ⟦<b xml:space='default'>⟧x y⟦</b>⟧  z"));
  ExpectIdentity("xml", text);
  ExpectTranslationIsRead("xml", "<d xml:space=\"preserve\"> One\n  two\tthree </d>");
  EXPECT_EQ(RenderRot13(*ParseAs("xml", "<d xml:space=\"preserve\"> One\n\n  two  </d>")),
            "<d xml:space=\"preserve\"> Bar\n\n  gjb  </d>");
}

TEST(XmlTest, WhiteSpaceOfAPieceIsTextIfItIsAskedFor) {
  const ParseOptions options{.elements = {.keep = {"x"}, .keep_line_breaks = true}};
  const std::string text = "Dear <x>J</x>,\n\nthe <b>server\nruns</b>.\n";
  EXPECT_THAT(Shown(*ParseAs("xml", text, options)), ElementsAre("Dear ⟦<x>J</x>⟧,\n\nthe ⟦<b>⟧server\nruns⟦</b>⟧."));
  EXPECT_EQ(RenderRot13(*ParseAs("xml", text, options)), "Qrne <x>J</x>,\n\ngur <b>freire\nehaf</b>.\n");
  EXPECT_THAT(Shown(*ParseAs("xml", "<d xml:space=\"default\">a\nb</d>", options)), ElementsAre("a b"));
}

TEST(XmlTest, CodeAndWhatSaysThatItIsNotTranslatedStays) {
  const std::string text =
      "<r><a translatable=\"false\">No one</a><a its:translate=\"no\">No two</a><codeblock>no = 3\n</codeblock>"
      "<p>Call <codeph>f(x)</codeph> now</p><s>@string/no</s><s>#ff0000</s><s>user_id</s><s>Yes/No</s></r>";
  EXPECT_THAT(Shown(*ParseAs("xml", text)), ElementsAre("Call ⟦<codeph>f(x)</codeph>⟧ now", "Yes/No"));
  ExpectTranslationIsRead("xml", text);
  EXPECT_THAT(Shown(*ParseAs("xml", "<p>Call <codeph>f</codeph></p>", {.elements = {.in_text = {"codeph"}}})),
              ElementsAre("Call ⟦<codeph>⟧f⟦</codeph>⟧"));
  EXPECT_THAT(Shown(*ParseAs("xml", "and/or")), ElementsAre("and/or"));
}

TEST(XmlTest, LanguagesAreDeclared) {
  const std::string text =
      "<r xml:lang=\"en-US\"><p xml:lang='en'>One <b xml:lang=\"fr\">le mot</b></p><p xml:lang=\"fr\">Deux</p></r>";
  const auto document = ParseAs("xml", text, {.source_language = "en", .target_language = "de"});
  EXPECT_THAT(Shown(*document), ElementsAre("One ⟦<b xml:lang=\"fr\">le mot</b>⟧"));
  EXPECT_EQ(*document->Render(Sources(*document)),
            "<r xml:lang=\"de\"><p xml:lang='de'>One <b xml:lang=\"fr\">le mot</b></p><p xml:lang=\"fr\">Deux</p></r>");
  EXPECT_THAT(Shown(*ParseAs("xml", "<r xml:lang=\"fr\">One</r>")), ElementsAre("One"));
}

TEST(XmlTest, HtmlKeepsElementsThatAreNamed) {
  EXPECT_THAT(Shown(*ParseAs("html", "Press <x>Enter</x> now", {.elements = {.keep = {"x"}}})),
              ElementsAre("Press ⟦<x>Enter</x>⟧ now"));
  EXPECT_THAT(Shown(*ParseAs("html", "Press <b>Enter</b> now", {.elements = {.keep = {"b"}}})),
              ElementsAre("Press ⟦<b>Enter</b>⟧ now"));
}

TEST(XmlTest, RefusesByName) {
  EXPECT_THAT(RefusalAs("xml", "a < b"), HasSubstr("XML: line 1 is not well-formed"));
  EXPECT_THAT(RefusalAs("xml", "a</piece><piece>b"), HasSubstr("XML: line 1"));
  EXPECT_THAT(RefusalAs("xml", "One\n<b>two</b>\n<i>three</b>"), HasSubstr("XML: line 3 is not well-formed"));
  EXPECT_THAT(RefusalAs("xml", "<p>One</p>\n<p>Two</p></piece>"), HasSubstr("XML: line 2 is not well-formed"));
}

TEST(XmlTest, EntitiesAreRefusedWhateverPrecedesTheirDeclaration) {
  for (const std::string before : {"", "\ufeff", "\n", "<!-- a -->", "<?a b?>", "<?xml version='1.0'?>\n<!-- a -->",
                                   "<!-- <a> -->\n<?xml-stylesheet href='b'?>\r\n<!---->"}) {
    EXPECT_THAT(RefusalAs("xml", before + "<!DOCTYPE x [<!ENTITY a \"b\">]><x>&a;</x>"),
                HasSubstr("declares the entity \"a\"; write out what it stands for"))
        << before;
  }
}

// Expat looks at all of them for each element.
TEST(XmlTest, FewAttributesAreDeclared) {
  const auto declares = [](int count) {
    std::string xml = "<!DOCTYPE a [<!ATTLIST a";
    for (int i = 0; i < count; ++i) absl::StrAppend(&xml, " b", i, " CDATA \"\"");
    return xml + ">]><a>text</a>";
  };
  EXPECT_THAT(Shown(*ParseAs("xml", declares(100))), ElementsAre("text"));
  EXPECT_THAT(RefusalAs("xml", declares(101)), HasSubstr("XML: its DOCTYPE declares more than 100 attributes"));
}

TEST(XmlTest, TheNumberOfEventsIsBounded) {
  ParseOptions options;
  options.limits.max_events = 10;
  EXPECT_THAT(RefusalAs("xml", "<a><b/><b/><b/></a>", options), HasSubstr("was not refused"));
  for (const char* xml : {"<a><b/><b/><b/><b/><b/></a>", "<a>1&amp;2&amp;3&amp;4&amp;5&amp;6</a>",
                          "<a><!----><!----><!----><!----><!----><!----><!----><!----><!----></a>",
                          "<a>1<![CDATA[2]]>3<![CDATA[4]]>5<![CDATA[6]]>7<![CDATA[8]]>9</a>"}) {
    EXPECT_THAT(RefusalAs("xml", xml, options), HasSubstr("has more than 10 tags, texts and comments; split the doc"))
        << xml;
  }
}

}  // namespace
}  // namespace salient
