#include "client/flags.h"

#include <cstdint>
#include <iostream>
#include <set>
#include <string>
#include <string_view>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/help.h"
#include "cli/numbers.h"
#include "cli/sources.h"
#include "cli/version.h"
#include "client/documents.h"
#include "client/request_flags.h"
#include "documents/formats/memory_file.h"
#include "engine/base/files.h"

namespace salient {
namespace {

constexpr char kVariablePrefix[] = "SALIENT_";

// Names: --config may name one file for all commands.
std::set<std::string> OptionsOfAllCommands();

constexpr char kUsage[] = R"(Translates whole documents with a salient-server.

  salient translate FILE...    translates documents, and reports the cost of each
  salient models               lists the models of a server and what they support
  salient tune FILE...         measures which setting suits your documents and this server
  salient bench FILE...        sends documents at a rate, and reports latencies

  salient --version

Each command has its own --help.
)";

constexpr char kTranslateDescription[] = R"(Translates documents.

  salient translate report.txt > report.de.txt
  salient translate *.txt --out translated/ --selection ratio:0.05 --exit geometric
  salient translate page.html notes.md report.docx film.srt --to de --out german/
  echo "Good morning." | salient translate --selection dense)";

constexpr char kTranslateFooter[] =
    R"(The translation goes to standard output. With --out it goes to a file or, for several documents, to a folder, in
which report.docx becomes report.de.docx with --to de. If FILE is a folder, all documents in it whose names have a known
extension are translated, into folders of the same names; what is in the folder of --out is not. A translated document
has the format of its source. Progress and the table of costs go to standard error. --report json prints one JSON object
for each document to standard output, with the field names of CostReport; without --out, its field "text" has the
translation. If a document fails, the error is reported (as "error" in the JSON), the other documents are translated,
and the exit status is 1.

Every option can also be set by an environment variable, named SALIENT_ and the option in capitals with underscores
(SALIENT_SERVER=host:50051), or in the file of --config. The command line overrides the environment, and the environment
overrides the file. One file may serve all commands of `salient`; what is an option of none of them is refused.)";

// CLI11 itself makes another seed of one that is negative or too large.
std::string CheckSeed(const std::string& typed) {
  uint64_t seed = 0;
  return absl::SimpleAtoi(typed, &seed) ? "" : absl::StrCat("'", typed, "' is not a whole number of 64 bits");
}

void AddWhat(CLI::App& app, TranslateFlags& flags, RawFlags& raw) {
  AddFiles(app, flags.files, "Documents, or folders of documents; - or none: standard input");
  AddModel(app, raw);
  AddFormat(app, raw);
  app.add_option("--keep", raw.keep, "A name or term that is not translated, in exactly this spelling; may be repeated")
      ->type_name("TERM")
      ->allow_extra_args(false)
      ->group("Languages");
  app.add_option("--markup", raw.markup,
                 "How markup and placeholders get into the translation: markers (the model writes them), alignment, or "
                 "place. Default: alignment if the model names the layer that aligns, otherwise place")
      ->type_name("WAY")
      ->check(CLI::IsMember({"markers", "alignment", "place"}))
      ->group("Languages");
  app.add_option("--glossary", raw.glossary, "A glossary that the server has; --glossary-file sends one")
      ->type_name("NAME")
      ->group("Terms and memory");
  app.add_option("--glossary-file", raw.glossary_file,
                 "A file of terms: lines of source, tab, translation, and perhaps a tab and flags")
      ->type_name("FILE")
      ->group("Terms and memory");
  app.add_option("--term", raw.terms, "A term and its translation, as SOURCE=TARGET; may be repeated")
      ->type_name("TERM")
      ->allow_extra_args(false)
      ->group("Terms and memory");
  app.add_flag("--memory", raw.memory, "Take translations of whole segments from the server's memory")
      ->group("Terms and memory");
  app.add_option(
         "--memory-file", raw.memory_files,
         "A file of translations to take: TMX, PO, or lines of source, tab, translation (.tsv); may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group("Terms and memory");
  app.add_flag("--repeats", raw.repeats, "Translate segments that are the same only once")->group("Terms and memory");
  app.add_flag("--lines", raw.lines, "Each line is a segment, for text that is already split")->group("Languages");
}

void AddOutput(CLI::App& app, TranslateFlags& flags, RawFlags& raw) {
  app.add_option("--out", flags.out, "Where translations go: a file, or a folder (made if it ends in /)")
      ->type_name("FILE|DIR")
      ->group("Output");
  app.add_flag("--trace", raw.trace,
               "Report the exit layer, probability and selected positions of each token; needs --report json")
      ->group("Output");
  app.add_flag("--quiet,-q", flags.quiet, "No progress and no table; errors only")->group("Output");
  app.add_option("--timeout", flags.timeout_seconds, "Time limit for a document; 0: none")
      ->type_name("SECONDS")
      ->check(Between(0.0, 1e7))
      ->capture_default_str()
      ->group("Server");
  app.add_option("--parallel", flags.parallel, "Documents sent at once, which the server translates together")
      ->check(CLI::Range(1, 256))
      ->capture_default_str()
      ->group("Server");
}

// A file that is sent with each request. The server says what is wrong with its contents.
std::string ReadResource(const std::string& option, const std::string& path) {
  absl::StatusOr<std::string> bytes =
      path == "-" ? ReadToEnd(stdin, kMostDocumentBytes) : ReadBytes(path, kMostDocumentBytes);
  if (!bytes.ok()) throw CLI::ValidationError(option + ": " + path + " " + std::string(bytes.status().message()));
  return *std::move(bytes);
}

void FillTerms(const RawFlags& raw, v1::TranslateDocumentRequest* request) {
  if (!raw.glossary.empty()) request->mutable_glossary()->set_name(raw.glossary);
  if (!raw.glossary_file.empty()) {
    request->mutable_glossary()->set_content(ReadResource("--glossary-file", raw.glossary_file));
  }
  for (const std::string& pair : raw.terms) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos) throw CLI::ValidationError("--term: " + pair + " is not SOURCE=TARGET");
    v1::Term* term = request->mutable_glossary()->add_terms();
    term->set_source(pair.substr(0, equals));
    term->set_target(pair.substr(equals + 1));
  }
  if (raw.memory) request->mutable_memory()->set_server(true);
  for (const std::string& path : raw.memory_files) {
    const auto mime_type = MemoryMimeTypeOfFile(path);
    if (!mime_type.ok()) throw CLI::ValidationError("--memory-file: " + std::string(mime_type.status().message()));
    v1::MemoryFile* file = request->mutable_memory()->add_files();
    file->set_content(ReadResource("--memory-file", path));
    file->set_mime_type(std::string(*mime_type));
  }
  if (raw.repeats) request->mutable_memory()->set_repeats(true);
}

void Fill(const RawFlags& raw, TranslateFlags& flags) {
  flags.report = ReadReport(raw.report);
  flags.format = ReadFormat(raw);
  const bool needs_json = raw.n_best.value_or(1) > 1 || raw.trace;
  if (needs_json && flags.report != ReportFormat::kJson) {
    throw CLI::ValidationError(std::string(raw.trace ? "--trace" : "--n-best") +
                               ": needs --report json, which is where its results go");
  }
  if (flags.files.empty()) flags.files = {"-"};
  v1::TranslateDocumentRequest& request = flags.request;
  FillModel(raw, &request);
  for (const std::string& term : raw.keep) request.mutable_document()->add_keep_terms(term);
  if (raw.lines) request.mutable_document()->set_segmentation(v1::SEGMENTATION_LINES);
  if (!raw.markup.empty()) {
    request.mutable_document()->set_markup(raw.markup == "markers"     ? v1::MARKUP_MARKERS
                                           : raw.markup == "alignment" ? v1::MARKUP_ALIGNMENT
                                                                       : v1::MARKUP_PLACE);
  }
  FillTerms(raw, &request);
  FillControls(raw, &request);
  FillSearch(raw, request.mutable_search());
  request.set_trace(raw.trace);
}

void AddTranslate(CLI::App& app, TranslateFlags& flags, RawFlags& raw) {
  AddWhat(app, flags, raw);
  AddControls(app, raw);
  AddSearch(app, raw);
  AddCommon(app, flags.connection, raw.report);
  AddOutput(app, flags, raw);
}

ParsedClientFlags ParseTranslate(int argc, const char* const* argv) {
  ParsedClientFlags parsed;
  TranslateFlags flags;
  RawFlags raw;
  CLI::App app(kTranslateDescription, "salient translate");
  app.footer(kTranslateFooter);
  app.formatter(HelpFormatter());
  AddTranslate(app, flags, raw);
  ReadEnvironmentAndConfig(app, kVariablePrefix, OptionsOfAllCommands());
  try {
    app.parse(argc, argv);
    Fill(raw, flags);
    parsed.translate = flags;
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? 0 : 2;
  }
  return parsed;
}

ParsedClientFlags ParseModels(int argc, const char* const* argv) {
  ParsedClientFlags parsed;
  ModelsFlags flags;
  std::string report = "table";
  CLI::App app("Lists a server's models: languages, size, the controls they are trained for, measured settings.",
               "salient models");
  app.formatter(HelpFormatter());
  AddCommon(app, flags.connection, report);
  ReadEnvironmentAndConfig(app, kVariablePrefix, OptionsOfAllCommands());
  try {
    app.parse(argc, argv);
    flags.report = ReadReport(report);
    parsed.models = flags;
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? 0 : 2;
  }
  return parsed;
}

constexpr char kBenchDescription[] = R"(Sends documents to a server at a given rate, and reports latencies.

  salient bench letter.txt report.txt --rate 2 --seconds 60
  salient bench *.txt --rate 1 --end-rate 20 --settings settings.jsonl --report json
  salient bench letter.txt --to de --model en-de    # if the server has several models)";

constexpr char kBenchFooter[] =
    R"(Arrivals are a Poisson process, however slow the server is. The latency of a document counts from the time at
which it should have been sent, so that waiting for a slow server is included. Each arrival chooses a document and a
setting at random, by --seed. Refused documents are counted by their status code, and not retried.)";

void AddLoad(CLI::App& app, BenchFlags& flags) {
  AddFiles(app, flags.files, "Documents, UTF-8 text")->required();
  app.add_option("--rate", flags.rate, "Documents per second")
      ->check(Between(0.001, 1e6))
      ->capture_default_str()
      ->group("Load");
  app.add_option("--end-rate", flags.end_rate, "Documents per second at the end. Default: the value of --rate")
      ->check(Between(0.001, 1e6))
      ->group("Load");
  app.add_option("--seconds", flags.seconds, "How long documents are sent")
      ->check(Between(0.1, 1e6))
      ->capture_default_str()
      ->group("Load");
  app.add_option(
         "--settings", flags.settings,
         "File of settings to choose from: each line is a TranslateDocumentRequest in JSON, without the document")
      ->type_name("FILE")
      ->group("Load");
  app.add_option("--in-flight", flags.in_flight,
                 "The most documents in flight; further documents are counted, but not sent")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str()
      ->group("Load");
  app.add_option("--timeout", flags.timeout_seconds, "Time limit for a document; 0: none")
      ->type_name("SECONDS")
      ->check(Between(0.0, 1e6))
      ->capture_default_str()
      ->group("Load");
  app.add_option("--seed", flags.seed, "Random seed of the arrivals and the choices")
      ->check(CLI::Validator(CheckSeed, ""))
      ->capture_default_str()
      ->group("Load");
  app.add_flag("--quiet", flags.quiet, "No progress")->group("Output");
}

void AddBench(CLI::App& app, BenchFlags& flags, RawFlags& raw) {
  AddLoad(app, flags);
  AddModel(app, raw);
  AddControls(app, raw);
  AddSearch(app, raw);
  AddCommon(app, flags.connection, raw.report);
}

ParsedClientFlags ParseBench(int argc, const char* const* argv) {
  ParsedClientFlags parsed;
  BenchFlags flags;
  RawFlags raw;
  CLI::App app(kBenchDescription, "salient bench");
  app.footer(kBenchFooter);
  app.formatter(HelpFormatter());
  AddBench(app, flags, raw);
  ReadEnvironmentAndConfig(app, kVariablePrefix, OptionsOfAllCommands());
  try {
    app.parse(argc, argv);
    if (app.count("--end-rate") == 0) flags.end_rate = flags.rate;
    flags.report = ReadReport(raw.report);
    FillModel(raw, &flags.request);
    FillControls(raw, &flags.request);
    FillSearch(raw, flags.request.mutable_search());
    parsed.bench = flags;
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? 0 : 2;
  }
  return parsed;
}

constexpr char kTuneDescription[] =
    R"(Measures which setting your requests should use, on your documents and this server.

  salient tune letter.txt report.docx
  salient tune letter.txt report.txt --reference letter.de.txt --reference report.de.txt --tolerance 0.3
  salient tune samples/ --to de --settings settings.jsonl --rounds 5 --report json)";

constexpr char kTuneFooter[] =
    R"(Use documents like those that you will translate, and let the server do nothing else meanwhile. Every setting
translates them one at a time, in several rounds. Without --settings, the settings are what the model is trained for:
dense attention at full depth, its operating points, selection, exits, the shortlist, and a beam. The guard is off,
unless a setting names it.

The table is sorted by time:
  s/1000 tokens   seconds for 1,000 source tokens: the median of the rounds, without time in the queue
  times as fast   compared with the baseline, which is the first setting: dense attention at full depth
  attention       the work of attention, relative to dense attention
  mean exit       the mean of the decoder layers at which tokens were predicted
  chrF, lost      similarity to the references, 0 to 100, and what is lost against the best setting
A * marks the settings that no other one beats: none is at least as fast and as good, and better in one of the two.

Without --reference, chrF compares with the baseline's own translation, which therefore has 100. That shows how much a
setting changes, not which translation is better. A beam, for example, changes much, and is mostly better.

The last line names the fastest setting that loses at most --tolerance, as flags of `salient translate`. With --report
json each setting is an object on a line of its own; its field "request" can be sent, and be a line of --settings. A
setting that the server refuses is told and left out.)";

void AddMeasurement(CLI::App& app, TuneFlags& flags) {
  app.add_option("--settings", flags.settings,
                 "File of settings to compare: each line is a TranslateDocumentRequest in JSON, without the document; "
                 "the first is the baseline. Default: what the model is trained for")
      ->type_name("FILE")
      ->group("Measurement");
  app.add_option("--reference", flags.references,
                 "A human translation, plain text; give one for each document, in their order. Default: the "
                 "translation by the baseline")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group("Measurement");
  app.add_option("--tolerance", flags.tolerance, "How much chrF the recommended setting may lose against the best one")
      ->type_name("CHRF")
      ->check(Between(0.0, 100.0))
      ->capture_default_str()
      ->group("Measurement");
  app.add_option("--rounds", flags.rounds, "How often every setting translates all documents")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->group("Measurement");
  app.add_option("--timeout", flags.timeout_seconds, "Time limit for a document; 0: none")
      ->type_name("SECONDS")
      ->check(Between(0.0, 1e7))
      ->capture_default_str()
      ->group("Server");
  app.add_flag("--quiet,-q", flags.quiet, "No progress")->group("Output");
}

void AddTune(CLI::App& app, TuneFlags& flags, RawFlags& raw) {
  AddFiles(app, flags.files, "Documents, or folders of documents")->required();
  AddModel(app, raw);
  AddFormat(app, raw);
  AddMeasurement(app, flags);
  AddCommon(app, flags.connection, raw.report);
}

ParsedClientFlags ParseTune(int argc, const char* const* argv) {
  ParsedClientFlags parsed;
  TuneFlags flags;
  RawFlags raw;
  CLI::App app(kTuneDescription, "salient tune");
  app.footer(kTuneFooter);
  app.formatter(HelpFormatter());
  AddTune(app, flags, raw);
  ReadEnvironmentAndConfig(app, kVariablePrefix, OptionsOfAllCommands());
  try {
    app.parse(argc, argv);
    flags.report = ReadReport(raw.report);
    flags.format = ReadFormat(raw);
    FillModel(raw, &flags.request);
    parsed.tune = flags;
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? 0 : 2;
  }
  return parsed;
}

// `salient models` has only options that all of these have.
std::set<std::string> OptionsOfAllCommands() {
  TranslateFlags translate_flags;
  BenchFlags bench_flags;
  TuneFlags tune_flags;
  RawFlags raw;
  CLI::App translate, bench, tune;
  AddTranslate(translate, translate_flags, raw);
  AddBench(bench, bench_flags, raw);
  AddTune(tune, tune_flags, raw);
  std::set<std::string> names;
  for (const CLI::App* app : {&translate, &bench, &tune}) names.merge(OptionNames(*app));
  return names;
}

bool IsQuiet(const ParsedClientFlags& parsed) {
  return parsed.exit_code.has_value() || (parsed.translate.has_value() && parsed.translate->quiet) ||
         (parsed.bench.has_value() && parsed.bench->quiet) || (parsed.tune.has_value() && parsed.tune->quiet);
}

// Only of those that are like an option's: SALIENT_SERVER_MODEL and SALIENT_CPU_ISA are the server's, and others
// scripts' or Kubernetes's, which sets several for a service whose name is salient.
void WarnOfMisspeltVariables() {
  for (const auto& [name, meant] : MisspeltVariables(OptionsOfAllCommands(), kVariablePrefix)) {
    std::cerr << "salient: ignored the variable " << name << ", which is no option; is " << meant << " meant?\n";
  }
}

ParsedClientFlags ParseCommand(int argc, const char* const* argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  // A command's own parser takes the command's name for the program's.
  if (command == "translate") return ParseTranslate(argc - 1, argv + 1);
  if (command == "models") return ParseModels(argc - 1, argv + 1);
  if (command == "bench") return ParseBench(argc - 1, argv + 1);
  if (command == "tune") return ParseTune(argc - 1, argv + 1);
  ParsedClientFlags parsed;
  if (command == "--help" || command == "-h" || command == "help") {
    std::cout << kUsage;
    parsed.exit_code = 0;
  } else if (command == "--version") {
    std::cout << VersionLine("salient") << "\n";
    parsed.exit_code = 0;
  } else {
    if (!command.empty()) std::cerr << "salient: there is no command '" << command << "'\n\n";
    std::cerr << kUsage;
    parsed.exit_code = 2;
  }
  return parsed;
}

}  // namespace

ParsedClientFlags ParseClientFlags(int argc, const char* const* argv) {
  ParsedClientFlags parsed = ParseCommand(argc, argv);
  if (!IsQuiet(parsed)) WarnOfMisspeltVariables();
  return parsed;
}

}  // namespace salient
