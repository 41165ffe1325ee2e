# One way to declare a library, a program and a test, so that warnings, sanitizers and include paths are the same
# everywhere.

# Off where a stranger's compiler builds: its warnings are not ours.
option(SALIENT_WERROR "Have warnings fail the build" ON)

set(SALIENT_WARNINGS -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough
    -Wno-missing-field-initializers  # designated initialisers leave defaults out on purpose
    # GCC 12 is wrong about defaulted strings in designated initialisers.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    $<$<BOOL:${SALIENT_WERROR}>:-Werror>)

# Checks that double the time of compiling and find nothing more here: the address sanitizer stops at null pointers
# and at objects that are gone, too, and our processors read unaligned values.
if(SALIENT_SANITIZE MATCHES undefined)
  set(SALIENT_NO_SANITIZE -fno-sanitize=null,vptr,object-size,alignment)
endif()

# As Debian builds its programs: a mistake in memory that somebody sends for ends the program instead of obeying them.
# Sanitizers check the same and more; without optimisation _FORTIFY_SOURCE does nothing but warn.
option(SALIENT_HARDEN "Guard the stack, the C library's copies and the table of library functions" ON)
if(SALIENT_HARDEN AND NOT SALIENT_SANITIZE)
  set(optimised $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
  set(SALIENT_HARDENING -fstack-protector-strong -fstack-clash-protection
      $<${optimised}:-U_FORTIFY_SOURCE> $<${optimised}:-D_FORTIFY_SOURCE=2>)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND SALIENT_HARDENING -fcf-protection)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    list(APPEND SALIENT_HARDENING -mbranch-protection=standard)
  endif()
  set(SALIENT_HARDENED_LINK LINKER:-z,relro LINKER:-z,now)
endif()

# CMake's unity build: most of the time of compiling a source is spent on what it includes. What has a name in a source's
# anonymous namespace must have another one in the target's other sources.
option(SALIENT_GROUPS "Compile the sources of a target in groups: less than half the time, but a change compiles its whole \
group, and compile_commands.json has the groups instead of the sources" ON)

function(salient_configure target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SALIENT_GROUPS} UNITY_BUILD_BATCH_SIZE 9)
  target_compile_options(${target} PRIVATE ${SALIENT_WARNINGS} "$<$<COMPILE_LANGUAGE:CXX>:${SALIENT_HARDENING}>")
  target_link_options(${target} PRIVATE ${SALIENT_HARDENED_LINK})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  if(SALIENT_SANITIZE)
    target_compile_options(${target} PRIVATE
      -fsanitize=${SALIENT_SANITIZE} ${SALIENT_NO_SANITIZE} -fno-omit-frame-pointer)
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

# salient_test(name SOURCES ... DEPENDS ... [NEEDS fixture]): a GoogleTest program, each of its tests known to ctest;
# NEEDS names what another test must have made before. The folder FOLDER that it is in is the tests' label
# (ctest -L FOLDER), and target tests_FOLDER builds the programs of the folder.
function(salient_test name)
  if(NOT SALIENT_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "NEEDS" "SOURCES;DEPENDS" ${ARGN})
  salient_program(${name} SOURCES ${ARG_SOURCES} DEPENDS ${ARG_DEPENDS} GTest::gtest_main GTest::gmock)
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(needs)
  if(ARG_NEEDS)
    set(needs FIXTURES_REQUIRED ${ARG_NEEDS})
  endif()
  gtest_discover_tests(${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
                       PROPERTIES TIMEOUT 600 LABELS ${folder} ${needs})
  if(NOT TARGET tests_${folder})
    add_custom_target(tests_${folder})
  endif()
  add_dependencies(tests_${folder} ${name})
endfunction()

# salient_simd_sources(name AVX2 a.cc ... AVX512 b.cc ... AMX c.cc ...): sources of salient_name that are compiled for
# one instruction set each and run only where engine/base/cpu_features.h finds it. On other processors than x86-64
# they are left out.
function(salient_simd_sources name)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "AVX2;AVX512;AMX" ${ARGN})
  set(avx2 -mavx2 -mfma -mbmi -mbmi2 -mpopcnt)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni)
  # GCC's own AVX-512 header starts some intrinsics from a register it leaves undefined on purpose, and warns of it.
  list(APPEND avx512 -Wno-uninitialized -Wno-maybe-uninitialized)
  set_source_files_properties(${ARG_AVX2} PROPERTIES COMPILE_OPTIONS "${avx2}")
  set_source_files_properties(${ARG_AVX512} PROPERTIES COMPILE_OPTIONS "${avx512}")
  set(amx ${avx512} -mavx512bf16 -mavx512vbmi -mamx-tile -mamx-int8 -mamx-bf16)
  set_source_files_properties(${ARG_AMX} PROPERTIES COMPILE_OPTIONS "${amx}")
  target_sources(salient_${name} PRIVATE ${ARG_AVX2} ${ARG_AVX512} ${ARG_AMX})
endfunction()
