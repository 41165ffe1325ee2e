// The page at "/": a description of the server, its models, and example requests.

#pragma once

#include <string>

#include "salient/v1/translation.pb.h"

namespace salient {

std::string FrontPage(const v1::ListModelsResponse& models);

}  // namespace salient
