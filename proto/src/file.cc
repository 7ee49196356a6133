#include "qtx/format/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "qtx/format/new_file.h"

namespace qtx::format {
namespace {

constexpr std::int64_t kStep = std::int64_t{16} << 20;  // bytes between two calls of a progress

Error Unwritable(const std::string& path) { return {ErrorCode::kIo, path, std::strerror(errno)}; }

// Writes pieces to a descriptor, and says how far it is.
class Writer {
 public:
  Writer(int descriptor, const std::string& path, const WriteProgress& progress)
      : descriptor_(descriptor), path_(path), progress_(progress) {}

  Result<void> Write(std::span<const Piece> pieces) {
    for (const Piece& piece : pieces) {
      const auto* range = std::get_if<FileRange>(&piece);
      total_ += range != nullptr ? range->size
                                 : static_cast<std::int64_t>(std::get<std::string>(piece).size());
    }
    for (const Piece& piece : pieces) {
      const auto* range = std::get_if<FileRange>(&piece);
      QTX_RETURN_IF_ERROR(range != nullptr ? Copy(*range) : Put(std::get<std::string>(piece)));
    }
    return {};
  }

  Result<void> Put(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written =
          write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), kStep));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Unwritable(path_);
      bytes.remove_prefix(static_cast<std::size_t>(written));
      Advance(written);
    }
    return {};
  }

 private:
  // By the kernel where it can, so that the bytes never come here; a hole stays a hole.
  Result<void> Copy(FileRange range) {
    const Descriptor source(open(range.path.c_str(), O_RDONLY | O_CLOEXEC));
    while (range.size > 0) {
      if (const std::int64_t hole = SkipHole(source, range); hole > 0) {
        range.offset += hole;
        range.size -= hole;
        Advance(hole);
        continue;
      }
      off_t offset = range.offset;
      const ssize_t copied =
          copy_file_range(source.value(), &offset, descriptor_, nullptr,
                          static_cast<std::size_t>(std::min(range.size, kStep)), 0);
      if (copied < 0 && errno == EINTR) continue;
      if (copied <= 0) return CopyThroughMemory(range);
      range.offset += copied;
      range.size -= copied;
      Advance(copied);
    }
    return {};
  }

  // The size of the hole that `range` begins with, which the file that is written then has, too; 0
  // for none, and where it cannot have one.
  std::int64_t SkipHole(const Descriptor& source, const FileRange& range) const {
    struct stat from {
    }, to{};
    const bool is_whole =
        fstat(source.value(), &from) == 0 && range.offset + range.size <= from.st_size;
    const off_t data = lseek(source.value(), range.offset, SEEK_DATA);
    if (!is_whole || (data < 0 && errno != ENXIO)) return 0;  // ENXIO: a hole to the file's end
    const std::int64_t hole =
        data < 0 ? range.size : std::min<std::int64_t>(data - range.offset, range.size);
    const off_t at = lseek(descriptor_, 0, SEEK_CUR);
    const bool at_end = fstat(descriptor_, &to) == 0 && at == to.st_size;
    if (hole == 0 || !at_end || ftruncate(descriptor_, at + hole) != 0) return 0;
    return lseek(descriptor_, hole, SEEK_CUR) < 0 ? 0 : hole;
  }

  Result<void> CopyThroughMemory(const FileRange& range) {
    std::string buffer;
    for (std::int64_t at = 0; at < range.size;) {
      buffer.resize(static_cast<std::size_t>(std::min(range.size - at, kStep / 16)));
      const auto bytes = std::as_writable_bytes(std::span(buffer));
      QTX_RETURN_IF_ERROR(ReadRange(range, at, bytes));
      QTX_RETURN_IF_ERROR(Put(buffer));
      at += static_cast<std::int64_t>(buffer.size());
    }
    return {};
  }

  void Advance(std::int64_t bytes) {
    done_ += bytes;
    if (progress_) progress_(done_, total_);
  }

  const int descriptor_;
  const std::string& path_;
  const WriteProgress& progress_;
  std::int64_t done_ = 0, total_ = 0;
};

// A device or a pipe, which a rename would take away, or an open file without a name.
Result<void> WriteInPlace(const std::string& path, std::span<const Piece> pieces,
                          const WriteProgress& progress) {
  if (path == "-") return Writer(STDOUT_FILENO, "stdout", progress).Write(pieces);
  const Descriptor descriptor(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (descriptor.value() < 0) return Unwritable(path);
  return Writer(descriptor.value(), path, progress).Write(pieces);
}

// The file that `path` stands for, which may not exist yet: a link stays a link.  Errors: kIo.
Result<std::string> TargetOf(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as Linux has
  std::filesystem::path target = path;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(target, error); ++links) {
    errno = ELOOP;
    if (links == kMaxLinks) return Unwritable(path);
    target = target.parent_path() / std::filesystem::read_symlink(target, error);
  }
  return target.string();
}

bool IsAt(const std::string& path, const Descriptor& file) {
  struct stat named {
  }, opened{};
  return lstat(path.c_str(), &named) == 0 && fstat(file.value(), &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

// False, with errno EWOULDBLOCK if another process has locked the file; some file systems have no
// locks.
bool Lock(const Descriptor& file) { return flock(file.value(), LOCK_EX | LOCK_NB) == 0; }

// Removes a temporary file that is not locked, because its writer is gone. (A process id would not
// tell: other hosts have the same ids, and a new process may have that of the writer.) Nobody
// removes a file that he has not locked, so `path` names the locked file until it is removed.
void RemoveLeftover(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.value() >= 0 && Lock(file) && IsAt(path, file)) unlink(path.c_str());
}

// A new locked file beside `target`, which its owner may read and write: NAME.qtx-0.tmp, or while
// other writers have that, NAME.qtx-1.tmp and so on. Removes leftovers of the first numbers.
Descriptor CreateTemporary(const std::string& target, mode_t mode, std::string& path) {
  constexpr int kNumbers = 8;
  constexpr std::size_t kLongestName = 240;  // bytes; file systems take 255
  const std::string stem = target.substr(0, target.rfind('/') + 1 + kLongestName) + ".qtx-";
  Descriptor created;
  for (int number = 0; number < kNumbers || created.value() < 0; ++number) {
    const std::string next = stem + std::to_string(number) + ".tmp";
    RemoveLeftover(next);
    if (created.value() >= 0) continue;
    Descriptor file(
        open(next.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode | S_IRUSR | S_IWUSR));
    if (file.value() < 0 && errno != EEXIST) return file;
    // Before it was locked, another process may have removed the new file as a leftover.
    if (file.value() < 0 || (!Lock(file) && errno == EWOULDBLOCK) || !IsAt(next, file)) continue;
    created = std::move(file);
    path = next;
  }
  return created;
}

// Makes a rename in the folder of `path` durable, where the folder can be opened and the file
// system syncs folders (EINVAL if it does not).
Result<void> SyncFolder(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const Descriptor descriptor(
      open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.value() >= 0 && fsync(descriptor.value()) != 0 && errno != EINVAL)
    return Unwritable(path);
  return {};
}

// Gives a new file the owner and the mode of the one it replaces.
void KeepOwnerAndMode(const struct stat& old, const Descriptor& file) {
  const bool same_owner = fchown(file.value(), old.st_uid, old.st_gid) == 0;
  (void)fchmod(file.value(), old.st_mode & (same_owner ? 07777U : 0777U));
}

enum class Existing { kReplaced, kKept };

int Rename(const std::string& from, const std::string& to, Existing existing) {
  if (existing == Existing::kKept) {
    const int renamed = renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
    if (renamed == 0 || errno != EINVAL) return renamed;  // EINVAL: the file system lacks this
  }
  return std::rename(from.c_str(), to.c_str());
}

// Replaces or creates a regular file.
Result<void> WriteRegularFile(const std::string& path, std::span<const Piece> pieces,
                              const WriteProgress& progress, Existing existing) {
  QTX_ASSIGN_OR_RETURN(NewFile file, NewFile::Create(path));
  QTX_RETURN_IF_ERROR(file.Append(pieces, progress));
  return file.Keep(existing == Existing::kReplaced);
}

}  // namespace

Descriptor::~Descriptor() {
  if (value_ >= 0) close(value_);
}

NewFile::~NewFile() {
  if (file_.value() >= 0) unlink(temporary_.c_str());
}

Result<NewFile> NewFile::Create(const std::string& path) {
  constexpr mode_t kAnybody = 0666;  // less the umask, as of any file that the user creates
  NewFile made;
  made.path_ = path;
  QTX_ASSIGN_OR_RETURN(made.target_, TargetOf(path));
  struct stat old {};
  const bool exists = stat(made.target_.c_str(), &old) == 0;
  made.file_ =
      CreateTemporary(made.target_, exists ? old.st_mode & kAnybody : kAnybody, made.temporary_);
  if (made.file_.value() < 0) return Unwritable(path);
  return made;
}

Result<void> NewFile::Append(std::span<const Piece> pieces, const WriteProgress& progress) {
  return Writer(file_.value(), path_, progress).Write(pieces);
}

Result<void> NewFile::Append(std::span<const std::byte> bytes) {
  return Writer(file_.value(), path_, {})
      .Put({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Result<void> NewFile::Keep(bool replace) {
  struct stat old {};
  if (stat(target_.c_str(), &old) == 0) KeepOwnerAndMode(old, file_);
  if (fsync(file_.value()) != 0 || !IsAt(temporary_, file_) ||
      Rename(temporary_, target_, replace ? Existing::kReplaced : Existing::kKept) != 0) {
    return Unwritable(path_);
  }
  file_ = Descriptor();
  return SyncFolder(target_);
}

Result<void> WriteFileAtomically(const std::string& path, std::span<const Piece> pieces,
                                 const WriteProgress& progress) {
  struct stat status {};
  const bool exists = path == "-" || stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode))
    return Error{ErrorCode::kIo, path, "found a folder, expected a file"};
  // /proc/self/fd/N stands for a file with no name (st_nlink 0) where that has been removed.
  if (exists && (!S_ISREG(status.st_mode) || status.st_nlink == 0))
    return WriteInPlace(path, pieces, progress);
  return WriteRegularFile(path, pieces, progress, Existing::kReplaced);
}

Result<void> WriteFileAtomically(const std::string& path, std::string_view bytes) {
  const Piece piece{std::string(bytes)};
  return WriteFileAtomically(path, std::span(&piece, 1));
}

Result<void> WriteNewFile(const std::string& path, std::span<const Piece> pieces,
                          const WriteProgress& progress) {
  return WriteRegularFile(path, pieces, progress, Existing::kKept);
}

Result<OutputFolder> OutputFolder::Make(const std::string& path) {
  OutputFolder folder;
  if (path.empty()) return folder;
  std::error_code error;
  for (std::filesystem::path missing = path;
       !missing.empty() && !std::filesystem::exists(missing, error);
       missing = missing.parent_path()) {
    folder.made_.push_back(missing.string());
  }
  std::filesystem::create_directories(path, error);
  if (error) return Error{ErrorCode::kIo, path, error.message()};
  return folder;
}

OutputFolder::~OutputFolder() {
  for (const std::string& folder : made_) rmdir(folder.c_str());  // fails where it is not empty
}

Result<FileLock> FileLock::Take(const std::string& path) {
  const std::string name = path + ".qtx-lock";
  for (;;) {
    Descriptor file(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (file.value() < 0 && errno == ELOOP)
      return Error{ErrorCode::kIo, path, "'" + name + "' is a link, expected no file or a lock"};
    if (file.value() < 0) return Unwritable(path);
    if (!Lock(file)) {
      if (errno != EWOULDBLOCK) return Unwritable(path);
      return Error{ErrorCode::kIo, path, "another run is writing this file"};
    }
    // Between open and Lock, another process may have removed the file.
    if (IsAt(name, file)) return FileLock(name, std::move(file));
  }
}

FileLock::~FileLock() {
  if (file_.value() >= 0) unlink(path_.c_str());
}

}  // namespace qtx::format
