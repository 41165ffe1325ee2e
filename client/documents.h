// Reads documents from files and writes translations to files.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "documents/formats/registry.h"
#include "salient/v1/translation.pb.h"

namespace salient {

// Of a document that the clients read. A message of gRPC has less than 2 GiB.
inline constexpr size_t kMostDocumentBytes = size_t{1} << 30;

// The bytes of a document; "-" is standard input. Errors do not name the file (engine/base/files.h). Also fails if it
// is empty or, unless the format is binary, if it is not UTF-8; the error recognises UTF-16, or names the position.
absl::StatusOr<std::string> ReadDocument(const std::string& file, bool is_binary = false);

// The format of a document by its name. Standard input and names without an extension are text. INVALID_ARGUMENT for an
// extension that no format has: as text, a table or a file of another program would be damaged.
absl::StatusOr<const Format*> FormatOfDocument(const std::string& file);

// Reads a document of the format into a request's, whose other fields stay.
absl::Status ReadInto(v1::Document& document, const std::string& file, const Format& format);

// A document, and the name of its translation in the output folder.
struct NamedFile {
  std::string path, name;
};

// The files that the command line names. For a folder: all files in it, recursively and sorted by name, that have the
// extension of a format, with their paths relative to the folder; but none of the output folder `out`, in which an
// earlier run left translations. Fails if a folder cannot be read or has no such file.
absl::StatusOr<std::vector<NamedFile>> ListDocuments(const std::vector<std::string>& files,
                                                     const std::string& out = "");

// "report.de.docx" for "report.docx" and "de"; unchanged if the language is empty.
std::string NameInLanguage(const std::string& name, const std::string& language);

// The output path of each file's translation; "" is standard output. If `out` is empty, all go to standard output. A
// single document goes to the file `out`. Several documents, or any number if `out` is a folder or ends in "/", go into
// that folder under their own names with the language inserted. Fails if two translations would have the same path or
// one would overwrite a source. Creates the folders, and fails if no file can be made in one of them.
absl::StatusOr<std::vector<std::string>> PlanOutputs(const std::vector<NamedFile>& files, const std::string& out,
                                                     const std::string& language = "");

// Replaces the file atomically: if writing fails, the old file remains. A link stays, and so do the permissions of the
// file to which it leads, or will lead. A device or a pipe is written to. No other file is changed: the unfinished text
// is in a new file, PATH.part or, if that exists, PATH.part2 and so on.
absl::Status WriteTranslation(const std::string& path, std::string_view text);

}  // namespace salient
