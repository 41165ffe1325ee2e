# SentencePiece::SentencePiece, and SentencePiece::Train for tests that make models of their own. Debian's package has
# no CMake files, and a machine without pkg-config needs it, too.
find_path(SENTENCEPIECE_INCLUDE_DIR sentencepiece_processor.h REQUIRED)
foreach(library sentencepiece sentencepiece_train)
  string(TOUPPER ${library} variable)
  find_library(${variable}_LIBRARY ${library} REQUIRED)
endforeach()

add_library(SentencePiece::SentencePiece UNKNOWN IMPORTED)
set_target_properties(SentencePiece::SentencePiece PROPERTIES
                      IMPORTED_LOCATION ${SENTENCEPIECE_LIBRARY}
                      INTERFACE_INCLUDE_DIRECTORIES ${SENTENCEPIECE_INCLUDE_DIR})
add_library(SentencePiece::Train UNKNOWN IMPORTED)
set_target_properties(SentencePiece::Train PROPERTIES
                      IMPORTED_LOCATION ${SENTENCEPIECE_TRAIN_LIBRARY}
                      INTERFACE_LINK_LIBRARIES SentencePiece::SentencePiece)
