// `salient models`.

#pragma once

#include <iosfwd>
#include <string>

#include "client/flags.h"
#include "salient/v1/translation.pb.h"

namespace salient {

int RunModels(const ModelsFlags& flags, std::ostream& out, std::ostream& err);

// The models, then each one's measured operating points.
std::string ModelsTable(const v1::ListModelsResponse& models);

}  // namespace salient
