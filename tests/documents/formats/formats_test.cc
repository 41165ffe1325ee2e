#include "documents/formats/registry.h"
#include "documents/units/inline_spans.h"
#include "documents/units/unit_builder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/documents/round_trip.h"
#include "tests/documents/zip_parts.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FormatsTest, AreFoundByNameTypeAndFile) {
  EXPECT_EQ((*FormatNamed("markdown"))->types.front().mime_type, "text/markdown");
  EXPECT_EQ(TypeNamed("Text/HTML ; charset=utf-8")->format->name, "html");
  EXPECT_EQ(TypeOfFile("a.b/Report.DOCX")->format->name, "docx");
  for (const char* name : {"a.docm", "a.dotx", "a.dotm"}) EXPECT_EQ(TypeOfFile(name)->format->name, "docx");
  for (const char* name : {"a.pptm", "a.potx", "a.ppsx"}) EXPECT_EQ(TypeOfFile(name)->format->name, "pptx");
  for (const char* name : {"a.xlsm", "a.xltx", "a.xltm"}) EXPECT_EQ(TypeOfFile(name)->format->name, "xlsx");
  EXPECT_EQ(TypeNamed("application/vnd.ms-word.document.macroenabled.12")->format->name, "docx");
  EXPECT_THAT(std::string(FormatNamed("wordstar").status().message()), HasSubstr("known are text, markdown, html"));
  EXPECT_THAT(std::string(TypeNamed("image/png").status().message()), HasSubstr("text/vtt"));
  EXPECT_FALSE(TypeOfFile("README").ok());
}

TEST(FormatsTest, NamesTypesAndExtensionsAreEachOfOneFormat) {
  for (const Format& format : AllFormats()) {
    EXPECT_EQ(*FormatNamed(format.name), &format);
    for (const FileType& type : format.types) {
      EXPECT_EQ(TypeNamed(type.mime_type)->format, &format);
      EXPECT_EQ(TypeNamed(type.mime_type)->mime_type, type.mime_type);
      for (const auto& extension : type.extensions) {
        EXPECT_EQ(TypeOfFile("x." + std::string(extension))->format, &format);
        EXPECT_EQ(TypeOfFile("x." + std::string(extension))->mime_type, type.mime_type);
      }
    }
  }
}

TEST(FormatsTest, AParagraphOfTooManyPlaceholdersIsRefused) {
  std::string fields, references;
  for (int i = 0; i < 4001; ++i) {
    fields += "a {0} ";
    references += "a &check; ";
  }
  EXPECT_THAT(RefusalAs("json", "[\"" + fields + "\"]"), HasSubstr("more than 4000 tags and placeholders; divide it"));
  EXPECT_THAT(RefusalAs("html", "<p>" + references), HasSubstr("more than 4000 tags and placeholders; divide it"));
}

TEST(FormatsTest, TooManyUnitsAreRefusedAlike) {
  ParseOptions options;
  options.limits.max_units = 1;
  const std::string word = "<w:document " + std::string(kWordSpace) + ">" +
                           Repeated("<w:p><w:r><w:t>Text</w:t></w:r></w:p>", 2) + "</w:document>";
  for (const auto& [format, text] : {std::pair<std::string, std::string>("markdown", "One\n\nTwo"),
                                     {"html", "<p>One<p>Two"},
                                     {"json", "[\"One word\", \"Two words\"]"},
                                     {"docx", MakeZip({{"word/document.xml", word}})}}) {
    EXPECT_THAT(RefusalAs(format, text, options), HasSubstr("the document has more than 1 units of text")) << format;
  }
}

TEST(FormatsTest, AUnitMayHaveVeryManyMarkersAtOnePlace) {
  const std::string bytes = "a <b></b> c";
  UnitBuilder builder(bytes, {});
  builder.AddText({0, 2});
  for (int i = 0; i < 600000; ++i) {
    builder.Open({2, 5}, "b");
    builder.AddText({9, 10});
  }
  builder.AddText({10, 11});
  PlacedUnit unit;
  ASSERT_TRUE(builder.Finish(&unit));
  EXPECT_EQ(unit.unit.source.text, "a c") << "one space in front of all markers";
  EXPECT_EQ(unit.unit.markers.size(), 600000u);
}

TEST(FormatsTest, DocumentsTellTheirMemory) {
  const std::string text(10000, 'a');
  for (const Format& format : AllFormats()) {
    const std::string bytes = format.name == "text"   ? text
                              : format.name == "html" ? "<p>" + text
                              : format.name == "xml"  ? text
                              : format.name == "json" ? "[\"" + text + "\"]"
                                                      : "";
    if (bytes.empty()) continue;
    const auto document = ParseAs(std::string(format.name), bytes);
    EXPECT_GT(document->bytes(), 2 * text.size()) << "the bytes and the unit";
    EXPECT_LT(document->bytes(), 4 * text.size());
  }
}

TEST(FormatsTest, TranslationsThatBreakMarkersAreRefused) {
  const auto document = ParseAs("html", "<p>a <b>b</b> c");
  EXPECT_THAT(document->Render({}).status().ToString(), HasSubstr("there are 0 translations for 1 units"));
  const auto refusal = [&document](std::vector<MarkerPlace> places) {
    return document->Render({{"abcdef", std::move(places)}}).status().ToString();
  };
  EXPECT_THAT(refusal({{1, 0}}), HasSubstr("marker 1 (</b>) is missing"));
  EXPECT_THAT(refusal({{1, 1}, {2, 0}}), HasSubstr("closes what is not open"));
  EXPECT_THAT(refusal({{1, 0}, {1, 0}, {2, 1}}), HasSubstr("is there twice"));
  EXPECT_THAT(refusal({{3, 0}, {2, 1}}), HasSubstr("out of place"));
  EXPECT_THAT(refusal({{3, 0}, {9, 1}}), HasSubstr("out of place"));
  EXPECT_THAT(refusal({{3, 0}, {4, 7}}), HasSubstr("there is no marker 7"));
  EXPECT_THAT(document->Render({{"\u00e4", {{1, 0}, {1, 1}}}}).status().ToString(), HasSubstr("inside a character"));
}

std::vector<std::string> Spans(std::string_view text, const InlineRules& rules = {}) {
  std::vector<std::string> spans;
  for (const InlineSpan& span : FindInlineSpans(text, rules))
    spans.emplace_back(text.substr(span.begin, span.end - span.begin));
  return spans;
}

TEST(InlineSpansTest, Placeholders) {
  EXPECT_THAT(Spans("{0} of {name}, {{ user.name }} and ${x} #{y} %{z} {% if a %} {0,number,#.##}"),
              ElementsAre("{0}", "{name}", "{{ user.name }}", "${x}", "#{y}", "%{z}", "{% if a %}", "{0,number,#.##}"));
  EXPECT_THAT(Spans("%s: %1$s, %-5.2f%% (%d) %(name)s %@"),
              ElementsAre("%s", "%1$s", "%-5.2f", "%%", "%d", "%(name)s", "%@"));
  EXPECT_THAT(Spans("It is 50%% of %s, not a %%s"), ElementsAre("%%", "%s", "%%"));
  EXPECT_THAT(Spans("50 % of them, 5 %d\u00e9part, {not a name}, a%b, 100 %."), IsEmpty());
  EXPECT_THAT(
      Spans("Hello %name%, %user.id% in %ds, %dMB of %Lf at %B %d; %APPDATA% %s%s %ld%%"),
      ElementsAre("%name%", "%user.id%", "%ds", "%dMB", "%Lf", "%B", "%d", "%APPDATA%", "%s", "%s", "%ld", "%%"));
  EXPECT_THAT(Spans("Hi $USER$, $t(common.ok) and @:menu.open. US$5$ $5 to $6, $a and b$, @ :x"),
              ElementsAre("$USER$", "$t(common.ok)", "@:menu.open"));
  EXPECT_THAT(Spans("{{{raw}}} {{{a}}"), ElementsAre("{{{raw}}}", "{{{a}}"));
  EXPECT_THAT(Spans("50 %off, 50%of 60%, 100%sure"), IsEmpty());
}

TEST(InlineSpansTest, ArgumentsOfIcuMessagesStayWhole) {
  const std::string plural = "{count, plural, =0{No files} =1{One file} other{{count} files}}";
  const std::string select = "{ who ,select,\n male{He} other{They, {n, plural, one{#} other{{n}}}}\n}";
  EXPECT_THAT(Spans(plural), ElementsAre(plural));
  EXPECT_THAT(Spans("A " + select + " b " + plural + " {c}."), ElementsAre(select, plural, "{c}"));
  // An apostrophe quotes braces; elsewhere it is one.
  const std::string quoted = "{n, plural, one{it's a '}' or '{'} other{it''s '#'{n}}}";
  EXPECT_THAT(Spans(quoted + " x {n}"), ElementsAre(quoted, "{n}"));
  EXPECT_THAT(Spans("{0, number, ::currency/USD .00} {0,choice,0#none|1<many {0}}"),
              ElementsAre("{0, number, ::currency/USD .00}", "{0,choice,0#none|1<many {0}}"));
  const std::string long_text(3000, 'x');
  EXPECT_THAT(Spans("{n, plural, other{" + long_text + "}}").size(), 1u);
  // Without its last brace it is no argument, and neither is prose.
  EXPECT_THAT(Spans("{n, plural, other{{n} files}"), ElementsAre("{n}"));
  EXPECT_THAT(Spans("{the plural, select, and so on}"), IsEmpty());
}

TEST(InlineSpansTest, ReplacementFieldsHaveAGrammar) {
  for (const std::string field :
       {"{name:>10}", "{price:.2f}", "{user[name]}", "{user.names[0].first}", "{when:%Y-%m-%d %H:%M}", "{name!r:>10}",
        "{:^+20_d}", "{x: >10}", "{x: d}", "{n: ,.2f}", "{x:*^{width}}", "{x:{width}.{precision}}", "{:#?}", "{}",
        "{0:dd.MM.yyyy HH:mm}", "{0:(#,##0.00)}", "{a[first name]}", "{x:'>3}", "{x:~^9|}"}) {
    EXPECT_THAT(Spans("A " + field + " of b"), ElementsAre(field));
  }
  EXPECT_THAT(Spans("{a:>10}{b!s}"), ElementsAre("{a:>10}", "{b!s}"));
  for (const char* prose : {"{see below}", "{note: see below}", "{note: text}", "{a [b]}", "{a:b c}", "{wait! r}",
                            "{x:>10", "{a = b}", "{not a name}", "{1: one}", "{100 % of}", "{a[b}"}) {
    EXPECT_THAT(Spans(prose), IsEmpty()) << prose;
  }
}

TEST(InlineSpansTest, MacrosOfPrintf) {
  EXPECT_THAT(Spans("%\" PRIu64 \" bytes, %-5\"PRId32\" and %<PRIu64>"),
              ElementsAre("%\" PRIu64 \"", "%-5\"PRId32\"", "%<PRIu64>"));
  EXPECT_THAT(Spans("5 %\" PRIVATE and %<b>", {.tags = true}), ElementsAre("<b>"));
}

TEST(InlineSpansTest, AddressesEndBeforeTheSentenceDoes) {
  EXPECT_THAT(Spans("See https://x.org/a_(b)?c=d#e. Or (www.y.org), or mail a.b+c@d-e.org!"),
              ElementsAre("https://x.org/a_(b)?c=d#e", "www.y.org", "a.b+c@d-e.org"));
  EXPECT_THAT(Spans("at 5@home, @name, http:// alone"), IsEmpty());
  EXPECT_THAT(
      Spans("“Go to https://x.org.” Then www.y.org…” or »http://z.org/a«, 请看 https://x.org/b。然后 "
            "https://x.org/c，再 www.y.org）"),
      ElementsAre("https://x.org", "www.y.org", "http://z.org/a", "https://x.org/b", "https://x.org/c", "www.y.org"));
  EXPECT_THAT(Spans("https://x.org/über/für"), ElementsAre("https://x.org/über/für"));
}

TEST(InlineSpansTest, OnlyLettersDigitsAndUnderscoresContinueAWord) {
  EXPECT_THAT(Spans("Cannot open “%s” for reading: %s"), ElementsAre("%s", "%s"));
  EXPECT_THAT(Spans("‘%d’ — %d… %d°C"), ElementsAre("%d", "%d", "%d"));
  EXPECT_THAT(Spans("“https://x.org” “a@b.org”"), ElementsAre("https://x.org", "a@b.org"));
  EXPECT_THAT(Spans("“Salient”, Salient’s, Salient—it; Salienté, éSalient, Salient_2, Salient\u0301",
                    {.keep_terms = {"Salient"}}),
              ElementsAre("Salient", "Salient", "Salient"));
  EXPECT_THAT(Spans("共%d个，请用Salient打开", {.keep_terms = {"Salient"}}), ElementsAre("%d", "Salient"));
}

// Each beginning would look at all of the text.
TEST(InlineSpansTest, VeryManyBeginningsAreRead) {
  for (const char* beginning : {"a@b ", "{{ ", "{n, plural, ", "<a \"", "%( ", "{a[", "www."}) {
    std::string text;
    for (int i = 0; i < 200000; ++i) text += beginning;
    EXPECT_LT(Spans(text, {.keep_terms = {"a"}, .tags = true}).size(), 200001u) << beginning;
  }
}

TEST(InlineSpansTest, TermsAreWholeWords) {
  EXPECT_THAT(Spans("Salient and Salience; Salient Cloud.", {.keep_terms = {"Salient", "Salient Cloud"}}),
              ElementsAre("Salient", "Salient Cloud"));
}

TEST(InlineSpansTest, TheLongestTermIsKept) {
  const InlineRules rules{.keep_terms = {"a b c", "a", "", "a b", "ä b", "a", "a bc d", "z"}};
  EXPECT_THAT(Spans("a b c, a b cd, a bc, a bc d, ab, ä b, a", rules),
              ElementsAre("a b c", "a b", "a", "a bc d", "ä b", "a"));
}

// Each term would be compared at each byte.
TEST(InlineSpansTest, VeryManyTermsMayBeginAlike) {
  std::vector<std::string> terms;
  for (int i = 0; i < 1000; ++i) terms.push_back(std::string(kLongestKeptTerm - 4, '-') + std::to_string(1000 + i));
  EXPECT_THAT(Spans(std::string(1000000, '-') + "1007", {.keep_terms = terms}),
              ElementsAre(std::string(kLongestKeptTerm - 4, '-') + "1007"));
}

// Each start tag would look for its end in all of the text.
TEST(InlineSpansTest, VeryManyElementsAreJoined) {
  const auto always = [](size_t, size_t) { return true; };
  std::string open, nested;
  for (int i = 0; i < 100000; ++i) open += "<code>";
  for (int i = 0; i < 100000; ++i) nested += i < 50000 ? "<code>" : "</code>";
  EXPECT_EQ(JoinKeptElements(open, FindInlineSpans(open, {.tags = true}), "en", always).size(), 100000u);
  EXPECT_EQ(JoinKeptElements(nested, FindInlineSpans(nested, {.tags = true}), "en", always).size(), 1u);
}

TEST(InlineSpansTest, TagsWhereTheyAreAskedFor) {
  EXPECT_THAT(Spans("a <b class=\"x>y\">c</b> <br/> 1 < 2 <0>d</0> <v Bob>", {.tags = true}),
              ElementsAre("<b class=\"x>y\">", "</b>", "<br/>", "<0>", "</0>", "<v Bob>"));
}

}  // namespace
}  // namespace salient
