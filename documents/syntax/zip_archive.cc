#include "documents/syntax/zip_archive.h"

#include <zip.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "documents/input.h"

namespace salient {
namespace {

// Of the container of .doc, .xls and .ppt, and of newer files that have a password.
constexpr std::string_view kOleSignature = "\xd0\xcf\x11\xe0";

std::string Reason(zip_error_t* error) {
  std::string reason = zip_error_strerror(error);
  zip_error_fini(error);
  return reason;
}

}  // namespace

void ZipArchive::Close::operator()(::zip* archive) const { zip_discard(archive); }

absl::StatusOr<ZipArchive> ZipArchive::Open(std::string_view bytes, std::string_view what,
                                            const DocumentLimits& limits) {
  if (absl::Status status = CheckSize(bytes, what, limits); !status.ok()) return status;
  if (bytes.starts_with(kOleSignature)) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(what), ": is a file of the old binary Office format, or has a password; save it as ",
                     std::string(what), ", without a password"));
  }
  ZipArchive archive;
  archive.bytes_ = bytes;
  archive.what_ = what;
  archive.limits_ = limits;
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(archive.bytes_.data(), archive.bytes_.size(), 0, &error);
  zip_t* opened = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error);
  if (opened == nullptr) {
    if (source != nullptr) zip_source_free(source);
    return absl::InvalidArgumentError(
        absl::StrCat(archive.what_, ": is no ZIP archive, as files of this format are: ", Reason(&error)));
  }
  zip_error_fini(&error);
  archive.archive_.reset(opened);
  const zip_int64_t count = zip_get_num_entries(opened, 0);
  if (count > limits.max_parts) {
    return absl::ResourceExhaustedError(absl::StrCat(archive.what_, ": the archive has ", count, " entries; at most ",
                                                     limits.max_parts, " are allowed"));
  }
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name = zip_get_name(opened, i, 0);
    archive.names_.emplace_back(name == nullptr ? "" : name);
    if (!archive.sorted_names_.insert(archive.names_.back()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(archive.what_, ": the archive has two entries ", archive.names_.back(), "; pack it anew"));
    }
    archive.lower_names_.emplace(absl::AsciiStrToLower(archive.names_.back()), archive.names_.back());
  }
  return archive;
}

bool ZipArchive::Has(std::string_view name) const { return sorted_names_.contains(name); }

std::optional<std::string> ZipArchive::Find(std::string_view name) const {
  if (Has(name)) return std::string(name);
  const auto found = lower_names_.find(absl::AsciiStrToLower(std::string(name)));
  return found == lower_names_.end() ? std::nullopt : std::optional(found->second);
}

absl::Status ZipArchive::AddSize(const std::string& name, int64_t* unpacked) const {
  zip_stat_t stat;
  if (zip_stat(archive_.get(), name.c_str(), 0, &stat) != 0 || (stat.valid & ZIP_STAT_SIZE) == 0) {
    return absl::InvalidArgumentError(absl::StrCat(what_, ": ", name, " is missing"));
  }
  if (stat.size > static_cast<zip_uint64_t>(limits_.max_bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat(what_, ": ", name, " unpacks to ", stat.size, " bytes; at most ",
                                                     limits_.max_bytes, " are allowed; split the document"));
  }
  *unpacked += static_cast<int64_t>(stat.size);
  if (*unpacked > limits_.max_unpacked_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(what_, ": unpacks to more than ", limits_.max_unpacked_bytes,
                                                     " bytes of text; split the document"));
  }
  return absl::OkStatus();
}

absl::Status ZipArchive::CheckSizes(const std::vector<std::string>& names) const {
  int64_t unpacked = unpacked_;
  for (const std::string& name : names) {
    if (absl::Status status = AddSize(name, &unpacked); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ZipArchive::Read(const std::string& name) {
  const int64_t before = unpacked_;
  if (absl::Status status = AddSize(name, &unpacked_); !status.ok()) return status;
  const auto size = static_cast<zip_uint64_t>(unpacked_ - before);
  zip_file_t* file = zip_fopen(archive_.get(), name.c_str(), 0);
  if (file == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(what_, ": ", name, " cannot be read: ", zip_strerror(archive_.get())));
  }
  const auto close = absl::MakeCleanup([file] { zip_fclose(file); });
  // One byte more than it says: an entry that says less than it holds is damaged, and found to be at its end.
  std::string part(size + 1, '\0');
  size_t done = 0;
  while (done < part.size()) {
    const zip_int64_t count = zip_fread(file, part.data() + done, part.size() - done);
    if (count < 0) {
      return absl::InvalidArgumentError(absl::StrCat(what_, ": ", name, " is damaged: ", zip_file_strerror(file)));
    }
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  if (done != size) {
    return absl::InvalidArgumentError(absl::StrCat(what_, ": ", name, " is damaged: it is not as long as it says"));
  }
  part.resize(done);
  return part;
}

absl::StatusOr<std::string> ReplaceInZip(std::string_view bytes, const std::map<std::string, std::string>& parts) {
  if (parts.empty()) return std::string(bytes);
  zip_error_t error;
  zip_error_init(&error);
  // What libzip writes to it frees, so it gets memory of its kind.
  void* copy = std::malloc(bytes.size());
  if (copy == nullptr) return absl::ResourceExhaustedError("there is not enough memory to write the ZIP archive");
  std::memcpy(copy, bytes.data(), bytes.size());
  zip_source_t* source = zip_source_buffer_create(copy, bytes.size(), 1, &error);
  if (source == nullptr) std::free(copy);
  zip_t* archive = source == nullptr ? nullptr : zip_open_from_source(source, 0, &error);
  if (archive == nullptr) {
    if (source != nullptr) zip_source_free(source);
    return absl::InternalError(absl::StrCat("cannot write a ZIP archive: ", Reason(&error)));
  }
  zip_error_fini(&error);
  zip_source_keep(source);  // it holds the result after the archive is closed
  const auto release = absl::MakeCleanup([source] { zip_source_free(source); });
  const auto fail = [&archive] {
    const std::string reason = zip_strerror(archive);
    zip_discard(archive);
    return absl::InternalError(absl::StrCat("cannot write a ZIP archive: ", reason));
  };
  for (const auto& [name, part] : parts) {
    zip_source_t* content = zip_source_buffer(archive, part.data(), part.size(), 0);
    const zip_int64_t index = zip_name_locate(archive, name.c_str(), 0);
    if (content == nullptr || index < 0) return fail();
    if (zip_file_replace(archive, static_cast<zip_uint64_t>(index), content, 0) != 0) {
      zip_source_free(content);
      return fail();
    }
    zip_stat_t stat;
    if (zip_stat_index(archive, static_cast<zip_uint64_t>(index), 0, &stat) == 0 &&
        (stat.valid & ZIP_STAT_MTIME) != 0) {
      zip_file_set_mtime(archive, static_cast<zip_uint64_t>(index), stat.mtime, 0);
    }
  }
  if (zip_close(archive) != 0) return fail();
  if (zip_source_open(source) != 0) return absl::InternalError("cannot read the ZIP archive that was written");
  std::string out;
  char chunk[1 << 16];
  for (zip_int64_t count; (count = zip_source_read(source, chunk, sizeof(chunk))) > 0;) {
    out.append(chunk, static_cast<size_t>(count));
  }
  zip_source_close(source);
  return out;
}

}  // namespace salient
