#include "absl/strings/str_cat.h"
#include "documents/syntax/html_tokens.h"
#include "gmock/gmock.h"
#include "tests/documents/round_trip.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> HtmlUnits(std::string_view html) { return Shown(*ParseAs("html", html)); }

TEST(HtmlTest, UnitsAreWhatStandsBetweenBlockTags) {
  EXPECT_THAT(HtmlUnits("<h1>A title</h1>\n<p>One <b>bold</b> word.<p>Next<ul><li>First<li>Second</ul>after"),
              ElementsAre("A title", "One ⟦<b>⟧bold⟦</b>⟧ word.", "Next", "First", "Second", "after"));
}

TEST(HtmlTest, UnknownElementsBesideTextArePartOfTheSentence) {
  const std::string text =
      "<p>In <st1:City w:st=on><st1:place>London</st1:place></st1:City>, a city.<o:p></o:p></p>"
      "<p>Click <x-icon name=a></x-icon><x-link>here</x-link> now.</p>"
      "<x-card><x-title>One</x-title>\n<x-body>Two</x-body></x-card><div>Three <x-four><p>Four</p></x-four></div>";
  EXPECT_THAT(
      Shown(*ParseAs("html", text)),
      ElementsAre("In ⟦<st1:City w:st=on>⟧⟦<st1:place>⟧London⟦</st1:place>⟧⟦</st1:City>⟧, a city.",
                  "Click ⟦<x-icon name=a>⟧⟦</x-icon>⟧⟦<x-link>⟧here⟦</x-link>⟧ now.", "One", "Two", "Three", "Four"));
  ExpectIdentity("html", text);
  ExpectTranslationIsRead("html", text);
}

TEST(HtmlTest, UnknownElementsThatTouchWordsAreTextsOfTheirOwn) {
  const std::string text =
      "<ion-item>Open the file<ion-note>The file is old.</ion-note></ion-item>"
      "<div>Intro of the page.<x-card>First card.</x-card><x-card>the second</x-card><x-card>3 more</x-card></div>"
      "<p>Name of the user<mat-select><mat-option>first user</mat-option><mat-option>Second user</mat-option>"
      "</mat-select></p><p><x-label>Size</x-label>Large</p>";
  EXPECT_THAT(HtmlUnits(text),
              ElementsAre("Open the file", "The file is old.", "Intro of the page.", "First card.", "the second",
                          "3 more", "Name of the user", "first user", "Second user", "Size", "Large"));
  ExpectIdentity("html", text);
  ExpectTranslationIsRead("html", text);
}

TEST(HtmlTest, UnknownElementsWithinAWordArePartOfIt) {
  EXPECT_THAT(HtmlUnits("<p>Two <x-term>engine</x-term>s.<p><x-drop>O</x-drop>nce, the <x-n>3</x-n>rd"),
              ElementsAre("Two ⟦<x-term>⟧engine⟦</x-term>⟧s.", "⟦<x-drop>⟧O⟦</x-drop>⟧nce, the ⟦<x-n>⟧3⟦</x-n>⟧rd"));
  EXPECT_THAT(HtmlUnits("<p>请<x-term>打开</x-term>文件"), ElementsAre("请⟦<x-term>⟧打开⟦</x-term>⟧文件"));
  EXPECT_THAT(HtmlUnits("<p><st1:place>Berlin</st1:place>, a (<st1:place>big</st1:place>) city<o:p></o:p></p>"),
              ElementsAre("⟦<st1:place>⟧Berlin⟦</st1:place>⟧, a (⟦<st1:place>⟧big⟦</st1:place>⟧) city"));
}

TEST(HtmlTest, PartsInAnotherLanguageAreKept) {
  const std::string html =
      "<html lang=\"de\"><body lang=\"nl\"><p lang=\"EN-gb\">First</p><p lang=\"fr\" title=\"Le titre\">Bonjour "
      "<b>le</b> monde</p><p lang=\"\">Second</p><p>The <i lang=\"fr\">mot juste</i> is here.</p></body></html>";
  EXPECT_THAT(HtmlUnits(html), ElementsAre("First", "Second", "The ⟦<i lang=\"fr\">mot juste</i>⟧ is here."));
  ExpectIdentity("html", html);
  EXPECT_THAT(Shown(*ParseAs("html", "<p lang=\"fr\">Not known</p>", ParseOptions())), ElementsAre("Not known"));
  const std::string parts =
      "<html lang=fr><body lang=EN-US><p lang=\"en\">A <b lang='en-GB'>b</b> <i lang=\"fr\">c</i></p>";
  const auto document = ParseAs("html", parts, {.source_language = "en", .target_language = "de"});
  EXPECT_EQ(*document->Render(Sources(*document)),
            "<html lang=de><body lang=de><p lang=\"de\">A <b lang='de'>b</b> <i lang=\"fr\">c</i></p>");
}

TEST(HtmlTest, WhatSurroundsAllOfAUnitIsLeftOutside) {
  EXPECT_THAT(HtmlUnits("<p> <b><i>All of it</i></b><br> </p>"), ElementsAre("All of it"));
  EXPECT_THAT(HtmlUnits("<p><img src=a> Text <a name=b></a></p>"), ElementsAre("Text"));
}

TEST(HtmlTest, CodeIsAWordOfTheSentence) {
  EXPECT_THAT(HtmlUnits("<p>Run <code>make all</code> now.<pre>not this</pre><script>nor(\"this\")</script>"),
              ElementsAre("Run ⟦<code>make all</code>⟧ now."));
}

TEST(HtmlTest, ASuperscriptThatRefersToANoteIsAMarker) {
  const std::string page =
      "<p>Founded in Berlin<sup>1</sup> and last year<sup id=c><a href=#n>[2]</a></sup>.</p><p>The "
      "<b>house</b><a href=#x><sup>2,3</sup></a> of Smith<sup>a</sup><sup>1)</sup>, it is.<sup>3</sup> The Product"
      "<sup>TM</sup></p>";
  EXPECT_THAT(SegmentTexts(*ParseAs("html", page)),
              ElementsAre("Founded in Berlin and last year.", "The house of Smith, it is.", "The Product"));
  EXPECT_EQ(Shown(*ParseAs("html", page))[0],
            "Founded in Berlin⟦<sup>1</sup>⟧ and last year⟦<sup id=c><a href=#n>[2]</a></sup>⟧.");
  EXPECT_EQ(Shown(*ParseAs("html", page))[1],
            "The ⟦<b>⟧house⟦</b>⟧⟦<a href=#x><sup>2,3</sup></a>⟧ of Smith⟦<sup>a</sup>⟧⟦<sup>1)</sup>⟧, it is."
            "⟦<sup>3</sup>⟧ The Product");
  ExpectIdentity("html", page);
  ExpectTranslationIsRead("html", page);
  // What is read with the word.
  EXPECT_THAT(
      SegmentTexts(*ParseAs("html",
                            "<p>CO<sub>2</sub> or log<sub>2</sub><p>5 m<sup>2</sup> or km<sup>2</sup> or "
                            "10<sup>6</sup> or Ca<sup>2+</sup><p>x<sup>2</sup> of the 5<sup>th</sup><p>A "
                            "new<sup>free</sup> one<sup>st</sup><p>Use <code>x</code><sup>1</sup> of it")),
      ElementsAre("CO2 or log2", "5 m2 or km2 or 106 or Ca2+", "x2 of the 5th", "A newfree onest", "Use 1 of it"));
  for (const auto& [format, text] : {std::pair<std::string, std::string>("markdown", "In Berlin<sup>1</sup> now."),
                                     {"json", "{\"a\": \"In Berlin<sup>1</sup> now.\"}"}}) {
    EXPECT_THAT(SegmentTexts(*ParseAs(format, text)), ElementsAre("In Berlin now.")) << format;
    ExpectTranslationIsRead(format, text);
  }
}

TEST(HtmlTest, AParagraphOfVeryManyNotesTakesLinearTime) {
  std::string page = "<p>";
  for (int i = 0; i < 100000; ++i) page += "word<sup>1</sup> <sup><sup>";
  EXPECT_FALSE(ParseAs("html", page)->units().empty());
}

TEST(HtmlTest, KeepsWhatIsNotToBeTranslated) {
  EXPECT_THAT(HtmlUnits("<p>Buy <span translate=no>Blue Widget</span> or <i class='x notranslate'>Red</i>.</p>"
                        "<div translate=\"no\"><p>Nothing here</p></div>"),
              ElementsAre("Buy ⟦<span translate=no>Blue Widget</span>⟧ or ⟦<i class='x notranslate'>Red</i>⟧."));
}

TEST(HtmlTest, KeepsNamesOfIcons) {
  const std::string html =
      "<p><i class=\"material-icons\">home</i> Home <i class='x'>arrow_back</i>"
      "<p><span class=material-symbols-outlined>menu</span></p>";
  EXPECT_THAT(HtmlUnits(html),
              ElementsAre("⟦<i class=\"material-icons\">home</i>⟧ Home ⟦<i class='x'>⟧arrow_back⟦</i>⟧"));
  ExpectIdentity("html", html);
}

TEST(HtmlTest, KeepsElementsWhoseEndTagIsLeftOut) {
  EXPECT_THAT(HtmlUnits("<ul><li translate=\"no\">Keep<ul><li>me</ul> all<li>First</ul><p translate=no>Keep <i>it</i>"
                        "<p>Second<dl><dt class=notranslate>Keep<dd>Third</dl>"
                        "<table><tr translate=no><td>Keep<td>it<tr><td translate=no>Keep<td>Fourth</table>After"
                        "<div translate=no>Keep"),
              ElementsAre("First", "Second", "Third", "Fourth", "After"));
  EXPECT_THAT(HtmlUnits("<html translate=no><head><title>Keep</title></head><body>it</body>"), IsEmpty());
}

TEST(HtmlTest, WhatIsShownInsteadOfPicturesAndSoundIsText) {
  const std::string html =
      "<p>Hear <audio src=a></audio> it.</p><p>One <audio controls title=Sound><source src=b>No sound</audio> two</p>"
      "<video><track kind=captions label=\"English captions\" src=c><p>No <b>video</b></p></video>"
      "<canvas>A chart</canvas><object data=d><param name=e value=f>A film</object>"
      "<template><li>Item {{ n }}</li></template>";
  EXPECT_THAT(HtmlUnits(html),
              ElementsAre("Hear ⟦<audio src=a></audio>⟧ it.", "One", "Sound", "No sound", "two", "English captions",
                          "No ⟦<b>⟧video⟦</b>⟧", "A chart", "A film", "Item ⟦{{ n }}⟧"));
  ExpectIdentity("html", html);
  ExpectTranslationIsRead("html", html);
}

TEST(HtmlTest, ValuesOfAttributesAreReadInAnyCase) {
  EXPECT_THAT(HtmlUnits("<div translate=\"NO\">Keep</div><div class=\"foo\nnotranslate\">Keep</div>"
                        "<meta name=\"Description\" content=\"About us\"><input type=SUBMIT value=Send>"),
              ElementsAre("About us", "Send"));
}

TEST(HtmlTest, TheDeclaredCharacterSetBecomesUtf8) {
  const ParseOptions options{.source_language = "en", .target_language = "de"};
  for (const std::string charset : {"iso-8859-1", "UTF-8"}) {
    const auto page = [](const std::string& declared, const char* text) {
      return absl::StrCat("<meta charset=", declared,
                          "><meta http-equiv=Content-Type content='text/html; Charset=", declared, "; x'><p>", text);
    };
    EXPECT_EQ(RenderWith(*ParseAs("html", page(charset, "About"), options), {{"About", "Über"}}),
              page(charset == "UTF-8" ? charset : "utf-8", "Über"));
  }
}

TEST(HtmlTest, TheEncodingThatXhtmlDeclaresBecomesUtf8) {
  const ParseOptions options{.source_language = "en", .target_language = "de"};
  for (const std::string encoding : {"us-ascii", "ISO-8859-1", "UTF-16", "utf-8"}) {
    for (const char* begin : {"<?xml version='1.0' encoding='", "\ufeff<?xml version='1.0' encoding='"}) {
      const auto page = [begin](const std::string& declared, const char* text) {
        return absl::StrCat(begin, declared, "'?>\n<p>", text, "</p>");
      };
      EXPECT_EQ(RenderWith(*ParseAs("html", page(encoding, "About"), options), {{"About", "Über"}}),
                page(encoding == "utf-8" ? encoding : "UTF-8", "Über"));
    }
  }
  const std::string other = "<?xml-stylesheet encoding='us-ascii'?><p>x";
  EXPECT_EQ(RenderWith(*ParseAs("html", other, options), {}), other);
}

TEST(HtmlTest, EmptyElementsOfXhtmlHoldNothing) {
  for (const std::string begin : {"<?xml version='1.0'?>\n<html>", "\ufeff<?xml version='1.0'?>\n<html>",
                                  "<html xmlns=\"http://www.w3.org/1999/xhtml\">"}) {
    const std::string html = begin +
                             "<head><title/><script src='a.js'/><style/></head><body><p>Hello <b>big</b> world"
                             "<div translate='no'/></p><div><iframe/><textarea/>More</div>"
                             "<script>x()</script></body></html>";
    EXPECT_THAT(HtmlUnits(html), ElementsAre("Hello ⟦<b>⟧big⟦</b>⟧ world", "More"));
    ExpectIdentity("html", html);
    ExpectTranslationIsRead("html", html);
  }
}

TEST(HtmlTest, AttributesAreUnits) {
  const std::string html =
      "<p>See <img src=d.png alt='A dog'> and <a href=x title=\"More &amp; more\">this</a>"
      "<input type=submit value=Send><meta name=description content=\"About us\">";
  const auto document = ParseAs("html", html);
  EXPECT_THAT(Shown(*document), ElementsAre("A dog", "More & more", "Send",
                                            "See ⟦<img src=d.png alt='A dog'>⟧ and "
                                            "⟦<a href=x title=\"More &amp; more\">⟧this⟦</a>⟧",
                                            "About us"));
  EXPECT_EQ(
      RenderWith(*document, {{"A dog", "Ein \"Hund\""}, {"Send", "Jetzt senden"}, {"More & more", "Mehr & mehr"}}),
      "<p>See <img src=d.png alt='Ein &quot;Hund&quot;'> and <a href=x title=\"Mehr &amp; mehr\">this</a>"
      "<input type=submit value=\"Jetzt senden\"><meta name=description content=\"About us\">");
}

TEST(HtmlTest, ReferencesAreResolvedAndWritten) {
  const auto document = ParseAs("html", "<p>Fish &amp; chips&nbsp;&eacute;&#8212;& unknown");
  EXPECT_EQ(document->units()[0].source.text, "Fish & chips\u00a0\u00e9\u2014& unknown");
  MarkedText translation = document->units()[0].source;
  translation.text = "a < b & c";
  EXPECT_EQ(*document->Render({translation}), "<p>a &lt; b &amp; c");
}

// HTML 5 has over 2,000 names. What is not known is copied, not escaped, so that it does not become visible.
TEST(HtmlTest, UnknownReferencesStay) {
  const std::string html =
      "<p>&check; The task&colon; &lpar;net&rpar; &#150; &notin; &#x1F44D;<img alt='&starf; one &unknown;'>";
  const auto document = ParseAs("html", html);
  EXPECT_THAT(Shown(*document),
              ElementsAre("⟦&starf;⟧ one ⟦&unknown;⟧",
                          "⟦&check;⟧ The task⟦&colon;⟧ ⟦&lpar;⟧net⟦&rpar;⟧ ⟦&#150;⟧ \u2209 \U0001F44D"));
  const std::string translated = RenderRot13(*document);
  EXPECT_EQ(translated,
            "<p>&check; Gur gnfx&colon; &lpar;arg&rpar; &#150; \u2209 \U0001F44D<img alt='&starf; bar &unknown;'>");
  ExpectIdentity("html", html);
}

TEST(HtmlTest, ReferencesWithoutASemicolon) {
  EXPECT_THAT(
      HtmlUnits("<p>The&nbsp old &copy2024, &COPY 2025 &eacutet&eacute &#233t &ampx R&D &notx AT&T &check &hellip."),
      ElementsAre("The\u00a0 old \u00a92024, \u00a9 2025 \u00e9t\u00e9 \u00e9t &x R&D \u00acx AT&T &check &hellip."));
  EXPECT_THAT(HtmlUnits("<img alt='Go &copy=2 &copyx &copy; &copy !'>"),
              ElementsAre("Go &copy=2 &copyx \u00a9 \u00a9 !"));
  const std::string html = "<p>A &lt b &# &#x &; &";
  ExpectIdentity("html", html);
  EXPECT_EQ(RenderRot13(*ParseAs("html", html)), "<p>N &lt; o &amp;# &amp;#k &amp;; &amp;");
}

TEST(HtmlTest, OverlappingTagsKeepTheirOrder) {
  const auto document = ParseAs("html", "<p>a <b>b <i>c</b> d</i> e</p>");
  ASSERT_EQ(document->units().size(), 1u);
  for (const Marker& marker : document->units()[0].markers) {
    EXPECT_TRUE(marker.kind != MarkerKind::kStandalone || marker.ordered) << marker.bytes;
  }
  EXPECT_TRUE(CheckMarkers(document->units()[0].markers, document->units()[0].source).ok());
}

TEST(HtmlTest, LanguageBecomesTheTarget) {
  const auto document = ParseAs("html", "<!DOCTYPE html><html lang=\"en\"><p lang=fr>x</p>",
                                {.source_language = "en", .target_language = "de"});
  EXPECT_EQ(*document->Render(Sources(*document)), "<!DOCTYPE html><html lang=\"de\"><p lang=fr>x</p>");
}

TEST(HtmlTest, CommentsAndTemplatesStay) {
  EXPECT_THAT(HtmlUnits("<p><!-- not this -->Dear {{ user.name }}, <% if x > y %>hello<% end %>!</p>"),
              ElementsAre("Dear ⟦{{ user.name }}⟧, ⟦<% if x > y %>⟧hello⟦<% end %>⟧!"));
}

TEST(HtmlTest, ElementsInAnIcuMessageBelongToIt) {
  const std::string message = "{n, plural, =0 {<b>none</b>} other {<i title='Many'>{{n}}</i> &amp; more}}";
  const auto document = ParseAs("html", "<p>Now <u>" + message + "</u> here</p>");
  EXPECT_THAT(Shown(*document), ElementsAre("Many", "Now ⟦<u>⟧⟦" + message + "⟧⟦</u>⟧ here"));
  EXPECT_EQ(RenderRot13(*document),
            "<p>Abj <u>" + std::string(message).replace(message.find("Many"), 4, "Znal") + "</u> urer</p>");
}

TEST(HtmlTest, RoundTrips) {
  const std::string html = R"html(<!DOCTYPE html>
<html><head><title>Title &amp; more</title><style>p > a { color: red }</style></head>
<body onload="x('<p>')"><p class=a>Some <em>words</em>,
  over <a href="https://example.org/?a=1&b=2">two lines</a>.<br/>
<table><tr><td>1</td><td>Cell</td></table><p>unclosed <b>bold
<svg><title>no</title><path d="M0"/></svg><textarea>keep</textarea><!-- end --></body></html>)html";
  ExpectIdentity("html", html);
  ExpectTranslationIsRead("html", html);
}

TEST(HtmlTest, RefusesWhatIsNoText) {
  EXPECT_THAT(RefusalAs("html", "<p>\xff"), HasSubstr("not UTF-8 text at byte 3"));
  EXPECT_THAT(RefusalAs("html", std::string("\xff\xfe<\0p\0", 6)), HasSubstr("UTF-16"));
  ParseOptions options;
  options.limits.max_bytes = 3;
  EXPECT_THAT(RefusalAs("html", "<p>x", options), HasSubstr("at most 3"));
}

TEST(HtmlTest, TheNumberOfTagsIsBounded) {
  ParseOptions options;
  options.limits.max_events = 4;
  EXPECT_THAT(RefusalAs("html", "<p>a</p><p>", options), HasSubstr("was not refused"));
  for (const char* html : {"<p>a</p><p>b", "<p><p><p><p><p><p>", "<!----><!----><!----><!----><!---->"}) {
    EXPECT_THAT(RefusalAs("html", html, options), HasSubstr("has more than 4 tags, texts and comments; split the doc"));
  }
}

// ---- Tokens.

std::vector<std::string> Tokens(std::string_view html) {
  std::vector<std::string> tokens;
  constexpr const char* kKinds[] = {"text ", "start ", "end ", "other "};
  for (const HtmlToken& token : TokenizeHtml(html)) {
    tokens.push_back(kKinds[static_cast<int>(token.kind)] +
                     std::string(html.substr(token.range.begin, token.range.end - token.range.begin)));
  }
  return tokens;
}

TEST(HtmlTokensTest, TagsEndWhereTheStandardSays) {
  EXPECT_THAT(Tokens("a<b c='>' d=\"<\">e</b x>f"),
              ElementsAre("text a", "start <b c='>' d=\"<\">", "text e", "end </b x>", "text f"));
  EXPECT_THAT(Tokens("1 < 2 <3 </ x>y</>z"),
              ElementsAre("text 1 < 2 <3 ", "other </ x>", "text y", "other </>", "text z"));
  EXPECT_THAT(Tokens("a<b c='never closed"), ElementsAre("text a", "other <b c='never closed"));
}

TEST(HtmlTokensTest, CommentsAndOddDeclarations) {
  EXPECT_THAT(Tokens("<!-->a<!--->b<!-- - -- > -->c<!-- x --!>d<!x>e<?y>f"),
              ElementsAre("other <!-->", "text a", "other <!--->", "text b", "other <!-- - -- > -->", "text c",
                          "other <!-- x --!>", "text d", "other <!x>", "text e", "other <?y>", "text f"));
}

TEST(HtmlTokensTest, RawTextEndsAtItsOwnTag) {
  EXPECT_THAT(Tokens("<script>a<b></scripty></SCRIPT >c"),
              ElementsAre("start <script>", "text a<b></scripty>", "end </SCRIPT >", "text c"));
  EXPECT_THAT(Tokens("<script><!--<script></script>--></script>x"),
              ElementsAre("start <script>", "text <!--<script></script>-->", "end </script>", "text x"));
  EXPECT_THAT(Tokens("<title><b></title><svg><title><b></title></svg>"),
              ElementsAre("start <title>", "text <b>", "end </title>", "start <svg>", "start <title>", "start <b>",
                          "end </title>", "end </svg>"));
}

TEST(HtmlTokensTest, WithoutAnEndTagTheRestIsRead) {
  EXPECT_THAT(Tokens("<title>a<p>b"), ElementsAre("start <title>", "text a", "start <p>", "text b"));
  EXPECT_THAT(Tokens("<script src=a /><p>b"), ElementsAre("start <script src=a />", "start <p>", "text b"));
  EXPECT_THAT(Tokens("<script>a<p>b"), ElementsAre("start <script>", "text a<p>b"));
  std::string many;  // each of which would look for its end tag in all the rest
  for (int i = 0; i < 300000; ++i) many += "<title></p>";
  EXPECT_EQ(Tokens(many).size(), 600000u);
}

TEST(HtmlTokensTest, AttributesHaveTheirValues) {
  const std::string html = "<a B=1 c = 'two' d=\"three\" e f=g/h b=twice>";
  const HtmlToken token = TokenizeHtml(html)[0];
  std::vector<std::string> found;
  for (const HtmlAttribute& attribute : token.attributes) {
    found.push_back(attribute.name + "=" +
                    html.substr(attribute.value.begin, attribute.value.end - attribute.value.begin));
  }
  EXPECT_THAT(found, ElementsAre("b=1", "c=two", "d=three", "e=", "f=g/h"));
}

}  // namespace
}  // namespace salient
