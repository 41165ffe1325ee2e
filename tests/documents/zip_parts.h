// Office files of a test's own: zip archives, and their parts.

#pragma once

#include <zip.h>

#include <string>
#include <utility>
#include <vector>

#include "documents/syntax/zip_archive.h"

namespace salient {

// An archive of parts, by name, in this order.
inline std::string MakeZip(const std::vector<std::pair<std::string, std::string>>& parts) {
  zip_source_t* source = zip_source_buffer_create(nullptr, 0, 0, nullptr);
  zip_t* archive = zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  zip_source_keep(source);
  for (const auto& [name, part] : parts) {
    zip_file_add(archive, name.c_str(), zip_source_buffer(archive, part.data(), part.size(), 0), ZIP_FL_ENC_UTF_8);
  }
  zip_close(archive);
  zip_source_open(source);
  std::string bytes;
  char chunk[1 << 16];
  for (zip_int64_t count; (count = zip_source_read(source, chunk, sizeof(chunk))) > 0;) {
    bytes.append(chunk, static_cast<size_t>(count));
  }
  zip_source_close(source);
  zip_source_free(source);
  return bytes;
}

// The part of that name; empty if there is none.
inline std::string PartOf(const std::string& bytes, const std::string& name) {
  auto archive = ZipArchive::Open(bytes, "test", {});
  return archive.ok() ? archive->Read(name).value_or("") : "";
}

inline constexpr char kWordSpace[] = "xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"";

inline std::string Repeated(const std::string& text, int count) {
  std::string repeated;
  for (int i = 0; i < count; ++i) repeated += text;
  return repeated;
}

}  // namespace salient
