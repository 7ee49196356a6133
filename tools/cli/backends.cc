#include "backends.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "commands.h"
#include "data_folders.h"
#include "faulty/faulty.h"
#include "qtx/conformance/sandbox.h"
#include "qtx/format/print.h"
#include "qtx/reference/profile.h"

namespace qtx::cli {
namespace {

namespace fs = std::filesystem;

using conformance::BackendSource;

bool IsBuiltIn(const std::string& name) {
  return std::ranges::any_of(BuiltIns(), [&](const BuiltIn& b) { return b.name == name; });
}

// "x86:threads=2" is backend "x86" with options "threads=2".
std::pair<std::string, std::string> SplitName(const std::string& name) {
  const std::size_t colon = std::min(name.find(':'), name.size());
  return {name.substr(0, colon), name.substr(std::min(colon + 1, name.size()))};
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

Result<BackendSource> Faulty(const std::string& name, const std::string& fault) {
  if (!backend::faulty::MakeFaulty(fault)) {
    return Error{ErrorCode::kUsage, "--backend " + name,
                 "expected faulty:none or a fault listed by `qtx power`"};
  }
  BackendSource source;
  source.name = name;
  source.make = [fault] { return backend::faulty::MakeFaulty(fault); };
  return source;
}

bool Crashes(const std::string& name) {
  return std::ranges::any_of(backend::faulty::Faults(), [&](const auto& info) {
    return info.crashes && name == "faulty:" + std::string(info.name);
  });
}

// A built-in backend, served by another process of this program.
Result<BackendSource> Isolated(const BackendSource& source, const BackendOptions& options) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return Error{ErrorCode::kIo, "/proc/self/exe", error.message()};
  std::vector<std::string> words = {program.string(), "serve", "--backend", source.name};
  for (const format::FeatureRow& row : format::AllFeatures()) {
    if (!source.is_reference || options.features.Has(row.feature) == row.promoted) continue;
    words.insert(words.end(), {row.promoted ? "--without" : "--feature", std::string(row.name)});
  }
  BackendSource isolated = conformance::ProcessSource(source.name, words, options.process);
  isolated.is_reference = source.is_reference;
  if (!source.make_with_threads) return isolated;
  isolated.make_with_threads = [words, process = options.process](int threads) {
    std::vector<std::string> threaded = words;
    threaded[3] = NameWithThreads(words[3], threads);
    return conformance::ProcessSource(words[3], std::move(threaded), process).make();
  };
  return isolated;
}

// An error where `strict` cannot be kept; what `on` does without is said on stderr.
Result<void> CheckSandbox(const std::string& name, const conformance::ProcessOptions& process) {
  if (process.sandbox == conformance::Sandbox::kOff) return {};
  const auto supported = conformance::SandboxSupport();
  if (supported.has_value()) return {};
  if (process.sandbox == conformance::Sandbox::kStrict) {
    return Error{ErrorCode::kUsage, "--sandbox strict", supported.error().message};
  }
  format::Print(stderr, "--backend {}: {}, so its sandbox is not whole\n", name,
                supported.error().message);
  return {};
}

}  // namespace

Result<std::optional<BackendSource>> FindInProcess(const std::string& name,
                                                   format::Features features) {
  if (name == "reference") return std::optional(conformance::ReferenceSource(features));
  constexpr std::string_view kDeployed = "reference:profile=";
  if (name.starts_with(kDeployed)) {
    const std::string_view profile = std::string_view(name).substr(kDeployed.size());
    if (const auto found = reference::FindProfile(profile); !found.has_value()) {
      return AsUsage("--backend " + name, found.error());
    }
    return std::optional(conformance::ReferenceSource(features, profile));
  }
  constexpr std::string_view kFaulty = "faulty:";
  if (name.starts_with(kFaulty)) {
    QTX_ASSIGN_OR_RETURN(BackendSource source, Faulty(name, name.substr(kFaulty.size())));
    return std::optional(std::move(source));
  }
  const auto [base, given] = SplitName(name);
  for (const BuiltIn& built_in : BuiltIns()) {
    if (base != built_in.name) continue;
    BackendSource source;
    source.name = name;
    source.make = [make = built_in.make, options = given] { return make(options); };
    const auto with_threads = [make = built_in.make, name](int threads) {
      return make(SplitName(NameWithThreads(name, threads)).second);
    };
    if (with_threads(1).has_value()) source.make_with_threads = with_threads;
    // Made once now, to report wrong options, and what is wrong in a file that one names, before
    // anything runs.
    if (const auto made = source.make(); !made.has_value()) {
      const ErrorCode code = made.error().code;
      const bool of_option = code == ErrorCode::kUsage || code == ErrorCode::kUnsupported;
      return of_option ? AsUsage("--backend " + name, made.error()) : made.error();
    }
    return std::optional(std::move(source));
  }
  return std::optional<BackendSource>();
}

Result<BackendSource> FindBackend(const std::string& name, const BackendOptions& options) {
  QTX_ASSIGN_OR_RETURN(std::optional<BackendSource> own, FindInProcess(name, options.features));
  if (own) {
    if (!options.isolate && !Crashes(name)) return *std::move(own);
    QTX_RETURN_IF_ERROR(CheckSandbox(name, options.process));
    return Isolated(*own, options);
  }
  std::string command = name.starts_with("cmd:") ? name.substr(4) : "";
  if (const auto [base, given] = SplitName(name); base == "arm") {
    command = EmulatedArm();
    if (!command.empty() && !given.empty()) command += " '" + given + "'";
  }
  if (!command.empty() || name.starts_with("cmd:")) {
    QTX_RETURN_IF_ERROR(CheckSandbox(name, options.process));
    auto source = conformance::ProcessSource(command, options.process);
    if (!source.has_value()) return AsUsage("--backend " + name, source.error());
    source->name = name;
    return source;
  }
  std::string names;
  for (const std::string& available : AvailableBackends()) names += "'" + available + "', ";
  for (const BuiltIn& built_in : BuiltIns()) {
    if (built_in.is_peer) names += "'" + std::string(built_in.name) + "', ";
  }
  return Error{ErrorCode::kUsage, "--backend " + name,
               "expected " + names + "or 'cmd:PROGRAM ARGS'"};
}

conformance::ProcessOptions ProcessOptionsOf(const ProcessLimits& limits, double timeout_seconds) {
  conformance::ProcessOptions process;
  process.timeout =
      std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(timeout_seconds));
  if (limits.sandbox == "off") process.sandbox = conformance::Sandbox::kOff;
  if (limits.sandbox == "strict") process.sandbox = conformance::Sandbox::kStrict;
  process.readable = limits.readable;
  for (std::string& folder : OwnFolders()) process.readable.push_back(std::move(folder));
  return process;
}

std::vector<OptionFile> BackendFiles(const std::vector<std::string>& names) {
  constexpr std::string_view kText = "text:spec=", kCommand = "cmd:";
  std::vector<OptionFile> files;
  for (const std::string& name : names) {
    if (name.starts_with(kText)) files.push_back({"--backend", name.substr(kText.size())});
    if (!name.starts_with(kCommand)) continue;
    const auto words = conformance::SplitCommand(name.substr(kCommand.size()));
    for (const std::string& word : words.has_value() ? *words : std::vector<std::string>()) {
      std::error_code error;
      if (fs::is_regular_file(word, error)) files.push_back({"--backend", word});
    }
  }
  return files;
}

std::string NameWithThreads(const std::string& name, int threads) {
  const char separator = name.find(':') == std::string::npos ? ':' : ',';
  return name + separator + "threads=" + std::to_string(threads);
}

std::string NameFromAnywhere(const std::string& backend) {
  if (!backend.starts_with("cmd:") || backend.find_first_of("'\"\\") != std::string::npos) {
    return backend;
  }
  std::istringstream words(backend.substr(4));
  std::string command = "cmd:";
  for (std::string word; words >> word;) {
    std::error_code error;
    const bool is_file = fs::is_regular_file(word, error);
    if (command.size() > 4) command += ' ';
    command += is_file ? fs::absolute(word, error).lexically_normal().string() : word;
  }
  return command;
}

std::vector<std::string> AvailableBackends() {
  std::vector<std::string> names = {"reference"};
  for (const BuiltIn& built_in : BuiltIns()) {
    if (!built_in.is_peer) names.emplace_back(built_in.name);
  }
  if (!IsBuiltIn("arm") && !EmulatedArm().empty()) names.emplace_back("arm");
  return names;
}

}  // namespace qtx::cli
