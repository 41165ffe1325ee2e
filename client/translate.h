// `salient translate`.

#pragma once

#include <iosfwd>

#include "client/flags.h"

namespace salient {

// Returns the exit status: 0 if every document was translated, 1 if any was not.
int RunTranslate(TranslateFlags flags, std::ostream& out, std::ostream& err, bool err_is_terminal);

}  // namespace salient
