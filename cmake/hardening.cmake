# How everything that ships is compiled and linked: tests/hardening_test.py reads these properties from the installed files, and
# SECURITY.md lists them. For the whole tree, generated code of protobuf and servers of backends too: a target that a function
# forgot would ship without. The options are those of Debian's and OpenSSF's guides for compilers; a build type with sanitizers has its
# own, which these would hide faults from.
set(QTX_HARDENED $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
set(QTX_HARDENING -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE)
# Level 3 also checks sizes that are known at run time only: GCC 12, clang 9.
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12) OR
   (CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 9))
  list(APPEND QTX_HARDENING -D_FORTIFY_SOURCE=3)
else()
  list(APPEND QTX_HARDENING -D_FORTIFY_SOURCE=2)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  list(APPEND QTX_HARDENING -fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  list(APPEND QTX_HARDENING -mbranch-protection=standard)
endif()
set(QTX_LINK_HARDENING -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

# No folder of the build is in what is built: `assert` and debug information name files from the root or from the build folder, and two
# folders give the same bytes (tools/scripts/reproduce). ccache gives the compiler paths from the build folder where CCACHE_BASEDIR is set
# (tools/scripts/build): ../ are the same files. The last map that fits is taken.
set(QTX_PREFIX_MAP -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -ffile-prefix-map=${PROJECT_BINARY_DIR}/= -ffile-prefix-map=../=)

add_compile_options("$<${QTX_HARDENED}:${QTX_HARDENING};${QTX_PREFIX_MAP}>")
add_link_options("$<${QTX_HARDENED}:${QTX_LINK_HARDENING}>")
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)  # -pie where a compiler does not do so by itself

# Archives without times and owners, whatever the default of this ar.
set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> qcD <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "<CMAKE_AR> qD <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "<CMAKE_RANLIB> -D <TARGET>")
