// The schema's lists are those of the code; schema_test.py holds the documents to the schema.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include "generator.h"
#include "qtx/conformance/case.h"
#include "qtx/format/element_type.h"
#include "qtx/format/model.h"
#include "qtx/format/quantization.h"
#include "qtx/reference/arithmetic.h"
#include "yaml.h"

namespace qtx::conformance {
namespace {

const Yaml& Schema() {
  static const Yaml* const schema = [] {
    const std::string path = QTX_SOURCE_DIR "/conformance/schema/case.schema.yaml";
    const auto text = format::ReadFile(path, kMaxCaseFileBytes);
    EXPECT_TRUE(text.has_value());
    auto documents = ParseYaml(text.value_or(""), path);
    EXPECT_TRUE(documents.has_value()) << documents.error().where << documents.error().message;
    return new Yaml(documents && !documents->empty() ? documents->front() : Yaml());
  }();
  return *schema;
}

// What `enum` and `const` list in the node at a path of keys, and below it.
void Collect(const Yaml& node, std::set<std::string>& values) {
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const Yaml& item = node.items[i];
    const std::string key = node.is_map() ? node.keys[i] : "";
    if (key == "const") values.insert(item.text);
    if (key == "enum") {
      for (const Yaml& value : item.items) values.insert(value.text);
    }
    Collect(item, values);
  }
}

std::set<std::string> Listed(std::initializer_list<const char*> path) {
  const Yaml* node = &Schema();
  for (const char* key : path) {
    node = node == nullptr ? nullptr : node->Find(key);
  }
  std::set<std::string> values;
  EXPECT_NE(node, nullptr) << *std::prev(path.end());
  if (node != nullptr) Collect(*node, values);
  return values;
}

TEST(CaseSchema, ListsTheLevels) {
  EXPECT_EQ(Listed({"properties", "level"}), std::set<std::string>(kLevels.begin(), kLevels.end()));
}

TEST(CaseSchema, ListsTheGenerators) {
  std::set<std::string> kinds;
  for (const GeneratorName& entry : kGenerators) kinds.emplace(entry.name);
  EXPECT_EQ(Listed({"$defs", "generator", "properties", "kind"}), kinds);
}

TEST(CaseSchema, ListsTheArithmetics) {
  std::set<std::string> names;
  for (const reference::Arithmetic& row : reference::Arithmetics()) names.emplace(row.name);
  for (const reference::Alias& alias : reference::Aliases()) names.emplace(alias.name);
  EXPECT_EQ(Listed({"$defs", "arithmetic"}), names);
}

TEST(CaseSchema, ListsTheElementTypes) {
  std::set<std::string> names;
  for (std::int64_t code = 1; code <= 1101; ++code) {
    const auto type = format::ElementTypeFromCode(code);
    if (!type) continue;
    std::string name(format::Name(*type));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    names.insert(name);
  }
  EXPECT_EQ(Listed({"$defs", "element_type"}), names);
}

TEST(CaseSchema, ListsTheSchemes) {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(format::Scheme::kSymmetricUint8); ++code) {
    names.emplace(format::Name(static_cast<format::Scheme>(code)));
  }
  EXPECT_EQ(Listed({"$defs", "typed_value", "properties", "scheme"}), names);
}

// A key that the parser takes and the schema does not know would be an error in every editor.
TEST(CaseSchema, KnowsTheKeysOfTheParser) {
  const auto error = ParseCases("{id: a, spec: b.S1, why: w, surprise: 1}", "f");
  ASSERT_FALSE(error.has_value());
  std::vector<std::string> keys = Schema().Find("properties")->keys;
  // These are expanded before the document is read.
  std::erase_if(keys, [](const std::string& key) {
    return key == "matrix" || key == "strength" || key == "exclude";
  });
  EXPECT_EQ(std::ranges::count(error.error().message, ','), std::ssize(keys));
  for (const std::string& key : keys) {
    EXPECT_NE((error.error().message + ",").find(" " + key + ","), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace qtx::conformance
