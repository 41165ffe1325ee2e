#include "cli/version.h"

namespace salient {

const char* Version() { return SALIENT_VERSION; }
const char* Revision() { return SALIENT_REVISION; }

std::string VersionLine(const std::string& program) { return program + " " + Version() + " (" + Revision() + ")"; }

}  // namespace salient
