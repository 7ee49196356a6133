#include "qtx/conformance/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>

namespace qtx::conformance {
namespace {

namespace fs = std::filesystem;

// Of versions after the headers of Linux 6.1.
constexpr std::uint64_t kTruncate = std::uint64_t{1} << 14;       // version 3
constexpr std::uint64_t kScopeOfSockets = std::uint64_t{1} << 0;  // version 6
constexpr std::uint64_t kScopeOfSignals = std::uint64_t{1} << 1;  // version 6
struct RulesetAttributes {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scoped;
};

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
// With which root would make a disk under a name of its own.
constexpr std::uint64_t kMakeDevices = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
// The rights that a rule on a file, not a folder, may have.
constexpr std::uint64_t kOfFiles =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate;

std::uint64_t WriteRights(int version) {
  std::uint64_t rights = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                         LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                         LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                         LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                         LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
  if (version >= 2) rights |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) rights |= kTruncate;
  return rights;
}

struct Closed {
  int fd;
  explicit Closed(long result) : fd(static_cast<int>(result)) {}
  Closed(const Closed&) = delete;
  Closed& operator=(const Closed&) = delete;
  ~Closed() {
    if (fd >= 0) close(fd);
  }
};

Error Failed(const char* step, int error) {
  return {ErrorCode::kSystem, "the sandbox", std::string(step) + ": " + strerror(error)};
}

Result<void> Allow(int ruleset, std::span<const std::string> paths, std::uint64_t rights) {
  for (const std::string& path : paths) {
    const Closed opened(open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status {};
    if (opened.fd < 0 || fstat(opened.fd, &status) != 0) continue;
    landlock_path_beneath_attr rule{};
    rule.parent_fd = opened.fd;
    rule.allowed_access = S_ISDIR(status.st_mode) ? rights : rights & kOfFiles;
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
      return Failed("landlock_add_rule", errno);
    }
  }
  return {};
}

Result<void> RestrictFiles(const Permissions& permissions) {
  const int version = LandlockVersion();
  const std::uint64_t write = WriteRights(version);
  const std::uint64_t read = permissions.readable ? kRead : 0;
  const RulesetAttributes attributes{write | read, 0, kScopeOfSockets | kScopeOfSignals};
  const std::size_t known = version >= 6 ? sizeof attributes : sizeof attributes.files;
  const Closed ruleset(syscall(SYS_landlock_create_ruleset, &attributes, known, 0));
  if (ruleset.fd < 0) return Failed("landlock_create_ruleset", errno);
  if (permissions.readable) QTX_RETURN_IF_ERROR(Allow(ruleset.fd, *permissions.readable, read));
  QTX_RETURN_IF_ERROR(Allow(ruleset.fd, permissions.writable, read | (write & ~kMakeDevices)));
  const std::uint64_t use = read | (write & (LANDLOCK_ACCESS_FS_WRITE_FILE | kTruncate));
  QTX_RETURN_IF_ERROR(Allow(ruleset.fd, permissions.devices, use));
  if (syscall(SYS_landlock_restrict_self, ruleset.fd, 0) != 0) {
    return Failed("landlock_restrict_self", errno);
  }
  return {};
}

// What root may do with files, locked memory and priorities; not: the clock, modules, tracing,
// other processes' memory, ...
constexpr std::uint32_t kKeptCapabilities =
    CAP_TO_MASK(CAP_CHOWN) | CAP_TO_MASK(CAP_DAC_OVERRIDE) | CAP_TO_MASK(CAP_DAC_READ_SEARCH) |
    CAP_TO_MASK(CAP_FOWNER) | CAP_TO_MASK(CAP_FSETID) | CAP_TO_MASK(CAP_NET_BIND_SERVICE) |
    CAP_TO_MASK(CAP_IPC_LOCK) | CAP_TO_MASK(CAP_SYS_NICE);

// Without new privileges a program that is started gains none either (capabilities(7)).
Result<void> RestrictRoot() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0) return Failed("capget", errno);
  for (std::uint32_t kept = kKeptCapabilities; __user_cap_data_struct & half : data) {
    half.effective &= kept;
    half.permitted &= kept;
    half.inheritable &= kept;
    kept = 0;  // of those from 32 on none
  }
  if (syscall(SYS_capset, &header, data) != 0) return Failed("capset", errno);
  return {};
}

#if defined(__x86_64__)
constexpr std::uint32_t kProcessor = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kProcessor = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kProcessor = 0;  // no filter is known for it
#endif
constexpr std::uint32_t kForeignCalls = 0x40000000;  // from here on those of the x32 ABI

constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EACCES;

// The calls that are refused. Sockets may also be made through io_uring.
std::vector<long> RefusedCalls(const Permissions& permissions) {
  std::vector<long> calls;
  if (!permissions.sockets) calls.insert(calls.end(), {SYS_socket, SYS_io_uring_setup});
  if (!permissions.programs) calls.insert(calls.end(), {SYS_execve, SYS_execveat});
  return calls;
}

// A filter in classic BPF over seccomp_data. Two calls are refused always: TIOCSTI, which forges a
// terminal's input as if its user had typed a command, and limits of another process, by which it
// could be ended. Calls of another ABI (32 bits) have other numbers: all of them are refused where
// sockets or programs are, else none is.
std::vector<sock_filter> Filter(const Permissions& permissions) {
  const auto load = [](std::size_t at) -> sock_filter {
    return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(at));
  };
  // Skips `count` instructions unless the value is equal.
  const auto unless = [](std::uint32_t value, std::uint8_t count) -> sock_filter {
    return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count);
  };
  const auto give = [](std::uint32_t verdict) -> sock_filter {
    return BPF_STMT(BPF_RET | BPF_K, verdict);
  };
  const std::vector<long> refused = RefusedCalls(permissions);
  const std::uint32_t of_foreign = refused.empty() ? SECCOMP_RET_ALLOW : kRefuse;
  std::vector<sock_filter> filter = {
      load(offsetof(seccomp_data, arch)), unless(kProcessor, 2), load(offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kForeignCalls, 0, 1), give(of_foreign)};
  for (const long call : refused) {
    filter.insert(filter.end(), {unless(static_cast<std::uint32_t>(call), 1), give(kRefuse)});
  }
  // The low half of an argument, on a little-endian processor.
  const auto load_argument = [&](std::size_t index) {
    return load(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
  };
  filter.insert(filter.end(), {unless(SYS_prlimit64, 4), load_argument(0), unless(0, 1),
                               give(SECCOMP_RET_ALLOW), give(kRefuse)});
  filter.insert(filter.end(), {unless(SYS_ioctl, 3), load_argument(1), unless(TIOCSTI, 1),
                               give(kRefuse), give(SECCOMP_RET_ALLOW)});
  return filter;
}

// A filter at no address is an argument that is wrong otherwise where there are filters.
bool HasFilters() {
  return kProcessor != 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr) != 0 &&
         errno == EFAULT;
}

Result<void> RestrictCalls(const Permissions& permissions) {
  std::vector<sock_filter> filter = Filter(permissions);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0) return {};
  return Failed("seccomp", errno);
}

}  // namespace

int LandlockVersion() {
  const long version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return version > 0 ? static_cast<int>(version) : 0;
}

Result<void> SandboxSupport() {
  if (LandlockVersion() == 0) {
    return Error{ErrorCode::kUnsupported, "", "this kernel has no Landlock"};
  }
  if (HasFilters()) return {};
  return Error{ErrorCode::kUnsupported, "", "this kernel has no seccomp filters"};
}

Result<void> Restrict(const Permissions& permissions) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Failed("no_new_privs", errno);
  QTX_RETURN_IF_ERROR(RestrictRoot());
  // Files first: the calls that seccomp withholds are none of theirs.
  if (LandlockVersion() > 0) QTX_RETURN_IF_ERROR(RestrictFiles(permissions));
  if (HasFilters()) QTX_RETURN_IF_ERROR(RestrictCalls(permissions));
  return SandboxSupport();
}

std::vector<std::string> Devices() {
  std::vector<std::string> devices;
  std::error_code error;
  for (fs::directory_iterator entry("/dev", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code none;
    const fs::file_status status = entry->symlink_status(none);
    const std::string name = entry->path().filename();
    const bool is_memory = name == "mem" || name == "kmem" || name == "port";
    if ((fs::is_character_file(status) && !is_memory) || fs::is_directory(status)) {
      devices.push_back(entry->path());
    }
  }
  return devices;
}

std::vector<std::string> SystemFolders() {
  return {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/proc", "/sys"};
}

}  // namespace qtx::conformance
