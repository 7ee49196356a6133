# qtx_build_facts(OUTPUT): the source OUTPUT that defines what tools/cli/build_facts.h declares: how this tree is compiled and linked,
# and the versions of the Debian packages of tools/dependencies.txt as they are when CMake runs. A package's version has
# Debian's revision, which says which mended vulnerabilities it has; "unknown" where there is no dpkg.
function(qtx_build_facts output)
  set(packages)
  file(STRINGS ${PROJECT_SOURCE_DIR}/tools/dependencies.txt lines REGEX "^[a-z0-9]")
  list(SORT lines)
  foreach(name IN LISTS lines)
    set(version "")
    execute_process(COMMAND dpkg-query -W -f "\${Version}\n" ${name}
      OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    string(REGEX REPLACE "\n.*" "" version "${version}")
    if(NOT version MATCHES "^[A-Za-z0-9.+:~-]+$")
      set(version unknown)
    endif()
    string(APPEND packages "    {\"${name}\", \"${version}\"},\n")
  endforeach()
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  set(compile "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  set(link "${CMAKE_EXE_LINKER_FLAGS} ${CMAKE_EXE_LINKER_FLAGS_${type}}")
  if(CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$")
    string(JOIN " " compile ${compile} ${QTX_HARDENING})
    string(JOIN " " link ${link} ${QTX_LINK_HARDENING})
  endif()
  foreach(flags IN ITEMS compile link)
    string(STRIP "${${flags}}" ${flags})
    string(REGEX REPLACE " +" " " ${flags} "${${flags}}")
    string(REPLACE "${PROJECT_SOURCE_DIR}/" "" ${flags} "${${flags}}")
    string(REGEX REPLACE "([\"\\\\])" "\\\\\\1" ${flags} "${${flags}}")
  endforeach()
  file(CONFIGURE OUTPUT ${output} CONTENT "// Made by build_facts.cmake.
#include \"build_facts.h\"

namespace qtx::cli {
const char* const kCompileFlags = \"@compile@\";
const char* const kLinkFlags = \"@link@\";

std::span<const BuildPackage> BuildPackages() {
  static constexpr BuildPackage kPackages[] = {
@packages@  };
  return kPackages;
}
}  // namespace qtx::cli
" @ONLY)
endfunction()
