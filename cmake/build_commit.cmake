# cmake -DSOURCE=... -DOUTPUT=... -P build_commit.cmake: writes OUTPUT, the source that defines kBuildCommit: the commit that
# is checked out in SOURCE, with -dirty when files differ from it; in an archive made by `git archive` the commit that git
# put into cmake/commit; else "unknown". The file is written only when its text changes.
cmake_minimum_required(VERSION 3.25)
set(commit "")
find_program(GIT git)
if(GIT AND EXISTS "${SOURCE}/.git")  # not the repository of somebody who has SOURCE as a folder
  execute_process(COMMAND ${GIT} --no-optional-locks -C "${SOURCE}" describe --always --dirty --abbrev=40 --exclude=*
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
else()
  file(READ "${SOURCE}/cmake/commit" commit)
  string(STRIP "${commit}" commit)
endif()
if(NOT commit MATCHES "^[0-9a-f]+(-dirty)?$")
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "// Made by build_commit.cmake.
#include \"build_commit.h\"

namespace qtx::cli {
const char* const kBuildCommit = \"@commit@\";
}
" @ONLY)
