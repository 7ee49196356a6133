#include "files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace qtx::conformance {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxFiles = 100'000;

}  // namespace

Result<std::vector<std::string>> FindFiles(const std::string& folder, std::string_view extension) {
  std::error_code status;
  if (!fs::is_directory(folder, status)) {
    return Error{ErrorCode::kUnreadable, folder, "found no folder of that name"};
  }
  std::vector<std::string> paths;
  fs::recursive_directory_iterator entry(folder, status);
  for (; !status && entry != fs::recursive_directory_iterator(); entry.increment(status)) {
    if (!entry->is_regular_file(status) || entry->path().extension() != extension) continue;
    paths.push_back(entry->path().lexically_relative(folder).generic_string());
    if (std::ssize(paths) > kMaxFiles) {
      return Error{
          ErrorCode::kTooLarge, folder,
          "found more than " + std::to_string(kMaxFiles) + " files " + std::string(extension)};
    }
  }
  if (status) return Error{ErrorCode::kUnreadable, folder, status.message()};
  std::ranges::sort(paths);
  return paths;
}

std::string Join(std::string folder, std::string_view name) {
  if (!folder.empty()) folder += '/';
  return folder.append(name);
}

std::vector<std::string> FindFolders(const std::string& folder, std::string_view prefix) {
  std::vector<std::string> names;
  std::error_code status;
  fs::directory_iterator entry(folder, status);
  for (; !status && entry != fs::directory_iterator(); entry.increment(status)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(prefix) && entry->is_directory(status)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> NumberedFiles(const std::string& root, const std::string& stem,
                                       std::string_view suffix) {
  std::vector<std::string> paths;
  std::error_code status;
  for (std::int64_t i = 0; i < kMaxFiles; ++i) {
    std::string path = stem + std::to_string(i);
    path += suffix;
    if (!fs::is_regular_file(Join(root, path), status)) break;
    paths.push_back(std::move(path));
  }
  return paths;
}

std::string NameOf(const std::string& folder) {
  std::error_code status;
  const fs::path path = fs::absolute(folder, status).lexically_normal();
  return path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
}

}  // namespace qtx::conformance
