#include "qtx/spec/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "temporary_folder.h"

namespace qtx::spec {
namespace {

using testing::ElementsAre;

class LinkedText : public conformance::TemporaryFolder {};

TEST_F(LinkedText, NamesLinksThatLeadNowhere) {
  Write("README.md",
        "# A b\n\n[in](#a-b) [out](ops/add.md#semantics) [web](https://example.org/x)\n"
        "[none](gone.md)\n\n[no heading](ops/add.md#gone) [nor here](#gone)\n[folder](ops/)\n");
  Write("ops/add.md", "# Add\n\n## Semantics\n\n[up](../README.md)\n");
  Write("templates/op.md", "[@STEM@](@STEM@.md)\n");
  const auto dangling = DanglingLinks(folder(), false);
  ASSERT_TRUE(dangling.has_value()) << dangling.error().message;
  std::vector<std::string> found;
  for (const Dangling& link : *dangling) found.push_back(link.place + " " + link.target);
  EXPECT_THAT(found, ElementsAre("README.md:4 gone.md", "README.md:6 ops/add.md#gone",
                                 "README.md:6 #gone"));
}

TEST_F(LinkedText, OfPythonsPackagesIsNotRead) {
  Write("spec/README.md", "# A\n");
  for (const char* path : {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}) Write(path, "# A\n");
  for (const char* module : {"proto", "reference", "conformance", "tools"}) {
    Write(std::string(module) + "/README.md", "# A\n");
  }
  Write("backends/python/README.md", "[none](gone.md)\n");
  Write("backends/python/venv/lib/README.md", "[none](gone.md)\n");
  Write("backends/js/node_modules/long/README.md", "[none](gone.md)\n");
  const auto dangling = DanglingLinks(folder() + "/spec", true);
  ASSERT_TRUE(dangling.has_value()) << dangling.error().message;
  ASSERT_EQ(dangling->size(), 1U);
  EXPECT_EQ(dangling->front().place, "../backends/python/README.md:1");
}

TEST(AnchorOf, IsThatOfGitHub) {
  EXPECT_EQ(AnchorOf("What a change touches"), "what-a-change-touches");
  EXPECT_EQ(AnchorOf("Arithmetic float32-fma (S1)"), "arithmetic-float32-fma-s1");
}

TEST(SnakeCase, KeepsAbbreviationsTogether) {
  EXPECT_EQ(SnakeCase("MatMul"), "mat_mul");
  EXPECT_EQ(SnakeCase("RMSNormalization"), "rms_normalization");
  EXPECT_EQ(SnakeCase("GatherND"), "gather_nd");
}

TEST_F(LinkedText, CitationsAreThoseOfCodeOrOfTests) {
  Write("reference/src/a.cc", "// add.S1 and add.C2\n");
  Write("reference/tests/a_test.cc", "// add.S9\n");
  EXPECT_THAT(Citations(folder()),
              ElementsAre(testing::Pair("reference/src/a.cc:1", ElementsAre("add.C2", "add.S1"))));
  EXPECT_EQ(TestCitations(folder()).size(), 1U);
}

}  // namespace
}  // namespace qtx::spec
