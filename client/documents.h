// Documents from files, and translations to files.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace salient {

// The bytes of a file, of standard input for "-". Fails if it cannot be read or is empty, and, unless the document is
// of a binary format, if it is not UTF-8, and says where.
absl::StatusOr<std::string> ReadDocument(const std::string& file, bool is_binary = false);

// A document, and the name that its translation has within a folder.
struct NamedFile {
  std::string path, name;
};

// The files that the command line names: of a folder, recursively and by name, those whose name tells a format, under
// their paths from that folder on. Fails if a folder cannot be read or has none.
absl::StatusOr<std::vector<NamedFile>> ListDocuments(const std::vector<std::string>& files);

// "report.docx" as "report.de.docx"; as it is for no language.
std::string NameInLanguage(const std::string& name, const std::string& language);

// Where each file's translation goes: a path, or "" for standard output, which is where all go if `out` is empty. One
// document goes to the file `out`; several, or any if `out` is a folder or ends in "/", go there under their own names
// with the language in them. Fails rather than let two translations share a path, or one overwrite a source. Makes the
// folders.
absl::StatusOr<std::vector<std::string>> PlanOutputs(const std::vector<NamedFile>& files, const std::string& out,
                                                     const std::string& language = "");

// Replaces the file as a whole: what was there stays if writing fails.
absl::Status WriteTranslation(const std::string& path, std::string_view text);

}  // namespace salient
