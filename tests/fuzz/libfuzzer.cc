// With libFuzzer, a target that is called as TARGET --write-seeds DIR writes its seeds and ends.

#include <cstdlib>
#include <string_view>

#include "tests/fuzz/seeds.h"

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  if (*count == 3 && std::string_view((*arguments)[1]) == "--write-seeds") {
    std::exit(salient::WriteSeeds((*arguments)[2]) ? 0 : 1);
  }
  return 0;
}
