#include "gmock/gmock.h"
#include "tests/documents/round_trip.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kVersion12[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file original="a" source-language="en" target-language="xx" datatype="plaintext"><body>
    <trans-unit id="1">
      <source>Some <g id="1">bold</g> text &amp; a <x id="2"/> here.</source>
    </trans-unit>
    <trans-unit id="2"><source>Done</source><target>Fertig</target></trans-unit>
    <trans-unit id="3"><source><bpt id="1">{</bpt>Old<ept id="1">}</ept></source><target state="new">Old</target></trans-unit>
    <trans-unit id="4" translate="no"><source>Keep</source></trans-unit>
    <trans-unit id="5"><source>Empty</source><target/></trans-unit>
    <trans-unit id="6"><source>Begun</source><target state="needs-translation" /></trans-unit>
  </body></file>
</xliff>
)";

TEST(XliffTest, FillsTargetsThatAreMissing) {
  const auto document = ParseAs("xliff", kVersion12, {.source_language = "en", .target_language = "de"});
  EXPECT_THAT(Shown(*document), ElementsAre("Some ⟦<g id=\"1\">⟧bold⟦</g>⟧ text & a ⟦<x id=\"2\"/>⟧ here.",
                                            "⟦<bpt id=\"1\">{</bpt>⟧Old⟦<ept id=\"1\">}</ept>⟧", "Empty", "Begun"));
  std::string expected = kVersion12;
  const auto put = [&expected](const std::string& old, const std::string& now) {
    ASSERT_NE(expected.find(old), std::string::npos) << old;
    expected.replace(expected.find(old), old.size(), now);
  };
  put("\"xx\"", "\"de\"");
  put("here.</source>",
      "here.</source>\n      <target>Some <g id=\"1\">bold</g> text &amp; a <x id=\"2\"/> here.</target>");
  put("<target state=\"new\">Old</target>",
      "<target state=\"needs-review-translation\"><bpt id=\"1\">{</bpt>Old<ept id=\"1\">}</ept></target>");
  put("<target/>", "<target>Empty</target>");
  put("<target state=\"needs-translation\" />", "<target state=\"needs-review-translation\" >Begun</target>");
  EXPECT_EQ(*document->Render(Sources(*document)), expected);
}

TEST(XliffTest, WhatIsTranslatedComesBackByteForByte) {
  const std::string text = kVersion12;
  const auto document = ParseAs("xliff", text);
  const std::string once = *document->Render(Sources(*document));
  EXPECT_THAT(ParseAs("xliff", once)->units(), IsEmpty());
  ExpectIdentity("xliff", once);
}

std::string Unit12(const std::string& content) {
  return "<xliff version=\"1.2\"><file><body><trans-unit id=\"1\">" + content + "</trans-unit></body></file></xliff>";
}

// What the target holds if "One." is translated with "Eins." and "Two." with "Zwei.".
std::string TargetOf(const std::string& content) {
  const std::string rendered =
      RenderWith(*ParseAs("xliff", Unit12(content)), {{"One.", "Eins."}, {"Two.", "Zwei."}, {"Both.", "Beide."}});
  EXPECT_THAT(ParseAs("xliff", rendered)->units(), IsEmpty()) << rendered;
  ExpectIdentity("xliff", rendered);
  const size_t begin = rendered.find("<target"), end = rendered.find("</trans-unit>");
  return begin < end ? rendered.substr(begin, end - begin) : "none";
}

constexpr char kSegmented[] =
    "<source>One. Two.</source><seg-source><mrk mtype=\"seg\" mid=\"1\">One.</mrk> <g id=\"5\"><mrk mtype=\"seg\" "
    "mid=\"2\">Two.</mrk></g></seg-source>";
constexpr char kSegmentedTarget[] =
    "<target><mrk mtype=\"seg\" mid=\"1\">Eins.</mrk> <g id=\"5\"><mrk mtype=\"seg\" "
    "mid=\"2\">Zwei.</mrk></g></target>";

TEST(XliffTest, TheSegmentsOfTheSourceAreThoseOfTheTarget) {
  const std::string source = kSegmented;
  EXPECT_THAT(Shown(*ParseAs("xliff", Unit12(source))), ElementsAre("One.", "Two."));
  EXPECT_EQ(TargetOf(source), kSegmentedTarget);
  EXPECT_EQ(TargetOf(source + "<target/>"), kSegmentedTarget);
  EXPECT_EQ(TargetOf(source + "<target> </target>"), kSegmentedTarget);
  EXPECT_EQ(TargetOf(source + "<target state=\"new\">One. Two.</target>"),
            "<target state=\"needs-review-translation\">" + std::string(kSegmentedTarget).substr(8));
}

TEST(XliffTest, SegmentsOfTheTargetAreFilledIn) {
  const std::string source = kSegmented;
  EXPECT_EQ(TargetOf(source + "<target><mrk mtype=\"seg\" mid=\"2\"></mrk><mrk mtype=\"seg\" mid=\"1\"/>\n</target>"),
            "<target><mrk mtype=\"seg\" mid=\"2\">Zwei.</mrk><mrk mtype=\"seg\" mid=\"1\">Eins.</mrk>\n</target>");
  EXPECT_EQ(TargetOf(source + "<target><mrk mtype=\"seg\" mid=\"1\">Da.</mrk> <mrk mtype=\"seg\" mid=\"2\"/></target>"),
            "<target><mrk mtype=\"seg\" mid=\"1\">Da.</mrk> <mrk mtype=\"seg\" mid=\"2\">Zwei.</mrk></target>");
  // A translation without segments stays, and one with only some of them is written anew if it is empty.
  EXPECT_EQ(TargetOf(source + "<target>Da.</target>"), "<target>Da.</target>");
  EXPECT_EQ(TargetOf(source + "<target><mrk mtype=\"seg\" mid=\"1\"/></target>"), kSegmentedTarget);
}

TEST(XliffTest, SegmentsWithNothingToTranslateAreCopied) {
  const std::string source =
      "<source>1 &amp; 2 One.</source><seg-source><mrk mtype=\"seg\" mid=\"a\">1 &amp; 2</mrk> <mrk mtype=\"seg\" "
      "mid=\"b\">One.</mrk><x id=\"1\"/></seg-source>";
  const std::string segments = "<mrk mtype=\"seg\" mid=\"a\">1 &amp; 2</mrk> <mrk mtype=\"seg\" mid=\"b\">Eins.</mrk>";
  EXPECT_EQ(TargetOf(source), "<target>" + segments + "<x id=\"1\"/></target>");
  EXPECT_EQ(TargetOf(source + "<target><mrk mtype=\"seg\" mid=\"a\"/> <mrk mtype=\"seg\" mid=\"b\"/></target>"),
            "<target>" + segments + "</target>");
}

TEST(XliffTest, OddSegmentsAreNotLost) {
  EXPECT_EQ(TargetOf("<source>Both.</source><seg-source>Both.</seg-source>"), "<target>Beide.</target>");
  const std::string twice =
      "<source>One. Two.</source><seg-source><mrk mtype=\"seg\" mid=\"1\">One.</mrk><mrk mtype=\"seg\" "
      "mid=\"1\">Two.</mrk></seg-source><target><mrk mtype=\"seg\" mid=\"1\"/></target>";
  EXPECT_EQ(TargetOf(twice),
            "<target><mrk mtype=\"seg\" mid=\"1\">Eins.</mrk><mrk mtype=\"seg\" mid=\"1\">Zwei.</mrk></target>");
}

TEST(XliffTest, Version2) {
  const std::string text =
      "<xliff version=\"2.0\" xmlns=\"urn:oasis:names:tc:xliff:document:2.0\" srcLang=\"en\"><file id=\"f\"><unit "
      "id=\"u\">"
      "<segment id=\"s\" state=\"initial\"><source>A <pc id=\"1\">bold</pc> <sc id=\"2\"/>word<ec startRef=\"2\"/> <ph "
      "id=\"3\"/></source>"
      "</segment></unit></file></xliff>";
  const auto document = ParseAs("xliff", text, {.source_language = "en", .target_language = "de"});
  ASSERT_EQ(document->units().size(), 1u);
  EXPECT_EQ(document->units()[0].markers[2].kind, MarkerKind::kOpen);
  EXPECT_EQ(document->units()[0].markers[3].kind, MarkerKind::kClose);
  const std::string rendered = *document->Render(Sources(*document));
  EXPECT_THAT(rendered, HasSubstr("<xliff trgLang=\"de\" version=\"2.0\""));
  EXPECT_THAT(rendered, HasSubstr("<segment id=\"s\" state=\"translated\"><source>A <pc"));
  EXPECT_THAT(rendered, HasSubstr("</source><target>A <pc id=\"1\">bold</pc> <sc id=\"2\"/>word<ec startRef=\"2\"/> "
                                  "<ph id=\"3\"/></target></segment>"));
  EXPECT_THAT(ParseAs("xliff", rendered)->units(), IsEmpty());
}

TEST(XliffTest, SectionsHaveTagsAndPlaceholders) {
  const auto unit = [](const std::string& source) {
    return "<xliff version=\"1.2\"><file><body><trans-unit><source>" + source +
           "</source></trans-unit></body></file></xliff>";
  };
  const auto document = ParseAs(
      "xliff", unit("<![CDATA[<p class=\"a\">See <b>our & shop</b> {0}]]> of <![CDATA[{1}]]><x/><![CDATA[ %s]]>"));
  EXPECT_THAT(Shown(*document), ElementsAre("⟦<p class=\"a\">⟧See ⟦<b>⟧our & shop⟦</b>⟧ ⟦{0}⟧ of ⟦{1}⟧⟦<x/>⟧ ⟦%s⟧"));
  EXPECT_THAT(RenderRot13(*document),
              HasSubstr("<target>&lt;p class=\"a\"&gt;Frr &lt;b&gt;bhe &amp; fubc&lt;/b&gt; {0} bs "
                        "<![CDATA[{1}]]><x/> %s</target>"));
  const std::string filled = *document->Render(Sources(*document));
  EXPECT_THAT(ParseAs("xliff", filled)->units(), IsEmpty());
  ExpectIdentity("xliff", filled);
  // A placeholder may begin in a section and end outside.
  EXPECT_THAT(RenderRot13(*ParseAs("xliff", unit("<![CDATA[See {]]>0}<![CDATA[ now]]>"))),
              HasSubstr("<target>Frr {0} abj</target>"));
}

TEST(XliffTest, CodesOfAngularThatStartAndCloseArePairs) {
  const std::string bytes =
      "<xliff version=\"1.2\"><file source-language=\"en\" target-language=\"de\"><body><trans-unit id=\"1\"><source>"
      "You can <x id=\"START_LINK_1\"/>delete <x id=\"START_TAG_B\"/>it<x id=\"CLOSE_TAG_B\"/><x id=\"CLOSE_LINK\"/> "
      "or <x id=\"INTERPOLATION_1\"/> now.</source></trans-unit></body></file></xliff>";
  const auto document = ParseAs("xliff", bytes);
  std::vector<MarkerKind> kinds;
  for (const Marker& marker : document->units()[0].markers) kinds.push_back(marker.kind);
  EXPECT_THAT(kinds, ElementsAre(MarkerKind::kOpen, MarkerKind::kOpen, MarkerKind::kClose, MarkerKind::kClose,
                                 MarkerKind::kStandalone));
}

// Angular writes placeholders of a branch as codes.
TEST(XliffTest, CodesOfAnIcuMessageBelongToIt) {
  const std::string message = "{VAR, plural, =0 {none} other {<x id=\"1\"/> <g id=\"2\">items</g> &lt;}}";
  const std::string text = "<xliff version=\"1.2\"><file><body><trans-unit><source>Now <g id=\"3\">" + message +
                           "</g> here<x id=\"4\"/></source></trans-unit></body></file></xliff>";
  const auto document = ParseAs("xliff", text);
  EXPECT_THAT(Shown(*document), ElementsAre("Now ⟦<g id=\"3\">⟧⟦" + message + "⟧⟦</g>⟧ here⟦<x id=\"4\"/>⟧"));
  EXPECT_THAT(*document->Render(Sources(*document)),
              HasSubstr("<target>Now <g id=\"3\">" + message + "</g> here<x id=\"4\"/></target>"));
}

TEST(XliffTest, ARegionOfTheTargetLanguageStays) {
  const auto translated = [](const std::string& xliff, const std::string& language) {
    return *ParseAs("xliff", xliff, {.source_language = "en", .target_language = language})->Render({});
  };
  const std::string version1 = "<xliff version=\"1.2\"><file target-language=\"de-AT\"/></xliff>";
  const std::string version2 = "<xliff version=\"2.0\" trgLang=\"de-AT\"/>";
  EXPECT_EQ(translated(version1, "de"), version1);
  EXPECT_EQ(translated(version2, "de"), version2);
  EXPECT_THAT(translated(version1, "de-CH"), HasSubstr("target-language=\"de-CH\""));
  EXPECT_THAT(translated(version2, "fr"), HasSubstr("trgLang=\"fr\""));
}

TEST(XliffTest, AsciiBecomesUtf8) {
  const std::string text = "<?xml version=\"1.0\" encoding=\"US-ASCII\"?>" + Unit12("<source>Size</source>");
  EXPECT_THAT(RenderWith(*ParseAs("xliff", text), {{"Size", "Größe"}}),
              HasSubstr("<?xml version=\"1.0\" encoding=\"UTF-8\"?><xliff"));
}

// Each would copy all that is before it.
TEST(XliffTest, VeryManySegmentsMayHaveNothingToTranslate) {
  std::string segments;
  for (int i = 0; i < 200000; ++i) segments += "<mrk mtype=\"seg\"/>";
  const std::string xliff = "<xliff version=\"1.2\"><file><body><trans-unit id=\"1\"><source>a</source><seg-source>" +
                            segments +
                            "<mrk mtype=\"seg\">Good morning</mrk></seg-source></trans-unit></body></file></xliff>";
  const auto document = ParseAs("xliff", xliff);
  EXPECT_THAT(Shown(*document), ElementsAre("Good morning"));
  EXPECT_THAT(RenderWith(*document, {{"Good morning", "Guten Morgen"}}),
              HasSubstr("<target>" + segments + "<mrk mtype=\"seg\">Guten Morgen</mrk></target>"));
}

TEST(XliffTest, RefusesByName) {
  EXPECT_THAT(RefusalAs("xliff", "<tmx/>"), HasSubstr("root is not the element xliff"));
  EXPECT_THAT(RefusalAs("xliff", "<xliff>"), HasSubstr("XLIFF: line 1"));
  EXPECT_THAT(RefusalAs("xliff", "<!DOCTYPE x [<!ENTITY a \"b\">]><xliff/>"), HasSubstr("entity"));
}

}  // namespace
}  // namespace salient
