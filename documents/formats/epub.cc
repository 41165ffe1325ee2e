// EPUB 2 and 3: an archive of XHTML pages, which a package file lists in the order in which they are read, with a table
// of contents. Pages are read as HTML; so is the table of contents of EPUB 3. That of EPUB 2 (NCX) is XML, whose texts
// are headings. Of the package file the title and the description of the book are translated.

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "documents/ascii.h"
#include "documents/formats/parsers.h"
#include "documents/language.h"
#include "documents/office/relationships.h"
#include "documents/patch.h"
#include "documents/syntax/xml_events.h"
#include "documents/syntax/zip_archive.h"
#include "documents/units/unit_builder.h"

namespace salient {
namespace {

using Kind = XmlEvent::Kind;

constexpr char kContainer[] = "META-INF/container.xml", kEncryption[] = "META-INF/encryption.xml";
constexpr char kPageType[] = "application/xhtml+xml", kContentsType[] = "application/x-dtbncx+xml";
constexpr std::string_view kDublinCore = "http://purl.org/dc/elements/1.1/";

struct BookPart {
  std::string name;
  std::unique_ptr<FormattedDocument> document;
};

class Book final : public FormattedDocument {
 public:
  Book(std::string_view bytes, std::vector<BookPart> parts, const DocumentLimits& limits)
      : bytes_(bytes), parts_(std::move(parts)), limits_(limits) {
    for (const BookPart& part : parts_) {
      const std::vector<Unit>& units = part.document->units();
      units_.insert(units_.end(), units.begin(), units.end());
    }
  }

  const std::vector<Unit>& units() const override { return units_; }

  absl::StatusOr<std::string> Render(const std::vector<MarkedText>& translations) const override {
    if (absl::Status status = CheckTranslations(units_, translations); !status.ok()) return status;
    absl::StatusOr<ZipArchive> archive = ZipArchive::Open(bytes_, "EPUB", limits_);
    if (!archive.ok()) return archive.status();
    std::map<std::string, std::string> changed;
    auto next = translations.begin();
    for (const BookPart& part : parts_) {
      const auto end = next + static_cast<std::ptrdiff_t>(part.document->units().size());
      absl::StatusOr<std::string> rendered = part.document->Render({next, end});
      if (!rendered.ok()) return rendered;
      const absl::StatusOr<std::string> source = archive->Read(part.name);
      if (!source.ok()) return source.status();
      if (*rendered != *source) changed[part.name] = *std::move(rendered);
      next = end;
    }
    return ReplaceInZip(bytes_, changed);
  }

  size_t bytes() const override {
    size_t bytes = bytes_.size() + MemoryOf(units_);
    for (const BookPart& part : parts_) bytes += part.name.size() + part.document->bytes();
    return bytes;
  }

 private:
  const std::string bytes_;
  const std::vector<BookPart> parts_;
  const DocumentLimits limits_;
  std::vector<Unit> units_;
};

// An XML file of the archive.
struct BookFile {
  std::string name, bytes;
  std::vector<XmlEvent> events;
};

std::string_view LocalName(const XmlEvent& event) {
  return std::string_view(event.name).substr(event.name.find(':') + 1);  // npos + 1 is 0
}

int HexDigit(char c) {
  return IsDigit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The name of the entry that an address in a file of `folder` means: "Text/page%201.xhtml#top".
std::string EntryName(std::string_view folder, std::string address) {
  address.resize(std::min(address.size(), address.find('#')));
  std::string name;
  for (size_t i = 0; i < address.size(); ++i) {
    const int high = i + 2 < address.size() ? HexDigit(address[i + 1]) : -1;
    const int low = high >= 0 ? HexDigit(address[i + 2]) : -1;
    if (address[i] != '%' || low < 0) {
      name += address[i];
    } else {
      name += static_cast<char>(16 * high + low);
      i += 2;
    }
  }
  return ResolveTarget(folder, name);
}

class BookReader {
 public:
  BookReader(std::string_view bytes, ZipArchive archive, const ParseOptions& options)
      : bytes_(bytes), archive_(std::move(archive)), options_(options) {}

  ParsedDocument Read() {
    const absl::StatusOr<BookFile> container = ReadXml(kContainer);
    if (!container.ok()) return container.status();
    std::string name;
    for (const XmlEvent& event : container->events) {
      if (event.kind != Kind::kStart || LocalName(event) != "rootfile" || !name.empty()) continue;
      name = EntryName("", AttributeText(container->bytes, event, "full-path"));
    }
    absl::StatusOr<BookFile> package = ReadXml(name);
    if (!package.ok()) return package.status();
    List(*package);
    if (absl::Status status = CheckParts(); !status.ok()) return status;

    if (absl::Status status = Add(name, ParsePackageFile(*std::move(package))); !status.ok()) return status;
    ParseOptions contents = options_;
    contents.elements = {.keep = {"docAuthor"}};
    for (const auto& [part, is_page] : listed_) {
      absl::StatusOr<std::string> bytes = archive_.Read(part);
      if (!bytes.ok()) return bytes.status();
      absl::Status status = Add(part, is_page ? ParseHtml(*bytes, options_) : ParseGenericXml(*bytes, contents));
      if (!status.ok()) return status;
    }
    return std::make_unique<Book>(bytes_, std::move(parts_), options_.limits);
  }

 private:
  absl::StatusOr<BookFile> ReadXml(const std::string& name) {
    if (name.empty() || !archive_.Has(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("EPUB: the archive has no ", name.empty() ? "package file" : name, "; it is of another format"));
    }
    absl::StatusOr<std::string> bytes = archive_.Read(name);
    if (!bytes.ok()) return bytes.status();
    absl::StatusOr<std::vector<XmlEvent>> events = ParseXml(*bytes, absl::StrCat("EPUB: ", name), options_.limits);
    if (!events.ok()) return events.status();
    return BookFile{name, *std::move(bytes), *std::move(events)};
  }

  // Fills listed_: first what is read in order, then the other pages, such as the table of contents.
  void List(const BookFile& package) {
    const std::string folder = package.name.substr(0, package.name.rfind('/') + 1);
    std::map<std::string, std::pair<std::string, bool>> items;  // entry, and whether it is a page, by id
    std::vector<std::string> order, ids;
    for (const XmlEvent& event : package.events) {
      if (event.kind != Kind::kStart) continue;
      if (LocalName(event) == "itemref") order.push_back(AttributeText(package.bytes, event, "idref"));
      const std::string type = LocalName(event) == "item" ? AttributeText(package.bytes, event, "media-type") : "";
      if (type != kPageType && type != kContentsType) continue;
      ids.push_back(AttributeText(package.bytes, event, "id"));
      items[ids.back()] = {EntryName(folder, AttributeText(package.bytes, event, "href")), type == kPageType};
    }
    order.insert(order.end(), ids.begin(), ids.end());
    std::set<std::string> seen;
    for (const std::string& id : order) {
      const auto item = items.find(id);
      if (item == items.end() || !archive_.Has(item->second.first)) continue;
      if (seen.insert(item->second.first).second) listed_.push_back(item->second);
    }
  }

  absl::Status CheckParts() {
    std::vector<std::string> names;
    for (const auto& [name, is_page] : listed_) names.push_back(name);
    if (absl::Status status = archive_.CheckSizes(names); !status.ok()) return status;
    if (!archive_.Has(kEncryption)) return absl::OkStatus();
    const absl::StatusOr<BookFile> encryption = ReadXml(kEncryption);
    if (!encryption.ok()) return encryption.status();
    for (const XmlEvent& event : encryption->events) {
      if (event.kind != Kind::kStart || LocalName(event) != "CipherReference") continue;
      const std::string name = EntryName("", AttributeText(encryption->bytes, event, "URI"));
      if (std::find(names.begin(), names.end(), name) == names.end()) continue;  // fonts often are
      return absl::InvalidArgumentError(
          absl::StrCat("EPUB: ", name, " is encrypted against copying; send a book without such protection"));
    }
    return absl::OkStatus();
  }

  // The title and the description of the book; its language becomes the target language.
  ParsedDocument ParsePackageFile(BookFile file) const {
    const std::optional<std::string> prefix = PrefixOf(file.bytes, file.events, kDublinCore);
    std::vector<PlacedUnit> units;
    std::vector<Edit> edits = EncodingEdits(file.bytes);
    UnitBuilder builder(file.bytes, {{options_.keep_terms, /*tags=*/true}});
    for (size_t i = 0; prefix.has_value() && i < file.events.size(); ++i) {
      const XmlEvent& event = file.events[i];
      if (event.kind != Kind::kStart || !event.name.starts_with(*prefix)) continue;
      const std::string_view what = std::string_view(event.name).substr(prefix->size());
      for (size_t k = i + 1; k < event.match; ++k) {
        const XmlEvent& inner = file.events[k];
        const bool is_shown = what == "title" || what == "description";
        if (is_shown && inner.kind == Kind::kOther)
          builder.Standalone(inner.range, /*ordered=*/false, /*is_word=*/false);
        if (inner.kind != Kind::kText) continue;
        if (is_shown) builder.AddDecoded(inner.range, inner.text);
        if (what == "language" && !options_.source_language.empty() && !options_.target_language.empty() &&
            AreSameLanguage(inner.text, options_.source_language)) {
          edits.push_back({inner.range, options_.target_language});
        }
      }
      builder.FinishEscaped(EscapeXml, &units);
    }
    return MakePatchedDocument(PatchedText(std::move(file.bytes), std::move(units), std::move(edits)), options_.limits);
  }

  absl::Status Add(const std::string& name, ParsedDocument document) {
    if (!document.ok()) {
      return absl::Status(document.status().code(), absl::StrCat("EPUB: ", name, ": ", document.status().message()));
    }
    units_ += (*document)->units().size();
    if (HasTooManyUnits(units_, options_.limits)) return TooManyUnits(options_.limits);
    parts_.push_back({name, *std::move(document)});
    return absl::OkStatus();
  }

  const std::string_view bytes_;
  ZipArchive archive_;
  const ParseOptions& options_;
  std::vector<std::pair<std::string, bool>> listed_;  // entries with text, and whether they are pages
  std::vector<BookPart> parts_;
  size_t units_ = 0;
};

}  // namespace

ParsedDocument ParseEpub(std::string_view bytes, const ParseOptions& options) {
  absl::StatusOr<ZipArchive> archive = ZipArchive::Open(bytes, "EPUB", options.limits);
  if (!archive.ok()) return archive.status();
  return BookReader(bytes, *std::move(archive), options).Read();
}

}  // namespace salient
