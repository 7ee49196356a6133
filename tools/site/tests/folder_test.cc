#include "qtx/site/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace qtx::site {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Folder : public testing::Test {
 protected:
  Folder() : folder_(fs::path(testing::TempDir()) / ("qtx_folder_" + Name())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~Folder() override { fs::remove_all(folder_); }

  static std::string Name() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  std::string Read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
    return text.str();
  }
  std::string At(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

TEST_F(Folder, IsReplacedAsAWhole) {
  const std::vector<File> first = {{"index.html", "1"}, {"ops/a.html", "2"}};
  const std::vector<File> second = {{"index.html", "3"}};
  ASSERT_TRUE(site::Write(first, At("out")).has_value());
  EXPECT_EQ(Read("out/ops/a.html"), "2");
  ASSERT_TRUE(site::Write(second, At("out/")).has_value());
  EXPECT_EQ(Read("out/index.html"), "3");
  EXPECT_FALSE(fs::exists(folder_ / "out/ops"));
  // Nothing is left beside it.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(Folder, DeletesNothingThatIsNotItsOwn) {
  const std::vector<File> files = {{"index.html", "1"}};
  Write("out/mine.txt", "x");
  auto written = site::Write(files, At("out"));
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().where, At("out"));
  EXPECT_THAT(written.error().message, HasSubstr("mine.txt"));
  fs::remove(folder_ / "out/mine.txt");
  ASSERT_TRUE(site::Write(files, At("out")).has_value());
  Write("out/deep/er/mine.txt", "x");
  written = site::Write(files, At("out"));
  ASSERT_FALSE(written.has_value());
  EXPECT_THAT(written.error().message, HasSubstr("deep/er/mine.txt"));
  EXPECT_EQ(Read("out/deep/er/mine.txt"), "x");
  Write("file", "x");
  EXPECT_THAT(site::Write(files, At("file")).error().message, HasSubstr("expected a folder"));
  EXPECT_FALSE(site::Write(files, At("none/out")).has_value());
}

TEST_F(Folder, FollowsALinkToItsFolder) {
  const std::vector<File> files = {{"index.html", "1"}};
  fs::create_directory(folder_ / "real");
  fs::create_directory_symlink(folder_ / "real", folder_ / "link");
  ASSERT_TRUE(site::Write(files, At("link")).has_value());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(Read("real/index.html"), "1");
}

}  // namespace
}  // namespace qtx::site
