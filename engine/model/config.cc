#include "engine/model/config.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/depth/exit.h"
#include "engine/model/json.h"

namespace salient {
namespace {

constexpr char kFormat[] = "salient-model/1";
constexpr char kPrefix[] = "config.json: ";
constexpr size_t kMaxBytes = 1 << 20;

constexpr int32_t kMaxWidth = 8192;        // d_model
constexpr int32_t kMaxFfnWidth = 1 << 18;  // one wide FFN of many layers
constexpr int32_t kMaxHeadWidth = 256;     // what attention kernels keep in registers
constexpr int32_t kMaxVocabulary = 1000000;
constexpr int32_t kMaxSelectionWidth = 1024;
constexpr int32_t kMaxKeys = 1 << 20;
constexpr size_t kMaxNameBytes = 64;
constexpr int32_t kMaxFirstPosition = 64;
constexpr size_t kMaxLanguages = 1000;
constexpr size_t kMaxByteCharacters = 4096;

// Names go into metric labels, URLs and file names.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                  c == '.' || c == '+';
         });
}

std::string Name(JsonObject& object, const std::string& field) {
  const std::string name = object.String(field);
  if (!IsPlainName(name)) {
    object.Fail(field, absl::StrCat("it must be 1 to ", kMaxNameBytes, " letters, digits, '-', '_', '.' or '+'"));
  }
  return name;
}

// The form of a BCP 47 tag: subtags of 1 to 8 letters and digits. Whether the language exists is not checked.
std::string Language(JsonObject& object, const std::string& field) {
  const std::string tag = object.String(field);
  size_t in_subtag = 0;
  bool valid = tag.size() >= 2 && tag.size() <= 35;
  for (const unsigned char c : tag) {
    const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    valid = valid && (alphanumeric ? in_subtag < 8 : c == '-' && in_subtag > 0);
    in_subtag = alphanumeric ? in_subtag + 1 : 0;
  }
  if (!valid || in_subtag == 0) object.Fail(field, "it must be a BCP 47 language, such as \"en\"");
  return tag;
}

// Returns `name`, or `earlier`, the field's name in earlier versions, if the object has only that one.
std::string NameOf(JsonObject& object, const std::string& name, const std::string& earlier) {
  return !object.Has(name) && object.Has(earlier) ? earlier : name;
}

int32_t Integer(JsonObject& object, const std::string& field, int32_t least, int32_t greatest) {
  return static_cast<int32_t>(object.Integer(field, least, greatest));
}

int32_t Multiple(JsonObject& object, const std::string& field, int32_t of, int32_t greatest) {
  const int32_t value = Integer(object, field, of, greatest);
  if (value % of != 0) object.Fail(field, absl::StrCat("it must be a multiple of ", of));
  return value;
}

FeedForwardKind ReadFeedForwardKind(JsonObject& ffn, bool decoder) {
  using Kind = FeedForwardKind;
  if (!decoder) {
    return ffn.Choice<Kind>("kind", {{"own", Kind::kOwn}, {"shared", Kind::kShared}, {"none", Kind::kNone}});
  }
  return ffn.Choice<Kind>(
      "kind", {{"own", Kind::kOwn}, {"shared", Kind::kShared}, {"encoder", Kind::kEncoder}, {"none", Kind::kNone}});
}

// `encoder`: null for the encoder's own stack; for the decoder's, the encoder's stack that was read before.
StackConfig ReadStack(JsonObject stack, const StackConfig* encoder) {
  StackConfig config;
  config.layers = Integer(stack, "layers", 1, kMaxLayers);
  JsonObject ffn = stack.Object("ffn");
  config.ffn = ReadFeedForwardKind(ffn, encoder != nullptr);
  if (config.ffn == FeedForwardKind::kNone) {
    Integer(ffn, "width", 0, kMaxFfnWidth);  // checked, but not used
  } else {
    config.ffn_width = Multiple(ffn, "width", 8, kMaxFfnWidth);
  }
  if (config.ffn == FeedForwardKind::kEncoder) {
    if (encoder->ffn != FeedForwardKind::kShared) {
      ffn.Fail("kind", "that takes encoder.ffn.kind \"shared\", for only a shared block can be borrowed");
    } else if (config.ffn_width != encoder->ffn_width) {
      ffn.Fail("width", absl::StrCat("it must be that of the encoder's block, ", encoder->ffn_width));
    }
  }
  ffn.Finish();
  stack.Finish();
  return config;
}

void ReadPositions(JsonObject positions, ModelConfig& config) {
  config.embedding_position =
      positions.Choice<EmbeddingPosition>("embedding", {{"none", EmbeddingPosition::kNone},
                                                        {"sinusoidal", EmbeddingPosition::kSinusoidal},
                                                        {"segment_sinusoidal", EmbeddingPosition::kSegmentSinusoidal}});
  config.self_rotary = positions.Choice<bool>("self_attention", {{"none", false}, {"rotary", true}});
  config.encoder_position = config.self_rotary ? SelfPosition::kRotary : SelfPosition::kNone;
  if (positions.Has("encoder_self_attention")) {
    config.encoder_position =
        positions.Choice<SelfPosition>("encoder_self_attention", {{"none", SelfPosition::kNone},
                                                                  {"rotary", SelfPosition::kRotary},
                                                                  {"segment_rotary", SelfPosition::kSegmentRotary}});
  }
  config.cross_position = positions.Choice<CrossPosition>(
      "cross_attention", {{"none", CrossPosition::kNone}, {"segment_rotary", CrossPosition::kSegmentRotary}});
  config.rotary_base = static_cast<float>(positions.Number("rotary_base", 1.5, 1e9));
  // Our sinusoids have the frequencies base^(-i / half). Those of "half_minus_one", 10000^(-i / (half - 1)), are the
  // same with another base.
  const bool less_one =
      positions.Has("sinusoid") && positions.Choice<bool>("sinusoid", {{"half", false}, {"half_minus_one", true}});
  const double half = config.d_model / 2;
  if (less_one && half < 2) positions.Fail("sinusoid", "that takes a d_model of 8 at least");
  if (less_one && half >= 2) config.sinusoid_base = std::pow(10000.0, half / (half - 1));
  if (positions.Has("offset")) config.first_position = Integer(positions, "offset", 0, kMaxFirstPosition);
  positions.Finish();
}

void ReadSelection(JsonObject selection, ModelConfig& config) {
  SelectionConfig& read = config.selection;
  config.has_selection = true;
  read.width = Multiple(selection, "width", 8, kMaxSelectionWidth);
  read.min_keys = Integer(selection, "min_keys", 1, kMaxKeys);
  JsonObject groups = selection.Object("group");
  for (int m = 0; m < kModules; ++m) {
    const Module module = static_cast<Module>(m);
    read.group[m] = Integer(groups, ModuleName(module), 1, config.layers(module));
  }
  groups.Finish();
  JsonObject ratios = selection.Object(NameOf(selection, "learned_ratio", "key_fraction"));
  bool any = false;
  for (int m = 0; m < kModules; ++m) any = any || ratios.Has(ModuleName(static_cast<Module>(m)));
  for (int m = 0; any && m < kModules; ++m) {
    const Module module = static_cast<Module>(m);
    read.learned_ratio[m] = ratios.Numbers(ModuleName(module));
    const auto is_ratio = [](double ratio) { return ratio > 0 && ratio <= 1; };
    if (!std::all_of(read.learned_ratio[m].begin(), read.learned_ratio[m].end(), is_ratio)) {
      ratios.Fail(ModuleName(module), "every ratio must be in (0, 1]");
    }
    if (static_cast<int32_t>(read.learned_ratio[m].size()) != config.groups(module)) {
      ratios.Fail(ModuleName(module),
                  absl::StrCat("it must have one ratio a selection layer, ", config.groups(module), " in all"));
    }
  }
  ratios.Finish();
  selection.Finish();
}

void ReadExits(JsonObject exits, ModelConfig& config) {
  config.has_exits = true;
  config.tied_classifiers = exits.Choice<bool>("classifier", {{"tied", true}, {"untied", false}});
  for (const std::string& head : exits.Strings("heads")) {
    bool* has = head == "sequence"      ? &config.sequence_head
                : head == "multinomial" ? &config.multinomial_head
                : head == "geometric"   ? &config.geometric_head
                                        : nullptr;
    if (has == nullptr || *has) {
      exits.Fail("heads", "each must be one of sequence, multinomial, geometric, and stand there once");
      break;
    }
    *has = true;
  }
  if (exits.Has("confidence")) {
    config.confidence = exits.Numbers("confidence");
    const auto is_threshold = [](double value) { return value >= 0 && value <= 1; };
    if (static_cast<int32_t>(config.confidence.size()) != config.decoder.layers ||
        !std::all_of(config.confidence.begin(), config.confidence.end(), is_threshold)) {
      exits.Fail("confidence", absl::StrCat("it must have one threshold in [0, 1] for each of the decoder's ",
                                            config.decoder.layers, " layers"));
    }
  }
  exits.Finish();
}

// Two special tokens may be the same only where decoding starts from the pad token or from the end token.
void ReadTokens(JsonObject tokens, ModelConfig& config) {
  SpecialTokens& read = config.tokens;
  int32_t* const ids[] = {&read.pad, &read.unknown, &read.begin, &read.end, &read.separator};
  const char* const names[] = {"pad", "unk", "bos", "eos", "separator"};
  for (int i = 0; i < 5; ++i) {
    if (ids[i] == &read.separator && tokens.IsNull("separator")) {
      read.separator = -1;
      continue;
    }
    *ids[i] = Integer(tokens, names[i], 0, config.vocab_size - 1);
    for (int j = 0; j < i; ++j) {
      const bool may_be_both = (ids[i] == &read.begin && ids[j] == &read.pad) ||
                               (ids[i] == &read.end && ids[j] == &read.begin && read.begin != read.pad);
      if (*ids[i] != *ids[j] || may_be_both) continue;
      tokens.Fail(names[i], absl::StrCat("but so is tokens.", names[j], "; each needs its own"));
    }
  }
  if (tokens.Has("source_end")) read.source_end = tokens.Boolean("source_end");
  if (tokens.Has("markers")) {
    JsonObject markers = tokens.Object("markers");
    read.first_marker = Integer(markers, "first", 0, config.vocab_size - 1);
    read.markers = Integer(markers, "count", 0, std::min(kMaxMarkers, config.vocab_size - read.first_marker));
    for (int32_t* id : ids) {
      if (*id < read.first_marker || *id >= read.first_marker + read.markers) continue;
      markers.Fail("first", absl::StrCat("the markers hold token ", *id, ", which is special already"));
    }
    markers.Finish();
  }
  if (tokens.Has("byte_characters")) {
    config.byte_characters = tokens.String("byte_characters");
    if (config.byte_characters->size() > kMaxByteCharacters) {
      tokens.Fail("byte_characters", absl::StrCat("it may have ", kMaxByteCharacters, " bytes"));
    }
    if (read.markers < 2) tokens.Fail("byte_characters", "that takes tokens.markers, two at least");
  }
  if (std::max({read.unknown, read.end, read.separator}) >= config.source_vocab_size) {
    tokens.Fail("eos",
                "it, tokens.unk and tokens.separator must be in the source's vocabulary, too, whose "
                "source_vocab_size is less");
  }
  tokens.Finish();
}

std::vector<std::string> LanguageNames(JsonObject& languages, const std::string& field) {
  std::vector<std::string> names = languages.Strings(field);
  if (names.empty() || names.size() > kMaxLanguages) {
    languages.Fail(field, absl::StrCat("it must name 1 to ", kMaxLanguages, " languages"));
  }
  return names;
}

void ReadLanguages(JsonObject languages, ModelConfig& config) {
  LanguagesConfig& read = config.languages;
  config.has_languages = true;
  read.source = LanguageNames(languages, "source");
  read.target = LanguageNames(languages, "target");
  read.source_prefix = languages.Choice<SourcePrefix>(
      "source_prefix",
      {{"none", SourcePrefix::kNone}, {"source", SourcePrefix::kSource}, {"target", SourcePrefix::kTarget}});
  read.target_prefix = languages.Choice<bool>("target_prefix", {{"none", false}, {"target", true}});
  JsonObject tokens = languages.Object("tokens");
  int32_t vocabulary = std::max(config.vocab_size, config.source_vocab_size);
  if (config.source_has_languages()) vocabulary = std::min(vocabulary, config.source_vocab_size);
  if (config.target_has_languages()) vocabulary = std::min(vocabulary, config.vocab_size);
  const auto read_token = [&](const std::string& name) {
    if (read.tokens.count(name) > 0) return;
    const int32_t token = read.tokens[name] = Integer(tokens, name, 0, vocabulary - 1);
    const SpecialTokens& special = config.tokens;
    if (token == special.unknown || token == special.end || token == special.separator ||
        special.MarkerOf(token) >= 0) {
      tokens.Fail(name, "it must be neither a special token nor a marker");
    }
  };
  const std::vector<std::string> every = tokens.Names();
  if (every.size() > kMaxLanguages) languages.Fail("tokens", absl::StrCat("it may have ", kMaxLanguages, " languages"));
  std::for_each(every.begin(), every.begin() + std::min(every.size(), kMaxLanguages), read_token);
  const bool source_has = read.source_prefix == SourcePrefix::kSource;
  const bool target_has = read.target_prefix || read.source_prefix == SourcePrefix::kTarget;
  for (const auto& [names, needed] : {std::pair(&read.source, source_has), std::pair(&read.target, target_has)}) {
    for (const std::string& name : *names) {
      if (needed && read.tokens.count(name) == 0) {
        languages.Fail("tokens", absl::StrCat("it has no token of the language ", name));
        break;
      }
    }
  }
  tokens.Finish();
  languages.Finish();
}

void ReadSearch(JsonObject search, ModelConfig& config) {
  config.length_penalty = search.Number("length_penalty", 0, kMaxLengthPenalty);
  for (const double token : search.Numbers("suppressed")) {
    if (!(token >= 0 && token < config.vocab_size) || token != std::floor(token)) {
      search.Fail("suppressed", absl::StrCat("every token must be in [0, ", config.vocab_size - 1, "]"));
      break;
    }
    config.suppressed.push_back(static_cast<int32_t>(token));
  }
  const auto is_end = [&](int32_t token) { return token == config.tokens.end || token == config.tokens.separator; };
  if (std::any_of(config.suppressed.begin(), config.suppressed.end(), is_end)) {
    search.Fail("suppressed", "without the end token or the separator no translation could end");
  }
  search.Finish();
}

// Fields for variants of other toolkits' models. Each of them is optional.
void ReadVariants(JsonObject& object, ModelConfig& config) {
  config.source_vocab_size = config.vocab_size;
  if (object.Has("source_vocab_size")) {
    config.has_source_vocabulary = true;
    config.source_vocab_size = Integer(object, "source_vocab_size", 8, kMaxVocabulary);
  }
  if (object.Has("output")) config.own_output = object.Choice<bool>("output", {{"tied", false}, {"own", true}});
  if (object.Has("embedding_norm")) config.embedding_norm = object.Boolean("embedding_norm");
  if (object.Has("autoregression")) {
    config.autoregression = object.Choice<Autoregression>(
        "autoregression", {{"attention", Autoregression::kAttention}, {"ssru", Autoregression::kSsru}});
  }
}

void ReadWidths(JsonObject& object, ModelConfig& config) {
  config.vocab_size = Integer(object, "vocab_size", 8, kMaxVocabulary);
  config.d_model = Multiple(object, "d_model", 8, kMaxWidth);
  config.heads = Integer(object, "heads", 1, kMaxWidth);
  if (config.d_model % config.heads != 0) {
    object.Fail("heads", absl::StrCat("it must divide d_model, ", config.d_model));
  } else if (config.head_width() % 2 != 0 || config.head_width() > kMaxHeadWidth) {
    object.Fail("heads", absl::StrCat("d_model / heads is then ", config.head_width(), "; it must be even and at most ",
                                      kMaxHeadWidth));
  }
}

}  // namespace

absl::StatusOr<ModelConfig> ModelConfig::Parse(std::string_view json) {
  absl::StatusOr<Json> parsed = ParseJson(json, "config.json", {.bytes = kMaxBytes});
  if (!parsed.ok()) return parsed.status();
  absl::Status status;
  JsonObject object(*parsed, kPrefix, "", status);
  ModelConfig config;
  if (object.String("format") != kFormat) object.Fail("format", absl::StrCat("it must be \"", kFormat, "\""));
  config.name = Name(object, "name");
  config.source_language = Language(object, "source_language");
  config.target_language = Language(object, "target_language");
  ReadWidths(object, config);
  ReadVariants(object, config);
  config.encoder = ReadStack(object.Object("encoder"), nullptr);
  config.decoder = ReadStack(object.Object("decoder"), &config.encoder);
  if (object.Has("alignment_layer")) config.aligns = Integer(object, "alignment_layer", 1, config.decoder.layers) - 1;
  config.pre_norm = object.Choice<bool>("norm", {{"pre", true}, {"post", false}});
  config.activation = object.Choice<Activation>(
      "activation", {{"relu", Activation::kRelu}, {"gelu", Activation::kGelu}, {"swish", Activation::kSwish}});
  config.layer_norm_epsilon = static_cast<float>(object.Number("layer_norm_epsilon", 1e-12, 1e-1));
  config.scale_embeddings = object.Boolean("scale_embeddings");
  ReadPositions(object.Object("positions"), config);
  // Both fields must be present, so that a forgotten field is not read as a model without that part.
  if (!object.IsNull("selection")) ReadSelection(object.Object("selection"), config);
  if (!object.IsNull("exits")) ReadExits(object.Object("exits"), config);
  if (config.recurs() && config.has_exits) {
    object.Fail("exits",
                "it must be null with autoregression \"ssru\": a state that an exit skips cannot be made later");
  }
  ReadTokens(object.Object("tokens"), config);
  if (object.Has("languages")) ReadLanguages(object.Object("languages"), config);
  if (object.Has("search")) ReadSearch(object.Object("search"), config);
  config.chunk_tokens = Integer(object, NameOf(object, "chunk_tokens", "window"), 16, kMaxChunkTokens);
  object.Finish();
  if (!status.ok()) return status;
  return config;
}

}  // namespace salient
