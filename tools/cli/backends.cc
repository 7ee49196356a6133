#include "backends.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "faulty/faulty.h"

namespace qtx::cli {
namespace {

namespace fs = std::filesystem;

bool IsBuiltIn(const std::string& name) {
  return std::ranges::any_of(BuiltIns(), [&](const BuiltIn& b) { return b.name == name; });
}

// The server of faulty backends, which lies beside this program.
std::string FaultyServer() {
  std::error_code error;
  return (fs::read_symlink("/proc/self/exe", error).parent_path() / "qtx-backend-faulty").string();
}

bool OnPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string folder;
  for (const char* c = path == nullptr ? "" : path;; ++c) {
    if (*c != ':' && *c != '\0') {
      folder += *c;
      continue;
    }
    if (!folder.empty() &&
        access(std::string(folder).append("/").append(program).c_str(), X_OK) == 0)
      return true;
    if (*c == '\0') return false;
    folder.clear();
  }
}

// The Arm backend's server from the cross build beside this program's build folder, as a command
// that the emulator runs; empty when either is missing.
std::string EmulatedArm() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path server =
      program.parent_path().parent_path().parent_path() / "build-arm64/bin/qtx-backend-arm";
  if (error || !fs::exists(server, error) || !OnPath("qemu-aarch64")) return "";
  return "qemu-aarch64 -cpu max '" + server.string() + "'";
}

}  // namespace

Result<conformance::BackendSource> FaultySource(const std::string& fault) {
  QTX_RETURN_IF_ERROR(backend::faulty::MakeFaulty(fault));
  for (const backend::faulty::FaultInfo& info : backend::faulty::Faults()) {
    if (info.name != fault || !info.crashes) continue;
    QTX_ASSIGN_OR_RETURN(auto source,
                         conformance::ProcessSource("'" + FaultyServer() + "' " + fault));
    source.name = "faulty:" + fault;
    return source;
  }
  return conformance::BackendSource{
      "faulty:" + fault, [fault] { return backend::faulty::MakeFaulty(fault); }, {}};
}

Result<conformance::BackendSource> FindBackend(const std::string& name,
                                               std::chrono::milliseconds timeout) {
  if (name == "reference") return conformance::ReferenceSource();
  for (const BuiltIn& built_in : BuiltIns()) {
    if (name != built_in.name) continue;
    return conformance::BackendSource{
        name,
        [make = built_in.make]() -> Result<std::unique_ptr<backend::Backend>> { return make(); },
        {}};
  }
  if (name.starts_with("faulty:")) return FaultySource(name.substr(7));
  std::string command = name.starts_with("cmd:") ? name.substr(4) : "";
  if (name == "arm") command = EmulatedArm();
  if (!command.empty() || name.starts_with("cmd:")) {
    QTX_ASSIGN_OR_RETURN(auto source, conformance::ProcessSource(command, timeout));
    source.name = name;
    return source;
  }
  std::string names;
  for (const std::string& available : AvailableBackends()) names += "'" + available + "', ";
  return Error{ErrorCode::kInvalid, "--backend " + name,
               "expected " + names + "or 'cmd:PROGRAM ARGS'"};
}

std::vector<std::string> AvailableBackends() {
  std::vector<std::string> names = {"reference"};
  for (const BuiltIn& built_in : BuiltIns()) names.emplace_back(built_in.name);
  if (!IsBuiltIn("arm") && !EmulatedArm().empty()) names.emplace_back("arm");
  return names;
}

}  // namespace qtx::cli
