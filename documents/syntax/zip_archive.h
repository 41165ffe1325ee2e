// ZIP archives in memory, read by libzip, within limits.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "documents/document.h"

struct zip;  // libzip's

namespace salient {

class ZipArchive {
 public:
  // Reads the directory only. `what` names the document in errors. INVALID_ARGUMENT if it is not an archive, or has two
  // entries of one name; RESOURCE_EXHAUSTED beyond max_bytes or max_parts.
  static absl::StatusOr<ZipArchive> Open(std::string_view bytes, std::string_view what, const DocumentLimits& limits);

  const std::vector<std::string>& names() const { return names_; }
  bool Has(std::string_view name) const;
  // The entry of that name, or of one that differs from it only in the case of ASCII letters.
  std::optional<std::string> Find(std::string_view name) const;

  // RESOURCE_EXHAUSTED if Read would refuse one of these entries because of its size. Reads the directory only.
  absl::Status CheckSizes(const std::vector<std::string>& names) const;

  // The bytes of an entry. RESOURCE_EXHAUSTED, before it is unpacked, if its size exceeds max_bytes, or if the sum of
  // all entries read so far exceeds max_unpacked_bytes. INVALID_ARGUMENT if it is damaged or encrypted.
  absl::StatusOr<std::string> Read(const std::string& name);

 private:
  struct Close {
    void operator()(::zip* archive) const;
  };
  // Checks the size of an entry if `unpacked` is the sum of those before it, and adds it to the sum.
  absl::Status AddSize(const std::string& name, int64_t* unpacked) const;

  std::string bytes_, what_;  // bytes_ before archive_, which reads them
  DocumentLimits limits_;
  std::unique_ptr<::zip, Close> archive_;
  std::vector<std::string> names_;  // in the archive's order
  std::set<std::string, std::less<>> sorted_names_;
  std::map<std::string, std::string> lower_names_;  // the first of each name in lower case
  int64_t unpacked_ = 0;
};

// The archive with some entries replaced; the others are copied in compressed form.
absl::StatusOr<std::string> ReplaceInZip(std::string_view bytes, const std::map<std::string, std::string>& parts);

}  // namespace salient
