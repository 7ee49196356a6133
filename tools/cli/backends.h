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

namespace qtx::cli {

struct BuiltIn {
  const char* name;
  Result<std::unique_ptr<backend::Backend>> (*make)(std::string_view options);
  bool is_peer;  // somebody else's library: run where it is asked for by name only
};
/// Generated from the folders under backends/.
std::span<const BuiltIn> BuiltIns();

struct BackendOptions {
  conformance::ProcessOptions process;  // of those that run in a process of their own
  // Of the reference, which alone has them.
  format::Features features = format::Features::Current();
  bool isolate = false;  // built-in ones too: this program serves them
};

/// `name` is "reference", a built-in, "arm" (its server under emulation on another machine), either
/// of these with ":key=value,..." after it, "faulty:FAULT", or "cmd:PROGRAM ARGS".
/// Errors: kInvalid, listing the names there are, or saying which option is wrong.
Result<conformance::BackendSource> FindBackend(const std::string& name,
                                               const BackendOptions& options = {});

/// A backend of this program, not isolated; nullopt for a name that is none's.  Errors: kInvalid
/// for a fault or an option that there is not.
Result<std::optional<conformance::BackendSource>> FindInProcess(
    const std::string& name, format::Features features = format::Features::Current());

/// `backend` with the files that a command names relative to this folder by their absolute paths.
std::string NameFromAnywhere(const std::string& backend);

/// The backends of this project that FindBackend finds on this machine, the reference first.
std::vector<std::string> AvailableBackends();

}  // namespace qtx::cli
