// The commit that this program was built from; cmake/build_commit.cmake writes its source.
#pragma once

namespace qtx::cli {

extern const char* const kBuildCommit;  // see conformance::Provenance

}  // namespace qtx::cli
