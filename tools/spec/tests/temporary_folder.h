// A folder of files that goes away with the test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace qtx::spec {

class TemporaryFolder : public testing::Test {
 protected:
  TemporaryFolder() : folder_(std::filesystem::path(testing::TempDir()) / TestName()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~TemporaryFolder() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }
  std::string folder() const { return folder_.string(); }

 private:
  static std::string TestName() {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    return std::string("qtx_") + test->test_suite_name() + "_" + test->name();
  }
  std::filesystem::path folder_;
};

}  // namespace qtx::spec
