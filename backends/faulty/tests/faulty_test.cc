// The faulty backends: `none` is right, every other one is wrong somewhere, and the README says so.
#include "faulty.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "call.h"
#include "faults.h"
#include "number.h"
#include "qtx/format/model.h"

namespace qtx::backend::faulty {
namespace {

using format::ValueInfo;

std::string ReadmeRow(const FaultInfo& fault) {
  std::string row = "|";
  for (const std::string_view cell : {fault.name, fault.says, fault.arithmetic, fault.source}) {
    row += " " + std::string(cell) + " |";
  }
  return row;
}

TEST(Faults, HaveNamesOfTheirOwnAndASource) {
  std::set<std::string_view> names;
  std::set<Fault> faults;
  for (std::size_t i = 0; i < Faults().size(); ++i) {
    const FaultInfo& fault = Faults()[i];
    EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
    EXPECT_TRUE(faults.insert(FaultAt(i)).second) << fault.name;
    EXPECT_FALSE(fault.source.empty()) << fault.name;
    EXPECT_FALSE(fault.says.empty()) << fault.name;
    EXPECT_TRUE(fault.arithmetic == "exact" || fault.arithmetic == "float32") << fault.name;
  }
  EXPECT_GE(Faults().size(), 60U);
}

TEST(Faults, AreThoseOfTheReadme) {
  const auto readme =
      format::ReadFile(std::string(QTX_SOURCE_DIR) + "/backends/faulty/README.md", 1 << 20);
  ASSERT_TRUE(readme.has_value());
  std::size_t at = 0;
  for (const FaultInfo& fault : Faults()) {
    at = readme->find(ReadmeRow(fault), at);
    ASSERT_NE(at, std::string::npos) << ReadmeRow(fault);
  }
  const auto rows = std::ranges::count(*readme, '\n') -
                    std::ranges::count(readme->substr(0, readme->find("|---")), '\n') - 1;
  EXPECT_EQ(rows, static_cast<std::ptrdiff_t>(Faults().size()));
}

TEST(Faulty, IsNotMadeOfAnUnknownName) {
  const auto backend = MakeFaulty("no_such_fault");
  ASSERT_FALSE(backend.has_value());
  EXPECT_EQ(backend.error().code, ErrorCode::kInvalid);
}

TEST(Faulty, NamesTheArithmeticItDepartsFrom) {
  EXPECT_EQ((*(*MakeFaulty("none"))->Describe()).arithmetics,
            (std::vector<std::string>{"exact", "float32"}));
  EXPECT_EQ((*(*MakeFaulty("scales_in_other_order"))->Describe()).arithmetics,
            std::vector<std::string>{"float32"});
}

format::TensorType Int8(format::Dims dims, float scale, std::int32_t offset) {
  format::TensorType type;
  type.elem_type = ElementType::kInt8Q;
  type.shape = format::ToShape(dims);
  type.quantization = format::Quantization{};
  type.quantization->scale = {scale};
  type.quantization->offset = {offset};
  return type;
}

// y = a * b, of two 1 x 1 matrices; y in steps of 2 with offset 3.
format::Model Product(const std::string& op) {
  format::Model model;
  model.ir_version = 8;
  model.opset_imports = {{"", 17, {}}, {"qtx", 1, {}}};
  format::Node node;
  node.op_type = op;
  node.inputs = {"a", "b"};
  node.outputs = {"y"};
  model.graph.name = "product";
  model.graph.nodes = {node};
  const auto value = [](const char* name, format::TensorType type) {
    ValueInfo info;
    info.name = name;
    info.type = std::move(type);
    return info;
  };
  model.graph.inputs = {value("a", Int8({1, 1}, 1, 0)), value("b", Int8({1, 1}, 1, 0))};
  model.graph.outputs = {value("y", Int8({1, 1}, 2, 3))};
  return model;
}

Result<std::int64_t> Multiply(Backend& backend, std::int64_t a, std::int64_t b) {
  const format::Model model = Product("MatMul");
  QTX_ASSIGN_OR_RETURN(const auto prepared, backend.Prepare(model, "exact"));
  std::vector<Tensor> inputs;
  for (const std::int64_t value : {a, b}) {
    const format::TensorType type = Int8({1, 1}, 1, 0);
    QTX_ASSIGN_OR_RETURN(Tensor tensor,
                         format::MakeTensor(type.elem_type, {1, 1}, type.quantization));
    format::PackIntegers(std::vector<std::int64_t>{value}, tensor);
    inputs.push_back(std::move(tensor));
  }
  QTX_ASSIGN_OR_RETURN(const auto outputs, prepared->Run(inputs));
  return format::UnpackIntegers(outputs[0])[0];
}

std::int64_t OnceWith(const char* fault, std::int64_t a, std::int64_t b) {
  const auto backend = MakeFaulty(fault);
  const auto product = Multiply(**backend, a, b);
  EXPECT_TRUE(product.has_value()) << fault;
  return product.value_or(-1000);
}

// 5 / 2 = 2.5, to even 2, plus 3. The offset first: 5.5 -> 6. 127 * 127 / 2 is far beyond int8.
TEST(Faulty, CommitsItsFaultAndNoOther) {
  EXPECT_EQ(OnceWith("none", 5, 1), 5);
  EXPECT_EQ(OnceWith("offset_before_rounding", 5, 1), 6);
  EXPECT_EQ(OnceWith("requantize_half_away", 5, 1), 6);
  EXPECT_EQ(OnceWith("quantize_half_away", 5, 1), 5);
  EXPECT_EQ(OnceWith("requantize_floors", -5, 1), 0);
  EXPECT_EQ(OnceWith("none", 127, 127), 127);
  EXPECT_EQ(OnceWith("requantize_wraps", 127, 3), -63);  // 190.5 -> 190, plus 3 is 193
}

TEST(Faulty, KeepsStateOnlyWhereThatIsTheFault) {
  const auto right = MakeFaulty("none");
  const auto wrong = MakeFaulty("state_from_last_run");
  EXPECT_EQ(*Multiply(**right, 4, 1), 5);
  EXPECT_EQ(*Multiply(**right, 4, 1), 5);
  EXPECT_EQ(*Multiply(**wrong, 4, 1), 5);
  EXPECT_EQ(*Multiply(**wrong, 4, 1), 7);  // 8 / 2 + 3
}

TEST(Faulty, DeclinesWhatItLacksBeforeARun) {
  const auto backend = MakeFaulty("none");
  const auto prepared = (*backend)->Prepare(Product("Pow"), "exact");
  ASSERT_FALSE(prepared.has_value());
  EXPECT_EQ(prepared.error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE((*backend)->Prepare(Product("MatMul"), "tflite").has_value());
}

TEST(Number, RoundsTiesByTheRuleAsked) {
  for (const double sign : {1.0, -1.0}) {
    const Exact x(sign * 2.5);
    EXPECT_EQ(Round(x, Tie::kEven), sign * 2);
    EXPECT_EQ(Round(x, Tie::kAway), sign * 3);
    EXPECT_EQ(Round(x, Tie::kTruncate), sign * 2);
    EXPECT_EQ(Round(static_cast<float>(sign * 2.5), Tie::kEven), sign * 2);
  }
  EXPECT_EQ(Round(Exact(-2.5), Tie::kUp), -2);
  EXPECT_EQ(Round(Exact(-2.5), Tie::kDown), -3);
  EXPECT_EQ(Round(Exact(-2.25), Tie::kFloor), -3);
  EXPECT_EQ(Round(Exact(1e300), Tie::kEven), kFar);
}

// 1 + 2^-24 is a tie between two binary32, 2^-150 one between 0 and the least subnormal.
TEST(Number, IsBroughtToTheNearestBinary32) {
  EXPECT_EQ(ToFloat(Exact(1 + 0x1p-24)), 1.0F);
  EXPECT_EQ(ToFloat(Exact(1 + 0x1.8p-24)), 1 + 0x1p-23F);
  EXPECT_EQ(ToFloat(Exact(0x1p-150)), 0.0F);
  EXPECT_EQ(ToFloat(Exact(0x1.8p-150)), 0x1p-149F);
  EXPECT_EQ(ToFloat(Exact(0x1.ffffffp127)), std::numeric_limits<float>::infinity());
}

TEST(Number, DividesAsTheRealsDo) {
  EXPECT_GT((Exact(1.0) / Exact(0.0)).special(), 0);
  EXPECT_TRUE(IsNan(Exact(0.0) / Exact(0.0)));
  EXPECT_TRUE((Exact(1.0) / Exact(-INFINITY)).finite());
}

}  // namespace
}  // namespace qtx::backend::faulty
