// The program as a user runs it, in a folder of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace qtx::cli {

inline std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Outcome {
  int status = -1;
  std::string out, err;
};

class Program : public testing::Test {
 protected:
  Program()
      : folder_(std::filesystem::temp_directory_path() /
                ("qtx_cli_test_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    // Whoever shards this test does not mean the programs it runs.
    for (const char* name : {"TEST_TOTAL_SHARDS", "TEST_SHARD_INDEX", "TEST_SHARD_STATUS_FILE",
                             "GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX", "SLURM_ARRAY_TASK_COUNT",
                             "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP",
                             "JOB_COMPLETIONS", "JOB_COMPLETION_INDEX"}) {
      unsetenv(name);
    }
  }
  ~Program() override { std::filesystem::remove_all(folder_); }

  Outcome Run(const std::string& arguments, const std::string& environment = "") const {
    const std::string command = environment + " " + QTX_PROGRAM + " " + arguments + " >" +
                                Path("out") + " 2>" + Path("err") + " </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Contents(Path("out")),
            Contents(Path("err"))};
  }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }
  static std::string Network(const std::string& name) {
    return std::string(QTX_SOURCE_DIR) + "/conformance/cases/models/" + name;
  }
  static bool IsOneLine(const std::string& text) {
    return std::ranges::count(text, '\n') == 1 && text.ends_with('\n');
  }

  std::filesystem::path folder_;
};

}  // namespace qtx::cli
