#include "confine.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "data_folders.h"
#include "qtx/conformance/sandbox.h"

namespace qtx::cli {
namespace {

namespace fs = std::filesystem;

// Options whose files are written, and which is read.
constexpr std::string_view kOutputs[] = {"--output", "--output-dir", "--json",   "--html",  "--svg",
                                         "--junit",  "--gram",       "--report", "--resume"};
// With sanitizers a report asks another program for the names of functions.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kStartsPrograms = true;
#else
constexpr bool kStartsPrograms = false;
#endif

// A folder, or that of a file; of one that does not exist yet, the nearest that does.
fs::path FolderOf(fs::path path) {
  std::error_code error;
  while (path.has_relative_path() && !fs::is_directory(path, error)) path = path.parent_path();
  return path;
}

// As named, and where links lead.
std::vector<fs::path> PathsOf(const std::string& name) {
  std::error_code error;
  const fs::path absolute = fs::absolute(name, error).lexically_normal();
  std::vector<fs::path> paths = {absolute};
  // A link may lead to what does not exist yet.
  const fs::path link = fs::is_symlink(absolute, error)
                            ? absolute.parent_path() / fs::read_symlink(absolute, error)
                            : absolute;
  if (const fs::path target = fs::weakly_canonical(link, error); !error) paths.push_back(target);
  return paths;
}

// The files that links in the folder lead to: weights that a cache keeps elsewhere.
void AddLinked(const fs::path& folder, std::vector<std::string>& files) {
  constexpr int kMost = 4096;  // entries that are looked at
  std::error_code error;
  int count = 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end && count < kMost;
       entry.increment(error), ++count) {
    std::error_code none;
    if (!entry->is_symlink(none)) continue;
    const fs::path target = fs::canonical(entry->path(), none);
    if (!none && fs::is_regular_file(target, none)) files.push_back(target);
  }
}

// Those of an option that is not given are none.
std::vector<std::string> ValuesOf(const std::vector<Option>& options, std::string_view name) {
  const auto option = std::ranges::find(options, name, &Option::name);
  return option == options.end() ? std::vector<std::string>() : option->values;
}

// True if the command starts backends in processes of their own, or writes into the suite.
bool NeedsMore(std::string_view command, const std::vector<Option>& options) {
  if (command == "bench" || command == "review") return true;
  for (const char* flag : {"--isolate", "--memory-limit", "--write"}) {
    if (!ValuesOf(options, flag).empty()) return true;
  }
  if (std::ranges::find(options, "--backend", &Option::name) == options.end()) return false;
  const std::vector<std::string> backends = ValuesOf(options, "--backend");
  const auto has_process = [](std::string_view name) {
    return name.starts_with("cmd:") || name.starts_with("arm") || name.starts_with("faulty:");
  };
  return backends.empty() || std::ranges::any_of(backends, has_process);
}

// Of NAME=FILE both are tried.
void AddReadable(const std::string& value, std::vector<std::string>& readable) {
  for (const std::string& name : {value, value.substr(value.find('=') + 1)}) {
    std::error_code error;
    if (name.empty() || !fs::exists(name, error)) continue;
    for (const fs::path& path : PathsOf(name)) {
      const fs::path folder = FolderOf(path);
      readable.push_back(folder);
      AddLinked(folder, readable);
    }
  }
}

}  // namespace

Result<void> Confine(std::string_view command, const std::vector<Option>& options) {
  const std::vector<std::string> level = ValuesOf(options, "--sandbox");
  if (level.empty() || level[0] == "off" || NeedsMore(command, options)) return {};
  conformance::Permissions permissions;
  permissions.readable = conformance::SystemFolders();
  permissions.devices = conformance::Devices();
  permissions.programs = kStartsPrograms;
  std::vector<std::string>& readable = *permissions.readable;
  for (std::string& folder : OwnFolders()) readable.push_back(std::move(folder));
  for (const Option& option : options) {
    const bool writes = std::ranges::find(kOutputs, option.name) != std::end(kOutputs);
    for (const std::string& value : option.values) {
      AddReadable(value, readable);
      if (!writes || value == "-") continue;
      for (const fs::path& path : PathsOf(value)) {
        // A folder that is written as a whole is new beside the old one.
        const bool fills = option.name == "--output-dir";
        permissions.writable.push_back(FolderOf(fills ? path : path.parent_path()));
      }
    }
  }
  auto restricted = conformance::Restrict(permissions);
  const bool lacks = !restricted && restricted.error().code == ErrorCode::kUnsupported;
  if (lacks && level[0] != "strict") return {};
  return restricted;
}

}  // namespace qtx::cli
