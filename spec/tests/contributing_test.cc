// The tables of CONTRIBUTING.md: every path and every test that they name is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "qtx/reference/arithmetic.h"
#include "qtx/reference/interpreter.h"
#include "qtx/spec/document.h"
#include "qtx/spec/links.h"

namespace qtx::spec {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = QTX_SOURCE_DIR;

struct Row {
  std::string change;
  std::vector<std::string> paths;  // as written, all that is in backticks and has a /
};

std::string TextOf(const std::string& title) {
  const auto document = ReadDocument((kRoot / "CONTRIBUTING.md").string());
  EXPECT_TRUE(document.has_value());
  if (!document.has_value()) return "";
  const Section* section = document->Find(title);
  EXPECT_NE(section, nullptr) << title;
  return section == nullptr ? "" : std::string(document->Text(*section));
}

std::vector<Row> Table() {
  std::vector<Row> rows;
  static const std::regex kCode("`([^`]*)`");
  std::istringstream text(TextOf("What a change touches"));
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("| ") || line.starts_with("| change")) continue;
    Row row{line.substr(2, line.find(" |", 2) - 2), {}};
    for (std::sregex_iterator i(line.begin(), line.end(), kCode), end; i != end; ++i) {
      const std::string code = (*i)[1];
      if (code.find('/') != std::string::npos && code.find(' ') == std::string::npos) {
        row.paths.push_back(code);
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// STEM, NAME, NNNN, slug and * stand for any letters; a path may begin below any module's folder,
// as `src/tflite/` does below that of the row's first.
bool Exists(const std::string& path, const fs::path& base) {
  std::string pattern = path;
  if (pattern.ends_with('/')) pattern.pop_back();
  pattern = std::regex_replace(pattern, std::regex(R"([.+()])"), R"(\$&)");
  pattern = std::regex_replace(pattern, std::regex(R"(STEM|NAME|SLUG|NNNN|\*)"), "[^/]*");
  const std::regex matches(pattern);
  std::error_code status;
  for (auto entry = fs::recursive_directory_iterator(base, status);
       !status && entry != fs::recursive_directory_iterator(); entry.increment(status)) {
    const std::string name = entry->path().lexically_relative(base).generic_string();
    if (entry->is_directory() && (name.starts_with("build") || name.starts_with('.'))) {
      entry.disable_recursion_pending();
    }
    if (std::regex_match(name, matches)) return true;
  }
  return false;
}

// The folder of the tool or module that a row's path lies in: "tools/convert".
std::vector<fs::path> BasesOf(const Row& row) {
  std::vector<fs::path> bases = {kRoot};
  for (const std::string& path : row.paths) {
    const fs::path below(path);
    for (fs::path part = below.parent_path(); !part.empty() && part != part.root_path();
         part = part.parent_path()) {
      if (fs::is_directory(kRoot / part)) bases.push_back(kRoot / part);
    }
  }
  bases.push_back(kRoot / "tools/convert");  // what rows of kinds of model speak of
  return bases;
}

TEST(WhatAChangeTouches, NamesOnlyWhatIsThere) {
  const std::vector<Row> rows = Table();
  EXPECT_GT(rows.size(), 10U);
  for (const Row& row : rows) {
    for (const std::string& path : row.paths) {
      const std::vector<fs::path> bases = BasesOf(row);
      EXPECT_TRUE(
          std::ranges::any_of(bases, [&path](const fs::path& base) { return Exists(path, base); }))
          << row.change << ": " << path;
    }
  }
}

const Row* RowOf(const std::vector<Row>& rows, const std::string& change) {
  const auto row = std::ranges::find(rows, change, &Row::change);
  return row == rows.end() ? nullptr : &*row;
}

// What a row says of STEM holds for each of these stems.
void ExpectAllThere(const Row& row, const std::set<std::string>& stems) {
  int checked = 0;
  for (const std::string& path : row.paths) {
    if (path.find("STEM") == std::string::npos) continue;
    ++checked;
    for (const std::string& stem : stems) {
      const std::string own = std::regex_replace(path, std::regex("STEM"), stem);
      EXPECT_TRUE(fs::exists(kRoot / own)) << row.change << " " << stem << ": " << own;
    }
  }
  EXPECT_GT(checked, 1) << row.change;
}

TEST(WhatAChangeTouches, HoldsForEveryOperator) {
  const std::vector<Row> rows = Table();
  const Row* row = RowOf(rows, "operator");
  ASSERT_NE(row, nullptr);
  std::set<std::string> stems;
  for (const std::string& op_type : reference::SupportedOperators()) {
    stems.insert(SnakeCase(op_type));
  }
  ExpectAllThere(*row, stems);
}

// Tests are of families (pooling, movement), so that no file is named after each operator.
TEST(WhatAChangeTouches, EveryOperatorIsNamedByATestOfTheReference) {
  std::string tests;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "reference/tests")) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path());
    tests.append(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  for (const std::string& op_type : reference::SupportedOperators()) {
    EXPECT_NE(tests.find('"' + op_type + '"'), std::string::npos) << op_type;
  }
}

TEST(WhatAChangeTouches, HoldsForEveryArithmetic) {
  const std::vector<Row> rows = Table();
  const Row* row = RowOf(rows, "arithmetic");
  ASSERT_NE(row, nullptr);
  std::set<std::string> stems;
  for (const reference::Arithmetic& arithmetic : reference::Arithmetics()) {
    std::string stem(arithmetic.name);
    std::ranges::replace(stem, '-', '_');
    stems.insert(std::move(stem));
  }
  ExpectAllThere(*row, stems);
}

// The tests that CMakeLists.txt of the tree define.
std::string DefinedTests() {
  std::string all;
  for (const char* folder : {"backends", "proto", "reference", "tools"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (entry.path().filename() != "CMakeLists.txt") continue;
      std::ifstream file(entry.path());
      all.append(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  return all;
}

TEST(WhoJudgesWhom, EachLineIsHeldByATestThatIsThere) {
  const std::string defined = DefinedTests();
  static const std::regex kCode("`([^`]*)`");
  std::istringstream text(TextOf("Who judges whom"));
  int rows = 0;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("| ") || line.starts_with("| judge |")) continue;
    ++rows;
    const std::string held_by = line.substr(line.rfind(" | "));
    int tests = 0;
    for (std::sregex_iterator i(held_by.begin(), held_by.end(), kCode), end; i != end; ++i) {
      ++tests;
      std::string name = (*i)[1];
      const std::string suffix = "_stands_alone";
      std::string definition = "add_test\\(NAME " + name + "\\s|qtx_test\\(" + name + "\\s";
      if (name.ends_with(suffix)) {
        name.resize(name.size() - suffix.size());
        definition += "|qtx_stands_alone\\(" + name + "\\s";
      }
      EXPECT_TRUE(std::regex_search(defined, std::regex(definition))) << line << ": " << (*i)[1];
    }
    EXPECT_GE(tests, 2) << line;
  }
  EXPECT_EQ(rows, 5);
}

TEST(WhatAChangeTouches, SaysWhatProposalsAndFormulasTouch) {
  const std::vector<Row> rows = Table();
  EXPECT_NE(RowOf(rows, "proposal"), nullptr);
  EXPECT_NE(RowOf(rows, "formula"), nullptr);
}

}  // namespace
}  // namespace qtx::spec
