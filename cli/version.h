// The version from which the programs were built.

#pragma once

#include <string>

namespace salient {

const char* Version();   // "0.1.0"
const char* Revision();  // SALIENT_REVISION, or git's commit when the build was configured; otherwise "unknown"

// For --version: "salient-server 0.1.0 (0123456789ab)".
std::string VersionLine(const std::string& program);

}  // namespace salient
