// The server's options: from the command line, the environment and a file, in that order of precedence.

#include "server/flags.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "engine/key_memory.h"
#include "gmock/gmock.h"
#include "tests/testing/temp_folder.h"

namespace salient {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ParsedServerFlags Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "salient-server");
  return ParseServerFlags(static_cast<int>(arguments.size()), arguments.data());
}

// Sets a variable for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

class ConfigFile {
 public:
  explicit ConfigFile(const std::string& text) { WriteFile(path_, text); }
  const char* path() const { return path_.c_str(); }

 private:
  const TempFolder folder_;
  const std::string path_ = folder_ / "flags.toml";
};

TEST(ServerFlagsTest, Defaults) {
  const ParsedServerFlags parsed = Parse({"--model", "m"});
  ASSERT_FALSE(parsed.exit_code.has_value());
  const ServerFlags& flags = parsed.flags;
  EXPECT_EQ(flags.server.listen, "0.0.0.0:50051");
  EXPECT_EQ(flags.server.http, "0.0.0.0:8080");
  EXPECT_EQ(flags.server.max_document_bytes, 4 << 20);
  EXPECT_EQ(flags.drain.patience, absl::Seconds(30));
  EXPECT_EQ(flags.drain.delay, absl::ZeroDuration());
  EXPECT_EQ(flags.server.max_connection_age, absl::Minutes(5));
  ASSERT_EQ(flags.server.models.models.size(), 1);
  EXPECT_EQ(flags.server.models.models[0].model_folder, "m");
  EXPECT_EQ(flags.server.models.models[0].device, "auto");
  EXPECT_EQ(flags.server.models.models[0].compute, ComputeType::kAuto);
  EXPECT_EQ(flags.server.models.models[0].key_memory->bytes(), 1LL << 30);
  EXPECT_FALSE(flags.server.models.models[0].kv_type.has_value());
  EXPECT_EQ(flags.server.models.models[0].max_document_bytes, 4 << 20);
}

TEST(ServerFlagsTest, NanIsNoTime) {
  for (const char* flag : {"--model-idle-seconds", "--default-deadline", "--drain-delay", "--drain-seconds",
                           "--max-connection-age", "--stall-limit"}) {
    for (const char* value : {"nan", "inf", "-1", "1e400"}) {
      EXPECT_TRUE(Parse({"--model", "a", flag, value}).exit_code.has_value()) << flag << " " << value;
    }
    EXPECT_FALSE(Parse({"--model", "a", flag, "2.5"}).exit_code.has_value()) << flag;
  }
}

TEST(ServerFlagsTest, EveryOption) {
  const ParsedServerFlags parsed = Parse({"--model",
                                          "a",
                                          "--model",
                                          "b",
                                          "--listen",
                                          "h:1",
                                          "--http",
                                          "off",
                                          "--device",
                                          "cpu",
                                          "--compute",
                                          "int8",
                                          "--kv-type",
                                          "int8",
                                          "--threads",
                                          "3",
                                          "--max-queue",
                                          "7",
                                          "--max-rows",
                                          "5",
                                          "--max-rows-ahead",
                                          "2",
                                          "--encode-tokens",
                                          "99",
                                          "--encode-slice",
                                          "4",
                                          "--kv-memory",
                                          "2GiB",
                                          "--max-document-bytes",
                                          "8MiB",
                                          "--drain-seconds",
                                          "1.5",
                                          "--max-connection-age",
                                          "60",
                                          "--ready-file",
                                          "r",
                                          "--log-level",
                                          "warn"});
  ASSERT_FALSE(parsed.exit_code.has_value());
  const ServerFlags& flags = parsed.flags;
  ASSERT_EQ(flags.server.models.models.size(), 2);
  EXPECT_EQ(flags.server.models.models[1].model_folder, "b");
  for (const EngineOptions& options : flags.server.models.models) {
    EXPECT_EQ(options.device, "cpu");
    EXPECT_EQ(options.compute, ComputeType::kInt8);
    EXPECT_EQ(options.threads, 3);
    EXPECT_EQ(options.max_queued_documents, 7);
    EXPECT_EQ(options.max_rows, 5);
    EXPECT_EQ(options.max_rows_ahead, 2);
    EXPECT_EQ(options.encode_tokens, 99);
    EXPECT_EQ(options.encode_slice, absl::Milliseconds(4));
    EXPECT_EQ(options.kv_type, ElementType::kInt8);
    EXPECT_EQ(options.key_memory->bytes(), 2LL << 30);
    EXPECT_EQ(options.max_document_bytes, 8 << 20);
  }
  EXPECT_EQ(flags.server.listen, "h:1");
  EXPECT_EQ(flags.server.http, "");
  EXPECT_EQ(flags.server.max_document_bytes, 8 << 20);
  EXPECT_EQ(flags.drain.patience, absl::Seconds(1.5));
  EXPECT_EQ(flags.server.max_connection_age, absl::Minutes(1));
  EXPECT_EQ(flags.ready_file, "r");
  EXPECT_EQ(flags.log_level, "warn");
}

TEST(ServerFlagsTest, VariablesThatAreNoOptionsAreTold) {
  const Variable misspelt("SALIENT_SERVER_API_KEY", "/keys");
  const Variable option("SALIENT_SERVER_MAX_ROWS", "2");
  const Variable config("SALIENT_SERVER_CONFIG", "");
  const Variable of_the_client("SALIENT_SERVER", "host:1");
  EXPECT_THAT(Parse({"--model", "m"}).flags.unknown_variables, ElementsAre("SALIENT_SERVER_API_KEY"));
}

TEST(ServerFlagsTest, TheCommandLineWinsOverTheEnvironmentAndThatOverTheFile) {
  const ConfigFile file("model = [\"from-file\"]\nthreads = 1\nmax-rows = 1\nmax-queue = 1\nlog-level = \"error\"\n");
  const Variable rows("SALIENT_SERVER_MAX_ROWS", "2");
  const Variable queue("SALIENT_SERVER_MAX_QUEUE", "2");
  const ParsedServerFlags parsed = Parse({"--config", file.path(), "--max-queue", "3"});
  ASSERT_FALSE(parsed.exit_code.has_value());
  ASSERT_EQ(parsed.flags.server.models.models.size(), 1);
  EXPECT_EQ(parsed.flags.server.models.models[0].model_folder, "from-file");
  EXPECT_EQ(parsed.flags.server.models.models[0].threads, 1);
  EXPECT_EQ(parsed.flags.server.models.models[0].max_rows, 2);
  EXPECT_EQ(parsed.flags.server.models.models[0].max_queued_documents, 3);
  EXPECT_EQ(parsed.flags.log_level, "error");
}

TEST(ServerFlagsTest, SeveralModelsFromTheEnvironment) {
  const Variable models("SALIENT_SERVER_MODEL", "a,b");
  const ParsedServerFlags parsed = Parse({});
  ASSERT_FALSE(parsed.exit_code.has_value());
  EXPECT_EQ(parsed.flags.server.models.models.size(), 2);
}

TEST(ServerFlagsTest, AFolderOfModels) {
  const ParsedServerFlags parsed = Parse({"--models-dir", "d", "--model-idle-seconds", "90", "--max-rows", "7"});
  ASSERT_FALSE(parsed.exit_code.has_value());
  const ModelSources& models = parsed.flags.server.models;
  EXPECT_TRUE(models.models.empty());
  EXPECT_EQ(models.folder, "d");
  EXPECT_EQ(models.options.max_rows, 7);
  EXPECT_EQ(models.idle, absl::Seconds(90));
  EXPECT_EQ(Parse({"--model", "m"}).flags.server.models.idle, absl::InfiniteDuration());
}

TEST(ServerFlagsTest, ModelsShareTheMemoryForKeys) {
  const ParsedServerFlags parsed = Parse({"--model", "a", "--model", "b", "--models-dir", "d", "--kv-memory", "10MiB"});
  ASSERT_FALSE(parsed.exit_code.has_value());
  const ModelSources& models = parsed.flags.server.models;
  ASSERT_NE(models.options.key_memory, nullptr);
  for (const EngineOptions& options : models.models) EXPECT_EQ(options.key_memory, models.options.key_memory);
  EXPECT_EQ(models.options.key_memory->bytes(), 10 << 20);
}

TEST(ServerFlagsTest, TheFileMayBeNamedInTheEnvironment) {
  const ConfigFile file("model = [\"m\", \"n\"]\n");
  const Variable config("SALIENT_SERVER_CONFIG", file.path());
  const ParsedServerFlags parsed = Parse({});
  ASSERT_FALSE(parsed.exit_code.has_value());
  EXPECT_EQ(parsed.flags.server.models.models.size(), 2);
}

TEST(ServerFlagsTest, Mistakes) {
  const ConfigFile misspelt("model = [\"m\"]\nmax-qeue = 3\n");
  const std::vector<std::vector<const char*>> mistakes = {
      {},
      {"--model", "m", "--device", "tpu"},
      {"--model", "m", "--compute", "fp8"},
      {"--model-idle-seconds", "9"},
      {"--model", "m", "--model-idle-seconds", "-1"},
      {"--model", "m", "--threads", "-1"},
      {"--model", "m", "--max-queue", "0"},
      {"--model", "m", "--kv-memory", "much"},
      {"--model", "m", "--kv-memory", "257GiB"},
      {"--model", "m", "--max-document-bytes", "1GiB"},
      {"--model", "m", "--drain-seconds", "-1"},
      {"--model", "m", "--glossary-uploads"},
      {"--model", "m", "--glossaries", "d", "--glossary-uploads"},
      {"--model", "m", "--no-such-option"},
      {"--model", "m", "stray"},
      {"--config", "/no/such/file", "--model", "m"},
      {"--config", misspelt.path()},
  };
  for (const auto& arguments : mistakes) {
    ::testing::internal::CaptureStderr();
    const ParsedServerFlags parsed = Parse(arguments);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(parsed.exit_code, 2) << ::testing::PrintToString(arguments);
    EXPECT_THAT(said, HasSubstr("--help")) << ::testing::PrintToString(arguments);
  }
}

TEST(ServerFlagsTest, HelpNamesEveryOption) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(Parse({"--help"}).exit_code, 0);
  const std::string help = ::testing::internal::GetCapturedStdout();
  for (const char* option :
       {"--models-dir", "--model-idle-seconds", "--model", "--listen", "--http", "--device", "--compute", "--threads",
        "--max-queue", "--max-rows", "--max-rows-ahead", "--encode-tokens", "--encode-slice", "--kv-memory",
        "--max-document-bytes", "--drain-seconds", "--config", "--log-level"}) {
    EXPECT_THAT(help, HasSubstr(option));
  }
}

}  // namespace
}  // namespace salient
