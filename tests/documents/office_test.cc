// Word, PowerPoint, Excel and OpenDocument files, and the archives that they are stored in.

#include <map>

#include "documents/zip_archive.h"
#include "gmock/gmock.h"
#include "tests/documents/make_zip.h"
#include "tests/documents/round_trip.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string PartOf(const std::string& bytes, const std::string& name) {
  auto archive = ZipArchive::Open(bytes, "test", {});
  return archive.ok() ? archive->Read(name).value_or("") : "";
}

constexpr char kWordSpace[] = "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"";

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

std::string MainPartIs(const std::string& target) {
  return "<Relationships><Relationship Id=\"1\" Type=\"http://x/relationships/officeDocument\" Target=\"" + target +
         "\"/></Relationships>";
}

std::string Repeated(const std::string& text, int count) {
  std::string repeated;
  for (int i = 0; i < count; ++i) repeated += text;
  return repeated;
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

TEST(DocxTest, ManyLanguagesInOneRunAreLeftOut) {
  const std::string run =
      "<w:r><w:rPr>" + Repeated("<w:lang/><w:b/>", 400000) + "<!--" + Repeated("<w:lang ", 400000) + "--></w:rPr>";
  const auto document = ParseAs("docx", Docx("<w:p>" + run + "<w:t>a</w:t></w:r></w:p>"));
  const std::string body = Body(RenderRot13(*document));
  EXPECT_THAT(body, HasSubstr("<w:r><w:rPr><w:b/><w:b/><w:b/>"));
  EXPECT_EQ(body.find("<w:lang/>"), std::string::npos);
}

TEST(OfficeTest, PartsWithoutTextAreNotKept) {
  const std::string space = "<w:hdr " + std::string(kWordSpace) + ">",
                    comment = "<!--" + std::string(1 << 20, 'x') + "-->";
  const auto memory = [&](const std::string& text) {
    const std::string docx = MakeZip({{"word/document.xml", "<w:document " + std::string(kWordSpace) + "/>"},
                                      {"word/header1.xml", space + comment + text + "</w:hdr>"}});
    ExpectIdentity("docx", docx);
    return ParseAs("docx", docx)->bytes();
  };
  EXPECT_LT(memory(""), size_t{100000});
  EXPECT_GT(memory("<w:p><w:r><w:t>Text</w:t></w:r></w:p>"), size_t{1} << 20);
}

TEST(OfficeTest, RelationshipsNameTheMainPart) {
  const std::string main =
      "<w:document " + std::string(kWordSpace) + "><w:body><w:p>" + TextRunOf("Text") + "</w:p></w:body></w:document>";
  for (const char* target : {"word/document2.xml", "/word/document2.xml", "./word/document2.xml"}) {
    const std::string docx = MakeZip({{"_rels/.rels", MainPartIs(target)}, {"word/document2.xml", main}});
    EXPECT_THAT(Shown(*ParseAs("docx", docx)), ElementsAre("Text")) << target;
    ExpectTranslationIsRead("docx", docx);
  }
  const std::string named = MakeZip({{"_rels/.rels", MainPartIs("word/text.xml")}, {"word/text.xml", main}});
  EXPECT_THAT(Shown(*ParseAs("docx", named)), ElementsAre("Text"));
  ASSERT_NE(ParseAs("pptx", MakeZip({{"_rels/.rels", MainPartIs("ppt/p2.xml")}, {"ppt/p2.xml", "<x/>"}})), nullptr);
  ASSERT_NE(ParseAs("xlsx", MakeZip({{"_rels/.rels", MainPartIs("xl/w2.xml")}, {"xl/w2.xml", "<x/>"}})), nullptr);
  const std::string other = MakeZip({{"_rels/.rels", MainPartIs("xl/workbook.xml")}, {"xl/workbook.xml", "<x/>"}});
  EXPECT_THAT(RefusalAs("docx", other), HasSubstr("has no word/document.xml; it is of another format"));
  const std::string lost = MakeZip({{"_rels/.rels", MainPartIs("word/lost.xml")}, {"word/other.xml", main}});
  EXPECT_THAT(RefusalAs("docx", lost), HasSubstr("has no word/document.xml"));
  EXPECT_THAT(RefusalAs("docx", MakeZip({{"_rels/.rels", "<a>"}})), HasSubstr("_rels/.rels: line 1"));
}

TEST(PptxTest, ParagraphsOfSlides) {
  const std::string slide =
      "<p:sld xmlns:p=\"p\" xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\"><a:p><a:pPr/><a:r>"
      "<a:rPr lang=\"en-US\" dirty=\"0\"/><a:t>A title</a:t></a:r><a:br/><a:r><a:rPr lang=\"en-GB\"/><a:t>goes on</a:t>"
      "</a:r><a:endParaRPr lang=\"en-US\"/></a:p></p:sld>";
  const std::string pptx = MakeZip({{"ppt/presentation.xml", "<x/>"}, {"ppt/slides/slide1.xml", slide}});
  const auto document = ParseAs("pptx", pptx, {.source_language = "en", .target_language = "de"});
  ASSERT_EQ(document->units().size(), 1u);
  EXPECT_EQ(document->units()[0].source.text, "A titlegoes on");
  EXPECT_THAT(SegmentTexts(*document), ElementsAre("A title", "goes on"));
  ExpectIdentity("pptx", pptx);
  ExpectTranslationIsRead("pptx", pptx);
  EXPECT_THAT(PartOf(RenderRot13(*document), "ppt/slides/slide1.xml"),
              HasSubstr("<a:r><a:rPr lang=\"de\"/><a:t>N gvgyr</a:t></a:r><a:br/>"));
}

TEST(XlsxTest, StringsOfCells) {
  const std::string strings =
      "<sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><si><t>Plain</t></si><si><t>12</t></si>"
      "<si><r><t xml:space=\"preserve\">Some </t></r><r><rPr><b/></rPr><t>rich</t></r></si></sst>";
  const std::string xlsx = MakeZip({{"xl/workbook.xml", "<x/>"}, {"xl/sharedStrings.xml", strings}});
  const auto document = ParseAs("xlsx", xlsx);
  ASSERT_EQ(document->units().size(), 2u);
  EXPECT_EQ(document->units()[1].source.text, "Some rich");
  ExpectIdentity("xlsx", xlsx);
  ExpectTranslationIsRead("xlsx", xlsx);
  EXPECT_THAT(
      PartOf(RenderRot13(*document), "xl/sharedStrings.xml"),
      HasSubstr("<si><t>Cynva</t></si><si><t>12</t></si><si><r><t xml:space=\"preserve\">Fbzr </t></r><r><rPr><b/>"
                "</rPr><t xml:space=\"preserve\">evpu</t></r></si>"));
}

constexpr char kSheetSpace[] = "xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"";

// A workbook of a sheet with a table, and of shared strings.
std::string WorkbookWithTable(const std::string& rows, const std::string& table, const std::string& strings) {
  return MakeZip(
      {{"xl/workbook.xml", "<x/>"},
       {"xl/sharedStrings.xml", "<sst " + std::string(kSheetSpace) + ">" + strings + "</sst>"},
       {"xl/worksheets/sheet1.xml",
        "<worksheet " + std::string(kSheetSpace) + "><sheetData>" + rows + "</sheetData></worksheet>"},
       {"xl/worksheets/_rels/sheet1.xml.rels",
        "<Relationships><Relationship Id=\"1\" Type=\"http://x/relationships/table\" Target=\"../tables/t.xml\"/>"
        "<Relationship Id=\"2\" Type=\"http://x/hyperlink\" Target=\"http://a\" "
        "TargetMode=\"External\"/></Relationships>"},
       {"xl/tables/t.xml", "<table " + std::string(kSheetSpace) + " " + table + "/>"}});
}

std::vector<std::string> TextsOf(const FormattedDocument& document) {
  std::vector<std::string> texts;
  for (const Unit& unit : document.units()) texts.push_back(unit.source.text);
  return texts;
}

TEST(XlsxTest, HeadersOfTablesAreKept) {
  const auto inline_cell = [](const std::string& place, const std::string& text) {
    return "<c" + place + " t=\"inlineStr\"><is><t>" + text + "</t></is></c>";
  };
  // The second and the third cell of a row do not tell their places.
  const std::string rows = "<row r=\"2\">" + inline_cell(" r=\"B2\"", "before") + inline_cell("", "header") +
                           "<c t=\"s\"><v>1</v></c>" + inline_cell(" r=\"E2\"", "after") + "</row><row>" +
                           inline_cell(" r=\"C3\"", "body") + "<c t=\"s\"><v>0</v></c><c t=\"s\"><v>1</v></c></row>";
  const std::string strings = "<si><t>other string</t></si><si><t>header string</t></si>";
  const std::string xlsx = WorkbookWithTable(rows, "ref=\"C2:D3\"", strings);
  EXPECT_THAT(TextsOf(*ParseAs("xlsx", xlsx)), ElementsAre("before", "after", "body", "other string"));
  ExpectIdentity("xlsx", xlsx);
  ExpectTranslationIsRead("xlsx", xlsx);
  const std::string without_headers = WorkbookWithTable(rows, "ref=\"C2:D3\" headerRowCount=\"0\"", strings);
  EXPECT_THAT(TextsOf(*ParseAs("xlsx", without_headers)),
              ElementsAre("before", "header", "after", "body", "other string", "header string"));
}

TEST(XlsxTest, SheetsOfNumbersMayBeLarge) {
  const auto workbook = [](const std::string& cells) {
    return MakeZip(
        {{"xl/workbook.xml", "<x/>"},
         {"xl/worksheets/sheet1.xml", "<worksheet " + std::string(kSheetSpace) + ">" + cells + "</worksheet>"}});
  };
  ParseOptions options;
  options.limits.max_events = 10;
  const std::string numbers = "<c><v>1</v></c><c><v>2</v></c><c><v>3</v></c>";
  EXPECT_NE(ParseAs("xlsx", workbook(numbers), options), nullptr);
  EXPECT_THAT(RefusalAs("xlsx", workbook(numbers + "<c t=\"inlineStr\"><is><t>text</t></is></c>"), options),
              HasSubstr("sheet1.xml: has more than 10 tags"));
}

TEST(XlsxTest, BrokenTablesKeepNothing) {
  for (const char* table : {"", "ref=\"\"", "ref=\"A\"", "ref=\"1:2\"", "ref=\"ABCD1\"", "ref=\"A99999999999\"",
                            "ref=\"A1:\" headerRowCount=\"0\"", "ref=\":\""}) {
    const auto document =
        ParseAs("xlsx", WorkbookWithTable("<row r=\"9999999999\"/><row r=\"9223372036854775807\"/><row>"
                                          "<c r=\"A1\" t=\"s\"><v>0</v></c></row>",
                                          table, "<si><t>text</t></si>"));
    EXPECT_THAT(TextsOf(*document), ElementsAre("text")) << table;
  }
}

// XML takes a bare carriage return for a line feed.
TEST(XlsxTest, AnArchiveAndASheetMayHaveVeryManyParts) {
  std::vector<std::pair<std::string, std::string>> parts = {{"xl/workbook.xml", "<x/>"},
                                                            {"xl/worksheets/sheet1.xml", "<x/>"}};
  for (int i = 0; i < 9990; ++i) parts.emplace_back("xl/tables/" + std::to_string(100000 + i) + ".png", "");
  const std::string table = "<Relationship Type=\"x/table\" Target=\"/xl/tables/100000.xml\"/>";
  parts.emplace_back("xl/worksheets/_rels/sheet1.xml.rels", "<x>" + Repeated(table, 400000) + "</x>");
  EXPECT_THAT(ParseAs("xlsx", MakeZip(parts))->units(), ::testing::IsEmpty());
}

TEST(XlsxTest, CarriageReturnsStay) {
  const std::string strings =
      "<sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><si><t>Some "
      "words&#13;\n</t></si></sst>";
  const std::string xlsx = MakeZip({{"xl/workbook.xml", "<x/>"}, {"xl/sharedStrings.xml", strings}});
  ExpectIdentity("xlsx", xlsx);
  ExpectTranslationIsRead("xlsx", xlsx);
}

TEST(OpenDocumentTest, ParagraphsAndNotes) {
  const std::string content =
      "<office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
      "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"><text:h>Title</text:h><text:p>Some "
      "<text:span text:style-name=\"T1\">bold</text:span> text<text:note><text:note-body><text:p>A note</text:p>"
      "</text:note-body></text:note> goes<text:line-break/>on.</text:p><c "
      "office:value-type=\"float\"><text:p>one</text:p></c>"
      "</office:document-content>";
  const std::string odt = MakeZip({{"mimetype", "application/vnd.oasis.opendocument.text"}, {"content.xml", content}});
  const auto document = ParseAs("odt", odt);
  ASSERT_EQ(document->units().size(), 3u);
  EXPECT_EQ(document->units()[1].source.text, "Some bold text goeson.");
  EXPECT_EQ(document->units()[2].source.text, "A note");
  ExpectIdentity("odt", odt);
  ExpectTranslationIsRead("odt", odt);
  EXPECT_EQ(ZipArchive::Open(RenderRot13(*document), "odt", {})->names()[0], "mimetype");
}

TEST(OpenDocumentTest, BreaksAndTabsEndSegments) {
  const std::string content =
      "<office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
      "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"><text:p>Name<text:tab/>the<text:s/>value"
      "<text:line-break/>London</text:p></office:document-content>";
  const std::string odt = MakeZip({{"mimetype", "application/vnd.oasis.opendocument.text"}, {"content.xml", content}});
  EXPECT_THAT(SegmentTexts(*ParseAs("odt", odt)), ElementsAre("Name", "the value", "London"));
}

TEST(OpenDocumentTest, AParagraphOfVeryManyElementsIsRefused) {
  const std::string content =
      "<office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
      "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"><text:p>a " +
      Repeated("<text:a></text:a> ", 400000) + "</text:p><text:p>Text.</text:p></office:document-content>";
  EXPECT_THAT(
      RefusalAs("odt", MakeZip({{"content.xml", content}})),
      HasSubstr("OpenDocument: content.xml: a paragraph has more than 2000 changes of format, fields and objects"));
}

TEST(OfficeTest, RefusesByName) {
  EXPECT_THAT(RefusalAs("docx", "no archive"), HasSubstr("DOCX: is no ZIP archive"));
  EXPECT_THAT(RefusalAs("docx", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), HasSubstr("save it as DOCX, without a password"));
  EXPECT_THAT(RefusalAs("docx", MakeZip({{"content.xml", "<a/>"}})), HasSubstr("has no word/document.xml"));
  EXPECT_THAT(RefusalAs("docx", MakeZip({{"word/document.xml", "<a>"}})), HasSubstr("word/document.xml: line 1"));
  EXPECT_THAT(RefusalAs("docx", MakeZip({{"word/document.xml", "<!DOCTYPE a [<!ENTITY x \"yy\">]><a>&x;</a>"}})),
              HasSubstr("declares the entity \"x\""));
  EXPECT_THAT(RefusalAs("docx", MakeZip({{"word/document.xml", "<?xml version=\"1.0\" encoding=\"UTF-16\"?><a/>"}})),
              HasSubstr("UTF-16"));
  std::string deep;
  for (int i = 0; i < 500; ++i) deep += "<a>";
  EXPECT_THAT(RefusalAs("odt", MakeZip({{"content.xml", deep}})), HasSubstr("more than 200 deep"));
}

TEST(OfficeTest, BombsAreRefusedBeforeTheyAreUnpacked) {
  const std::string bomb = MakeZip({{"content.xml", std::string(5 << 20, ' ')}});
  ASSERT_LT(bomb.size(), size_t{1} << 15);
  ParseOptions options;
  options.limits.max_bytes = 1 << 20;
  EXPECT_THAT(RefusalAs("odt", bomb, options), HasSubstr("content.xml unpacks to 5242880 bytes; at most 1048576"));
  options.limits.max_bytes = 10 << 20;
  options.limits.max_unpacked_bytes = 1 << 20;
  EXPECT_THAT(RefusalAs("odt", bomb, options), HasSubstr("more than 1048576 bytes"));
  options.limits.max_parts = 0;
  EXPECT_THAT(RefusalAs("odt", bomb, options), HasSubstr("has 1 entries; at most 0"));
}

TEST(OfficeTest, UnpackedSizesAreCheckedBeforeAnyPartIsRead) {
  const std::string zip = MakeZip({{"content.xml", "is not XML"}, {"styles.xml", std::string(1 << 20, ' ')}});
  ParseOptions options;
  options.limits.max_unpacked_bytes = 1 << 20;
  EXPECT_THAT(RefusalAs("odt", zip, options), HasSubstr("unpacks to more than 1048576 bytes"));
}

TEST(ZipArchiveTest, DamageIsFound) {
  std::string bytes = MakeZip({{"content.xml", "<a>text that is long enough to be packed, packed, packed</a>"}});
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    auto archive = ZipArchive::Open(damaged, "test", {});
    if (!archive.ok()) continue;
    for (const std::string& name : archive->names()) {
      const auto part = archive->Read(name);
      EXPECT_TRUE(!part.ok() || *part == "<a>text that is long enough to be packed, packed, packed</a>") << at;
    }
  }
}

}  // namespace
}  // namespace salient
