// How this program was built; cmake/build_facts.cmake writes the source.
#pragma once

#include <span>

namespace qtx::cli {

// Of all files: the instruction sets of a kernel, and -Og of what is no loop, come on top.
extern const char* const kCompileFlags;
extern const char* const kLinkFlags;

/// A Debian package of tools/dependencies.txt.
struct BuildPackage {
  const char* name;
  const char* version;  // with Debian's revision; "unknown" where the build machine has no dpkg
};

/// Sorted by name.
std::span<const BuildPackage> BuildPackages();

}  // namespace qtx::cli
