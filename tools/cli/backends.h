// Backends by name: built into this program, found beside it, or any command.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "qtx/backend/backend.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"

namespace qtx::cli {

struct BuiltIn {
  const char* name;
  std::unique_ptr<backend::Backend> (*make)();
};
/// Generated from the folders under backends/.
std::span<const BuiltIn> BuiltIns();

/// `name` is "reference", a built-in, "faulty:FAULT", "arm" (its server under emulation on another
/// machine) or "cmd:PROGRAM ARGS".  Errors: kInvalid, listing the names there are.
Result<conformance::BackendSource> FindBackend(
    const std::string& name, std::chrono::milliseconds timeout = std::chrono::seconds(60));

/// The backend with that one fault, or `none`.  Errors: kInvalid for a name that is no fault's.
Result<conformance::BackendSource> FaultySource(const std::string& fault);

/// Every name that FindBackend finds on this machine, the reference first.
std::vector<std::string> AvailableBackends();

}  // namespace qtx::cli
