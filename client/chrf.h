// chrF (Popovic 2015), the similarity of translations to references, as sacrebleu's chrF2 computes it: the F score with
// beta 2 of character n-grams of 1 to 6 code points, without white space.

#pragma once

#include <string>
#include <vector>

namespace salient {

// 0 to 100, from the counts of all documents together. Translation i is compared with reference i; both are UTF-8.
double Chrf(const std::vector<std::string>& translations, const std::vector<std::string>& references);

}  // namespace salient
