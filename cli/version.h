// What the programs were built from.

#pragma once

#include <string>

namespace salient {

const char* Version();   // "0.1.0"
const char* Revision();  // git's commit when the build was configured, or SALIENT_REVISION's; "unknown" where neither is

// For --version: "salient-server 0.1.0 (0123456789ab)".
std::string VersionLine(const std::string& program);

}  // namespace salient
