// Subgraphs, signatures and metadata.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "qtx/convert/convert.h"
#include "tests/tflite/maker.h"

namespace qtx::convert::file_test {
namespace {

using schema::BuiltinOperator;
using schema::TensorType;
using testing::HasSubstr;

// Two subgraphs of one tensor each way: ABS, named "first", and NEG, named "second", which a
// signature calls "run".
std::string TwoSubgraphs(TfliteMaker& maker) {
  const auto add = [&](BuiltinOperator code, const std::string& prefix) {
    const int x = maker.Tensor(prefix + "_x", {2}, TensorType::FLOAT32);
    const int y = maker.Tensor(prefix + "_y", {2}, TensorType::FLOAT32);
    maker.Operator(code, {x}, {y});
    maker.graph().name = prefix;
    maker.graph().inputs = {x};
    maker.graph().outputs = {y};
  };
  add(BuiltinOperator::NEG, "second");
  maker.model().subgraphs.push_back(std::move(maker.model().subgraphs[0]));
  maker.model().subgraphs[0] = std::make_unique<schema::SubGraphT>();
  add(BuiltinOperator::ABS, "first");
  auto signature = std::make_unique<schema::SignatureDefT>();
  signature->signature_key = "run";
  signature->subgraph_index = 1;
  auto input = std::make_unique<schema::TensorMapT>();
  input->name = "argument \"1\"";
  input->tensor_index = 0;
  signature->inputs.push_back(std::move(input));
  maker.model().signature_defs.push_back(std::move(signature));
  return maker.Bytes({0}, {1});
}

std::string OperatorOf(const std::string& bytes, const std::string& subgraph) {
  const auto conversion = FromTflite(bytes, {.subgraph = subgraph});
  return conversion.has_value() ? conversion->model.graph.nodes[0].op_type
                                : conversion.error().where + ": " + conversion.error().message;
}

TEST(TfliteFile, ASubgraphIsChosenByNameSignatureOrIndex) {
  TfliteMaker maker;
  const std::string bytes = TwoSubgraphs(maker);
  EXPECT_EQ(OperatorOf(bytes, ""), "Abs");
  EXPECT_EQ(OperatorOf(bytes, "first"), "Abs");
  EXPECT_EQ(OperatorOf(bytes, "second"), "Neg");
  EXPECT_EQ(OperatorOf(bytes, "run"), "Neg");
  EXPECT_EQ(OperatorOf(bytes, "1"), "Neg");
  for (const char* none : {"2", "third", "-1", "99999999999999999999", "1x"}) {
    EXPECT_THAT(OperatorOf(bytes, none), HasSubstr("the file has 0 'first', 1 'second'")) << none;
  }
}

// ONNX's metadata: an entry of a buffer that is not there, and many of one long buffer.
TEST(TfliteFile, RefusesMetadataWithoutBuffersOfItsOwn) {
  const auto error = [](int entries, std::uint32_t buffer) {
    TfliteMaker maker;
    const int x = maker.Tensor("x", {2}, TensorType::FLOAT32);
    const int y = maker.Tensor("y", {2}, TensorType::FLOAT32);
    maker.Operator(BuiltinOperator::ABS, {x}, {y});
    maker.model().buffers.push_back(std::make_unique<schema::BufferT>());
    maker.model().buffers.back()->data.resize(10000);
    const auto last = static_cast<std::uint32_t>(maker.model().buffers.size() - 1);
    for (int i = 0; i < entries; ++i) {
      maker.model().metadata.push_back(std::make_unique<schema::MetadataT>());
      maker.model().metadata.back()->name = "onnx.metadata_props." + std::to_string(i);
      maker.model().metadata.back()->buffer = buffer == 0 ? last : buffer;
    }
    const auto read = FromTflite(maker.Bytes({x}, {y}));
    return read.has_value() ? "" : read.error().Text();
  };
  EXPECT_EQ(error(1, 0), "");
  EXPECT_THAT(error(1, 999), HasSubstr("'onnx.metadata_props.0': found buffer 999, expected one"));
  EXPECT_THAT(error(100, 0), HasSubstr("found a buffer of another entry, expected its own"));
}

TEST(TfliteFile, TheLedgerNamesTheSubgraphsLeftOut) {
  TfliteMaker maker;
  const auto conversion = FromTflite(TwoSubgraphs(maker));
  ASSERT_TRUE(conversion.has_value());
  const auto dropped =
      std::ranges::find(conversion->ledger, "subgraph 1 'second'", &LedgerEntry::field);
  ASSERT_NE(dropped, conversion->ledger.end());
  EXPECT_EQ(dropped->fate, LedgerEntry::Fate::kDropped);
}

TEST(TfliteFile, RefusesControlFlowByName) {
  TfliteMaker maker;
  const int x = maker.Tensor("x", {2}, TensorType::FLOAT32);
  const int y = maker.Tensor("y", {2}, TensorType::FLOAT32);
  maker.Operator(BuiltinOperator::WHILE, {x}, {y});
  EXPECT_THAT(OperatorOf(maker.Bytes({x}, {y}), ""), HasSubstr("(WHILE): control flow"));
}

// SPACE_TO_DEPTH moves integers, so that the parameters of its output are those of its input too.
TEST(TfliteFile, AnInputWithoutParametersTakesThoseItIsMovedTo) {
  TfliteMaker maker;
  const int x = maker.Tensor("x", {1, 2, 2, 1}, TensorType::UINT8);
  const int y = maker.Tensor("y", {1, 1, 1, 4}, TensorType::UINT8, 0.5F, 3);
  schema::SpaceToDepthOptionsT options;
  options.block_size = 2;
  maker.Operator(BuiltinOperator::SPACE_TO_DEPTH, {x}, {y}, options);
  const auto conversion = FromTflite(maker.Bytes({x}, {y}));
  ASSERT_TRUE(conversion.has_value()) << conversion.error().message;
  const format::TensorType& type = *conversion->model.graph.inputs[0].type;
  EXPECT_EQ(type.elem_type, format::ElementType::kUint8Q);
  EXPECT_EQ(type.quantization->scale, std::vector{0.5F});
}

}  // namespace
}  // namespace qtx::convert::file_test
