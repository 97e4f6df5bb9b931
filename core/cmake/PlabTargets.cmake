# SPDX-License-Identifier: Apache-2.0
# plab_layer(name SOURCES a.cpp ... DEPENDS lower-layer ... LINK third-party ... LINK_PRIVATE ...)
#   [OPTIONS compiler options of this layer alone]: one static library per layer, so that a call upwards does not link.
# plab_test(name SOURCES a_test.cpp ... LINK plab::layer ... [MAIN mp] [LABEL x] [THREADS])
#   one Catch2 program, each test case a CTest entry. THREADS: those tagged [threads] get that label.
find_package(Threads REQUIRED)

add_library(plab_flags INTERFACE)
add_library(plab::flags ALIAS plab_flags)
target_compile_features(plab_flags INTERFACE cxx_std_20)
foreach(kind IN LISTS PLAB_SANITIZE)
  target_compile_options(plab_flags INTERFACE -fsanitize=${kind} -fno-omit-frame-pointer)
  target_link_options(plab_flags INTERFACE -fsanitize=${kind})
endforeach()
if("undefined" IN_LIST PLAB_SANITIZE)
  # Without vptr: that check opens a pipe, so it reports sound objects where tests have used up the
  # descriptors.
  target_compile_options(plab_flags INTERFACE -fno-sanitize-recover=undefined -fno-sanitize=vptr)
endif()
if(PLAB_COVERAGE)
  target_compile_options(plab_flags INTERFACE --coverage)
  target_link_options(plab_flags INTERFACE --coverage)
endif()

# Ours alone: never exported to a project that uses plab.
add_library(plab_warnings INTERFACE)
target_compile_options(plab_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual
  -Wcast-qual -Wformat=2 -Wimplicit-fallthrough $<$<BOOL:${PLAB_WERROR}>:-Werror>
  # GCC 12 takes the sanitizers' own checks for uses of uninitialised members (std::regex)
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${PLAB_SANITIZE}>>:-Wno-maybe-uninitialized>
  # GCC 12 warns about std::string's own operator+ (GCC bug 105651)
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

# The standard headers that nearly every file includes, parsed once for all layers. (A cpp still
# includes what it uses; a file that forgets to is found by the run of clang-tidy.)
set(PLAB_COMMON_HEADERS <fmt/format.h> <algorithm> <array> <atomic> <chrono> <cstdint> <functional>
  <memory> <mutex> <optional> <span> <string> <string_view> <utility> <vector>)

# What is built often and runs briefly (tests, the lab tool) is not optimised to the last.
set(PLAB_QUICK_BUILD $<$<CONFIG:Release>:-O1>)

# Several sources of a target are compiled as one: their headers are parsed once and what both
# instantiate is made once. From scratch this takes a third of the time.
function(plab_unity name)
  if(PLAB_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

# plab_alone(a.cpp ...): sources of this folder whose names are also those of others in their target.
function(plab_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

function(plab_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LINK;LINK_PRIVATE;OPTIONS" ${ARGN})
  add_library(plab_${name} STATIC ${arg_SOURCES})
  add_library(plab::${name} ALIAS plab_${name})
  target_include_directories(plab_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/core> $<INSTALL_INTERFACE:include>)
  foreach(lower IN LISTS arg_DEPENDS)
    if(NOT TARGET plab_${lower})
      message(FATAL_ERROR "layer ${name} depends on ${lower}, which is none of those below it")
    endif()
  endforeach()
  list(TRANSFORM arg_DEPENDS PREPEND plab::)
  target_link_libraries(plab_${name}
    PUBLIC plab::flags ${arg_DEPENDS} ${arg_LINK} Threads::Threads
    PRIVATE ${arg_LINK_PRIVATE} $<BUILD_INTERFACE:plab_warnings>)
  set_target_properties(plab_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  plab_unity(plab_${name})
  if(arg_OPTIONS OR name STREQUAL "base")  # other options need a parse of their own
    target_compile_options(plab_${name} PRIVATE ${arg_OPTIONS})
    target_precompile_headers(plab_${name} PRIVATE ${PLAB_COMMON_HEADERS})
  else()
    target_precompile_headers(plab_${name} REUSE_FROM plab_base)
  endif()
endfunction()

# What is linked often and runs briefly: gold takes a third of the time of the usual linker.
find_program(PLAB_GOLD ld.gold)
mark_as_advanced(PLAB_GOLD)
set(PLAB_QUICK_LINK)
if(PLAB_GOLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT PLAB_SANITIZE)
  set(PLAB_QUICK_LINK -fuse-ld=gold)
endif()

function(plab_test name)
  cmake_parse_arguments(arg "THREADS" "MAIN;TIMEOUT;LABEL" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} plab::flags plab_test_support plab_warnings Catch2::Catch2)
  if(arg_MAIN STREQUAL "mp")
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/main_mp.cpp)
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
  endif()
  # -rdynamic: the stacks of failed children show names
  set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ON)
  target_link_options(${name} PRIVATE ${PLAB_QUICK_LINK})
  target_compile_options(${name} PRIVATE ${PLAB_QUICK_BUILD})
  target_precompile_headers(${name} REUSE_FROM plab_test_support)
  plab_unity(${name})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)  # the outer fence only; a test proves order with gates
  endif()
  # One label only: catch_discover_tests takes a list apart. It sets SKIP_RETURN_CODE itself.
  if(NOT arg_LABEL)
    set(arg_LABEL core)
  endif()
  set(others)
  if(arg_THREADS)  # ThreadSanitizer's part
    set(others TEST_SPEC "~[threads]")
    catch_discover_tests(${name} TEST_SPEC "[threads]" TEST_PREFIX "${name}: "
      TEST_LIST ${name}_THREADS PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS threads)
  endif()
  catch_discover_tests(${name} ${others} TEST_PREFIX "${name}: "
    PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LABEL})
endfunction()
