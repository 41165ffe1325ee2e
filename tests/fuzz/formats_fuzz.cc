// Every format: any bytes. What is taken comes back byte for byte, and takes any translation.
//
// The first byte says which format the others are of. Of a format that is an archive, bytes that begin like XML are its
// main part: mutations of an archive hardly ever leave one whose checksums are right.

#include <string>
#include <string_view>

#include "documents/formats/parsers.h"
#include "documents/segments/segments.h"
#include "engine/base/utf8.h"
#include "tests/documents/zip_parts.h"
#include "tests/fuzz/fuzz.h"

namespace salient {
namespace {

// Small, so that what is meant to be refused is refused soon.
ParseOptions Options() {
  ParseOptions options{.source_language = "en"};
  options.keep_terms = {"Salient"};
  options.limits.max_bytes = 1 << 20;
  options.limits.max_unpacked_bytes = 4 << 20;
  options.limits.max_depth = 50;
  return options;
}

std::vector<MarkedText> Sources(const FormattedDocument& document) {
  std::vector<MarkedText> sources;
  for (const Unit& unit : document.units()) sources.push_back(unit.source);
  return sources;
}

// These write targets where there were none, or say of what language they are.
bool FillsTargets(const Format& format) { return format.name == "xliff" || format.name == "po"; }

std::string Packed(const Format& format, std::string_view xml) {
  if (format.name == "epub") {
    return MakeZip({{"META-INF/container.xml", "<rootfile full-path=\"a.opf\"/>"},
                    {"a.opf",
                     "<package><item id=\"a\" href=\"a.xhtml\" media-type=\"application/xhtml+xml\"/>"
                     "<item id=\"b\" href=\"b.ncx\" media-type=\"application/x-dtbncx+xml\"/></package>"},
                    {"a.xhtml", std::string(xml)},
                    {"b.ncx", "<ncx><text>b</text></ncx>"}});
  }
  const std::string main = format.name == "docx"   ? "word/document.xml"
                           : format.name == "pptx" ? "ppt/slides/slide1.xml"
                           : format.name == "xlsx" ? "xl/sharedStrings.xml"
                                                   : "content.xml";
  return MakeZip({{"mimetype", "application/vnd.oasis.opendocument.text"}, {main, std::string(xml)}});
}

void Check(const Format& format, std::string_view bytes) {
  const auto document = ParseDocument(format, bytes, Options());
  if (!document.ok()) {
    Require(!document.status().message().empty(), "a refusal has a reason");
    return;
  }
  for (const Unit& unit : (*document)->units()) {
    Require(CheckMarkers(unit.markers, unit.source).ok(), "a unit obeys its own markers");
    Require(!FirstInvalidText(unit.source.text).has_value(), "a unit is text");
  }
  const auto same = (*document)->Render(Sources(**document));
  Require(same.ok(), "a document can be written");
  if (!FillsTargets(format)) Require(*same == bytes, "what is not translated comes back byte for byte");

  const auto segments = UnitSegments::Create((*document)->units(), {.source_language = "en"});
  Require(segments.ok(), "units can be cut");
  Require(segments->Join(segments->texts()) == Sources(**document), "the same sentences give the same units");
  std::vector<std::string> translations;
  for (const std::string& text : segments->texts()) translations.push_back("# *Neu* & <i>\"" + text + "\"|%: -");
  const auto changed = (*document)->Render(segments->Join(translations));
  Require(changed.ok(), "any translation can be written");
  if (!format.is_binary) Require(!FirstInvalidText(*changed).has_value(), "what is written is text");
  Require(ParseDocument(format, *changed, Options()).status().code() != absl::StatusCode::kInvalidArgument,
          "what is written can be read");
}

std::string Seed(std::string_view format, std::string_view bytes) {
  for (size_t i = 0; i < AllFormats().size(); ++i) {
    if (AllFormats()[i].name == format) return std::string(1, static_cast<char>(i)).append(bytes);
  }
  return "";
}

}  // namespace

std::vector<std::string> Seeds() {
  return {
      Seed("text",
           "One line {0}.\n\nIt was the best of times, it was the worst of times, it was the age\nof wisdom.\n"),
      Seed("markdown",
           "---\na: b\n---\n# *A* `b`\n\n- [c](d \"e\") <b>f</b>\n  g  \n  h\n\n| i | **j** |\n|---|---|\n| k | l\\|m "
           "|\n\n"
           "> [n][] &amp; ![o](p) ~~q~~ <http://r>\n\n[n]: s\n"),
      Seed("markdown", "a\n:::b c\nd *e\n  ::: \nf* g\n\n- h\n\n  :::{i}\n  j\n"),
      Seed(
          "markdown",
          "a[^1]\n| b | c |\n|-|:-|\n| d | e |\n\n> [!NOTE] f\n> g $h$\n\n[^1]: i\n\n!!! j \"k\"\n    l :m: @n\n\n{% o "
          "%}\np\n$$\nq\n$$\n{: .r}\n"),
      Seed("markdown",
           "[![a](b)](c) ![d ![*e*][f] `g`](h 'i') ![f]\n\nj <code>k *l*\n</code> <i lang=fr>m</i> <img alt=\"n\"> "
           "[f][]\n\n[f]: o \"p q\"\n"),
      Seed("html",
           "<!DOCTYPE html><html lang=en><title>a &amp; b</title><p title='c'>d <b>e <i>f</b></i><br>g<code>h</code>"
           "<script>i</script><!-- j --><p>k &check; {{ l }} &copy <img alt=m><svg><title>n</title></svg>o"),
      Seed("xliff",
           "<xliff version=\"1.2\"><file><body><trans-unit><source>a <g id=\"1\">b</g><x id=\"2\"/> &lt;i&gt;</source>"
           "</trans-unit><trans-unit><source><bpt id=\"1\"/>c<ept "
           "id=\"1\"/></source><target/></trans-unit><trans-unit><source><![CDATA[<b>c</b> "
           "{0]]>}</source></trans-unit><trans-unit><source>d {n, plural, other{<x id=\"1\"/> '{' e}} f"
           "</source></trans-unit></body></file></xliff>"),
      Seed("xliff",
           "<xliff version=\"1.2\"><trans-unit><source>a 1 b</source><seg-source><mrk mtype=\"seg\" mid=\"1\">a</mrk> "
           "<mrk "
           "mtype=\"seg\" mid=\"2\">1</mrk><g id=\"3\"><mrk mtype=\"seg\" "
           "mid=\"4\">b</mrk></g></seg-source><target><mrk "
           "mtype=\"seg\" mid=\"1\"/></target></trans-unit></xliff>"),
      Seed("xliff",
           "<xliff version=\"1.2\"><trans-unit><source>a b</source><seg-source><mrk mtype=\"seg\" mid=\"1\">a</mrk> "
           "<mrk "
           "mtype=\"seg\" mid=\"2\">b</mrk></seg-source><target><mrk mtype=\"seg\" mid=\"1\"/> <mrk mtype=\"seg\" "
           "mid=\"2\"></mrk></target></trans-unit></xliff>"),
      Seed("po",
           "msgid \"\"\nmsgstr \"Language: en\\n\"\n\n#, fuzzy\nmsgctxt \"a\"\nmsgid \"b %d\"\nmsgid_plural \"\"\n\"c "
           "%d\\n\"\n"
           "msgstr[0] \"\"\nmsgstr[1] \"d\"\n"),
      Seed("srt", "1\n00:00:01,000 --> 00:00:02,000\n<i>a</i> b\n\n2\n00:00:03,000 --> 00:00:04,000\nc\n- d\n- e\n"),
      Seed("srt", "1\n00:00:01,000 --> 00:00:02,000\n{\\an8}<i>- a</i>\n>> b\n[C] d\nE: f ♪\n♪ g\n"),
      Seed("srt",
           "1\n00:00:01,000 --> 00:00:02,000\na\n \n2\n00:00:03,000 --> 00:00:04,000\n \nb\n00:00:05 --> 00:00:06\nc"),
      Seed("vtt", "WEBVTT\n\nNOTE a\n\n00:01.000 --> 00:02.000\n<v b>c &amp; d\n"),
      Seed("json", "{\"a\": [\"b c\", 1, \"\\u00e9\\n<b>{0}</b>\"], \"@d\": \"e\"}"),
      Seed("yaml", "# a\nb: c d\ne: [f, \"g h\"]\ni: |\n  j\n\n  k\nl: >-\n  m\n   n\n  o\np: &q 'r''s'\n? t\n: *q\n"),
      Seed("yaml", "a: |2\n    b\n  c\nd: >1-\n\n  e\n f <code>g</code> h\n"),
      Seed("xml", "<a><!-- b --><c>d <e f=\"g\">h</e> &lt; <x id=\"1\"/> i</c><j translate=\"no\">k</j></a>"),
      Seed("xml", "l <m>n</m> <![CDATA[o & {p} q]]>{0}"),
      Seed("json", "[\"a &amp; &#8217;b <i>&lt;c&gt;</i> %d% $E$ {{{f}}}\"]"),
      Seed("xml",
           "<a xml:lang=\"en\"><b xml:space=\"preserve\"> c\n d</b><e> <![CDATA[<p>f</p> g]]>\n</e><h "
           "xml:lang=\"fr\">i</h></a>"),
      Seed("docx", "PK\x03\x04"),
      Seed("odt", "PK\x05\x06"),
      Seed("epub", "PK\x03\x04"),
      Seed("epub",
           "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\"><body><p><a id=\"b\"/>c <i>d</i> "
           "e</p><nav>f</nav></body></html>"),
      Seed("docx",
           "<w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"><w:body><w:p>"
           "<w:r><w:t>a</w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t "
           "xml:space=\"preserve\">b &amp; c </w:t></w:r><w:hyperlink><w:r><w:t>d</w:t></w:r></w:hyperlink>"
           "<w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:fldChar "
           "w:fldCharType=\"end\"/></w:r></w:p></w:body></w:document>"),
      Seed("pptx",
           "<p:sld xmlns:p=\"p\" xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\"><p:txBody>"
           "<a:p><a:r><a:rPr lang=\"en\"/><a:t>a</a:t></a:r><a:br/><a:r><a:t>b "
           "c</a:t></a:r></a:p></p:txBody></p:sld>"),
      Seed("xlsx",
           "<sst xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><si><t>a "
           "b</t></si><si><t>12</t></si><si><r><t>c </t></r><r><rPr><b/></rPr><t>d</t></r></si></sst>"),
      Seed("odt",
           "<o:document-content xmlns:o=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" "
           "xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"><text:h>a</text:h><text:p>b "
           "<text:span>c</text:span><text:s/>d<text:note><text:p>e"
           "</text:p></text:note><text:line-break/>f</text:p></o:document-content>"),
  };
}

}  // namespace salient

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto& formats = salient::AllFormats();
  const salient::Format& format = formats[data[0] % formats.size()];
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  salient::Check(format, format.is_binary && bytes.starts_with('<') ? salient::Packed(format, bytes) : bytes);
  return 0;
}
