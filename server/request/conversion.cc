#include "server/request/conversion.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "documents/formats/parsers.h"
#include "documents/markers/spelled_markers.h"
#include "engine/api/language_tag.h"
#include "server/request/proto.h"
#include "server/request/wire.h"

namespace salient {
namespace {

constexpr int64_t kPartFactor = 8, kUnpackedFactor = 32;  // how much larger what an archive holds may be
constexpr int kMostTerms = 1000, kMostEntries = kMostOccurrences, kMostElements = 1000, kMostMemoryFiles = 16;
constexpr size_t kMostSuggestions = 3;
// Of the translations and suggestions of all segments: an entry may be long, and like each of them.
constexpr size_t kMostMemoryBytes = size_t{64} << 20;

// All that is wrong with a document is wrong with the request: trying again later does not help.
absl::Status InDocument(std::string_view field, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat("document.", std::string(field), ": ", status.message()));
}

absl::Status CheckCount(std::string_view field, int64_t count, int64_t most) {
  if (count <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(field), ": has ", count, " entries; at most ", most, " are allowed"));
}

// Text as a document of one unit without markers.
class PlainDocument : public FormattedDocument {
 public:
  explicit PlainDocument(std::string text) : units_(1) { units_[0].source.text = std::move(text); }
  const std::vector<Unit>& units() const override { return units_; }
  absl::StatusOr<std::string> Render(const std::vector<MarkedText>& translations) const override {
    return translations[0].text;
  }
  size_t bytes() const override { return MemoryOf(units_); }

 private:
  std::vector<Unit> units_;
};

// How the document's markers come into its translation with this model.
absl::StatusOr<v1::Markup> MarkupFor(const v1::Document& document, const ModelConfig& model) {
  const v1::Markup asked = document.markup();
  if (!v1::Markup_IsValid(asked)) {
    return absl::InvalidArgumentError(absl::StrCat("document.markup: ", static_cast<int>(asked),
                                                   " is none of MARKUP_MARKERS (1), MARKUP_ALIGNMENT (2) and "
                                                   "MARKUP_PLACE (3)"));
  }
  if (asked == v1::MARKUP_MARKERS && model.tokens.markers == 0) {
    return absl::InvalidArgumentError("document.markup: the model has no pieces for markers; leave it out");
  }
  if (asked != v1::MARKUP_UNSPECIFIED) return asked;
  return model.aligns.has_value() ? v1::MARKUP_ALIGNMENT : v1::MARKUP_PLACE;
}

// `what`: of the document, before the number of its bytes.
absl::Status CheckBytes(const v1::Document& source, std::string_view what, size_t bytes, int64_t max_bytes) {
  if (bytes <= static_cast<size_t>(max_bytes)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(source.content().empty() ? "document.text: " : "document.content: ", std::string(what), bytes,
                   " bytes, and this server takes at most ", max_bytes,
                   " a document; send it in parts, or start the server with --max-document-bytes ", bytes));
}

absl::Status CheckRequest(const v1::TranslateDocumentRequest& request, int64_t max_bytes) {
  const v1::Document& source = request.document();
  const bool has_content = !source.content().empty();
  if (has_content && !source.text().empty()) {
    return absl::InvalidArgumentError("document: has both text and content; send one of the two");
  }
  if (request.search().n_best() > 1) {
    const char* what = has_content ? "document.content" : "a glossary, a memory or document.keep_terms";
    return absl::InvalidArgumentError(
        absl::StrCat("search.n_best: with ", what, " there is one translation; leave n_best out"));
  }
  if (has_content && source.segmentation() == v1::SEGMENTATION_LINES) {
    return absl::InvalidArgumentError(
        "document.segmentation: LINES is for document.text; leave it out, the format says what belongs together");
  }
  if (!has_content && source.has_elements()) {
    return absl::InvalidArgumentError(
        "document.elements: plain text has no elements; leave them out, or send HTML or XML as document.content");
  }
  if (!has_content && source.markup() != v1::MARKUP_UNSPECIFIED && source.keep_terms().empty() &&
      !request.has_glossary()) {
    return absl::InvalidArgumentError(
        "document.markup: plain text has no markup unless there are keep_terms or a glossary; leave it out, or send "
        "the document as document.content with its mime_type");
  }
  const double least = request.memory().suggestions_from();
  if (request.memory().has_suggestions_from() && !(least > 0 && least <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("memory.suggestions_from: ", least, " is not in (0, 1]"));
  }
  for (int i = 0; i < source.keep_terms_size(); ++i) {
    if (source.keep_terms(i).size() <= kLongestKeptTerm) continue;
    return absl::InvalidArgumentError(absl::StrCat("document.keep_terms[", i, "]: has ", source.keep_terms(i).size(),
                                                   " bytes; at most ", kLongestKeptTerm, " are allowed"));
  }
  const v1::ElementRules& named = source.elements();
  if (named.keep_size() + named.block_size() + named.in_text_size() > kMostElements) {
    return absl::InvalidArgumentError(
        absl::StrCat("document.elements: names more than ", kMostElements, " elements; name fewer"));
  }
  for (const absl::Status& status : {CheckCount("document.keep_terms", source.keep_terms_size(), kMostTerms),
                                     CheckCount("glossary.terms", request.glossary().terms_size(), kMostEntries),
                                     CheckCount("memory.entries", request.memory().entries_size(), kMostEntries),
                                     CheckCount("memory.files", request.memory().files_size(), kMostMemoryFiles)}) {
    if (!status.ok()) return status;
  }
  return CheckBytes(source, "", source.content().size() + source.text().size(), max_bytes);
}

struct LanguageNames {
  std::string source, target;
};

// The model's name of a language that a request may have named. A request that names none is refused by the engine if
// the model has several.
std::string LanguageOf(const std::string& asked, const std::vector<std::string>& known, const std::string& otherwise) {
  if (known.size() == 1) return known.front();
  const std::string* closest = ClosestLanguage(known, asked);
  return closest != nullptr ? *closest : otherwise;
}

LanguageNames LanguagesOf(const v1::TranslateDocumentRequest& request, const ModelConfig& model) {
  if (!model.has_languages) return {model.source_language, model.target_language};
  return {LanguageOf(request.source_language(), model.languages.source, model.source_language),
          LanguageOf(request.target_language(), model.languages.target, model.target_language)};
}

absl::StatusOr<std::unique_ptr<FormattedDocument>> Parse(const v1::Document& source, const LanguageNames& languages,
                                                         int64_t max_bytes, std::string* mime_type) {
  const bool is_text = source.content().empty();
  if (is_text && source.keep_terms().empty()) return std::make_unique<PlainDocument>(source.text());
  const absl::StatusOr<DocumentType> type = TypeNamed(is_text ? "text/plain" : source.mime_type());
  if (!type.ok()) return absl::InvalidArgumentError(absl::StrCat("document.", type.status().message()));
  ParseOptions options{.source_language = languages.source, .target_language = languages.target};
  options.keep_terms.assign(source.keep_terms().begin(), source.keep_terms().end());
  const v1::ElementRules& named = source.elements();
  options.elements.keep.assign(named.keep().begin(), named.keep().end());
  options.elements.block.assign(named.block().begin(), named.block().end());
  options.elements.in_text.assign(named.in_text().begin(), named.in_text().end());
  options.elements.listed_only = named.listed_only();
  options.elements.keep_line_breaks = named.keep_line_breaks();
  options.lines = source.segmentation() == v1::SEGMENTATION_LINES;
  options.limits.max_bytes = kPartFactor * max_bytes;
  options.limits.max_unpacked_bytes = kUnpackedFactor * max_bytes;
  ParsedDocument document = ParseDocument(*type->format, is_text ? source.text() : source.content(), options);
  if (!document.ok()) return InDocument(is_text ? "text" : "content", document.status());
  if (!is_text) *mime_type = std::string(type->mime_type);
  return document;
}

absl::StatusOr<Glossary> GlossaryOf(const v1::Glossary& request, const std::string& own, int64_t max_bytes,
                                    LanguageResources& resources) {
  Glossary glossary;
  if (!own.empty() || !request.name().empty()) {
    const auto named = own.empty() ? resources.GlossaryNamed(request.name()) : resources.GlossaryOfClient(own);
    if (!named.ok()) return named.status();
    glossary = Glossary(*named);
  }
  const absl::Status file = glossary.AddLines(request.content(), {.max_bytes = max_bytes, .max_units = kMostEntries});
  if (!file.ok()) return absl::InvalidArgumentError(absl::StrCat("glossary.content: ", file.message()));
  for (const v1::Term& term : request.terms()) {
    const absl::Status added = glossary.Add({term.source(), term.target(), term.match_case(), term.inflects()});
    if (!added.ok()) return absl::InvalidArgumentError(absl::StrCat("glossary.terms: ", added.message()));
  }
  return glossary;
}

absl::StatusOr<TranslationMemory> MemoryOf(const v1::Memory& request, const LanguageNames& languages, int64_t max_bytes,
                                           LanguageResources& resources) {
  TranslationMemory memory;
  if (request.server()) {
    const auto of_server = resources.MemoryOf(languages.source, languages.target);
    if (!of_server.ok()) return of_server.status();
    memory = TranslationMemory(*of_server);
  }
  int64_t entries = 0;
  for (int i = 0; i < request.files_size(); ++i) {
    const absl::StatusOr<TranslationMemory> file =
        TranslationMemory::Load(request.files(i).content(), request.files(i).mime_type(), languages.source,
                                languages.target, {.max_bytes = max_bytes, .max_units = kMostEntries});
    if (!file.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("memory.files[", i, "]: ", file.status().message()));
    }
    entries += static_cast<int64_t>(file->size());
    if (absl::Status status = CheckCount("memory.files", entries, kMostEntries); !status.ok()) return status;
    memory.Add(*file);
  }
  for (const v1::MemoryEntry& entry : request.entries()) memory.Add(entry.source(), entry.translation());
  return memory;
}

size_t BytesOf(const std::vector<Suggestion>& suggestions) {
  size_t bytes = 0;
  for (const Suggestion& one : suggestions) bytes += sizeof(one) + one.source.size() + one.translation.size();
  return bytes;
}

absl::Status TooMuchKnown() {
  return absl::InvalidArgumentError(
      absl::StrCat("memory: its translations and suggestions for all segments take more than ", kMostMemoryBytes,
                   " bytes; leave out the longest entries, or split the document"));
}

// The segment `index`, which repeats one before it.
v1::TranslatedSegment Repeat(v1::TranslatedSegment segment, size_t index) {
  segment.set_index(static_cast<int32_t>(index));
  segment.set_origin(v1::ORIGIN_REPEAT);
  segment.set_target_tokens(0);
  return segment;
}

bool HasMarkers(const std::vector<Unit>& units) {
  return std::any_of(units.begin(), units.end(), [](const Unit& unit) { return !unit.markers.empty(); });
}

}  // namespace

bool Conversion::Needed(const v1::TranslateDocumentRequest& request) {
  const v1::Document& document = request.document();
  if (!document.content().empty() || request.has_glossary() || request.has_memory()) return true;
  const bool has_rules =
      !document.keep_terms().empty() || document.has_elements() || document.markup() != v1::MARKUP_UNSPECIFIED;
  return has_rules && !document.text().empty();
}

absl::StatusOr<UnitSegments> Conversion::Cut(const v1::TranslateDocumentRequest& request, const std::string& language,
                                             const FormattedDocument& document, int32_t markers,
                                             const Glossary& glossary) {
  SegmentOptions options{.source_language = language, .markers = markers};
  const bool lines = request.document().segmentation() == v1::SEGMENTATION_LINES;
  options.segmentation = lines ? Segmentation::kLines : Segmentation::kSentences;
  options.glossary = &glossary;
  absl::StatusOr<UnitSegments> segments = UnitSegments::Create(document.units(), options);
  if (segments.ok()) return segments;
  return InDocument(request.document().content().empty() ? "text" : "content", segments.status());
}

absl::StatusOr<std::unique_ptr<Conversion>> Conversion::Create(const v1::TranslateDocumentRequest& request,
                                                               const ModelConfig& model, LanguageResources& resources,
                                                               int64_t max_bytes, const std::string& own_glossary) {
  if (absl::Status status = CheckRequest(request, max_bytes); !status.ok()) return status;
  const absl::StatusOr<v1::Markup> markup = MarkupFor(request.document(), model);
  if (!markup.ok()) return markup.status();
  std::string mime_type;
  const LanguageNames languages = LanguagesOf(request, model);
  ParsedDocument document = Parse(request.document(), languages, max_bytes, &mime_type);
  if (!document.ok()) return document.status();
  const int32_t markers = *markup == v1::MARKUP_MARKERS ? model.tokens.markers : 0;
  const absl::StatusOr<Glossary> glossary = GlossaryOf(request.glossary(), own_glossary, max_bytes, resources);
  if (!glossary.ok()) return glossary.status();
  absl::StatusOr<UnitSegments> segments = Cut(request, languages.source, **document, markers, *glossary);
  if (!segments.ok()) return segments.status();
  const absl::StatusOr<TranslationMemory> memory = MemoryOf(request.memory(), languages, max_bytes, resources);
  if (!memory.ok()) return memory.status();

  std::unique_ptr<Conversion> conversion(new Conversion(*std::move(document), *std::move(segments)));
  conversion->mime_type_ = std::move(mime_type);
  conversion->shows_alignment_ = request.alignment();
  if (absl::Status status = conversion->Decide(request.memory(), *memory); !status.ok()) return status;
  const UnitSegments& cut = conversion->segments_;
  bool& has_terms = conversion->has_terms_;
  for (size_t i = 0; i < cut.texts().size(); ++i) has_terms = has_terms || cut.has_terms(i);
  const bool places = HasMarkers(conversion->document_->units()) || has_terms;

  std::vector<bool> left_out;
  for (const Fate& fate : conversion->fates_) left_out.push_back(fate.asked < 0);
  conversion->request_ = request;
  conversion->request_.clear_glossary();
  conversion->request_.clear_memory();
  conversion->aligns_markers_ = request.alignment() || *markup == v1::MARKUP_ALIGNMENT;
  const bool aligns_terms = has_terms && *markup != v1::MARKUP_MARKERS;
  conversion->request_.set_alignment(request.alignment() || aligns_terms || (conversion->aligns_markers_ && places));
  v1::Document& text = *conversion->request_.mutable_document();
  text.clear_content();
  text.set_text(cut.lines(left_out));
  if (absl::Status status = CheckBytes(request.document(), "its segments have ", text.text().size(), max_bytes);
      !status.ok()) {
    return status;
  }
  // Nothing to translate is a document of the engine's, too: one without a letter.
  if (text.text().empty()) text.set_text("\n");
  text.set_segmentation(v1::SEGMENTATION_LINES);
  return conversion;
}

int64_t Conversion::bytes() const {
  size_t bytes = document_->bytes() + request_.ByteSizeLong() + segments_.bytes();
  for (const Fate& fate : fates_) bytes += sizeof(fate) + fate.translation.size();
  bytes += suggestions_.size() * sizeof(std::vector<Suggestion>);
  for (const std::vector<Suggestion>& suggestions : suggestions_) bytes += BytesOf(suggestions);
  return static_cast<int64_t>(bytes);
}

// Which segments are translated, and where the others' translations are from.
absl::Status Conversion::Decide(const v1::Memory& request, const TranslationMemory& memory) {
  std::unordered_map<std::string, int32_t> first;  // segment by its text
  const bool suggests = request.has_suggestions_from();
  TranslationMemory::Steps steps;
  size_t bytes = 0;
  for (size_t i = 0; i < segments_.texts().size(); ++i) {
    const std::string& text = segments_.texts()[i];
    const std::string plain = WithoutSpelled(text);
    const auto index = static_cast<int32_t>(i);
    Fate fate;
    if (const std::string* known = memory.Find(plain); known != nullptr) {
      bytes += known->size();
      if (bytes > kMostMemoryBytes) return TooMuchKnown();
      fate.translation = *known;
    } else if (const auto [seen, is_new] = first.emplace(text, index); !is_new && request.repeats()) {
      fate.same_as = seen->second;
      fates_[seen->second].is_repeated = true;
    } else {
      fate.asked = static_cast<int32_t>(asked_.size());
      asked_.push_back(index);
    }
    fates_.push_back(std::move(fate));
    if (!suggests) continue;
    suggestions_.push_back(fates_.back().asked < 0
                               ? std::vector<Suggestion>()
                               : memory.FindAlike(plain, steps, request.suggestions_from(), kMostSuggestions));
    bytes += BytesOf(suggestions_.back());
    if (bytes > kMostMemoryBytes) return TooMuchKnown();
  }
  return absl::OkStatus();
}

// A segment whose translation the memory has.
v1::TranslatedSegment Conversion::Known(size_t index) const {
  v1::TranslatedSegment segment;
  segment.set_index(static_cast<int32_t>(index));
  segment.set_source(WithoutSpelled(segments_.texts()[index]));
  segment.set_text(fates_[index].translation);
  segment.set_origin(v1::ORIGIN_MEMORY);
  return segment;
}

std::optional<std::string> Conversion::BeginningWithTerm(const TranslatedSegment& segment, size_t kept) const {
  const auto asked = static_cast<size_t>(segment.index);
  if (asked >= asked_.size()) return std::nullopt;
  return segments_.BeginningWithTerm(asked_[asked], segment.text, segment.alignment, kept);
}

// One of the engine's as the document's: with its terms; `text` still has the markers that it spells.
v1::TranslatedSegment Conversion::Final(size_t index, v1::TranslatedSegment segment,
                                        std::vector<TokenLink>* links) const {
  for (const v1::TokenLink& link : segment.alignment()) {
    links->push_back({link.source_begin(), link.source_end(), link.target_begin(), link.target_end()});
  }
  std::vector<TermUse> uses;
  std::string text = segments_.WithTerms(index, segment.text(), links, &uses);
  segment.set_index(static_cast<int32_t>(index));
  segment.set_source(WithoutSpelled(segment.source()));
  segment.clear_alignment();
  // Where markers are spelled its bytes are not those of the texts that are shown.
  if (shows_alignment_ && text == WithoutSpelled(text) && segment.source() == segments_.texts()[index]) {
    for (const TokenLink& link : *links) *segment.add_alignment() = ToProto(link);
  }
  segment.set_text(std::move(text));
  for (TermUse& use : uses) {
    v1::TermUse* one = segment.add_terms();
    one->set_source(std::move(use.source));
    one->set_target(std::move(use.target));
    one->set_used(use.used);
  }
  if (suggestions_.empty()) return segment;
  for (const Suggestion& suggestion : suggestions_[index]) {
    v1::Suggestion* one = segment.add_suggestions();
    one->set_source(suggestion.source);
    one->set_translation(suggestion.translation);
    one->set_score(suggestion.score);
  }
  return segment;
}

std::vector<v1::TranslatedSegment> Conversion::Shown(v1::TranslatedSegment segment, Repeated& repeated) const {
  std::vector<v1::TranslatedSegment> shown;
  const auto asked = static_cast<size_t>(segment.index());
  if (asked >= asked_.size()) return shown;
  const int32_t before = asked == 0 ? -1 : asked_[asked - 1];
  for (int32_t i = before + 1; i < asked_[asked]; ++i) {
    const int32_t same_as = fates_[i].same_as;
    shown.push_back(same_as < 0 ? Known(i) : Repeat(repeated[same_as], i));
  }
  std::vector<TokenLink> links;
  shown.push_back(Final(asked_[asked], std::move(segment), &links));
  shown.back().set_text(WithoutSpelled(shown.back().text()));
  if (fates_[asked_[asked]].is_repeated) repeated[asked_[asked]] = shown.back();
  return shown;
}

std::vector<v1::TranslatedSegment> Conversion::NotShown(const v1::TranslateDocumentResponse& reply) const {
  std::vector<v1::TranslatedSegment> segments;
  const size_t shown_to = asked_.empty() ? 0 : static_cast<size_t>(asked_.back()) + 1;
  for (size_t i = shown_to; i < fates_.size(); ++i) segments.push_back(reply.segments(static_cast<int>(i)));
  return segments;
}

v1::Progress Conversion::OfDocument(v1::Progress progress) const {
  const auto done = static_cast<size_t>(progress.segments_done());
  const auto all = static_cast<int32_t>(fates_.size());
  progress.set_segments_done(done < asked_.size() ? asked_[done] : all);
  progress.set_segments_total(all);
  return progress;
}

absl::Status Conversion::Render(v1::TranslateDocumentResponse* reply) const {
  if (reply->segments_size() != static_cast<int>(asked_.size())) {
    return absl::InternalError(absl::StrCat("the document has ", asked_.size(),
                                            " segments to translate, its translation ", reply->segments_size()));
  }
  std::vector<std::string> translations;
  std::vector<Alignment> alignments;
  google::protobuf::RepeatedPtrField<v1::TranslatedSegment> asked;
  asked.Swap(reply->mutable_segments());
  for (size_t i = 0; i < fates_.size(); ++i) {
    const Fate& fate = fates_[i];
    alignments.emplace_back();
    if (fate.same_as >= 0) {
      v1::TranslatedSegment segment = Repeat(reply->segments(fate.same_as), i);
      *reply->add_segments() = std::move(segment);
      translations.push_back(translations[fate.same_as]);
      alignments.back() = alignments[fate.same_as];
    } else if (fate.asked < 0) {
      *reply->add_segments() = Known(i);
      translations.push_back(fate.translation);
    } else {
      std::vector<TokenLink> links;
      v1::TranslatedSegment segment = Final(i, std::move(asked[fate.asked]), &links);
      translations.push_back(segment.text());
      if (aligns_markers_ && !links.empty()) alignments.back() = segments_.AlignmentOf(i, segment.text(), links);
      segment.set_text(WithoutSpelled(segment.text()));
      *reply->add_segments() = std::move(segment);
    }
  }
  absl::StatusOr<std::string> content = document_->Render(segments_.Join(translations, alignments));
  if (!content.ok()) return absl::InternalError(absl::StrCat("document.content: ", content.status().message()));
  reply->mutable_report()->set_segments(static_cast<int32_t>(fates_.size()));
  if (mime_type_.empty()) {
    reply->set_text(*std::move(content));
    return absl::OkStatus();
  }
  reply->clear_text();
  reply->set_content(*std::move(content));
  reply->set_mime_type(mime_type_);
  return absl::OkStatus();
}

}  // namespace salient
