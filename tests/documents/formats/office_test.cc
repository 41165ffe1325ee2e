// PowerPoint, Excel and OpenDocument files, what Word files have in common with them, and the archives of all.

#include <array>

#include "absl/strings/str_cat.h"
#include "documents/syntax/zip_archive.h"
#include "gmock/gmock.h"
#include "tests/documents/round_trip.h"
#include "tests/documents/zip_parts.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string MainPartIs(const std::string& target) {
  return "<Relationships><Relationship Id=\"1\" Type=\"http://x/relationships/officeDocument\" Target=\"" + target +
         "\"/></Relationships>";
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
  const std::string main = "<w:document " + std::string(kWordSpace) + "><w:body><w:p>" + "<w:r><w:t>Text</w:t></w:r>" +
                           "</w:p></w:body></w:document>";
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

constexpr char kOfficeTypes[] = "application/vnd.openxmlformats-officedocument.";

// An archive whose parts have any names: of each part its name, the end of its type, and its text.
std::string TypedZip(const std::string& main, const std::vector<std::array<std::string, 3>>& parts) {
  std::vector<std::pair<std::string, std::string>> entries = {{"[content_types].xml", ""}, {main, "<x/>"}};
  for (const auto& [name, type, text] : parts) {
    absl::StrAppend(&entries[0].second, "<Override PartName=\"/", name, "\" ContentType=\"", kOfficeTypes, type,
                    "+xml\"/>");
    entries.emplace_back(name, text);
  }
  entries[0].second = "<Types>" + entries[0].second + "</Types>";
  return MakeZip(entries);
}

TEST(OfficeTest, TypesTellWhatPartsAre) {
  const auto word = [](const std::string& text) {
    return "<w:x " + std::string(kWordSpace) + "><w:p><w:r><w:t>" + text + "</w:t></w:r></w:p></w:x>";
  };
  const auto drawn = [](const std::string& text) {
    return "<x xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\"><a:p><a:r><a:t>" + text +
           "</a:t></a:r></a:p></x>";
  };
  const std::string styles = "<w:styles " + std::string(kWordSpace) + "><w:lang w:val=\"en-US\"/></w:styles>";
  const std::string docx = TypedZip("word/document.xml", {{"word/a.xml", "wordprocessingml.header", word("Top")},
                                                          {"b.xml", "wordprocessingml.footer", word("Bottom")},
                                                          {"word/c/fn.xml", "wordprocessingml.footnotes", word("Foot")},
                                                          {"word/d.xml", "wordprocessingml.endnotes", word("End")},
                                                          {"word/e.xml", "wordprocessingml.comments", word("Comment")},
                                                          {"word/f.xml", "drawingml.chart", drawn("Chart")},
                                                          {"word/g.xml", "wordprocessingml.styles", styles},
                                                          {"word/glossary/h.xml", "wordprocessingml.header", word("X")},
                                                          {"word/header1.xml", "another", word("Header")}});
  EXPECT_THAT(Shown(*ParseAs("docx", docx)),
              ::testing::UnorderedElementsAre("Top", "Bottom", "Foot", "End", "Chart", "Header"));
  ExpectIdentity("docx", docx);
  ExpectTranslationIsRead("docx", docx);
  const auto german = ParseAs("docx", docx, {.source_language = "en", .target_language = "de"});
  EXPECT_THAT(PartOf(RenderRot13(*german), "word/g.xml"), HasSubstr("<w:lang w:val=\"de\"/>"));

  const std::string pptx =
      TypedZip("ppt/presentation.xml", {{"ppt/slides/s1.xml", "presentationml.slide", drawn("Slide")},
                                        {"ppt/notes/n1.xml", "presentationml.notesSlide", drawn("Notes")},
                                        {"ppt/l1.xml", "presentationml.slideLayout", drawn("Layout")},
                                        {"ppt/d1.xml", "drawingml.diagramData", drawn("Diagram")}});
  EXPECT_THAT(Shown(*ParseAs("pptx", pptx)), ::testing::UnorderedElementsAre("Slide", "Notes", "Diagram"));
  ExpectTranslationIsRead("pptx", pptx);
}

TEST(OfficeTest, DamagedTypesAreRefused) {
  EXPECT_THAT(RefusalAs("docx", MakeZip({{"[Content_Types].xml", "<a>"}, {"word/document.xml", "<x/>"}})),
              HasSubstr("DOCX: [Content_Types].xml: line 1"));
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

TEST(PptxTest, ParagraphsInAnotherLanguageAreKept) {
  const std::string space = "xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\"",
                    text = "<a:t>Le chat est assis sur la chaise et regarde par la fenêtre.</a:t>";
  const std::string slide = "<p:sld " + space + "><a:p><a:r><a:rPr lang=\"fr-FR\"/>" + text + "</a:r></a:p><a:p><a:r>" +
                            text + "</a:r></a:p></p:sld>";
  const std::string pptx = MakeZip({{"ppt/presentation.xml", "<x/>"}, {"ppt/slides/slide1.xml", slide}});
  EXPECT_EQ(ParseAs("pptx", pptx)->units().size(), 1u);
  ExpectTranslationIsRead("pptx", pptx);
}

TEST(PptxTest, ASuperscriptThatRefersToANoteIsAMarker) {
  const std::string slide =
      "<p:sld xmlns:p=\"p\" xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\"><a:p><a:r><a:t>Our "
      "product</a:t></a:r><a:r><a:rPr baseline=\"30000\"/><a:t>TM</a:t></a:r><a:r><a:t> in</a:t></a:r><a:r><a:rPr "
      "baseline=\"-25000\"/><a:t>2</a:t></a:r><a:r><a:t> is new.</a:t></a:r></a:p></p:sld>";
  const std::string pptx = MakeZip({{"ppt/presentation.xml", "<x/>"}, {"ppt/slides/slide1.xml", slide}});
  EXPECT_THAT(SegmentTexts(*ParseAs("pptx", pptx)), ElementsAre("Our product in2 is new."));
  ExpectIdentity("pptx", pptx);
  ExpectTranslationIsRead("pptx", pptx);
}

TEST(PptxTest, PropertiesGetTheLanguageOfTheTarget) {
  for (const auto& [properties, written] :
       {std::pair("<a:rPr/>", "<a:rPr lang=\"de\"/>"), std::pair("<a:rPr lang=\"lang\"/>", "<a:rPr lang=\"de\"/>"),
        std::pair("<a:rPr\nb=\"1/2\"/>", "<a:rPr lang=\"de\"\nb=\"1/2\"/>")}) {
    const std::string slide =
        "<p:sld xmlns:p=\"p\" xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\"><a:p><a:r>" +
        std::string(properties) + "<a:t>Text</a:t></a:r></a:p></p:sld>";
    const std::string pptx = MakeZip({{"ppt/presentation.xml", "<x/>"}, {"ppt/slides/slide1.xml", slide}});
    const auto document = ParseAs("pptx", pptx, {.source_language = "en", .target_language = "de"});
    EXPECT_THAT(PartOf(RenderRot13(*document), "ppt/slides/slide1.xml"),
                HasSubstr("<a:p><a:r>" + std::string(written) + "<a:t>Grkg</a:t></a:r></a:p>"));
  }
}

// As Office writes them: a chart's title is its own, and its labels are copies of cells.
TEST(OfficeTest, WhatIsDrawnIsTranslated) {
  const std::string paragraph = "<a:p><a:r><a:rPr lang=\"en-US\"/><a:t>Drawn</a:t></a:r></a:p>",
                    spaces = " xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\" xmlns:x=\"x\">",
                    chart = "<x:chart" + spaces + "<x:title><x:tx><x:rich><a:bodyPr/>" + paragraph +
                            "</x:rich></x:tx></x:title><x:cat><x:strCache><x:v>Label</x:v></x:strCache></x:cat>"
                            "<x:txPr><a:p><a:pPr/><a:endParaRPr lang=\"en-US\"/></a:p></x:txPr></x:chart>",
                    points =
                        "<x:dataModel" + spaces + "<x:pt><x:t><a:bodyPr/>" + paragraph + "</x:t></x:pt></x:dataModel>",
                    shapes = "<x:drawing" + spaces + "<x:txBody>" + paragraph + "</x:txBody></x:drawing>";
  const struct {
    const char *format, *folder, *main;
  } formats[] = {{"docx", "word/", "word/document.xml"},
                 {"pptx", "ppt/", "ppt/presentation.xml"},
                 {"xlsx", "xl/", "xl/workbook.xml"}};
  for (const auto& [format, folder, main] : formats) {
    const std::string in = folder;
    const std::string bytes = MakeZip({{main, "<x/>"},
                                       {in + "charts/chart1.xml", chart},
                                       {in + "charts/style1.xml", chart},
                                       {in + "diagrams/data1.xml", points},
                                       {in + "diagrams/layout1.xml", points},
                                       {in + "diagrams/drawing1.xml", shapes},
                                       {in + "drawings/drawing1.xml", shapes}});
    const auto document = ParseAs(format, bytes, {.source_language = "en", .target_language = "de"});
    EXPECT_THAT(Shown(*document), ElementsAre("Drawn", "Drawn", "Drawn", "Drawn")) << format;
    const std::string rendered = RenderRot13(*document);
    for (const char* name :
         {"charts/chart1.xml", "diagrams/data1.xml", "diagrams/drawing1.xml", "drawings/drawing1.xml"}) {
      EXPECT_THAT(PartOf(rendered, in + name), HasSubstr("<a:p><a:r><a:rPr lang=\"de\"/><a:t>Qenja</a:t></a:r></a:p>"))
          << format << " " << name;
    }
    EXPECT_THAT(PartOf(rendered, in + "charts/chart1.xml"), HasSubstr("<x:v>Label</x:v>"));
    ExpectIdentity(format, bytes);
    ExpectTranslationIsRead(format, bytes);
  }
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

TEST(XlsxTest, TextsBesideRunsAreTextOfTheCell) {
  const std::string strings =
      "<sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><si><t>Hello </t><r><t>and "
      "friends</t></r><r><rPr><b/></rPr><t> all</t></r><t> of us</t></si></sst>";
  const std::string xlsx = MakeZip({{"xl/workbook.xml", "<x/>"}, {"xl/sharedStrings.xml", strings}});
  EXPECT_THAT(Shown(*ParseAs("xlsx", xlsx)), ElementsAre("Hello and friends⟦⟧ all⟦⟧ of us"));
  ExpectIdentity("xlsx", xlsx);
  ExpectTranslationIsRead("xlsx", xlsx);
  EXPECT_THAT(PartOf(RenderRot13(*ParseAs("xlsx", xlsx)), "xl/sharedStrings.xml"),
              HasSubstr("<si><r><t xml:space=\"preserve\">Uryyb naq sevraqf</t></r>"));
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

TEST(XlsxTest, LabelsOfTotalsAndPivotTablesAreTranslated) {
  const std::string table = "<table " + std::string(kSheetSpace) +
                            " ref=\"A1:B3\"><tableColumns><tableColumn id=\"1\" name=\"Product\" "
                            "totalsRowLabel=\"All &amp; more\"/></tableColumns></table>";
  const std::string pivot = "<pivotTableDefinition " + std::string(kSheetSpace) +
                            " dataCaption=\"Values\" rowHeaderCaption=\"Kind\" grandTotalCaption=\"All of it\"/>";
  const std::string xlsx = MakeZip(
      {{"xl/workbook.xml", "<x/>"}, {"xl/pivotTables/pivotTable1.xml", pivot}, {"xl/tables/table1.xml", table}});
  const auto document = ParseAs("xlsx", xlsx);
  EXPECT_THAT(TextsOf(*document), ElementsAre("Kind", "All of it", "All & more"));
  ExpectIdentity("xlsx", xlsx);
  ExpectTranslationIsRead("xlsx", xlsx);
  EXPECT_THAT(PartOf(RenderRot13(*document), "xl/tables/table1.xml"),
              HasSubstr("name=\"Product\" totalsRowLabel=\"Nyy &amp; zber\"/>"));
}

TEST(XlsxTest, FieldsOfPivotTablesAreKept) {
  const std::string space = kSheetSpace;
  const std::string cache = "<pivotCacheDefinition " + space +
                            "><cacheSource type=\"worksheet\"><worksheetSource ref=\"A1:B9\" sheet=\"Data\"/>"
                            "</cacheSource><cacheFields count=\"2\"><cacheField name=\"Region\"/><cacheField "
                            "name=\"Profit &amp; loss\"/></cacheFields></pivotCacheDefinition>";
  const std::string strings =
      "<si><t>Region</t></si><si><t>North</t></si>"
      "<si><r><t>Profit </t></r><r><rPr><b/></rPr><t>&amp; loss</t></r></si>";
  const std::string sheet =
      "<c t=\"inlineStr\"><is><t>Region</t></is></c><c t=\"inlineStr\"><is><t>A region</t></is></c>";
  const auto workbook = [&](const std::string& definition) {
    return MakeZip({{"xl/workbook.xml", "<x/>"},
                    {"xl/pivotCache/pivotCacheDefinition1.xml", definition},
                    {"xl/sharedStrings.xml", "<sst " + space + ">" + strings + "</sst>"},
                    {"xl/worksheets/sheet1.xml", "<worksheet " + space + ">" + sheet + "</worksheet>"}});
  };
  EXPECT_THAT(TextsOf(*ParseAs("xlsx", workbook(cache))), ElementsAre("A region", "North"));
  ExpectIdentity("xlsx", workbook(cache));
  ExpectTranslationIsRead("xlsx", workbook(cache));
  EXPECT_THAT(RefusalAs("xlsx", workbook("<a>")), HasSubstr("XLSX: xl/pivotCache/pivotCacheDefinition1.xml: line 1"));
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
  EXPECT_NE(ParseAs("xlsx", workbook(numbers + "<dataValidation prompt=\"text\"/>"), options), nullptr);
  EXPECT_THAT(RefusalAs("xlsx", workbook(numbers + "<c t=\"inlineStr\"><is><t>text</t></is></c>"), options),
              HasSubstr("sheet1.xml: has more than 10 tags"));
}

TEST(XlsxTest, HintsOfCellsAreTranslated) {
  const auto workbook = [](const std::string& elements) {
    return MakeZip({{"xl/workbook.xml", "<x/>"},
                    {"xl/worksheets/sheet1.xml",
                     "<worksheet " + std::string(kSheetSpace) + "><sheetData/>" + elements + "</worksheet>"}});
  };
  const std::string xlsx = workbook(
      "<dataValidations><dataValidation type=\"list\" errorTitle=\"Wrong\" error=\"Not &quot;valid&quot;\" "
      "promptTitle=\"Value\" prompt=\"Choose a value_x000a_of the list.\"><formula1>\"Yes,No\"</formula1>"
      "</dataValidation></dataValidations><hyperlinks><hyperlink ref=\"A1\" tooltip=\"The page\"/></hyperlinks>"
      "<extLst><x14:dataValidation prompt=\"More text\"/></extLst>");
  const auto document = ParseAs("xlsx", xlsx);
  EXPECT_THAT(TextsOf(*document),
              ElementsAre("Value", "Choose a value\nof the list.", "Wrong", "Not \"valid\"", "The page", "More text"));
  EXPECT_THAT(SegmentTexts(*document), ::testing::Contains("Choose a value"));
  ExpectIdentity("xlsx", xlsx);
  ExpectTranslationIsRead("xlsx", xlsx);
  const std::string sheet = PartOf(RenderRot13(*document), "xl/worksheets/sheet1.xml");
  EXPECT_THAT(sheet, HasSubstr("errorTitle=\"Jebat\" error=\"Abg &quot;inyvq&quot;\" promptTitle=\"Inyhr\" "
                               "prompt=\"Pubbfr n inyhr&#10;bs gur yvfg.\"><formula1>\"Yes,No\"</formula1>"));
  EXPECT_THAT(sheet, HasSubstr("<hyperlink ref=\"A1\" tooltip=\"Gur cntr\"/>"));

  // Excel opens no file with longer ones.
  const auto titled = ParseAs("xlsx", workbook("<dataValidation promptTitle=\"Title\"/>"));
  const std::string longest = Repeated("ä", 30) + "😀";
  EXPECT_THAT(PartOf(RenderWith(*titled, {{"Title", longest}}), "xl/worksheets/sheet1.xml"),
              HasSubstr("promptTitle=\"" + longest + "\""));
  EXPECT_THAT(PartOf(RenderWith(*titled, {{"Title", longest + "."}}), "xl/worksheets/sheet1.xml"),
              HasSubstr("promptTitle=\"" + Repeated("ä", 30) + "…\""));
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

TEST(XlsxTest, PartsMayHaveAnyNames) {
  const std::string space = kSheetSpace;
  const auto sheet = [&](const std::string& texts) {
    return "<worksheet " + space + "><sheetData><row>" + texts + "</row></sheetData></worksheet>";
  };
  const std::string cells = sheet(
      "<c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\" t=\"inlineStr\"><is><t>Sales</t></is></c><c r=\"C1\" "
      "t=\"inlineStr\"><is><t>Cell</t></is></c>");
  const std::string strings = "<sst " + space + "><si><t>Header</t></si><si><t>String</t></si></sst>";
  const std::string table = "<table " + space + " ref=\"A1:A2\"><tableColumn totalsRowLabel=\"Total\"/></table>";
  const std::string fields = "<pivotCacheDefinition " + space + "><cacheField name=\"Sales\"/></pivotCacheDefinition>";
  const std::string relationships =
      "<Relationships><Relationship Id=\"1\" Type=\"http://x/table\" Target=\"TABLE.xml\"/></Relationships>";
  // What lists the parts spells their names in another case.
  for (const char* name : {"xl/SharedStrings.xml", "xl/strings.xml", "xl/a/strings.xml"}) {
    std::vector<std::array<std::string, 3>> parts = {{name, "spreadsheetml.sharedStrings", strings},
                                                     {"xl/data.xml", "spreadsheetml.worksheet", cells},
                                                     {"xl/Table.xml", "spreadsheetml.table", table},
                                                     {"xl/fields.xml", "spreadsheetml.pivotCacheDefinition", fields},
                                                     {"xl/_rels/Data.xml.rels", "relationships", relationships}};
    const std::string xlsx = TypedZip("xl/Workbook.xml", parts);
    EXPECT_THAT(TextsOf(*ParseAs("xlsx", xlsx)), ::testing::UnorderedElementsAre("Cell", "String", "Total")) << name;
    ExpectIdentity("xlsx", xlsx);
    ExpectTranslationIsRead("xlsx", xlsx);
  }
  const std::string two =
      MakeZip({{"xl/workbook.xml", "<x/>"},
               {"xl/a.xml", "<sst " + space + "><si><t>String</t></si></sst>"},
               {"[Content_Types].xml", "<Types><Override PartName=\"/XL/A.xml\" ContentType=\"" +
                                           std::string(kOfficeTypes) + "SpreadsheetML.sharedStrings+xml\"/></Types>"}});
  EXPECT_THAT(TextsOf(*ParseAs("xlsx", two)), ElementsAre("String"));
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

TEST(XlsxTest, EscapedCharactersAreRead) {
  const std::string strings = std::string("<sst ") + kSheetSpace +
                              "><si><t>Date &amp; time_x000D_\nPlace</t></si><si><t>Type _x005F_x000D_ or _x0041_ or "
                              "_x0001_</t></si><si><r><t>One_x000d_</t></r><r><rPr><b/></rPr><t>two</t></r></si></sst>";
  const std::string xlsx = MakeZip({{"xl/workbook.xml", "<x/>"}, {"xl/sharedStrings.xml", strings}});
  const auto document = ParseAs("xlsx", xlsx);
  EXPECT_THAT(TextsOf(*document), ElementsAre("Date & time\r\nPlace", "Type _x000D_ or A or _x0001_", "One\rtwo"));
  EXPECT_THAT(SegmentTexts(*document),
              ElementsAre("Date & time", "Place", "Type _x000D_ or A or _x0001_", "One", "two"));
  ExpectIdentity("xlsx", xlsx);
  ExpectTranslationIsRead("xlsx", xlsx);
  const std::string translated = PartOf(RenderWith(*document, {{"Date & time\r\nPlace", "Datum & Zeit\r\nOrt"},
                                                               {"Type _x000D_ or A or _x0001_", "_x000D_ oder _x1_"}}),
                                        "xl/sharedStrings.xml");
  EXPECT_THAT(translated, HasSubstr("<t>Datum &amp; Zeit_x000D_\nOrt</t>"));
  EXPECT_THAT(translated, HasSubstr("<t>_x005F_x000D_ oder _x1_</t>"));
}

TEST(OpenDocumentTest, ContentControlsAndTextsWithRubyArePartOfTheSentence) {
  const std::string content =
      "<office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
      "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\" "
      "xmlns:lo=\"urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0\"><text:p><lo:content-control>A "
      "name</lo:content-control> is here.</text:p><text:p>The <text:ruby><text:ruby-base>base</text:ruby-base>"
      "<text:ruby-text>reading</text:ruby-text></text:ruby> text</text:p></office:document-content>";
  const std::string odt = MakeZip({{"content.xml", content}});
  EXPECT_THAT(Shown(*ParseAs("odt", odt)),
              ElementsAre("⟦<lo:content-control>⟧A name⟦</lo:content-control>⟧ is here.",
                          "The ⟦<text:ruby>⟧⟦<text:ruby-base>⟧base⟦</text:ruby-base>⟧"
                          "⟦<text:ruby-text>reading</text:ruby-text>⟧⟦</text:ruby>⟧ text"));
  ExpectIdentity("odt", odt);
  ExpectTranslationIsRead("odt", odt);
}

TEST(OpenDocumentTest, ASuperscriptThatRefersToANoteIsAMarker) {
  const std::string content =
      "<office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
      "xmlns:style=\"urn:oasis:names:tc:opendocument:xmlns:style:1.0\" "
      "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"><style:style style:name=\"T1\">"
      "<style:text-properties style:text-position=\"super 58%\"/></style:style><style:style style:name=\"T2\">"
      "<style:text-properties style:text-position=\"-33% 58%\"/></style:style><text:p>In Berlin<text:span "
      "text:style-name=\"T1\">1</text:span> or log<text:span text:style-name=\"T2\">2</text:span> now.</text:p>"
      "</office:document-content>";
  const std::string odt = MakeZip({{"content.xml", content}});
  EXPECT_THAT(SegmentTexts(*ParseAs("odt", odt)), ElementsAre("In Berlin or log2 now."));
  ExpectIdentity("odt", odt);
  ExpectTranslationIsRead("odt", odt);
}

TEST(OpenDocumentTest, ChartsAreTranslated) {
  const std::string space =
      "xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
      "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"";
  const auto part = [&](const std::string& text) {
    return "<office:document-content " + space + "><text:p>" + text + "</text:p></office:document-content>";
  };
  const std::string odp = MakeZip({{"content.xml", part("A slide")}, {"Object 1/content.xml", part("A chart")}});
  EXPECT_THAT(Shown(*ParseAs("odt", odp)), ::testing::UnorderedElementsAre("A slide", "A chart"));
  ExpectIdentity("odt", odp);
  ExpectTranslationIsRead("odt", odp);
}

TEST(OpenDocumentTest, DescriptionsOfPicturesAreTranslated) {
  const std::string odt =
      MakeZip({{"content.xml",
                "<office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
                "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\" "
                "xmlns:s=\"urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0\"><text:p>See "
                "<draw:frame><s:title>Chair</s:title>"
                "<s:desc>A red chair</s:desc></draw:frame></text:p></office:document-content>"}});
  EXPECT_THAT(Sources(*ParseAs("odt", odt)).size(), 3u);
  ExpectIdentity("odt", odt);
  ExpectTranslationIsRead("odt", odt);
  EXPECT_THAT(PartOf(RenderRot13(*ParseAs("odt", odt)), "content.xml"),
              HasSubstr("Frr <draw:frame><s:title>Punve</s:title><s:desc>N erq punve</s:desc></draw:frame>"));
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

TEST(OpenDocumentTest, AStringIsTheValueOfItsCell) {
  const std::string begin = "<table:table-cell office:value-type=\"string\"", end = "</table:table-cell>";
  const auto content = [](const std::string& cells) {
    return "<office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
           "xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" "
           "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"><table:table>" +
           cells + "</table:table></office:document-content>";
  };
  const std::string cell = begin + " office:string-value=\"The red  car &amp;\" x=\"y\"><text:p>The <text:span>red" +
                           "</text:span><text:s text:c=\"2\"/>car</text:p><text:p>&amp;</text:p>" + end;
  const std::string formula =
      begin + " table:formula=\"of:=A1\" office:string-value=\"One\"><text:p>One</text:p>" + end;
  const std::string shown =
      "<table:covered-table-cell office:value-type=\"string\" office:string-value=\"Two\"><text:p>Number Two</text:p>"
      "</table:covered-table-cell>";
  const std::string ods = MakeZip({{"content.xml", content(cell + formula + shown)}});
  const auto document = ParseAs("odt", ods);
  EXPECT_THAT(TextsOf(*document), ElementsAre("The redcar", "One", "Two", "Number Two"));
  ExpectIdentity("odt", ods);
  ExpectTranslationIsRead("odt", ods);
  EXPECT_EQ(PartOf(RenderRot13(*document), "content.xml"),
            content(begin + " x=\"y\"><text:p>Gur <text:span>erq</text:span><text:s text:c=\"2\"/>pne</text:p>" +
                    "<text:p>&amp;</text:p>" + end + begin +
                    " table:formula=\"of:=A1\" office:string-value=\"One\"><text:p>Bar</text:p>" + end +
                    "<table:covered-table-cell office:value-type=\"string\" office:string-value=\"Gjb\"><text:p>Ahzore "
                    "Gjb</text:p></table:covered-table-cell>"));
  const std::string two = MakeZip({{"content.xml", content(cell + cell)}});
  MarkedText changed = ParseAs("odt", two)->units()[0].source, same = changed;
  changed.text[0] = 't';
  EXPECT_THAT(PartOf(*ParseAs("odt", two)->Render({same, changed}), "content.xml"), HasSubstr(cell + begin + " x="));
}

TEST(OpenDocumentTest, BreaksAndTabsEndSegments) {
  const std::string content =
      "<office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
      "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"><text:p>Name<text:tab/>the<text:s/>value"
      "<text:line-break/>London</text:p></office:document-content>";
  const std::string odt = MakeZip({{"mimetype", "application/vnd.oasis.opendocument.text"}, {"content.xml", content}});
  EXPECT_THAT(SegmentTexts(*ParseAs("odt", odt)), ElementsAre("Name", "the value", "London"));
}

TEST(OpenDocumentTest, LanguageAndCountryAreThoseOfTheTarget) {
  const auto styles = [](const std::string& language, const std::string& country) {
    return "<s xmlns:fo=\"urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0\"><t fo:language=\"" + language +
           "\" fo:country=\"" + country + "\"/></s>";
  };
  const std::string odt = MakeZip({{"content.xml", "<x/>"}, {"styles.xml", styles("en", "US")}});
  const struct {
    std::string tag, language, country;
  } cases[] = {{"de", "de", "none"},      {"de-AT", "de", "AT"},      {"es-419", "es", "419"},
               {"sr-Latn", "sr", "none"}, {"zh-Hant-TW", "zh", "TW"}, {"en-u-ca-iso", "en", "none"}};
  for (const auto& one : cases) {
    const auto document = ParseAs("odt", odt, {.source_language = "en", .target_language = one.tag});
    EXPECT_EQ(PartOf(*document->Render({}), "styles.xml"), styles(one.language, one.country)) << one.tag;
  }
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

TEST(OpenDocumentTest, NestedParagraphsDoNotMultiplyWhatIsInThem) {
  const std::string content =
      "<office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
      "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\">" +
      Repeated("<text:p>ab <text:note>", 60) + "<x y=\"" + std::string(1 << 20, 'y') + "\"/>" +
      Repeated("</text:note> cd</text:p>", 60) + "</office:document-content>";
  const std::string odt = MakeZip({{"content.xml", content}});
  const auto document = ParseAs("odt", odt);
  EXPECT_EQ(document->units().size(), 60u);
  EXPECT_LT(document->bytes(), size_t{4} << 20);
  ExpectIdentity("odt", odt);
  ExpectTranslationIsRead("odt", odt);
}

TEST(OfficeTest, AsciiBecomesUtf8) {
  const std::string declaration = "<?xml version='1.0' encoding='us-ascii'?>";
  const std::string text =
      "<w:document " + std::string(kWordSpace) + "><w:p><w:r><w:t>Size</w:t></w:r></w:p></w:document>";
  const std::string docx = MakeZip({{"word/document.xml", declaration + text}});
  EXPECT_THAT(PartOf(RenderWith(*ParseAs("docx", docx), {{"Size", "Größe"}}), "word/document.xml"),
              HasSubstr("<?xml version='1.0' encoding='UTF-8'?><w:document"));
  const std::string content =
      declaration + "<text:p xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\">Size</text:p>";
  const std::string odt = MakeZip({{"content.xml", content}});
  EXPECT_THAT(PartOf(RenderWith(*ParseAs("odt", odt), {{"Size", "Größe"}}), "content.xml"),
              HasSubstr("<?xml version='1.0' encoding='UTF-8'?><text:p"));
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
