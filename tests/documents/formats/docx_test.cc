// Word files: runs, fields, links, languages.

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/documents/round_trip.h"
#include "tests/documents/zip_parts.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Docx(const std::string& body) {
  return MakeZip({{"[Content_Types].xml", "<Types/>"},
                  {"word/document.xml", "<?xml version=\"1.0\"?><w:document " + std::string(kWordSpace) + "><w:body>" +
                                            body + "</w:body></w:document>"},
                  {"word/styles.xml", "<w:styles " + std::string(kWordSpace) +
                                          "><w:rPrDefault><w:lang w:val=\"en-US\"/></w:rPrDefault></w:styles>"},
                  {"word/media/image1.png", std::string("\x89PNG\0\xff", 6)}});
}

std::string Body(const std::string& docx) {
  const std::string part = PartOf(docx, "word/document.xml");
  const size_t begin = part.find("<w:body>") + 8;
  return part.substr(begin, part.find("</w:body>") - begin);
}

TEST(DocxTest, RunsOfOneFormatAreOneText) {
  const std::string docx = Docx(
      "<w:p w:rsidR=\"1\"><w:pPr><w:jc/></w:pPr><w:r><w:t>He</w:t></w:r><w:r w:rsidR=\"2\"><w:rPr><w:lang "
      "w:val=\"en-GB\"/></w:rPr><w:t xml:space=\"preserve\">llo "
      "</w:t></w:r><w:proofErr/><w:r><w:rPr><w:b/></w:rPr><w:t>"
      "bold &amp; big</w:t></w:r><w:r><w:t xml:space=\"preserve\"> world.</w:t></w:r></w:p>");
  const auto document = ParseAs("docx", docx);
  ASSERT_EQ(document->units().size(), 1u);
  EXPECT_EQ(document->units()[0].source.text, "Hello bold & big world.");
  ASSERT_EQ(document->units()[0].markers.size(), 2u);
  ExpectIdentity("docx", docx);
  MarkedText translation = document->units()[0].source;
  translation.text = "Hallo fett < dick Welt.";
  translation.places = {{6, 0}, {17, 1}};
  EXPECT_EQ(Body(*document->Render({translation})),
            "<w:p w:rsidR=\"1\"><w:pPr><w:jc/></w:pPr><w:r><w:t xml:space=\"preserve\">Hallo </w:t></w:r>"
            "<w:r><w:rPr><w:b/></w:rPr><w:t xml:space=\"preserve\">fett &lt; dick</w:t></w:r>"
            "<w:r><w:t xml:space=\"preserve\"> Welt.</w:t></w:r></w:p>");
}

TEST(DocxTest, ASuperscriptThatRefersToANoteIsAMarker) {
  const auto raised = [](const std::string& content) {
    return "<w:r><w:rPr><w:vertAlign w:val=\"superscript\"/></w:rPr>" + content + "</w:r>";
  };
  const std::string one = raised("<w:t>1</w:t>"), two = raised("<w:t>,</w:t>") + raised("<w:t>2</w:t>");
  const std::string link = "<w:hyperlink r:id=\"r1\">" + raised("<w:t>3</w:t>") + "</w:hyperlink>";
  const std::string docx =
      Docx("<w:p><w:r><w:t>In Berlin</w:t></w:r>" + one + two +
           "<w:r><w:t xml:space=\"preserve\"> now, my house</w:t></w:r>" + link +
           "<w:r><w:t>.</w:t></w:r></w:p><w:p><w:r><w:t>And the 5</w:t></w:r>" + raised("<w:t>th</w:t>") + "</w:p>");
  const auto document = ParseAs("docx", docx);
  EXPECT_THAT(SegmentTexts(*document), ElementsAre("In Berlin now, my house.", "And the 5th"));
  // A run with more than text is not copied as a whole.
  const std::string tab = Docx("<w:p><w:r><w:t>One word</w:t></w:r>" + raised("<w:t>1</w:t><w:tab/>") +
                               "<w:r><w:t>and more</w:t></w:r></w:p>");
  EXPECT_THAT(SegmentTexts(*ParseAs("docx", tab)), ElementsAre("One word1", "and more"));
  ExpectIdentity("docx", tab);
  ExpectIdentity("docx", docx);
  ExpectTranslationIsRead("docx", docx);
  const std::string body = Body(RenderRot13(*document));
  EXPECT_THAT(body, HasSubstr("Va Oreyva</w:t></w:r>" + one + two + "<w:r>"));
  EXPECT_THAT(body, HasSubstr("zl ubhfr</w:t></w:r>" + link + "<w:r>"));
  EXPECT_THAT(body, HasSubstr("5</w:t></w:r><w:r><w:rPr><w:vertAlign w:val=\"superscript\"/></w:rPr><w:t "
                              "xml:space=\"preserve\">gu</w:t></w:r>"));
}

// Runs are written anew, so what stands in several of them cannot be copied as one.
TEST(DocxTest, AnIcuMessageInSeveralRunsKeepsThem) {
  const std::string docx = Docx(
      "<w:p><w:r><w:t>Now {n, plural, other{</w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>a file</w:t></w:r>"
      "<w:r><w:t>}} or </w:t></w:r><w:r><w:rPr><w:i/></w:rPr><w:t>{n}</w:t></w:r></w:p>");
  ExpectIdentity("docx", docx);
  ExpectTranslationIsRead("docx", docx);
  const std::string body = Body(RenderRot13(*ParseAs("docx", docx)));
  EXPECT_THAT(body, HasSubstr("<w:rPr><w:b/></w:rPr><w:t xml:space=\"preserve\">n svyr</w:t>"));
  EXPECT_THAT(body, HasSubstr("<w:rPr><w:i/></w:rPr><w:t xml:space=\"preserve\">{n}</w:t>"));
}

TEST(DocxTest, LinksFieldsAndObjectsAreMarkers) {
  const std::string docx = Docx(
      "<w:p><w:bookmarkStart w:id=\"1\"/><w:r><w:t>See </w:t></w:r><w:hyperlink r:id=\"x\" xmlns:r=\"r\"><w:r><w:rPr>"
      "<w:u/></w:rPr><w:t>this page</w:t></w:r></w:hyperlink><w:r><w:t> on</w:t><w:br/><w:t>page </w:t></w:r>"
      "<w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>"
      "<w:r><w:fldChar w:fldCharType=\"separate\"/></w:r><w:r><w:t>3</w:t></w:r>"
      "<w:r><w:fldChar w:fldCharType=\"end\"/></w:r><w:r><w:footnoteReference w:id=\"2\"/></w:r>"
      "<w:bookmarkEnd w:id=\"1\"/></w:p>");
  const auto document = ParseAs("docx", docx);
  ASSERT_EQ(document->units().size(), 1u);
  EXPECT_EQ(document->units()[0].source.text, "See this page onpage ");
  ExpectIdentity("docx", docx);
  ExpectTranslationIsRead("docx", docx);
  const std::string body = Body(RenderRot13(*document));
  for (const char* kept :
       {"<w:bookmarkStart w:id=\"1\"/>", "<w:hyperlink r:id=\"x\" xmlns:r=\"r\">", "<w:r><w:br/></w:r>",
        "<w:instrText>PAGE</w:instrText>", "<w:r><w:footnoteReference w:id=\"2\"/></w:r>"}) {
    EXPECT_THAT(body, HasSubstr(kept));
  }
}

std::string FieldMark(const std::string& type) { return "<w:fldChar w:fldCharType=\"" + type + "\"/>"; }

std::string RunOf(const std::string& content) { return "<w:r>" + content + "</w:r>"; }

std::string TextRunOf(const std::string& text) { return RunOf("<w:t xml:space=\"preserve\">" + text + "</w:t>"); }

std::string Instruction(const std::string& text) { return "<w:instrText>" + text + "</w:instrText>"; }

// A field in runs of its own, as Word writes it.
std::string Field(const std::string& instruction, const std::string& result) {
  return RunOf(FieldMark("begin")) + RunOf(Instruction(instruction)) + RunOf(FieldMark("separate")) +
         TextRunOf(result) + RunOf(FieldMark("end"));
}

TEST(DocxTest, AFieldMayBeInOneRun) {
  const std::string field = FieldMark("begin") + Instruction("PAGE") + FieldMark("end");
  const std::string docx = Docx("<w:p>" + TextRunOf("Page ") + RunOf(field) + TextRunOf(" of the report") + "</w:p>");
  const auto document = ParseAs("docx", docx);
  EXPECT_THAT(Shown(*document), ElementsAre("Page ⟦" + RunOf(field) + "⟧ of the report"));
  ExpectIdentity("docx", docx);
  EXPECT_EQ(Body(RenderRot13(*document)),
            "<w:p>" + TextRunOf("Cntr ") + RunOf(field) + TextRunOf(" bs gur ercbeg") + "</w:p>");
}

TEST(DocxTest, AFieldMayBeginAndEndAmongTextInARun) {
  const std::string end = FieldMark("separate") + "<w:t>3</w:t>" + FieldMark("end");
  const std::string first = FieldMark("begin") + Instruction("PAGE") + end;
  const std::string second = FieldMark("begin") + "</w:r>" + RunOf(Instruction("PAGE")) + "<w:r>" + end;
  const std::string bold = "<w:rPr><w:b/></w:rPr>";
  const std::string docx =
      Docx("<w:p><w:r>" + bold + "<w:t>See</w:t>" + first + "<w:t>and</w:t>" + second + "<w:t>now</w:t></w:r></w:p>");
  const auto document = ParseAs("docx", docx);
  EXPECT_EQ(document->units()[0].source.text, "Seeandnow");
  ExpectIdentity("docx", docx);
  ExpectTranslationIsRead("docx", docx);
  const std::string body = Body(RenderRot13(*document));
  EXPECT_THAT(body, HasSubstr("<w:r>" + bold + first + "</w:r>"));
  EXPECT_THAT(body, HasSubstr("<w:r>" + bold + second + "</w:r>"));
}

TEST(DocxTest, AFieldMayGoBeyondItsParagraph) {
  const std::string begin = RunOf(FieldMark("begin")) + RunOf(Instruction("IF 1 = 1 \"first"));
  const std::string end =
      RunOf(Instruction("second\"")) + RunOf(FieldMark("separate")) + TextRunOf("Result") + RunOf(FieldMark("end"));
  const std::string docx = Docx("<w:p><w:pPr/>" + TextRunOf("Text before") + begin + "</w:p><w:p>" +
                                TextRunOf("Within") + "</w:p><w:p><w:pPr/>" + end + TextRunOf("Text after") + "</w:p>");
  const auto document = ParseAs("docx", docx);
  EXPECT_THAT(Shown(*document), ElementsAre("Text before⟦" + begin + "⟧", "⟦" + end + "⟧Text after"));
  ExpectIdentity("docx", docx);
  EXPECT_EQ(Body(RenderRot13(*document)), "<w:p><w:pPr/>" + TextRunOf("Grkg orsber") + begin + "</w:p><w:p>" +
                                              TextRunOf("Within") + "</w:p><w:p><w:pPr/>" + end +
                                              TextRunOf("Grkg nsgre") + "</w:p>");
}

TEST(DocxTest, AFieldMayEndInAnotherElement) {
  const std::string begin = RunOf(FieldMark("begin")) + RunOf(Instruction("REF x"));
  const std::string link = "<w:hyperlink w:anchor=\"a\">" + RunOf(FieldMark("separate")) + TextRunOf("result") +
                           RunOf(FieldMark("end")) + "</w:hyperlink>";
  const std::string docx = Docx("<w:p>" + TextRunOf("See ") + begin + link + TextRunOf(" for more") + "</w:p>");
  const auto document = ParseAs("docx", docx);
  EXPECT_THAT(Shown(*document), ElementsAre("See ⟦" + begin + link + "⟧ for more"));
  EXPECT_THAT(Body(RenderRot13(*document)), HasSubstr(begin + link + TextRunOf(" sbe zber")));
}

TEST(DocxTest, AFieldWithoutAnEndKeepsItsElements) {
  const std::string begin = RunOf(FieldMark("begin")) + RunOf(Instruction("PAGE"));
  const auto document = ParseAs("docx", Docx("<w:p>" + TextRunOf("Page ") + begin + TextRunOf(" of many") +
                                             "</w:p><w:p>" + TextRunOf("More text") + "</w:p>"));
  EXPECT_EQ(Body(RenderRot13(*document)), "<w:p>" + TextRunOf("Cntr ") + begin + TextRunOf(" bs znal") + "</w:p><w:p>" +
                                              TextRunOf("Zber grkg") + "</w:p>");
}

TEST(DocxTest, ResultsOfFieldsAreKept) {
  const std::string name = Field(" MERGEFIELD Name ", "Customer"), date = Field("DATE", "Monday");
  const std::string simple = "<w:fldSimple w:instr=\" AUTHOR \">" + TextRunOf("Writer") + "</w:fldSimple>";
  const auto document = ParseAs("docx", Docx("<w:p>" + TextRunOf("Dear ") + name + TextRunOf(", thanks for ") + date +
                                             TextRunOf(" from ") + simple + "</w:p>"));
  EXPECT_THAT(Shown(*document), ElementsAre("Dear ⟦" + name + "⟧, thanks for ⟦" + date + "⟧ from ⟦" + simple + "⟧"));
  EXPECT_EQ(Body(RenderRot13(*document)), "<w:p>" + TextRunOf("Qrne ") + name + TextRunOf(", gunaxf sbe ") + date +
                                              TextRunOf(" sebz ") + simple + "</w:p>");
}

TEST(DocxTest, ResultsOfLinksAreTranslated) {
  const std::string begin = RunOf(FieldMark("begin")), end = RunOf(FieldMark("end"));
  const std::string docx = Docx(
      "<w:p>" + TextRunOf("See ") + begin + RunOf(Instruction(" hyper")) + RunOf(Instruction("link \"u\"")) +
      RunOf(FieldMark("separate")) + TextRunOf("this page") + end + TextRunOf(" and ") + "<w:r>" + FieldMark("begin") +
      Instruction("HYPERLINK") + FieldMark("separate") + "<w:t>that page</w:t>" + FieldMark("end") + "</w:r></w:p>");
  const auto document = ParseAs("docx", docx);
  EXPECT_EQ(document->units()[0].source.text, "See this page and that page");
  ASSERT_EQ(document->units()[0].markers.size(), 4u);
  EXPECT_EQ(document->units()[0].markers[0].kind, MarkerKind::kOpen);
  EXPECT_EQ(document->units()[0].markers[2].kind, MarkerKind::kOpen);
  ExpectIdentity("docx", docx);
  ExpectTranslationIsRead("docx", docx);
  EXPECT_THAT(Body(RenderRot13(*document)),
              HasSubstr(RunOf(FieldMark("begin") + Instruction("HYPERLINK") + FieldMark("separate")) +
                        TextRunOf("gung cntr") + RunOf(FieldMark("end"))));
}

TEST(DocxTest, ContentControlsThatWordFillsAreKept) {
  const auto control = [](const std::string& properties, const std::string& content) {
    return "<w:sdt><w:sdtPr><w:alias w:val=\"A\"/>" + properties + "</w:sdtPr><w:sdtContent>" + content +
           "</w:sdtContent></w:sdt>";
  };
  const std::string list = "<w:dropDownList><w:listItem w:displayText=\"Open\" w:value=\"o\"/></w:dropDownList>";
  for (const std::string& properties :
       {list, std::string("<w:comboBox/>"), std::string("<w:date w:fullDate=\"x\"/>"),
        std::string("<w:dataBinding w:xpath=\"/a\"/><w:text/>"), std::string("<w15:dataBinding xmlns:w15=\"w15\"/>")}) {
    const std::string in_text = control(properties, TextRunOf("Open")),
                      of_text = control(properties, "<w:p>" + TextRunOf("The title") + "</w:p>"),
                      body =
                          absl::StrCat("<w:p>", TextRunOf("State: "), in_text, TextRunOf(" today"), "</w:p>", of_text);
    const auto document = ParseAs("docx", Docx(body));
    EXPECT_THAT(Shown(*document), ElementsAre("State: ⟦" + in_text + "⟧ today"));
    EXPECT_EQ(Body(RenderRot13(*document)),
              absl::StrCat("<w:p>", TextRunOf("Fgngr: "), in_text, TextRunOf(" gbqnl"), "</w:p>", of_text));
  }
  for (const std::string& properties :
       {std::string("<w:text/>"), std::string("<w:richText/>"), "<w:showingPlcHdr/>" + list}) {
    const std::string docx = Docx("<w:p>" + TextRunOf("State: ") + control(properties, TextRunOf("open")) + "</w:p>" +
                                  control(properties, "<w:p>" + TextRunOf("The title") + "</w:p>"));
    EXPECT_THAT(ParseAs("docx", docx)->units()[0].source.text, "State: open");
    EXPECT_THAT(ParseAs("docx", docx)->units()[1].source.text, "The title");
    ExpectTranslationIsRead("docx", docx);
  }
}

TEST(DocxTest, EntriesOfATableOfContentsAreTranslated) {
  const std::string begin = RunOf(FieldMark("begin")) + RunOf(Instruction(" TOC \\o ")) + RunOf(FieldMark("separate"));
  const std::string page = Field("PAGEREF a", "3"), end = RunOf(FieldMark("end"));
  const std::string link = "<w:hyperlink w:anchor=\"a\">";
  const auto document =
      ParseAs("docx", Docx("<w:p>" + begin + link + TextRunOf("First part") + page + "</w:hyperlink></w:p><w:p>" +
                           TextRunOf("Second part") + "</w:p><w:p>" + end + TextRunOf("After it") + "</w:p>"));
  EXPECT_EQ(Body(RenderRot13(*document)), "<w:p>" + begin + link + TextRunOf("Svefg cneg") + page +
                                              "</w:hyperlink></w:p><w:p>" + TextRunOf("Frpbaq cneg") + "</w:p><w:p>" +
                                              end + TextRunOf("Nsgre vg") + "</w:p>");
}

TEST(DocxTest, ParagraphsInAnotherLanguageAreKept) {
  const auto run = [](const std::string& language, const std::string& text) {
    return "<w:r><w:rPr><w:b/><w:lang w:val=\"" + language + "\"/></w:rPr><w:t xml:space=\"preserve\">" + text +
           "</w:t></w:r>";
  };
  const std::string french = "Le chat est assis sur la chaise et regarde par la fenêtre. ";
  const std::string docx = Docx("<w:p>" + run("fr-FR", french) + run("", " ") +
                                run("fr-CA", "Il fait beau aujourd’hui.") + "</w:p>" +  // kept
                                "<w:p>" + run("fr-FR", "He wrote this with the keyboard of a French colleague.") +
                                "</w:p>" + "<w:p>" + run("fr-FR", "Introduction") + "</w:p>" +  // too short to tell
                                "<w:p>" + run("fr-FR", french) + TextRunOf("A sentence in English.") + "</w:p>" +
                                "<w:p>" + run("en-GB", french) + "</w:p>");
  const auto document = ParseAs("docx", docx);
  ASSERT_EQ(document->units().size(), 4u);
  EXPECT_EQ(document->units()[0].source.text, "He wrote this with the keyboard of a French colleague.");
  EXPECT_THAT(Body(RenderRot13(*document)), HasSubstr(run("fr-FR", french)));
  ExpectIdentity("docx", docx);
  EXPECT_EQ(ParseAs("docx", docx, {.source_language = "fr"})->units().size(), 5u);
  EXPECT_EQ(ParseAs("docx", docx, ParseOptions())->units().size(), 5u);
}

TEST(DocxTest, WordsOfNumbersAreTranslated) {
  const auto level = [](const std::string& format, const std::string& text) {
    return "<w:lvl><w:numFmt w:val=\"" + format + "\"/><w:lvlText w:val=\"" + text + "\"/></w:lvl>";
  };
  const auto numbering = [&](const std::string& chapter, const std::string& part) {
    return "<w:numbering " + std::string(kWordSpace) + ">" + level("decimal", chapter) + level("bullet", "oo") +
           level("lowerLetter", "%1.%2.a)") + level("decimal", part) + "<w:lvl><w:lvlText/></w:lvl></w:numbering>";
  };
  const std::string docx = MakeZip(
      {{"word/document.xml", "<x/>"}, {"word/numbering.xml", numbering("Chapter %1: ", "The &quot;%1.%2&quot; part")}});
  const auto document = ParseAs("docx", docx);
  EXPECT_THAT(Shown(*document), ElementsAre("Chapter ⟦%1⟧:", "The \"⟦%1⟧.⟦%2⟧\" part"));
  ExpectIdentity("docx", docx);
  ExpectTranslationIsRead("docx", docx);
  EXPECT_EQ(PartOf(RenderRot13(*document), "word/numbering.xml"),
            numbering("Puncgre %1: ", "Gur &quot;%1.%2&quot; cneg"));
}

TEST(DocxTest, HyphensThatDoNotBreakAreText) {
  const std::string docx = Docx(
      "<w:p><w:r><w:t>An e</w:t><w:noBreakHyphen/><w:t>mail</w:t></w:r></w:p><w:p><w:r><w:t>A 5</w:t></w:r>"
      "<w:r><w:rPr><w:b/></w:rPr><w:noBreakHyphen/></w:r><w:r><w:t>year plan</w:t></w:r></w:p>");
  const auto document = ParseAs("docx", docx);
  ASSERT_EQ(document->units().size(), 2u);
  EXPECT_EQ(document->units()[0].source.text, "An e-mail");
  EXPECT_TRUE(document->units()[0].markers.empty());
  EXPECT_EQ(document->units()[1].source.text, "A 5-year plan");
  ExpectIdentity("docx", docx);
  ExpectTranslationIsRead("docx", docx);
  EXPECT_THAT(Body(RenderRot13(*document)), HasSubstr(TextRunOf("Na r-znvy")));
}

TEST(DocxTest, TextBoxesAreUnitsWithinUnits) {
  const std::string docx = Docx(
      "<w:p><w:r><w:t>Outer text</w:t></w:r><w:r><w:pict><w:txbxContent><w:p><w:r><w:t>Inner text</w:t></w:r></w:p>"
      "</w:txbxContent></w:pict></w:r></w:p>");
  const auto document = ParseAs("docx", docx);
  ASSERT_EQ(document->units().size(), 2u);
  ExpectTranslationIsRead("docx", docx);
  const std::string body = Body(RenderRot13(*document));
  EXPECT_THAT(body, HasSubstr("Bhgre grkg"));
  EXPECT_THAT(body, HasSubstr("<w:txbxContent><w:p><w:r><w:t xml:space=\"preserve\">Vaare grkg</w:t></w:r></w:p>"));
}

TEST(DocxTest, AlternativeTextsOfPicturesAreTranslated) {
  const std::string docx = Docx(
      "<w:p><w:r><w:t>A </w:t></w:r><w:r><w:drawing><wp:docPr id=\"1\" name=\"Picture 1\" descr=\"A &quot;red&quot; "
      "chair\" "
      "title='Chair'/><pic:cNvPr id=\"2\" name=\"a\" "
      "descr=\"image1.png\"/></w:drawing></w:r><w:r><w:t>b</w:t></w:r></w:p>");
  EXPECT_THAT(Sources(*ParseAs("docx", docx)).size(), 3u);
  ExpectIdentity("docx", docx);
  ExpectTranslationIsRead("docx", docx);
  EXPECT_THAT(Body(RenderRot13(*ParseAs("docx", docx))),
              HasSubstr("<wp:docPr id=\"1\" name=\"Picture 1\" descr=\"N &quot;erq&quot; punve\" title='Punve'/>"
                        "<pic:cNvPr id=\"2\" name=\"a\" descr=\"image1.png\"/>"));
}

TEST(DocxTest, TooltipsOfLinksAreTranslated) {
  const auto link_to = [](const std::string& tooltip, const std::string& text) {
    return "<w:hyperlink w:anchor=\"a\" w:tooltip=\"" + tooltip + "\">" + TextRunOf(text) + "</w:hyperlink>";
  };
  const std::string docx = Docx("<w:p>" + TextRunOf("See ") + link_to("Open it", "this page") + "</w:p><w:p>" +
                                link_to("https://example.org/a", "Alone") + "</w:p>");
  EXPECT_EQ(Sources(*ParseAs("docx", docx)).size(), 3u);
  ExpectIdentity("docx", docx);
  ExpectTranslationIsRead("docx", docx);
  const std::string body = Body(RenderRot13(*ParseAs("docx", docx)));
  EXPECT_THAT(body, HasSubstr("<w:hyperlink w:anchor=\"a\" w:tooltip=\"Bcra vg\">"));
  EXPECT_THAT(body, HasSubstr("w:tooltip=\"https://example.org/a\""));
}

TEST(DocxTest, TextBoxesHaveFieldsOfTheirOwn) {
  const std::string box = "<w:txbxContent><w:p>" + TextRunOf("Page ") + Field("PAGE", "3") + "</w:p></w:txbxContent>";
  const std::string both = "<mc:AlternateContent><mc:Choice>" + box + "</mc:Choice><mc:Fallback><w:pict>" + box +
                           "</w:pict></mc:Fallback></mc:AlternateContent>";
  const std::string docx = Docx("<w:p xmlns:mc=\"mc\">" + TextRunOf("See ") + RunOf("<w:t>this</w:t>" + both) +
                                Field("DATE", "today") + TextRunOf(" now") + "</w:p>");
  const auto document = ParseAs("docx", docx);
  EXPECT_THAT(Shown(*document), ElementsAre("See this⟦" + both + "⟧⟦" + Field("DATE", "today") + "⟧ now",
                                            "Page ⟦" + Field("PAGE", "3") + "⟧", "Page ⟦" + Field("PAGE", "3") + "⟧"));
  ExpectIdentity("docx", docx);
  ExpectTranslationIsRead("docx", docx);
}

TEST(DocxTest, BreaksAndTabsEndSegments) {
  const auto document = ParseAs("docx", Docx("<w:p><w:r><w:t>Name</w:t><w:tab/><w:t>the value</w:t></w:r><w:r><w:br/>"
                                             "<w:t>Street</w:t></w:r><w:r><w:t xml:space=\"preserve\"> name</w:t>"
                                             "<w:cr/><w:t>London</w:t></w:r></w:p>"));
  EXPECT_THAT(SegmentTexts(*document), ElementsAre("Name", "the value", "Street name", "London"));
  const auto segments = UnitSegments::Create(document->units(), {.source_language = "en"});
  const auto rendered = document->Render(segments->Join({"Name der Person", "der Wert", "Name", "in London"}));
  ASSERT_TRUE(rendered.ok()) << rendered.status();
  const std::string begin = "<w:r><w:t xml:space=\"preserve\">", end = "</w:t></w:r>";
  EXPECT_EQ(Body(*rendered), "<w:p>" + begin + "Name der Person" + end + "<w:r><w:tab/></w:r>" + begin + "der Wert" +
                                 end + "<w:r><w:br/></w:r>" + begin + "Name" + end + "<w:r><w:cr/></w:r>" + begin +
                                 "in London" + end + "</w:p>");
}

TEST(DocxTest, PlaceholdersMaySpanRuns) {
  const auto document =
      ParseAs("docx", Docx("<w:p><w:r><w:t>Dear {{na</w:t></w:r><w:r><w:t>me}}, hello</w:t></w:r></w:p>"));
  EXPECT_THAT(Shown(*document), ElementsAre("Dear ⟦{{name}}⟧, hello"));
  EXPECT_THAT(Body(RenderRot13(*document)), HasSubstr(">Qrne {{name}}, uryyb<"));
}

TEST(DocxTest, TheLanguageOfStylesBecomesTheTarget) {
  const auto document = ParseAs("docx", Docx("<w:p><w:r><w:t>Text</w:t></w:r></w:p>"),
                                {.source_language = "en", .target_language = "de"});
  EXPECT_THAT(PartOf(*document->Render(Sources(*document)), "word/styles.xml"), HasSubstr("<w:lang w:val=\"de\"/>"));
}

std::string LargeProperties() { return "<w:rPr><w:x w:val=\"" + std::string(16 << 20, 'x') + "\"/></w:rPr>"; }

TEST(DocxTest, TextsOfOneRunShareItsProperties) {
  const std::string docx = Docx("<w:p><w:r>" + LargeProperties() + Repeated("<w:t>a</w:t>", 20000) + "</w:r></w:p>");
  const auto document = ParseAs("docx", docx);
  EXPECT_EQ(document->units()[0].source.text, std::string(20000, 'a'));
  EXPECT_LT(PartOf(RenderRot13(*document), "word/document.xml").size(), size_t{17} << 20);
}

TEST(DocxTest, PropertiesThatATranslationWouldHaveVeryOftenAreRefused) {
  const std::string field =
      "<w:fldChar w:fldCharType=\"begin\"/><w:instrText>PAGE</w:instrText><w:fldChar "
      "w:fldCharType=\"end\"/><w:t>a</w:t>";
  for (const std::string& part : {std::string("<w:br/><w:t>a</w:t>"), field}) {
    const std::string run = "<w:r>" + LargeProperties() + Repeated(part, 1500) + "</w:r>";
    EXPECT_THAT(RefusalAs("docx", Docx("<w:p>" + run + "</w:p>")),
                HasSubstr("DOCX: word/document.xml: the properties of the text would take more than 134217728 bytes"));
  }
  // Each text between notes without properties may come to stand where the first one is.
  const std::string notes = Repeated("<w:footnoteReference/><w:r><w:t>b</w:t></w:r>", 1500);
  EXPECT_THAT(RefusalAs("docx", Docx("<w:p><w:r>" + LargeProperties() + "<w:t>a</w:t></w:r>" + notes + "</w:p>")),
              HasSubstr("give it a simpler format, or split the document"));
  // The limit is one for all paragraphs.
  const std::string properties = "<w:rPr><w:x w:val=\"" + std::string(40000, 'x') + "\"/></w:rPr>";
  const std::string paragraph = "<w:p><w:r>" + properties + Repeated("<w:br/><w:t>a</w:t>", 100) + "</w:r></w:p>";
  ParseAs("docx", Docx(Repeated(paragraph, 10)));
  EXPECT_THAT(RefusalAs("docx", Docx(Repeated(paragraph, 20))), HasSubstr("give it a simpler format"));
}

// Each byte of a unit takes many while it is read.
TEST(DocxTest, AParagraphOfVeryMuchTextIsRefused) {
  const auto paragraph = [](size_t bytes) {
    return "<w:p><w:r><w:t>" + std::string(bytes / 2, 'a') + "</w:t></w:r><w:r><w:t>" + std::string(bytes / 2, 'b') +
           "</w:t></w:r></w:p>";
  };
  EXPECT_THAT(RefusalAs("docx", Docx(paragraph(16 << 20))), HasSubstr("was not refused"));
  EXPECT_THAT(RefusalAs("docx", Docx(paragraph((16 << 20) + 2))), HasSubstr("has more than 16 MiB of text; divide it"));
}

TEST(DocxTest, AnAttributeMayNameANamespaceVeryOften) {
  const std::string space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
  const std::string root = "<w:document x=\"" + Repeated(space + " ", 200000) + "\" " + kWordSpace + ">";
  const auto document =
      ParseAs("docx", MakeZip({{"word/document.xml", root + "<w:p>" + TextRunOf("Text") + "</w:p></w:document>"}}));
  EXPECT_THAT(Shown(*document), ElementsAre("Text"));
}

TEST(DocxTest, ManyLanguagesInOneRunAreLeftOut) {
  const std::string run =
      "<w:r><w:rPr>" + Repeated("<w:lang/><w:b/>", 400000) + "<!--" + Repeated("<w:lang ", 400000) + "--></w:rPr>";
  const auto document = ParseAs("docx", Docx("<w:p>" + run + "<w:t>a</w:t></w:r></w:p>"));
  const std::string body = Body(RenderRot13(*document));
  EXPECT_THAT(body, HasSubstr("<w:r><w:rPr><w:b/><w:b/><w:b/>"));
  EXPECT_EQ(body.find("<w:lang/>"), std::string::npos);
}

}  // namespace
}  // namespace salient
