#include "client/documents.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/files.h"
#include "engine/base/utf8.h"

namespace salient {
namespace {

namespace fs = std::filesystem;

// What a file is, whatever its name: two paths of one file have the same. Nothing if there is no such file.
using FileId = std::pair<dev_t, ino_t>;

std::optional<FileId> IdOf(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileId{found.st_dev, found.st_ino};
}

absl::Status CheckPlan(const std::vector<NamedFile>& files, const std::vector<std::string>& paths) {
  std::set<FileId> sources;
  for (const NamedFile& file : files) {
    if (const auto id = IdOf(file.path)) sources.insert(*id);
  }
  std::map<std::string, std::string> source_of;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto [taken, is_new] = source_of.emplace(paths[i], files[i].path);
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat("--out: ", taken->second, " and ", files[i].path,
                                                     " would both go to ", paths[i],
                                                     "; translate them into different folders"));
    }
    if (const auto id = IdOf(paths[i]); id.has_value() && sources.contains(*id)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--out: ", paths[i], " is a document to be translated, and would be overwritten"));
    }
  }
  return absl::OkStatus();
}

struct Target {
  std::string path;     // where links lead, even if there is no file yet
  fs::file_status old;  // of what is there
  bool special = false;
};

Target TargetOf(const std::string& path) {
  std::error_code error;
  const fs::file_status old = fs::status(path, error);
  // A device or a pipe has no place for a second file beside it, and nothing in it to keep. Nor may the file be
  // replaced to which the shell has led /dev/stdout: the shell writes on to the old one.
  if (fs::exists(old) && (!fs::is_regular_file(old) || path.starts_with("/dev/"))) return {path, old, true};
  constexpr int kMostLinks = 40;  // the most that Linux follows
  fs::path target = path;
  for (int i = 0; i < kMostLinks && fs::is_symlink(target, error); ++i) {
    target = target.parent_path() / fs::read_symlink(target, error);
  }
  return {target.string(), old, false};
}

// Makes the folder of a translation's path. Fails if no file can be made in it: the translation would be lost.
absl::Status PrepareFolder(const std::string& path) {
  std::error_code error;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) {
    return absl::UnavailableError(absl::StrCat("--out: cannot make ", folder.string(), ": ", error.message()));
  }
  const Target target = TargetOf(path);
  if (target.special) return absl::OkStatus();
  const std::string into = (fs::path(target.path).parent_path() / ".").string();
  if (faccessat(AT_FDCWD, into.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return absl::UnavailableError(
        absl::StrCat("--out: cannot write ", path, ": no file can be made in its folder: ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

// Makes a new file beside `path`: PATH.part, or PATH.part2 and so on. A file that exists is left alone, because it may
// be a document to be translated or another translation. Null, with errno, if none can be made.
std::FILE* CreateBeside(const std::string& path, mode_t mode, std::string* name) {
  constexpr int kMostNames = 1000;
  for (int number = 1; number <= kMostNames; ++number) {
    *name = number == 1 ? path + ".part" : absl::StrCat(path, ".part", number);
    const int file = open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file >= 0) return fdopen(file, "wb");
    if (errno != EEXIST) return nullptr;
  }
  return nullptr;
}

// Opened by its name, a file to which the shell has led /dev/stdout would be cut off and written from its beginning.
std::FILE* OpenSpecial(const std::string& path) {
  return path == "/dev/stdout" ? fdopen(dup(STDOUT_FILENO), "wb") : std::fopen(path.c_str(), "wb");
}

// 0, or the reason as errno has it. Some systems say only at the end that a disk is full.
int WriteAndClose(OpenFile file, std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  const int reason = written ? 0 : errno;
  const bool closed = std::fclose(file.release()) == 0;
  return written && !closed ? errno : reason;
}

}  // namespace

absl::StatusOr<std::string> ReadDocument(const std::string& file, bool is_binary) {
  absl::StatusOr<std::string> bytes =
      file == "-" ? ReadToEnd(stdin, kMostDocumentBytes) : ReadBytes(file, kMostDocumentBytes);
  if (!bytes.ok()) return bytes;
  const std::string& text = *bytes;
  if (text.empty()) return absl::InvalidArgumentError("is empty; there is nothing to translate");
  if (!is_binary && HasUtf16Mark(text)) {
    return absl::InvalidArgumentError("is in UTF-16; convert it, such as with `iconv -f UTF-16 -t UTF-8`");
  }
  if (const auto offset = is_binary ? std::nullopt : FirstInvalidUtf8(text)) {
    return absl::InvalidArgumentError(
        absl::StrCat("is not UTF-8 at byte ", *offset, "; convert it, such as with `iconv -f ISO-8859-1 -t UTF-8`"));
  }
  return bytes;
}

absl::StatusOr<const Format*> FormatOfDocument(const std::string& file) {
  const std::string extension = fs::path(file).extension().string();
  if (file == "-" || extension.empty() || extension == ".") return FormatNamed("text");
  if (const auto type = TypeOfFile(file); type.ok()) return type->format;
  return absl::InvalidArgumentError(
      absl::StrCat("its extension is ", extension, "; known are ", absl::StrJoin(AllExtensions(), ", "),
                   "; give --format to say which format it has, --format text if it is plain text"));
}

absl::Status ReadInto(v1::Document& document, const std::string& file, const Format& format) {
  auto bytes = ReadDocument(file, format.is_binary);
  if (!bytes.ok()) return bytes.status();
  if (format.name == "text") {
    document.set_text(*std::move(bytes));
  } else {
    document.set_content(*std::move(bytes));
    document.set_mime_type(std::string(format.types.front().mime_type));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<NamedFile>> ListDocuments(const std::vector<std::string>& files, const std::string& out) {
  std::vector<NamedFile> documents;
  for (const std::string& file : files) {
    std::error_code error;
    if (file == "-" || !fs::is_directory(file, error)) {
      documents.push_back({file, fs::path(file).filename().string()});
      continue;
    }
    const size_t before = documents.size();
    std::string last = file;  // if a folder cannot be read, it is the last that was found
    for (fs::recursive_directory_iterator at(file, error), end; !error && at != end; at.increment(error)) {
      last = at->path().string();
      std::error_code of_entry;  // a link that leads nowhere is no file
      if (!out.empty() && at->is_directory(of_entry) && fs::equivalent(at->path(), out, of_entry)) {
        at.disable_recursion_pending();
      }
      if (!at->is_regular_file(of_entry) || !TypeOfFile(at->path().filename().string()).ok()) continue;
      documents.push_back({at->path().string(), at->path().lexically_relative(file).string()});
    }
    if (error) return absl::UnavailableError(absl::StrCat(last, ": cannot be read: ", error.message()));
    if (documents.size() == before) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": has no file whose name tells a format that is translated"));
    }
    std::sort(documents.begin() + static_cast<std::ptrdiff_t>(before), documents.end(),
              [](const NamedFile& a, const NamedFile& b) { return a.path < b.path; });
  }
  return documents;
}

std::string NameInLanguage(const std::string& name, const std::string& language) {
  if (language.empty()) return name;
  const fs::path path(name);
  return (path.parent_path() / absl::StrCat(path.stem().string(), ".", language, path.extension().string())).string();
}

absl::StatusOr<std::vector<std::string>> PlanOutputs(const std::vector<NamedFile>& files, const std::string& out,
                                                     const std::string& language) {
  if (out.empty()) return std::vector<std::string>(files.size());
  std::error_code error;
  std::vector<std::string> paths;
  const bool is_folder = files.size() > 1 || absl::EndsWith(out, "/") || fs::is_directory(out, error);
  if (!is_folder) {
    paths = {out};
  } else {
    for (const NamedFile& file : files) {
      if (file.path == "-") {
        return absl::InvalidArgumentError(
            absl::StrCat("--out: standard input has no name to be stored under in ", out, "; give --out a file"));
      }
      paths.push_back((fs::path(out) / NameInLanguage(file.name, language)).string());
    }
  }
  if (const absl::Status status = CheckPlan(files, paths); !status.ok()) return status;
  for (const std::string& path : paths) {
    if (const absl::Status status = PrepareFolder(path); !status.ok()) return status;
  }
  return paths;
}

absl::Status WriteTranslation(const std::string& path, std::string_view text) {
  const auto failure = [&path](int reason) {
    return absl::UnavailableError(absl::StrCat("cannot write ", path, ": ", std::strerror(reason)));
  };
  // A link stays, and so do the permissions of what it leads to. Others may not read the new file for a moment either.
  const auto [file_path, old, special] = TargetOf(path);
  const mode_t mode = fs::exists(old) ? static_cast<mode_t>(old.permissions() & fs::perms::all) : 0666;
  std::string unfinished = file_path;
  OpenFile file(special ? OpenSpecial(path) : CreateBeside(file_path, mode, &unfinished));
  if (file == nullptr) return failure(errno);
  std::error_code error;
  if (!special && fs::exists(old)) fs::permissions(unfinished, old.permissions(), error);
  if (const int reason = WriteAndClose(std::move(file), text); reason != 0) {
    if (!special) fs::remove(unfinished, error);
    return failure(reason);
  }
  if (special) return absl::OkStatus();
  fs::rename(unfinished, file_path, error);
  if (!error) return absl::OkStatus();
  absl::Status status = failure(error.value());
  fs::remove(unfinished, error);
  return status;
}

}  // namespace salient
