# One way to declare a library, a program and a test, so that warnings, sanitizers and include paths are the same
# everywhere.

set(SALIENT_WARNINGS -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough -Werror)

function(salient_configure target)
  target_compile_options(${target} PRIVATE ${SALIENT_WARNINGS})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  if(SALIENT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${SALIENT_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${SALIENT_SANITIZE})
  endif()
endfunction()

# salient_library(name SOURCES a.cc ... DEPENDS lib ...): a static library `salient_name`.
function(salient_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(salient_${name} STATIC ${ARG_SOURCES})
  salient_configure(salient_${name})
  target_link_libraries(salient_${name} PUBLIC ${ARG_DEPENDS})
endfunction()

# salient_program(name SOURCES ... DEPENDS ...): an executable in bin/.
function(salient_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  salient_configure(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
endfunction()

# salient_test(name SOURCES ... DEPENDS ...): a GoogleTest program, each of its tests known to ctest.
function(salient_test name)
  if(NOT SALIENT_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  salient_program(${name} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS} GTest::gtest_main GTest::gmock)
  gtest_discover_tests(${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 600)
endfunction()
