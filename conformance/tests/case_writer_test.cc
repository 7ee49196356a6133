// Every case of the suite, written and read again, is the same case.
#include "case_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "effort.h"
#include "model_builder.h"
#include "qtx/conformance/suite.h"

namespace qtx::conformance::case_writer_test {
namespace {

using testing::HasSubstr;

Case Parse(const std::string& yaml) {
  auto cases = ParseCases(yaml, "written");
  if (!cases) ADD_FAILURE() << cases.error().where << ": " << cases.error().message << "\n" << yaml;
  return cases && !cases->empty() ? cases->front() : Case{};
}

void ExpectSame(const Case& c, const Case& read) {
  EXPECT_EQ(read.id, c.id);
  EXPECT_EQ(read.spec, c.spec);
  EXPECT_EQ(read.why, c.why);
  EXPECT_EQ(read.derivation, c.derivation);
  EXPECT_EQ(read.level, c.level);
  EXPECT_EQ(read.tags, c.tags);
  EXPECT_EQ(read.arithmetics, c.arithmetics);
  EXPECT_EQ(read.error, c.error);
  EXPECT_EQ(read.ulp, c.ulp);
  ASSERT_EQ(read.close.has_value(), c.close.has_value());
  if (c.close) {
    EXPECT_EQ(read.close->because, c.close->because);
  }
  ASSERT_EQ(read.outputs.size(), c.outputs.size());
  for (std::size_t i = 0; i < c.outputs.size(); ++i) {
    EXPECT_EQ(read.outputs[i].data, c.outputs[i].data) << c.outputs[i].name;
  }
  ASSERT_EQ(read.alternatives.size(), c.alternatives.size());
  for (std::size_t i = 0; i < c.alternatives.size(); ++i) {
    EXPECT_EQ(read.alternatives[i].data, c.alternatives[i].data);
    EXPECT_EQ(read.alternatives[i].because, c.alternatives[i].because);
  }
}

// The model and the inputs are what a backend sees of a case.
void ExpectSameProgram(const Case& c, const Case& read) {
  const auto model = BuildModel(c);
  const auto again = BuildModel(read);
  ASSERT_TRUE(model && again);
  EXPECT_EQ(*again->Serialize(), *model->Serialize());
  const auto inputs = BuildInputs(c, *model);
  const auto inputs_again = BuildInputs(read, *again);
  ASSERT_TRUE(inputs && inputs_again);
  EXPECT_EQ(*inputs_again, *inputs);
}

TEST(ToYaml, IsReadBackAsTheSameCaseForTheWholeSuite) {
  const auto suite = LoadSuite(std::string(QTX_SOURCE_DIR) + "/conformance/cases");
  ASSERT_TRUE(suite.has_value()) << suite.error().where << suite.error().message;
  constexpr std::size_t kLongest = 1 << 16;  // bytes: generated data may be millions of numbers
  int written = 0;
  for (std::size_t i = 0; i < suite->cases.size(); i += kCaseStep) {
    const Case& c = suite->cases[i];
    if (!c.op) continue;
    const auto literal = WithLiteralData(c);
    if (!literal) continue;  // breaks the format on purpose: nothing can be built of it
    const auto yaml = ToYaml(*literal);
    ASSERT_TRUE(yaml.has_value()) << c.id << ": " << yaml.error().message;
    if (yaml->size() > kLongest) continue;
    SCOPED_TRACE(*yaml);
    Case read = Parse(*yaml);
    ExpectSame(*literal, read);
    EXPECT_EQ(*ToYaml(read), *yaml);
    if (c.error.empty()) ExpectSameProgram(*literal, read);  // others may hold NaN as parameters
    if (HasFatalFailure() || HasNonfatalFailure()) return;
    ++written;
  }
  EXPECT_GT(written, 3000 / kCaseStep);
}

TEST(ToYaml, KeepsTheFieldsOfLaterVersions) {
  const Case c = Parse(
      "{id: a, spec: identity.S1, why: b, op: {type: Identity}, inputs: {x: {type: int8q, data: "
      "[1], scale_levels: [{tensor: s}, {value: [0.5], block_shape: [1]}], base_levels: [{value: "
      "[-0.25]}], must_understand: [99]}}, expect: {y: {type: int8q, scale: [1.0]}}}");
  const format::Quantization& q = *c.inputs.at(0).type.quantization;
  EXPECT_EQ(q.scale_levels.size(), 2U);
  EXPECT_EQ(q.must_understand, std::vector<std::int32_t>{99});
  EXPECT_EQ(*Parse(*ToYaml(c)).inputs.at(0).type.quantization, q);
  EXPECT_EQ(BuildModel(c)->OpsetVersion(format::kDomain), 2);
}

TEST(ToYaml, QuotesWhatYamlWouldTakeForSomethingElse) {
  Case c = Parse(
      "{id: \"a: #b\", spec: identity.S1, why: \"line\\nof \\\"two\\\"\", op: {type: Identity},"
      " inputs: {\"x/y: 0\": {type: float, shape: [], data: [-0x1p-3]}}, expect: {\"null\": {type: "
      "float, data: [nan, -inf, 0x1p-149]}}}");
  const Case read = Parse(*ToYaml(c));
  EXPECT_EQ(read.id, "a: #b");
  EXPECT_EQ(read.why, "line\nof \"two\"");
  ASSERT_EQ(read.inputs.size(), 1U);
  EXPECT_EQ(read.inputs[0].name, "x/y: 0");
  EXPECT_EQ(read.inputs[0].data, c.inputs[0].data);
  EXPECT_EQ(read.outputs.at(0).name, "null");
  EXPECT_EQ(read.outputs[0].data->dims, format::Dims{3});
}

TEST(ToYaml, RefusesWhatCaseFilesCannotSay) {
  Case c =
      Parse("{id: a, spec: identity.S1, why: w, op: {type: Identity}, expect: {y: {type: float}}}");
  format::Attribute body;
  body.name = "body";
  body.type = format::AttributeType::kGraph;
  c.op->attributes.push_back(body);
  const auto yaml = ToYaml(c);
  ASSERT_FALSE(yaml.has_value());
  EXPECT_THAT(yaml.error().where, HasSubstr("body"));
}

}  // namespace
}  // namespace qtx::conformance::case_writer_test
