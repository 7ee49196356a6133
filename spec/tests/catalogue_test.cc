// The catalogue of operators against the text: neither is made from the other.
#include "qtx/format/catalogue.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "qtx/conformance/suite.h"
#include "qtx/format/check.h"
#include "qtx/format/onnx_operators.h"
#include "qtx/spec/chapters.h"
#include "qtx/spec/coverage.h"
#include "qtx/spec/links.h"

namespace qtx::spec::catalogue_test {
namespace {

const std::string kRoot = QTX_SOURCE_DIR;

using Names = std::vector<std::string>;

// What a section's tables name.
struct Section {
  std::string op_type;
  Names inputs, outputs;
  std::set<std::string> attributes, optional;
};

std::string Trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// "5, 6 | initial_h, initial_c (optional)" names two.
void AddNames(const std::string& cell, Names* names, std::set<std::string>* optional) {
  static const std::regex kRemark(R"(\((optional)\)|(optional|may be omitted)|one or more)");
  const bool may_miss = cell.find("optional") != std::string::npos ||
                        cell.find("may be omitted") != std::string::npos;
  std::istringstream list(std::regex_replace(cell, kRemark, ""));
  std::string name;
  Names found;
  while (std::getline(list, name, ',')) {
    if (!Trimmed(name).empty()) found.push_back(Trimmed(name));
  }
  // A pair "X_scale, X_zero_point (optional)" leaves out the last one.
  if (may_miss && !found.empty()) {
    const bool all = found.size() == 1 || found.back().find("zero_point") == std::string::npos ||
                     cell.find(", optional") != std::string::npos;
    if (all) optional->insert(found.begin(), found.end());
    optional->insert(found.back());
  }
  names->insert(names->end(), found.begin(), found.end());
}

void AddQuoted(const std::string& text, std::set<std::string>* names) {
  static const std::regex kQuoted("`([A-Za-z_]+)`");
  for (std::sregex_iterator at(text.begin(), text.end(), kQuoted), end; at != end; ++at) {
    names->insert((*at)[1]);
  }
}

Section ReadSection(const std::filesystem::path& path) {
  Section section;
  std::ifstream file(path);
  static const std::regex kRow(R"(\| ([0-9]+[^|]*)\| ([^|]+) \|.*)");
  std::string line, part;
  bool attributes = false;
  while (std::getline(file, line)) {
    if (section.op_type.empty() && line.starts_with("# ")) section.op_type = line.substr(2);
    if (line.starts_with("## ")) part = line.substr(3);
    std::smatch match;
    if (std::regex_match(line, match, kRow) && (part == "Inputs" || part == "Outputs")) {
      AddNames(match[2], part == "Inputs" ? &section.inputs : &section.outputs, &section.optional);
    }
    attributes = !line.empty() && (attributes || line.find("Attribute") != std::string::npos);
    if (part == "Inputs" && attributes) AddQuoted(line, &section.attributes);
  }
  return section;
}

std::map<std::string, Section> Sections() {
  std::map<std::string, Section> sections;
  for (const auto& file : std::filesystem::directory_iterator(kRoot + "/spec/ops")) {
    Section section = ReadSection(file.path());
    sections.emplace(section.op_type, std::move(section));
  }
  // Sections that take over the attributes of others: "those of Conv".
  for (const char* name : {"ConvInteger", "QLinearConv"}) {
    sections[name].attributes = sections["Conv"].attributes;
  }
  std::set<std::string>& pool = sections["QLinearAveragePool"].attributes;
  pool = sections["AveragePool"].attributes;
  pool.erase("dilations");
  pool.insert("channels_last");
  return sections;
}

Names NamesOf(const std::vector<format::ValueRule>& rules) {
  Names names;
  for (const format::ValueRule& rule : rules) names.emplace_back(rule.name);
  return names;
}

TEST(Catalogue, HasTheSectionsAndConstraintsOfTheText) {
  const auto chapters = ReadChapters(kRoot + "/spec");
  ASSERT_TRUE(chapters.has_value()) << chapters.error().Text();
  const CatalogueGaps gaps = CompareCatalogue(*chapters, kRoot + "/spec");
  EXPECT_EQ(gaps.sections_without_row, Names());
  EXPECT_EQ(gaps.rows_without_section, Names());
  for (const Clause& clause : gaps.constraints_without_check) {
    ADD_FAILURE() << clause.place << ": no row checks " << clause.id;
  }
  for (const Dangling& check : gaps.checks_without_clause) {
    ADD_FAILURE() << check.place << ": the text has no " << check.target;
  }
}

// As text, a float with six decimal places.
std::string TextOf(const format::AttributeRule& rule) {
  if (const auto* value = std::get_if<std::int64_t>(&rule.otherwise)) return std::to_string(*value);
  if (const auto* value = std::get_if<std::string_view>(&rule.otherwise))
    return std::string(*value);
  const auto* value = std::get_if<float>(&rule.otherwise);
  return value == nullptr ? "" : std::to_string(*value);
}

// The rows were written by hand; the table comes from ONNX's schemas.
TEST(Catalogue, HasTheDefaultsOfOnnx) {
  int compared = 0;
  for (const format::OpSchema& row : format::Sections()) {
    if (!row.domain.empty()) continue;
    for (std::int64_t opset = 13; opset <= format::NewestOpset(); ++opset) {
      const auto* op = format::catalogue::FindOnnxOperator(row.op_type, opset);
      if (op == nullptr) continue;
      for (const auto& attribute : op->Attributes()) {
        const format::AttributeRule* rule = row.FindAttribute(attribute.name, opset);
        if (rule == nullptr || TextOf(*rule).empty() || attribute.otherwise.empty()) continue;
        const bool is_float = rule->type == format::AttributeType::kFloat;
        EXPECT_EQ(TextOf(*rule), is_float
                                     ? std::to_string(std::stof(std::string(attribute.otherwise)))
                                     : std::string(attribute.otherwise))
            << row.op_type << " " << attribute.name << " in opset " << opset;
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 1000);
}

TEST(Catalogue, NamesTheInputsOutputsAndAttributesOfTheText) {
  const auto sections = Sections();
  for (const format::OpSchema& row : format::Sections()) {
    const Section& section = sections.at(std::string(row.op_type));
    if (row.op_type != "QLinearConcat") {  // its inputs come in threes
      EXPECT_EQ(NamesOf(row.inputs), section.inputs) << row.op_type;
    }
    EXPECT_EQ(NamesOf(row.outputs), section.outputs) << row.op_type;
    std::set<std::string> attributes;
    for (const format::AttributeRule& rule : row.attributes) attributes.emplace(rule.name);
    for (const std::string& name : section.attributes) {
      EXPECT_TRUE(attributes.contains(name)) << row.op_type << " has no attribute " << name;
    }
    for (const auto* rules : {&row.inputs, &row.outputs}) {
      for (const format::ValueRule& rule : *rules) {
        EXPECT_EQ(rule.optional, section.optional.contains(std::string(rule.name)))
            << row.op_type << " " << rule.name;
      }
    }
  }
}

// Models that the cases say must be refused, by the clause that they name; but where elements of an
// input that is no constant break it, which only shows when the model runs.
TEST(Catalogue, FindsTheFaultsOfTheCasesOfOperators) {
  const std::set<std::string> stems = Stems(kRoot + "/spec/ops", ".md");
  int found = 0, open = 0;
  std::map<std::string, int> by_clause;
  for (const auto& suite :
       {conformance::LoadSuite(kRoot + "/conformance/cases"), LoadExamples(kRoot + "/spec")}) {
    ASSERT_TRUE(suite.has_value()) << suite.error().Text();
    for (const conformance::Case& c : suite->cases) {
      const bool of_operator = stems.contains(c.error.substr(0, c.error.find('.')));
      if (c.error.empty() || !of_operator) continue;
      const auto model = conformance::BuildModel(c);
      ASSERT_TRUE(model.has_value()) << c.id;
      const auto findings = format::Check(*model);
      if (findings.empty()) {
        ++open;
        ++by_clause[c.error];
        continue;
      }
      ++found;
      EXPECT_EQ(findings[0].rule, c.error) << c.where << " " << c.id << ": " << findings[0].message;
    }
  }
  std::string left;
  for (const auto& [clause, count] : by_clause) left += " " + clause;
  EXPECT_LE(open, 48) << "only shown by running:" << left;
  EXPECT_GE(found, 400);
}

// Those that somebody made of the text alone: Check finds what is wrong, without a run.
TEST(Catalogue, FindsTheFaultsOfTheModelsMadeFromTheText) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("qtx_constraints_" + std::to_string(getpid()));
  const std::string command =
      "python3 '" + kRoot + "/spec/tests/constraints/constraints.py' --write " + folder.string();
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const auto suite = conformance::LoadSuite((folder / "broken").string());
  ASSERT_TRUE(suite.has_value()) << suite.error().Text();
  std::set<std::string> clauses;
  for (const conformance::Case& c : suite->cases) {
    if (c.id.ends_with("/run")) continue;  // elements that a caller gives break it
    const auto model = conformance::BuildModel(c);
    ASSERT_TRUE(model.has_value()) << c.id;
    const auto checked = format::CheckFirst(*model);
    if (checked.has_value()) {
      // Its range overflows in binary32 alone, which the checker does not compute.
      EXPECT_EQ(c.id, "dynamic_quantize_linear/broken_c2/2");
      continue;
    }
    EXPECT_EQ(checked.error().clause, c.error) << c.id << ": " << checked.error().Text();
    clauses.insert(c.error);
  }
  EXPECT_EQ(clauses.size(), 607U);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace qtx::spec::catalogue_test
