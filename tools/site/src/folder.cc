// Writes the folder of a site beside the old one, then replaces it.
#include "qtx/site/folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "qtx/format/file.h"

namespace qtx::site {
namespace {

namespace fs = std::filesystem;

// Manifest of the site's files, so that nothing else is deleted.
constexpr const char* kList = "qtx-site.txt";
constexpr std::string_view kListHead = "Written by qtx, which replaces these files:\n";
constexpr std::int64_t kMaxListBytes = std::int64_t{1} << 22;

Error Failed(const fs::path& path, const std::error_code& status) {
  return {ErrorCode::kIo, path.string(), status.message()};
}

Error Refused(const fs::path& folder, const std::string& name) {
  return {ErrorCode::kIo, folder.string(),
          "found " + name + ", expected an empty folder or a site that qtx wrote"};
}

Result<std::set<std::string>> FilesBelow(const fs::path& folder) {
  std::set<std::string> files;
  std::error_code status;
  fs::recursive_directory_iterator entry(folder, status);
  for (; !status && entry != fs::recursive_directory_iterator(); entry.increment(status)) {
    if (entry->is_directory(status) && !entry->is_symlink(status)) continue;
    files.insert(entry->path().lexically_relative(folder).generic_string());
  }
  if (status) return Failed(folder, status);
  return files;
}

Result<fs::path> TargetOf(const std::string& folder) {
  std::error_code status;
  const fs::path target = fs::weakly_canonical(folder, status);
  if (status) return Failed(folder, status);
  return target.has_filename() ? target : target.parent_path();
}

// Errors: kIo for a file that is not of the site.
Result<void> CheckReplaceable(const fs::path& folder) {
  std::error_code status;
  if (!fs::exists(folder, status)) return {};
  if (!fs::is_directory(folder, status)) {
    return Error{ErrorCode::kIo, folder.string(), "found a file, expected a folder"};
  }
  QTX_ASSIGN_OR_RETURN(std::set<std::string> files, FilesBelow(folder));
  if (files.empty()) return {};
  if (files.erase(kList) == 0) return Refused(folder, *files.begin());
  QTX_ASSIGN_OR_RETURN(const std::string list,
                       format::ReadFile((folder / kList).string(), kMaxListBytes));
  if (!list.starts_with(kListHead)) return Refused(folder, kList);
  for (std::size_t at = kListHead.size(); at < list.size();) {
    const std::size_t end = std::min(list.find('\n', at), list.size());
    files.erase(list.substr(at, end - at));
    at = end + 1;
  }
  if (!files.empty()) return Refused(folder, *files.begin());
  return {};
}

Result<void> WriteAll(std::span<const File> files, const fs::path& folder) {
  std::string list(kListHead);
  for (const File& file : files) {
    const fs::path path = folder / file.path;
    std::error_code status;
    fs::create_directories(path.parent_path(), status);
    if (status) return Failed(path.parent_path(), status);
    QTX_RETURN_IF_ERROR(format::WriteFileAtomically(path.string(), file.bytes));
    list += file.path + "\n";
  }
  return format::WriteFileAtomically((folder / kList).string(), list);
}

Result<void> PutIntoPlace(const fs::path& written, const fs::path& folder, const fs::path& aside) {
  std::error_code status;
  const bool replaces = fs::exists(folder, status);
  if (replaces) fs::remove_all(aside, status);
  if (replaces) fs::rename(folder, aside, status);
  if (status) return Failed(folder, status);
  fs::rename(written, folder, status);
  if (!status) return {};
  std::error_code ignored;
  if (replaces) fs::rename(aside, folder, ignored);
  return Failed(folder, status);
}

}  // namespace

Result<void> CheckFolder(const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(const fs::path target, TargetOf(folder));
  std::error_code status;
  if (!fs::is_directory(target.parent_path(), status))
    return Error{ErrorCode::kIo, target.string(), "found no folder to write it in"};
  return CheckReplaceable(target);
}

Result<void> Write(std::span<const File> files, const std::string& folder) {
  QTX_ASSIGN_OR_RETURN(const fs::path target, TargetOf(folder));
  QTX_RETURN_IF_ERROR(CheckFolder(folder));
  QTX_ASSIGN_OR_RETURN(const auto lock, format::FileLock::Take(target.string()));
  const fs::path written = target.string() + ".qtx-new";
  const fs::path aside = target.string() + ".qtx-old";
  std::error_code status;
  fs::remove_all(written, status);  // of a run that was killed
  fs::create_directory(written, status);
  if (status) return Failed(written, status);
  Result<void> done = WriteAll(files, written);
  if (done.has_value()) done = PutIntoPlace(written, target, aside);
  std::error_code ignored;
  fs::remove_all(written, ignored);
  if (done.has_value()) fs::remove_all(aside, ignored);
  return done;
}

}  // namespace qtx::site
