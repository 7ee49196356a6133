// What a sandboxed process can do: the guests are programs of the system.
#include "qtx/conformance/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "process.h"

namespace qtx::conformance {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

// A folder that the sandbox knows nothing of.
class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    if (LandlockVersion() == 0) GTEST_SKIP() << "this kernel has no Landlock";
    std::string name = fs::temp_directory_path() / "qtx-sandbox-test-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::ofstream(folder_ / "secret") << "0123";
  }
  void TearDown() override { fs::remove_all(folder_); }

  // What a shell script that knows the folder as $F answers: its output and its errors. No word of
  // the command is a file's name, for such a folder may be read.
  std::string Says(const std::string& script, Sandbox sandbox,
                   const std::vector<std::string>& readable = {}) {
    const std::string whole =
        "export LC_ALL=C; F='" + folder_.string() + "'; head -c 4 >/dev/null; a=$({ " + script +
        "; } 2>&1); a=${a:0:120}; printf \"\\\\$(printf %03o ${#a})%s\" \"$a\"; " +
        "cat >/dev/null";
    const auto process =
        Process::Start({"bash", "-c", whole}, {.sandbox = sandbox, .readable = readable});
    if (!process.has_value()) return process.error().Text();
    const auto answer = (*process)->Exchange("ask", 20s);
    return answer.has_value() ? *answer : answer.error().Text();
  }

  fs::path folder_;
};

TEST_F(SandboxTest, WritesOnlyInAFolderOfItsOwn) {
  EXPECT_THAT(Says("echo x > $F/new", Sandbox::kOn), HasSubstr("Permission denied"));
  EXPECT_THAT(Says("echo x > $F/secret", Sandbox::kOn), HasSubstr("Permission denied"));
  EXPECT_THAT(Says("rm $F/secret; mkdir $F/sub; mv $F/secret $TMPDIR", Sandbox::kOn),
              HasSubstr("cannot remove"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
  EXPECT_EQ(
      Says("echo abc > $TMPDIR/new && mkdir $TMPDIR/sub && cat $TMPDIR/new && echo > /dev/null",
           Sandbox::kOn),
      "abc");
  EXPECT_EQ(Says("echo x > $F/new && echo done", Sandbox::kOff), "done");
}

TEST_F(SandboxTest, OpensNoDisk) {
  if (geteuid() == 0) {
    EXPECT_EQ(Says("mknod $F/disk b 7 0 && echo made", Sandbox::kOff), "made");
    EXPECT_THAT(Says("mknod $TMPDIR/disk b 7 0", Sandbox::kOn), HasSubstr("Permission denied"));
  }
  for (const fs::directory_entry& device : fs::directory_iterator("/dev")) {
    if (!device.is_block_file() || access(device.path().c_str(), W_OK) != 0) continue;
    const std::string write = "exec 3>> " + device.path().string();
    EXPECT_THAT(Says(write, Sandbox::kOff), Not(HasSubstr("Permission denied")));
    EXPECT_THAT(Says(write, Sandbox::kOn), HasSubstr("Permission denied"));
    return;
  }
  GTEST_SKIP() << "this user may write no disk";
}

TEST_F(SandboxTest, HasAFolderThatGoesWithIt) {
  const std::string own = Says("touch $TMPDIR/a; mkdir $TMPDIR/b; printf $TMPDIR", Sandbox::kOn);
  EXPECT_THAT(own, HasSubstr("qtx-backend-"));
  EXPECT_FALSE(fs::exists(own));
}

TEST_F(SandboxTest, HasNoFilesOfThisProcess) {
  const int fd = open((folder_ / "secret").c_str(), O_RDWR);  // not closed by execve
  ASSERT_GE(fd, 3);
  for (const Sandbox sandbox : {Sandbox::kOff, Sandbox::kOn}) {
    EXPECT_EQ(Says("test -e /proc/self/fd/" + std::to_string(fd) + " || echo closed", sandbox),
              "closed");
  }
  close(fd);
}

TEST_F(SandboxTest, ReadsUnlessItIsStrict) {
  EXPECT_EQ(Says("cat $F/secret", Sandbox::kOn), "0123");
  EXPECT_THAT(Says("cat $F/secret", Sandbox::kStrict), HasSubstr("Permission denied"));
  EXPECT_EQ(Says("cat $F/secret", Sandbox::kStrict, {folder_.string()}), "0123");
}

TEST_F(SandboxTest, HasItsUsersHomeUnlessItIsStrict) {
  EXPECT_EQ(Says("test $HOME = $TMPDIR || echo user", Sandbox::kOn), "user");
  EXPECT_EQ(Says("test $HOME = $TMPDIR && cd && touch a && ls", Sandbox::kStrict), "a");
}

TEST_F(SandboxTest, ReadsTheFoldersOfItsCommandIfItIsStrict) {
  const fs::path venv = folder_ / "venv";
  fs::create_directories(venv / "bin");
  fs::create_symlink("/bin/sh", venv / "bin/sh");
  std::ofstream(venv / "library") << "head -c 1 >/dev/null; printf '\\002ok'; cat >/dev/null";
  const auto process = Process::Start({venv / "bin/sh", "-c", ". " + (venv / "library").string()},
                                      {.sandbox = Sandbox::kStrict});
  ASSERT_TRUE(process.has_value());
  const auto answer = (*process)->Exchange("", 20s);
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(*answer, "ok");
}

// Nobody listens on port 1: who may connect is refused by the other side.
TEST_F(SandboxTest, HasNoSocketsIfItIsStrict) {
  const std::string connect = "exec 3<>/dev/tcp/127.0.0.1/1";
  EXPECT_THAT(Says(connect, Sandbox::kOn), HasSubstr("Connection refused"));
  EXPECT_THAT(Says(connect, Sandbox::kStrict), HasSubstr("Permission denied"));
}

// Its input is a pipe: a call that is let through finds no terminal.
TEST_F(SandboxTest, ForgesNoInputOfATerminal) {
  const std::string forge =
      "/usr/bin/python3 -c \"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSTI, b'x')\" 2>&1 | "
      "tail -n 1";
  EXPECT_THAT(Says(forge, Sandbox::kOff), HasSubstr("Inappropriate ioctl"));
  EXPECT_THAT(Says(forge, Sandbox::kOn), HasSubstr("Permission denied"));
}

TEST_F(SandboxTest, KeepsWhatItsChildrenAndThreadsDo) {
  EXPECT_THAT(Says("setsid bash -c \"echo x > $F/new\"", Sandbox::kOn),
              HasSubstr("Permission denied"));
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

TEST_F(SandboxTest, DoesNotSignalOthers) {
  if (LandlockVersion() < 6) GTEST_SKIP() << "Landlock of this kernel knows no signals";
  EXPECT_THAT(Says("kill -0 " + std::to_string(getpid()), Sandbox::kOn),
              HasSubstr("Operation not permitted"));
}

// A limit of time would end them.
TEST_F(SandboxTest, SetsNoLimitsOfOthers) {
  const std::string limit =
      "prlimit --pid " + std::to_string(getpid()) + " --core >/dev/null && ulimit -c && echo done";
  EXPECT_THAT(Says(limit, Sandbox::kOff), HasSubstr("done"));
  EXPECT_THAT(Says(limit, Sandbox::kOn), HasSubstr("Permission denied"));
  EXPECT_THAT(Says("ulimit -c 0 && echo done", Sandbox::kOn), HasSubstr("done"));
}

TEST_F(SandboxTest, IsNotRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "this user may do none of it";
  const std::string read = "head -c 1 /proc/" + std::to_string(getpid()) + "/environ | wc -c";
  EXPECT_THAT(Says(read, Sandbox::kOff), HasSubstr("1"));
  EXPECT_THAT(Says(read, Sandbox::kOn), HasSubstr("Permission denied"));
  EXPECT_THAT(Says("date -s @0", Sandbox::kOn), HasSubstr("Operation not permitted"));
}

TEST_F(SandboxTest, LeavesThisProcessAsItIs) {
  (void)Says("true", Sandbox::kStrict);
  std::ofstream file(folder_ / "by_this_process");
  EXPECT_TRUE(file.good());
  EXPECT_EQ(std::system("exit 3"), 3 << 8);  // NOLINT: programs can be started
}

// In a child, which ends by its verdict: what is given up is given up for good.
TEST_F(SandboxTest, ThisProcessGivesUpWhatItDoesNotNeed) {
  const fs::path own = folder_ / "own";
  fs::create_directory(own);
  const auto verdict = [&] {
    if (!Restrict({.readable = SystemFolders(), .writable = {own}}).has_value()) return 1;
    if (std::ifstream(folder_ / "secret").good()) return 2;
    if (std::ofstream(folder_ / "new").good()) return 3;
    if (!std::ofstream(own / "new").good()) return 4;
    if (std::system("true") == 0) return 5;  // NOLINT
    return 0;
  };
  EXPECT_EXIT(_exit(verdict()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace qtx::conformance
