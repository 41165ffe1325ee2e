#include "server/flags.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>

#include "CLI/CLI.hpp"
#include "cli/help.h"
#include "cli/numbers.h"
#include "cli/sources.h"
#include "cli/version.h"
#include "engine/key_memory.h"

namespace salient {
namespace {

constexpr char kDescription[] =
    R"(Translates documents over gRPC and HTTP, many at once, with the sparsity and depth that each request chooses.

  salient-server --model models/en-de
  salient translate report.txt               # in another terminal)";

constexpr char kFooter[] =
    R"(Every option can also be set by an environment variable, named SALIENT_SERVER_ and the option in capitals with
underscores (SALIENT_SERVER_MAX_QUEUE=64), or in the file of --config. The command line overrides the environment, and
the environment overrides the file.

With --models-dir, SIGHUP and POST /models/reload (on the admin port) look at its folders again: new ones are loaded,
those that are gone are unloaded, changed ones are replaced; documents in flight are finished by the model that they
began with.

SIGTERM and SIGINT drain the server: /readyz returns 503 and health reports NOT_SERVING. After --drain-delay connections
get a GOAWAY, new documents get UNAVAILABLE, and documents in flight are finished. A second signal stops the server at
once.

HTTP: POST /v1/translate, GET /v1/models, and a page at /. Admin: /metrics, /healthz, /readyz, /models.)";

constexpr char kVariablePrefix[] = "SALIENT_SERVER_";

// As typed, before the parts go where they belong.
struct Raw {
  std::vector<std::string> models;
  std::string models_dir;
  double model_idle_seconds = 0;
  std::string device = "auto";
  std::string compute = "auto";
  std::string kv_type = "auto";
  int threads = 0;
  int32_t max_queue = 256;
  int32_t max_rows = 64;
  int32_t max_rows_ahead = 0;
  int32_t encode_tokens = 2048;
  int32_t encode_slice_ms = 10;
  uint64_t kv_memory = 1ULL << 30;
  uint64_t max_document_bytes = 4 << 20;
  double drain_delay = 0;
  double drain_seconds = 30;
  double max_connection_age = 300;
  double default_deadline = 3600;
  double stall_limit = 120;
  uint64_t max_queue_bytes = 64 << 20;
  int64_t max_queue_tokens = 16 << 20;
  std::string log_format = "text";
  std::string guard = "retry";
  std::string glossaries;
  bool glossary_uploads = false;
  std::vector<std::string> memories;
};

const std::map<std::string, ComputeType>& ComputeTypes() {
  static const auto* types = new std::map<std::string, ComputeType>{{"auto", ComputeType::kAuto},
                                                                    {"fp32", ComputeType::kF32},
                                                                    {"bf16", ComputeType::kBF16},
                                                                    {"int8", ComputeType::kInt8}};
  return *types;
}

const std::map<std::string, std::optional<ElementType>>& KvTypes() {
  static const auto* types = new std::map<std::string, std::optional<ElementType>>{
      {"auto", std::nullopt}, {"fp32", ElementType::kF32}, {"bf16", ElementType::kBF16}, {"int8", ElementType::kInt8}};
  return *types;
}

void AddModelOptions(CLI::App& app, Raw& raw) {
  app.add_option("--model", raw.models, "Folder of a model; repeat the option to serve several models")
      ->type_name("DIR")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group("Models");
  app.add_option("--models-dir", raw.models_dir,
                 "A folder of folders, each of them a model, but for those that begin with a dot. SIGHUP looks at it "
                 "again")
      ->type_name("DIR")
      ->group("Models");
  app.add_option("--model-idle-seconds", raw.model_idle_seconds,
                 "Drop a model from memory when nobody has asked for it for so long; the next request for it loads it "
                 "again, and waits. 0: never")
      ->type_name("SECONDS")
      ->check(Between(0.0, 1e9))
      ->capture_default_str()
      ->group("Models");
  app.add_option("--device", raw.device, "auto, cpu or cuda; auto uses a GPU if there is one, otherwise the CPU")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "cpu", "cuda", "reference"}))
      ->capture_default_str()
      ->group("Models");
  app.add_option("--compute", raw.compute,
                 "Number format of matrix products: fp32, bf16, int8, or auto (int8 on processors with AVX2 or more)")
      ->type_name("TYPE")
      ->check(CLI::IsMember(ComputeTypes()))
      ->capture_default_str()
      ->group("Models");
  app.add_option(
         "--kv-type", raw.kv_type,
         "Number format of stored keys and values: fp32, bf16, int8, or auto (bf16; fp32 with --compute fp32). int8 "
         "takes half the memory of bf16")
      ->type_name("TYPE")
      ->check(CLI::IsMember(KvTypes()))
      ->capture_default_str()
      ->group("Models");
  app.add_option(
         "--threads", raw.threads,
         "Compute threads for each model; 0: one for each core, or as many as the CPU limit of the container allows")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str()
      ->group("Models");
}

void AddPortOptions(CLI::App& app, ServerFlags& flags) {
  app.add_option("--listen", flags.server.listen, "HOST:PORT where gRPC listens; port 0 chooses a free port")
      ->type_name("ADDRESS")
      ->capture_default_str()
      ->group("Ports");
  app.add_option("--http", flags.server.http, "HOST:PORT where HTTP listens; \"off\" for no HTTP")
      ->type_name("ADDRESS")
      ->capture_default_str()
      ->group("Ports");
}

void AddCompat(CLI::App& app, ServerFlags& flags) {
  app.add_flag("--compat", flags.server.compat,
               "Also answer on the HTTP port as DeepL's, LibreTranslate's and Google's APIs, for clients that people "
               "already have")
      ->group("Ports");
}

void AddAdmin(CLI::App& app, ServerFlags& flags) {
  app.add_option("--admin", flags.server.admin,
                 "HOST:PORT where probes and metrics listen, without API keys; \"off\" for none")
      ->type_name("ADDRESS")
      ->capture_default_str()
      ->group("Ports");
}

void AddAccess(CLI::App& app, AccessOptions& access) {
  app.add_option("--tls-cert", access.tls_certificate,
                 "PEM file of the server's certificate, followed by its intermediate certificates: both ports use TLS")
      ->type_name("FILE")
      ->group("Access");
  app.add_option("--tls-key", access.tls_key, "PEM file of the certificate's private key")
      ->type_name("FILE")
      ->group("Access");
  app.add_option("--tls-client-ca", access.tls_client_ca,
                 "PEM file of the CA that signs client certificates; clients without a certificate are refused")
      ->type_name("FILE")
      ->group("Access");
  app.add_option(
         "--api-keys", access.api_keys,
         "File of API keys; a call must have one of them (\"authorization: Bearer KEY\"). Each line is KEY [name=NAME] "
         "[weight=W] [tokens-per-minute=N] [documents=N]. All four files are read again when they change")
      ->type_name("FILE")
      ->group("Access");
}

void AddLimits(CLI::App& app, Raw& raw) {
  app.add_option(
         "--max-queue", raw.max_queue,
         "Documents that may wait for each model; others get RESOURCE_EXHAUSTED and the time after which to retry")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str()
      ->group("Limits");
  app.add_option("--max-queue-bytes", raw.max_queue_bytes, "Bytes of documents that may wait for each model")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("64MiB")
      ->group("Limits");
  app.add_option("--max-queue-tokens", raw.max_queue_tokens, "Source tokens that may wait for each model")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str()
      ->group("Limits");
  app.add_option(
         "--max-rows", raw.max_rows,
         "Hypotheses decoded in one step, over all documents: more is faster for all together and slower for each")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str()
      ->group("Limits");
  app.add_option("--max-rows-ahead", raw.max_rows_ahead,
                 "Hypotheses encoded before there are rows for them: few keep documents from waiting in the engine "
                 "under overload, many keep the rows full; 0: as many as --max-rows")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str()
      ->group("Limits");
  app.add_option("--encode-tokens", raw.encode_tokens,
                 "Source tokens encoded together: more is faster for many short documents and takes more memory")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str()
      ->group("Limits");
  app.add_option(
         "--encode-slice", raw.encode_slice_ms,
         "The longest time between two decoding steps that is spent on encoding: less makes decoding steadier, more "
         "starts new documents sooner. Not used on a GPU")
      ->type_name("MILLISECONDS")
      ->check(CLI::Range(0, 60000))
      ->capture_default_str()
      ->group("Limits");
  app.add_option("--kv-memory", raw.kv_memory,
                 "Memory for the keys and values of all documents in flight, which the models share; a GPU's is "
                 "allocated when the first model is loaded")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("1GiB")
      ->group("Limits");
  app.add_option("--default-deadline", raw.default_deadline, "Deadline of calls that have none; 0: no deadline")
      ->type_name("SECONDS")
      ->check(Between(0.0, 1e6))
      ->capture_default_str()
      ->group("Limits");
  app.add_option("--max-document-bytes", raw.max_document_bytes, "The largest document that is accepted")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->default_str("4MiB")
      ->group("Limits");
}

const std::map<std::string, GuardMode>& GuardModes() {
  static const auto* modes = new std::map<std::string, GuardMode>{
      {"off", GuardMode::kOff}, {"report", GuardMode::kReport}, {"retry", GuardMode::kRetry}};
  return *modes;
}

void AddGuard(CLI::App& app, Raw& raw) {
  app.add_option("--guard", raw.guard,
                 "What happens to translations that look faulty, if a request does not say: off, report, or retry "
                 "(translate these segments again, and keep the better translation)")
      ->type_name("MODE")
      ->check(CLI::IsMember(GuardModes()))
      ->capture_default_str()
      ->group("Quality");
}

void AddResources(CLI::App& app, Raw& raw) {
  app.add_option("--glossaries", raw.glossaries,
                 "A folder whose files NAME.tsv are glossaries that requests may name; read again when they change")
      ->type_name("DIR")
      ->group("Resources");
  app.add_flag("--glossary-uploads", raw.glossary_uploads,
               "Clients of --compat may store glossaries of their own, in the folder uploads of --glossaries")
      ->needs("--glossaries")
      ->needs("--compat")
      ->group("Resources");
  app.add_option("--memory", raw.memories,
                 "A translation memory (.tmx, .po, .tsv) that requests may ask for; may be given several times")
      ->type_name("FILE")
      ->group("Resources");
}

void AddOperation(CLI::App& app, Raw& raw, ServerFlags& flags) {
  app.add_option("--drain-delay", raw.drain_delay,
                 "How long after SIGTERM documents are still accepted, while readiness already says no: as long as "
                 "clients and proxies need to notice")
      ->type_name("SECONDS")
      ->check(Between(0.0, 3600.0))
      ->capture_default_str()
      ->group("Operation");
  app.add_option("--drain-seconds", raw.drain_seconds,
                 "How long after that documents in flight may take to finish before they are cancelled")
      ->type_name("SECONDS")
      ->check(Between(0.0, 86400.0))
      ->capture_default_str()
      ->group("Operation");
  app.add_option("--max-connection-age", raw.max_connection_age,
                 "Age after which a connection is closed when its calls are done, so that clients find new servers; "
                 "0: never")
      ->type_name("SECONDS")
      ->check(Between(0.0, 1e6))
      ->capture_default_str()
      ->group("Operation");
  app.add_option("--ready-file", flags.ready_file,
                 "A file to write once documents are accepted: {\"grpc\": \"HOST:PORT\", \"http\": \"HOST:PORT\", "
                 "\"admin\": \"HOST:PORT\"}")
      ->type_name("FILE")
      ->group("Operation");
  app.add_option(
         "--stall-limit", raw.stall_limit,
         "Time without progress, while there is work, after which /healthz fails, so that the platform restarts "
         "the server")
      ->type_name("SECONDS")
      ->check(Between(1.0, 1e6))
      ->capture_default_str()
      ->group("Operation");
  app.add_flag("--exit-when-dead", flags.exit_when_dead,
               "Drain and exit with status 3 when an engine is dead, so that the platform starts the server anew even "
               "where it does not look at /healthz")
      ->group("Operation");
  app.add_option("--log-format", raw.log_format, "text, or json: one line for each event and for each document")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str()
      ->group("Operation");
  app.add_option("--log-level", flags.log_level, "debug, info, warn or error, on standard error")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str()
      ->group("Operation");
}

// Of every model, but for its folder and the memory that all share.
EngineOptions OptionsOf(const Raw& raw) {
  EngineOptions options;
  options.device = raw.device;
  options.compute = ComputeTypes().at(raw.compute);
  options.kv_type = KvTypes().at(raw.kv_type);
  options.threads = raw.threads;
  options.max_rows = raw.max_rows;
  options.max_rows_ahead = raw.max_rows_ahead;
  options.encode_tokens = raw.encode_tokens;
  options.encode_slice = absl::Milliseconds(raw.encode_slice_ms);
  options.max_queued_documents = raw.max_queue;
  options.max_queued_bytes = static_cast<int64_t>(raw.max_queue_bytes);
  options.max_queued_tokens = raw.max_queue_tokens;
  options.max_document_bytes = static_cast<int64_t>(raw.max_document_bytes);
  return options;
}

void Fill(const Raw& raw, ServerFlags& flags) {
  if (flags.server.http == "off") flags.server.http.clear();
  flags.server.stall_limit = absl::Seconds(raw.stall_limit);
  flags.log_format = raw.log_format == "json" ? LogFormat::kJson : LogFormat::kText;
  if (flags.server.admin == "off") flags.server.admin.clear();
  if (raw.default_deadline > 0) flags.server.default_deadline = absl::Seconds(raw.default_deadline);
  flags.server.guard = GuardModes().at(raw.guard);
  flags.server.resources = std::make_shared<LanguageResources>(raw.glossaries, raw.memories);
  if (raw.glossary_uploads) flags.server.glossary_uploads = raw.glossaries;
  flags.server.max_document_bytes = static_cast<int64_t>(raw.max_document_bytes);
  flags.drain = {.delay = absl::Seconds(raw.drain_delay), .patience = absl::Seconds(raw.drain_seconds)};
  flags.server.max_connection_age =
      raw.max_connection_age > 0 ? absl::Seconds(raw.max_connection_age) : absl::InfiniteDuration();
  EngineOptions options = OptionsOf(raw);
  options.key_memory = std::make_shared<KeyMemory>(static_cast<int64_t>(raw.kv_memory));
  for (const std::string& folder : raw.models) {
    options.model_folder = folder;
    flags.server.models.models.push_back(options);
  }
  options.model_folder.clear();
  flags.server.models.options = options;
  flags.server.models.folder = raw.models_dir;
  if (raw.model_idle_seconds > 0) flags.server.models.idle = absl::Seconds(raw.model_idle_seconds);
}

// Above this a gRPC message, whose size is an int, could not hold the largest document.
constexpr uint64_t kLargestDocument = 512ULL << 20;

void CheckSizes(const Raw& raw) {
  if (raw.max_document_bytes == 0 || raw.max_document_bytes > kLargestDocument) {
    throw CLI::ValidationError("--max-document-bytes", "must be from 1 to 512MiB");
  }
  if (raw.models.empty() && raw.models_dir.empty()) throw CLI::RequiredError("--model or --models-dir");
  if (raw.kv_memory < (1 << 20) || raw.kv_memory > static_cast<uint64_t>(KeyMemory::kMost)) {
    throw CLI::ValidationError("--kv-memory", "must be from 1MiB to 256GiB");
  }
}

}  // namespace

ParsedServerFlags ParseServerFlags(int argc, const char* const* argv) {
  ParsedServerFlags parsed;
  Raw raw;
  CLI::App app(kDescription, "salient-server");
  app.footer(kFooter);
  app.formatter(HelpFormatter());
  AddModelOptions(app, raw);
  AddPortOptions(app, parsed.flags);
  AddCompat(app, parsed.flags);
  AddAdmin(app, parsed.flags);
  AddAccess(app, parsed.flags.access);
  AddLimits(app, raw);
  AddGuard(app, raw);
  AddResources(app, raw);
  AddOperation(app, raw, parsed.flags);
  ReadEnvironmentAndConfig(app, kVariablePrefix);
  parsed.flags.unknown_variables = UnknownVariables(app, kVariablePrefix);
  app.set_version_flag("--version", VersionLine("salient-server"), "Print the version and exit");
  try {
    app.parse(argc, argv);
    CheckSizes(raw);
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? 0 : 2;
    return parsed;
  }
  Fill(raw, parsed.flags);
  return parsed;
}

}  // namespace salient
