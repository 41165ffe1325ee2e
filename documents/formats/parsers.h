// The parsers of the formats, each in a file of its name. Shared code is in the folder above.
//
// All parsers copy `bytes` into the document. INVALID_ARGUMENT describes the error; RESOURCE_EXHAUSTED names the limit
// of options.limits that is exceeded.

#pragma once

#include <string_view>

#include "documents/document.h"
#include "documents/formats/registry.h"

namespace salient {

// Parses with the parser of `format`.
ParsedDocument ParseDocument(const Format& format, std::string_view bytes, const ParseOptions& options);

ParsedDocument ParsePlainText(std::string_view bytes, const ParseOptions& options);
ParsedDocument ParseMarkdown(std::string_view bytes, const ParseOptions& options);
ParsedDocument ParseHtml(std::string_view bytes, const ParseOptions& options);
ParsedDocument ParseDocx(std::string_view bytes, const ParseOptions& options);
ParsedDocument ParsePptx(std::string_view bytes, const ParseOptions& options);
ParsedDocument ParseXlsx(std::string_view bytes, const ParseOptions& options);
ParsedDocument ParseOpenDocument(std::string_view bytes, const ParseOptions& options);  // odt, odp, ods
ParsedDocument ParseEpub(std::string_view bytes, const ParseOptions& options);
ParsedDocument ParseXliff(std::string_view bytes, const ParseOptions& options);       // 1.2 and 2.0
ParsedDocument ParseGenericXml(std::string_view bytes, const ParseOptions& options);  // a document, or a piece of one
ParsedDocument ParsePo(std::string_view bytes, const ParseOptions& options);
ParsedDocument ParseSubRip(std::string_view bytes, const ParseOptions& options);
ParsedDocument ParseWebVtt(std::string_view bytes, const ParseOptions& options);
ParsedDocument ParseJson(std::string_view bytes, const ParseOptions& options);
ParsedDocument ParseYaml(std::string_view bytes, const ParseOptions& options);

}  // namespace salient
