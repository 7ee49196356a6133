# Headers of the standard library, precompiled once for each set of options that targets are compiled with. Each file
# still includes what it needs: tools/scripts/lint compiles without.
set(QTX_PRECOMPILED <algorithm> <array> <charconv> <cmath> <cstdint> <cstring> <filesystem> <functional> <limits> <map>
  <memory> <numeric> <optional> <set> <span> <string> <string_view> <utility> <vector>)

# qtx_precompiled(NAME HEADER...): the object library NAME, whose precompiled headers others reuse.
function(qtx_precompiled name)
  set(source ${PROJECT_BINARY_DIR}/${name}.cc)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "// Nothing: the headers are what is compiled here.\n")
  endif()
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()

# The warnings and floating-point rules. A designated initialiser leaves the other members at their defaults by intent.
set(QTX_OPTIONS -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wno-missing-field-initializers -ffp-contract=off
  -fPIC)  # of executables too: what is precompiled is for both

# qtx_compile_options(TARGET [COLD | TEST]): the warnings and floating-point rules every QTX target is built with. COLD:
# its speed is that of files and messages, not of loops over tensors; it is compiled with -Og, in two thirds of the time
# of -O2. TEST: likewise, with GoogleTest's headers precompiled.
function(qtx_compile_options target)
  set(options ${QTX_OPTIONS} $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # ccache asks for the latter
  set(headers ${QTX_PRECOMPILED})
  string(TOLOWER "qtx_precompiled_${ARGN}" precompiled)
  if(ARGN)
    list(APPEND options $<$<CONFIG:Release>:-Og>)
  endif()
  if("TEST" IN_LIST ARGN)
    # GCC 12 takes the empty optionals of temporary aggregates for uninitialised.
    list(APPEND options $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
    list(APPEND headers <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  target_compile_options(${target} PRIVATE ${options})
  if(NOT TARGET ${precompiled})
    qtx_precompiled(${precompiled} ${headers})
    target_compile_options(${precompiled} PRIVATE ${options})
    if("TEST" IN_LIST ARGN)
      target_link_libraries(${precompiled} PRIVATE GTest::gmock)  # it defines macros
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()

# qtx_own_options(FILES ... OPTIONS ...): files of the current folder that are compiled with further options, for which the
# precompiled headers are not valid.
function(qtx_own_options)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILES;OPTIONS")
  set_source_files_properties(${arg_FILES} PROPERTIES COMPILE_OPTIONS "${arg_OPTIONS}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# qtx_unity_by_folder(TARGET FILES...): in a unity build, a unit is a folder's files, or a part of a larger folder's.
function(qtx_unity_by_folder target)
  set(largest 18)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  set(count 0)
  set(last "")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file PARENT_PATH folder)
    if(NOT folder STREQUAL last)
      set(count 0)
      set(last ${folder})
    endif()
    math(EXPR part "${count} / ${largest}")
    math(EXPR count "${count} + 1")
    cmake_path(GET folder FILENAME name)
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${name}_${part})
  endforeach()
endfunction()

# qtx_library(NAME [COLD] SOURCES ... PUBLIC ... PRIVATE ...): the library qtx::NAME. It publishes only its
# include/ folder, so that an include against the direction of dependencies does not compile. COLD: see qtx_compile_options.
# It is shared with BUILD_SHARED_LIBS, which DEFINE_SYMBOL leaves the compiler's command as it is.
function(qtx_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(qtx_${name} ${arg_SOURCES})
  add_library(qtx::${name} ALIAS qtx_${name})
  set_target_properties(qtx_${name} PROPERTIES EXPORT_NAME ${name} DEFINE_SYMBOL ""
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(qtx_${name} PUBLIC cxx_std_20)
  target_include_directories(qtx_${name}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(qtx_${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  if(arg_COLD)
    qtx_compile_options(qtx_${name} COLD)
  else()
    qtx_compile_options(qtx_${name})
  endif()
  qtx_unity_by_folder(qtx_${name} ${arg_SOURCES})
  install(TARGETS qtx_${name} EXPORT qtxTargets
    LIBRARY COMPONENT qtx NAMELINK_COMPONENT dev ARCHIVE COMPONENT dev)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
    install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/ DESTINATION include COMPONENT dev)
  endif()
endfunction()

# qtx_page(FOLDER HEADER VARIABLE [SOURCE source] [SCRIPTS NAME...] [LIBRARY FILE]): FOLDER's page.html, page.css and
# page.js, with NAME.js... before it, as the source SOURCE (page.cc) of the current binary folder, which defines the
# string_view VARIABLE that HEADER declares. LIBRARY is a script of others, an element of its own in the page.
function(qtx_page folder header variable)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "SOURCE;LIBRARY" "SCRIPTS")
  set(embed ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake)
  set(base ${PROJECT_SOURCE_DIR}/cmake/page/base)
  set(source page.cc)
  if(arg_SOURCE)
    set(source ${arg_SOURCE})
  endif()
  set(scripts page)
  list(PREPEND scripts ${arg_SCRIPTS})
  list(TRANSFORM scripts PREPEND ${folder}/)
  list(TRANSFORM scripts APPEND .js)
  string(REPLACE ";" "," joined "${scripts}")
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DSCRIPTS=${joined} -DLIBRARY=${arg_LIBRARY}
      -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${source} -DHEADER=${header} -DVARIABLE=${variable} -P ${embed}
    DEPENDS ${folder}/page.html ${folder}/page.css ${scripts} ${base}.css ${base}.js ${embed} ${arg_LIBRARY}
    VERBATIM)
endfunction()

# qtx_texts(SOURCE HEADER [VARIABLE FILE[+FILE]...]...): the source SOURCE of the current binary folder, which
# includes HEADER and defines each string_view VARIABLE as the text of its files, one after the other. Files are
# relative to the current folder.
function(qtx_texts source header)
  set(embed ${PROJECT_SOURCE_DIR}/cmake/embed_texts.cmake)
  set(rest ${ARGN})
  set(texts)
  set(depends)
  while(rest)
    list(POP_FRONT rest variable files)
    string(REPLACE "+" ";" files "${files}")
    set(paths)
    foreach(file IN LISTS files)
      cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      list(APPEND paths ${file})
    endforeach()
    list(APPEND depends ${paths})
    list(JOIN paths "+" paths)
    list(APPEND texts "${variable}=${paths}")
  endwhile()
  list(JOIN texts "|" texts)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${source} -DHEADER=${header}
      "-DTEXTS=${texts}" -P ${embed}
    DEPENDS ${depends} ${embed}
    VERBATIM)
endfunction()
