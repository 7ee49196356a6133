// What the kernel withholds from this process and from those that it starts: files by Landlock,
// sockets and programs by seccomp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::conformance {

/// What a thread, and the threads and processes that it starts from then on, may do.
struct Permissions {
  // Files, and folders with all that is in them; nullopt: every file.
  std::optional<std::vector<std::string>> readable;
  std::vector<std::string> writable;  // the same, to read, write, make and remove
  std::vector<std::string> devices;   // the same, to read and write what exists
  bool sockets = false;
  bool programs = false;  // start other programs
};

/// Withholds from the calling thread, for good, what `permissions` do not name. Paths that do not
/// exist are left out.
/// Errors: that of SandboxSupport() (what the kernel has is in force then); kSystem.
/// Source: Documentation/userspace-api/landlock.rst of Linux, userspace-api/seccomp_filter.rst.
Result<void> Restrict(const Permissions& permissions);

/// kUnsupported where this kernel lacks Landlock or seccomp.
Result<void> SandboxSupport();

/// The version of Landlock in this kernel; 0: none.
int LandlockVersion();

/// The devices and folders in /dev, but disks and the machine's memory, which root could write.
std::vector<std::string> Devices();

/// The system's own files: programs, libraries, configuration, what the kernel tells.
std::vector<std::string> SystemFolders();

}  // namespace qtx::conformance
