#include "qtx/conformance/suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "temporary_folder.h"

namespace qtx::conformance::suite_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using SuiteFolder = TemporaryFolder;

std::string CaseText(const std::string& id) {
  return "{id: " + id + ", spec: a.S1, why: w, op: {type: A}, expect: {error: a.C1}}\n";
}

std::vector<std::string> Ids(const std::vector<Case>& cases) {
  std::vector<std::string> ids;
  for (const Case& c : cases) ids.push_back(c.id);
  return ids;
}

TEST_F(SuiteFolder, LoadsRecursivelyInTheOrderOfPaths) {
  Write("b.yaml", CaseText("b"));
  Write("a/z.yaml", CaseText("z") + "---\n" + CaseText("y"));
  Write("a/notes.txt", "no case");
  const auto suite = LoadSuite(folder());
  ASSERT_TRUE(suite.has_value()) << suite.error().message;
  EXPECT_THAT(Ids(suite->cases), ElementsAre("z", "y", "b"));
  EXPECT_EQ(suite->cases[0].folder, folder());
}

TEST_F(SuiteFolder, ReadsOnlyDocumentsThatFiltersMayMatch) {
  const std::string rest = "\nspec: a.S1\nwhy: w\nop: {type: A}\nexpect: {error: a.C1}\n";
  Write("a.yaml", "# c\nid: a/one" + rest + "---\nid: a/two" + rest + "matrix: {k: [1]}\n---\n" +
                      "id: b/broken\n--- # d\n" + CaseText("a/flow") + "---\nid: a/three" + rest);
  const auto loaded = [&](std::vector<std::string> filters) {
    const auto suite = LoadSuite(folder(), {}, filters);
    return suite.has_value() ? Ids(suite->cases) : std::vector<std::string>{suite.error().Text()};
  };
  // A document in flow form does not say its id in a line.
  EXPECT_THAT(loaded({"a/one"}), ElementsAre("a/one", "a/flow"));
  EXPECT_THAT(loaded({"a/o*", "a/th?e*"}), ElementsAre("a/one", "a/flow", "a/three"));
  EXPECT_THAT(loaded({"none"}), ElementsAre("a/flow"));
  // What a matrix puts behind an id may match: those documents are read.
  constexpr const char* kUnused = "a.yaml:13: matrix.k: nothing";
  EXPECT_THAT(loaded({"a/two[*"}), ElementsAre(HasSubstr(kUnused)));
  EXPECT_THAT(loaded({"*/one"}), ElementsAre(HasSubstr(kUnused)));
  EXPECT_THAT(loaded({}), ElementsAre(HasSubstr(kUnused)));
  EXPECT_THAT(loaded({"b/*"}), ElementsAre(HasSubstr("a.yaml:15: missing key")));
  const std::vector<std::string> third = {"a/three"};
  EXPECT_EQ(LoadSuite(folder(), {}, third)->cases[1].where, folder() + "/a.yaml:19");
}

TEST_F(SuiteFolder, RefusesAnIdThatIsTaken) {
  Write("a.yaml", CaseText("x"));
  Write("b.yaml", CaseText("x"));
  const auto suite = LoadSuite(folder());
  ASSERT_FALSE(suite.has_value());
  EXPECT_THAT(suite.error().where, HasSubstr("b.yaml:1"));
  EXPECT_THAT(suite.error().message, HasSubstr("a.yaml:1"));
}

TEST_F(SuiteFolder, RefusesAnEmptyOrMissingFolder) {
  EXPECT_THAT(LoadSuite(folder()).error().message, HasSubstr("no case"));
  EXPECT_EQ(LoadSuite(folder() + "/none").error().code, ErrorCode::kUnreadable);
}

TEST_F(SuiteFolder, TakesOnnxTestDataWhereThereIsNoYaml) {
  Write("m/test_add/model.onnx", "");
  Write("m/test_add/test_data_set_0/input_0.pb", "");
  Write("m/test_add/test_data_set_0/input_1.pb", "");
  Write("m/test_add/test_data_set_0/output_0.pb", "");
  Write("test_two/model.onnx", "");
  Write("test_two/test_data_set_0/output_0.pb", "");
  Write("test_two/test_data_set_ort/output_0.pb", "");
  Write("model_without_data/model.onnx", "");
  const auto suite = LoadSuite(folder());
  ASSERT_TRUE(suite.has_value()) << suite.error().message;
  EXPECT_THAT(Ids(suite->cases), ElementsAre("m/test_add", "test_two[set=0]", "test_two[set=ort]"));
  const Case& add = suite->cases[0];
  EXPECT_EQ(add.model, "m/test_add/model.onnx");
  ASSERT_EQ(add.inputs.size(), 2U);
  EXPECT_EQ(add.inputs[1].file, "m/test_add/test_data_set_0/input_1.pb");
  EXPECT_THAT(add.arithmetics, ElementsAre("exact", "float32"));
  EXPECT_EQ(LoadTestData(folder() + "/m/test_add")->cases[0].id, "test_add");
  EXPECT_EQ(LoadTestData(folder() + "/m/test_add/")->cases[0].id, "test_add");
}

TEST_F(SuiteFolder, RefusesADataSetWithoutOutputs) {
  Write("test_add/model.onnx", "");
  Write("test_add/test_data_set_0/input_0.pb", "");
  const auto suite = LoadTestData(folder());
  ASSERT_FALSE(suite.has_value());
  EXPECT_THAT(suite.error().where, HasSubstr("test_add/test_data_set_0"));
  EXPECT_THAT(suite.error().message, HasSubstr("output_0.pb"));
}

TEST_F(SuiteFolder, RefusesPathsThatLeaveTheFolder) {
  for (const char* path : {"/etc/passwd", "../x.onnx", "a/../../x.onnx", ".."}) {
    Case c;
    c.model = path;
    c.folder = folder();
    const auto model = BuildModel(c);
    ASSERT_FALSE(model.has_value());
    EXPECT_THAT(model.error().message, HasSubstr("inside the suite's folder")) << path;
  }
}

TEST(Select, FiltersThenDealsOutShards) {
  std::vector<Case> cases(6);
  for (std::size_t i = 0; i < cases.size(); ++i) cases[i].id = "c" + std::to_string(i);
  cases[5].level = "extended";
  EXPECT_THAT(Ids(Select(cases, {{"c1", "c?"}, "core", {}})),
              ElementsAre("c0", "c1", "c2", "c3", "c4"));
  EXPECT_THAT(Ids(Select(cases, {{}, "", {1, 2}})), ElementsAre("c0", "c2", "c4"));
  EXPECT_THAT(Ids(Select(cases, {{}, "", {2, 2}})), ElementsAre("c1", "c3", "c5"));
  EXPECT_THAT(Ids(Select(cases, {{}, "extended", {}})), ElementsAre("c5"));
}

TEST(ParseShard, TakesIOfN) {
  EXPECT_EQ(ParseShard("--shard", "2/4")->index, 2);
  EXPECT_EQ(ParseShard("--shard", "2/4")->count, 4);
  for (const char* bad : {"", "1", "0/4", "5/4", "1/0", "a/b", "1/4x", "-1/4", "1//4"}) {
    EXPECT_FALSE(ParseShard("--shard", bad).has_value()) << bad;
  }
}

TEST(GlobMatches, KnowsStarAndQuestionMarkOnly) {
  EXPECT_TRUE(GlobMatches("*", ""));
  EXPECT_TRUE(GlobMatches("add/*", "add/tie[type=int8q]"));
  EXPECT_TRUE(GlobMatches("add/tie[type=int8q]", "add/tie[type=int8q]"));
  EXPECT_TRUE(GlobMatches("*a?c*", "xxabcabd"));
  EXPECT_FALSE(GlobMatches("a*b", "abc"));
  EXPECT_FALSE(GlobMatches("a?", "a"));
  EXPECT_FALSE(GlobMatches("", "a"));
}

TEST(GlobMatches, IsNotExponential) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "*a";
  EXPECT_FALSE(GlobMatches(pattern + "b", std::string(10000, 'a')));
}

}  // namespace
}  // namespace qtx::conformance::suite_test
