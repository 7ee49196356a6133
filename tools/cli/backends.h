// Backends by name: built into this program, found beside it, or any command.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/feature.h"
#include "qtx/format/result.h"
#include "report_files.h"

namespace qtx::cli {

struct BuiltIn {
  const char* name;
  Result<std::unique_ptr<backend::Backend>> (*make)(std::string_view options);
  bool is_peer;  // third-party library: runs only if named
};
/// Generated from the folders under backends/.
std::span<const BuiltIn> BuiltIns();

/// The limits of a backend's process, which has these seconds (at least 1 ms) for a case. This
/// program's own files are readable.
conformance::ProcessOptions ProcessOptionsOf(const ProcessLimits& limits, double timeout_seconds);

struct BackendOptions {
  conformance::ProcessOptions process;  // for backends in processes of their own
  // Only the reference has features.
  format::Features features = format::Features::Current();
  bool isolate = false;  // run built-in backends in processes, too
};

/// `name` is "reference", "reference:profile=NAME" (whose nodes are computed as that system does),
/// a built-in, "arm" (its server under emulation on another machine), either of these with
/// ":key=value,..." after it, "faulty:FAULT", or "cmd:PROGRAM ARGS". Errors: kInvalid, listing the
/// known names or naming the wrong option.
Result<conformance::BackendSource> FindBackend(const std::string& name,
                                               const BackendOptions& options = {});

/// A backend of this program, not isolated; nullopt for an unknown name.  Errors: kInvalid for an
/// unknown fault or option.
Result<std::optional<conformance::BackendSource>> FindInProcess(
    const std::string& name, format::Features features = format::Features::Current());

/// "x86:kernels=avx2,threads=2" for "x86:kernels=avx2".
std::string NameWithThreads(const std::string& name, int threads);

/// `backend` with relative paths of existing files in a command made absolute.
std::string NameFromAnywhere(const std::string& backend);

/// The files and folders that backends of these names read: the words of a command that are files,
/// the folder of `text:spec=`.
std::vector<OptionFile> BackendFiles(const std::vector<std::string>& names);

/// The backends of this project that FindBackend finds on this machine, the reference first.
std::vector<std::string> AvailableBackends();

}  // namespace qtx::cli
