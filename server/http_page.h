// The page at "/": what this server is, which models it has, and how to ask it.

#pragma once

#include <string>

#include "salient/v1/translation.pb.h"

namespace salient {

std::string FrontPage(const v1::ListModelsResponse& models);

}  // namespace salient
