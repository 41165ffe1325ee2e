// Books: which pages are read, in which order, and what stays as it is.

#include "gmock/gmock.h"
#include "tests/documents/round_trip.h"
#include "tests/documents/zip_parts.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kContainer[] =
    "<container xmlns=\"urn:oasis:names:tc:opendocument:xmlns:container\"><rootfiles><rootfile "
    "full-path=\"OEBPS/book.opf\" media-type=\"application/oebps-package+xml\"/></rootfiles></container>";

constexpr char kPackage[] =
    "<package xmlns=\"http://www.idpf.org/2007/opf\" version=\"3.0\"><metadata "
    "xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><dc:title>The red house</dc:title><dc:creator>Jane "
    "Stone</dc:creator><dc:language>en-GB</dc:language></metadata><manifest>"
    "<item id=\"n\" href=\"nav.xhtml\" media-type=\"application/xhtml+xml\" properties=\"nav\"/>"
    "<item id=\"t\" href=\"toc.ncx\" media-type=\"application/x-dtbncx+xml\"/>"
    "<item id=\"a\" href=\"Text/chapter%201.xhtml\" media-type=\"application/xhtml+xml\"/>"
    "<item id=\"b\" href=\"Text/chapter%202.xhtml\" media-type=\"application/xhtml+xml\"/>"
    "<item id=\"c\" href=\"style.css\" media-type=\"text/css\"/>"
    "<item id=\"lost\" href=\"lost.xhtml\" media-type=\"application/xhtml+xml\"/>"
    "</manifest><spine toc=\"t\"><itemref idref=\"b\"/><itemref idref=\"a\"/><itemref idref=\"b\"/>"
    "<itemref idref=\"lost\"/></spine></package>";

std::string Page(const std::string& body) {
  return "<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\" "
         "xml:lang=\"en\"><head><title/></head><body>" +
         body + "</body></html>";
}

std::string ABook(const std::string& package = kPackage, const std::string& encryption = "") {
  std::vector<std::pair<std::string, std::string>> parts = {
      {"mimetype", "application/epub+zip"},
      {"META-INF/container.xml", kContainer},
      {"OEBPS/book.opf", package},
      {"OEBPS/nav.xhtml", Page("<nav><a href=\"Text/chapter%201.xhtml\">A start</a></nav>")},
      {"OEBPS/toc.ncx",
       "<ncx xmlns=\"http://www.daisy.org/z3986/2005/ncx/\"><head><meta name=\"dtb:uid\" content=\"x\"/></head>"
       "<docAuthor><text>Jane Stone</text></docAuthor><navMap><navPoint id=\"p\"><navLabel><text>A start</text>"
       "</navLabel><content src=\"Text/chapter%201.xhtml\"/></navPoint></navMap></ncx>"},
      {"OEBPS/Text/chapter 1.xhtml", Page("<p><a id=\"p1\"/>One <b>red</b> car.</p>")},
      {"OEBPS/Text/chapter 2.xhtml", Page("<p>The second.</p>")},
      {"OEBPS/style.css", "p { color: red }"}};
  if (!encryption.empty()) parts.emplace_back("META-INF/encryption.xml", encryption);
  return MakeZip(parts);
}

TEST(EpubTest, PagesAreReadInTheOrderOfTheBook) {
  EXPECT_THAT(Shown(*ParseAs("epub", ABook())),
              ElementsAre("The red house", "The second.", "One ⟦<b>⟧red⟦</b>⟧ car.", "A start", "A start"));
  ExpectIdentity("epub", ABook());
  ExpectTranslationIsRead("epub", ABook());
}

TEST(EpubTest, TheRestStaysAsItIs) {
  const std::string book = ABook(), translated = RenderRot13(*ParseAs("epub", book));
  EXPECT_THAT(PartOf(translated, "OEBPS/book.opf"),
              HasSubstr("<dc:title>Gur erq ubhfr</dc:title><dc:creator>Jane Stone"));
  EXPECT_THAT(
      PartOf(translated, "OEBPS/toc.ncx"),
      AllOf(HasSubstr("<docAuthor><text>Jane Stone"), HasSubstr("<text>N fgneg</text>"), HasSubstr("content=\"x\"")));
  EXPECT_THAT(PartOf(translated, "OEBPS/nav.xhtml"), HasSubstr("<a href=\"Text/chapter%201.xhtml\">N fgneg</a>"));
  EXPECT_EQ(PartOf(translated, "OEBPS/style.css"), "p { color: red }");
  EXPECT_EQ(translated.substr(30, 28), "mimetypeapplication/epub+zip") << "first, and not compressed";
}

TEST(EpubTest, TheLanguageBecomesThatOfTheTranslation) {
  const auto book = ParseAs("epub", ABook(), {.source_language = "en", .target_language = "de"});
  const std::string translated = *book->Render(Sources(*book));
  EXPECT_THAT(PartOf(translated, "OEBPS/book.opf"), HasSubstr("<dc:language>de</dc:language>"));
  EXPECT_THAT(PartOf(translated, "OEBPS/Text/chapter 2.xhtml"), HasSubstr("xml:lang=\"de\""));
}

TEST(EpubTest, WhatIsNoBookIsRefused) {
  EXPECT_THAT(RefusalAs("epub", "PK"), HasSubstr("EPUB"));
  EXPECT_THAT(RefusalAs("epub", MakeZip({{"content.xml", "<x/>"}})), HasSubstr("has no META-INF/container.xml"));
  EXPECT_THAT(RefusalAs("epub", MakeZip({{"META-INF/container.xml", "<container/>"}})), HasSubstr("no package file"));
  EXPECT_THAT(RefusalAs("epub", MakeZip({{"META-INF/container.xml", kContainer}})), HasSubstr("no OEBPS/book.opf"));
  EXPECT_THAT(RefusalAs("epub", ABook("<package>")), HasSubstr("EPUB: OEBPS/book.opf: line 1"));
  const std::string page = MakeZip(
      {{"META-INF/container.xml", kContainer}, {"OEBPS/book.opf", kPackage}, {"OEBPS/Text/chapter 1.xhtml", "\xff"}});
  EXPECT_THAT(RefusalAs("epub", page), HasSubstr("EPUB: OEBPS/Text/chapter 1.xhtml: "));
}

TEST(EpubTest, ProtectedBooksAreRefusedAndProtectedFontsAreNot) {
  const auto encrypted = [](const std::string& uri) {
    return "<encryption><enc:EncryptedData xmlns:enc=\"e\"><enc:CipherData><enc:CipherReference URI=\"" + uri +
           "\"/></enc:CipherData></enc:EncryptedData></encryption>";
  };
  EXPECT_THAT(RefusalAs("epub", ABook(kPackage, encrypted("OEBPS/Text/chapter%202.xhtml"))),
              HasSubstr("chapter 2.xhtml is encrypted"));
  EXPECT_NE(ParseAs("epub", ABook(kPackage, encrypted("OEBPS/font.otf"))), nullptr);
}

}  // namespace
}  // namespace salient
