// Zip archives of a test's own.

#pragma once

#include <zip.h>

#include <string>
#include <utility>
#include <vector>

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
  std::string bytes(1 << 20, '\0');
  zip_source_open(source);
  bytes.resize(static_cast<size_t>(zip_source_read(source, bytes.data(), bytes.size())));
  zip_source_close(source);
  zip_source_free(source);
  return bytes;
}

}  // namespace salient
