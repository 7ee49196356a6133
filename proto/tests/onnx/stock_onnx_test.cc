// QTX files against ONNX's own library: stock models pass through QTX, and QTX's fields through
// stock protobuf.
#define ONNX_API
#include <gtest/gtest.h>
#include <onnx/onnx-ml.pb.h>

#include <filesystem>

#include "qtx/format/model.h"
#include "tests/samples.h"

namespace qtx::format {
namespace {

namespace fs = std::filesystem;

// Where Debian's libonnx-testdata puts ONNX's node tests, each with a model.
constexpr const char* kOnnxTestData = "/usr/share/libonnx-testdata/data";

std::string ThroughQtx(const std::string& bytes) {
  const auto model = Model::Parse(bytes);
  if (!model.has_value()) return "refused: " + model.error().where + ": " + model.error().message;
  return *model->Serialize();
}

// A stock model with every kind of field QTX does not name: subgraphs, functions, sequences, sparse
// tensors.
onnx::ModelProto StockModel() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("stock");
  model.add_opset_import()->set_domain("");
  model.mutable_opset_import(0)->set_version(17);
  model.add_functions()->set_name("function");
  model.add_training_info()->mutable_algorithm()->set_name("train");
  auto* property = model.add_metadata_props();
  property->set_key("k");
  property->set_value("");
  auto& graph = *model.mutable_graph();
  graph.set_name("g");
  auto* branch = graph.add_node();
  branch->set_op_type("If");
  branch->add_input("");
  branch->add_output("y");
  auto* attribute = branch->add_attribute();
  attribute->set_name("then_branch");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  attribute->mutable_g()->set_name("sub");
  attribute->mutable_g()->add_node()->set_op_type("Add");
  attribute->set_doc_string("chosen");
  auto* zero = branch->add_attribute();
  zero->set_name("zero");
  zero->set_type(onnx::AttributeProto::INT);
  zero->set_i(0);
  auto* untyped = branch->add_attribute();
  untyped->set_name("untyped");
  untyped->set_f(0.5F);
  auto* tensor = branch->add_attribute();
  tensor->set_name("value");
  tensor->set_type(onnx::AttributeProto::TENSOR);
  tensor->mutable_t()->add_dims(2);
  tensor->mutable_t()->set_data_type(onnx::TensorProto::STRING);
  tensor->mutable_t()->add_string_data("text");
  auto* weight = graph.add_initializer();
  weight->set_name("w");
  weight->set_data_type(onnx::TensorProto::FLOAT);
  weight->add_dims(1);
  weight->add_float_data(1.5F);
  weight->set_doc_string("kept");
  graph.add_sparse_initializer()->add_dims(4);
  graph.add_quantization_annotation()->set_tensor_name("w");
  auto* input = graph.add_input();
  input->set_name("x");
  auto* type = input->mutable_type();
  type->set_denotation("IMAGE");
  type->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  auto* dimension = type->mutable_tensor_type()->mutable_shape()->add_dim();
  dimension->set_dim_param("N");
  dimension->set_denotation("DATA_BATCH");
  auto* output = graph.add_output();
  output->set_name("y");
  output->mutable_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(1);
  return model;
}

TEST(StockOnnx, AModelWithEveryKindOfFieldPassesThroughByteForByte) {
  const std::string bytes = StockModel().SerializeAsString();
  EXPECT_EQ(ThroughQtx(bytes), bytes);
}

TEST(StockOnnx, OnnxsOwnModelsPassThroughByteForByte) {
  ASSERT_TRUE(fs::exists(kOnnxTestData)) << "install libonnx-testdata";
  std::size_t models = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kOnnxTestData)) {
    if (entry.path().extension() != ".onnx") continue;
    const auto bytes = ReadFile(entry.path().string(), 1 << 28);
    ASSERT_TRUE(bytes.has_value());
    EXPECT_TRUE(ThroughQtx(*bytes) == *bytes) << entry.path();
    ++models;
  }
  RecordProperty("models", static_cast<int>(models));
  EXPECT_GT(models, 900U);
}

TEST(StockOnnx, StockProtobufWritesQtxFieldsBackByteForByte) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Model model = RandomModel(seed);
    onnx::ModelProto stock;
    ASSERT_TRUE(stock.ParseFromString(*model.Serialize()));
    onnx::ModelProto copy;
    copy.CopyFrom(stock);
    const auto read = Model::Parse(copy.SerializeAsString());
    ASSERT_TRUE(read.has_value());
    ASSERT_EQ(*read, model) << seed;
  }
}

TEST(StockOnnx, SeesTheElementTypeAndTheShapeOfAQuantizedValue) {
  onnx::ModelProto stock;
  ASSERT_TRUE(stock.ParseFromString(*MatMulModel().Serialize()));
  const auto& type = stock.graph().value_info(0).type().tensor_type();
  EXPECT_EQ(type.elem_type(), 1003);
  EXPECT_EQ(type.shape().dim(1).dim_value(), 4);
  EXPECT_EQ(stock.graph().initializer(0).data_type(), onnx::TensorProto::INT8);
  EXPECT_EQ(stock.graph().initializer(0).raw_data().size(), 12U);
}

}  // namespace
}  // namespace qtx::format
