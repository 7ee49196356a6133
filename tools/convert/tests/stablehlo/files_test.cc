// Which files are StableHLO's, their types, constants and functions, and what damaged ones do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stablehlo/maker.h"

namespace qtx::convert::stablehlo_test {
namespace {

using format::ElementType;
using testing::ElementsAre;
using testing::HasSubstr;

// The type of the only argument.
format::TensorType TypeOf(const std::string& type) {
  const auto read = ReadProgram("func.func @f(%a: " + type + ") -> " + type +
                                " {\n  return %a : " + type + "\n}\n");
  if (!read.has_value()) ADD_FAILURE() << TextOf(read.error());
  return read.has_value() ? *read->model.graph.inputs[0].type : format::TensorType{};
}
std::string TypeRefusal(const std::string& type) {
  return RefusalOf("func.func @f(%a: " + type + ") {\n  return %a : " + type + "\n}\n");
}

TEST(StablehloFiles, AreSeenByTheirFirstWord) {
  const auto kind = [](const std::string& text) {
    const auto found = KindOf(FromBytes(text, "p"));
    return found.has_value() ? std::string((*found)->name) : found.error().message;
  };
  EXPECT_EQ(kind("// a comment\n!t = tensor<f32>\nmodule @m attributes {} {}"), "stablehlo");
  EXPECT_EQ(kind("func.func private @f() {}"), "stablehlo");
  EXPECT_NE(kind("module: torch\n"), "stablehlo");
  EXPECT_NE(kind("functions"), "stablehlo");
}

TEST(StablehloTypes, AreTheOnesOfTheFormat) {
  const format::TensorType narrow = TypeOf("tensor<?x3x!quant.uniform<i8<-127:127>:bf16, 0.5:-3>>");
  EXPECT_EQ(narrow.elem_type, ElementType::kInt8Q);
  EXPECT_EQ(format::ToString(*narrow.shape), "[?,3]");
  EXPECT_EQ(narrow.quantization->quant_min, -127);
  EXPECT_EQ(narrow.quantization->quant_max, std::nullopt);
  EXPECT_EQ(narrow.quantization->real_type, ElementType::kBfloat16);
  EXPECT_THAT(narrow.quantization->offset, ElementsAre(-3));
  const format::TensorType odd = TypeOf("tensor<!quant.uniform<u3:f32, 0.1>>");
  EXPECT_EQ(odd.elem_type, ElementType::kUint4Q);
  EXPECT_EQ(odd.quantization->quant_max, 7);
  EXPECT_THAT(odd.quantization->scale, ElementsAre(0.1F));
  EXPECT_EQ(TypeOf("tensor<2x!quant.uniform<i2:f32, 1.0>>").elem_type, ElementType::kInt2Q);
  EXPECT_EQ(TypeOf("tensor<2x!quant.uniform<i31:f32, 1.0>>").quantization->quant_max,
            (std::int64_t{1} << 30) - 1);
  const format::TensorType blocks =
      TypeOf("tensor<2x4x!quant.uniform<i4:f32:{1:2, 0:1}, {{1.0, 2.0:1}, {3.0, 4.0}}>>");
  EXPECT_THAT(blocks.quantization->axis, ElementsAre(0, 1));
  EXPECT_THAT(blocks.quantization->block_shape, ElementsAre(1, 2));
  EXPECT_THAT(blocks.quantization->scale, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(blocks.quantization->offset, ElementsAre(0, 1, 0, 0));
}

TEST(StablehloTypes, RefuseWhatTheFormatDoesNotHave) {
  EXPECT_THAT(TypeRefusal("tensor<2x!quant.uniform<i8:f32:0, {1.0}>>"),
              HasSubstr("line 1: found 1 scales, expected 2"));
  EXPECT_THAT(TypeRefusal("tensor<!quant.uniform<u32:f32, 1.0>>"),
              HasSubstr("line 1: storage type 'u32'"));
  EXPECT_THAT(TypeRefusal("tensor<!quant.uniform<i8<-129:127>:f32, 1.0>>"),
              HasSubstr("storage bounds <-129:127>"));
  EXPECT_THAT(TypeRefusal("tensor<!quant.uniform<i8:f32, -1.0>>"), HasSubstr("a scale"));
  EXPECT_THAT(TypeRefusal("tensor<!quant.uniform<i8:f64, 1.0>>"),
              HasSubstr("expressed type 'f64'"));
  EXPECT_THAT(TypeRefusal("tensor<2x!quant.calibrated<f32<-1.0:1.0>>>"),
              HasSubstr("element type '!quant.calibrated'"));
  EXPECT_THAT(TypeRefusal("!stablehlo.token"), HasSubstr("type '!stablehlo.token'"));
  EXPECT_THAT(TypeRefusal("tensor<" + std::string(20, '1') + "xf32>"), HasSubstr("above 2^32"));
}

TEST(StablehloConstants, AreReadInAllForms) {
  const auto constant = [](const std::string& elements, const std::string& type) {
    return Returned("%c = stablehlo.constant dense<" + elements + "> : " + type +
                        "\n%r = stablehlo.reverse %c, dims = [] : " + type,
                    type);
  };
  EXPECT_THAT(constant("[[1, 2], [-3, 4]]", "tensor<2x2xi16>"), ElementsAre(1, 2, -3, 4));
  EXPECT_THAT(constant("7", "tensor<3xui4>"), ElementsAre(7, 7, 7));
  EXPECT_THAT(constant("[]", "tensor<0xf32>"), ElementsAre());
  EXPECT_THAT(constant("\"0x0000803F000000C0\"", "tensor<2xf32>"), ElementsAre(1, -2));
  EXPECT_THAT(constant("[true, false]", "tensor<2xi1>"), ElementsAre(1, 0));
  EXPECT_THAT(constant("[1.5, 0x3C00]", "tensor<2xf16>"), ElementsAre(1.5, 1));
  EXPECT_THAT(constant("\"0x7F\"", "tensor<2xi8>"), ElementsAre(127, 127));
}

TEST(StablehloConstants, RefuseOtherShapesAndRanges) {
  const auto refusal = [](const std::string& constant) {
    return RefusalOf(Function("%0 = stablehlo.constant " + constant));
  };
  EXPECT_THAT(refusal("dense<[1, 2]> : tensor<3xi8>"), HasSubstr("a list of 3 elements before"));
  EXPECT_THAT(refusal("dense<[1, 2]> : tensor<1xi8>"), HasSubstr("']' behind 1 elements"));
  EXPECT_THAT(refusal("dense<[[1], 2]> : tensor<2x1xi8>"), HasSubstr("expected '['"));
  EXPECT_THAT(refusal("dense<128> : tensor<i8>"), HasSubstr("expected a value of INT8"));
  EXPECT_THAT(refusal("dense<\"0x00\"> : tensor<2xi16>"), HasSubstr("found 1 bytes, expected 4"));
  EXPECT_THAT(refusal("dense<0> : tensor<65536x65536xi8>"), HasSubstr("more than 2^26 elements"));
  EXPECT_THAT(refusal("dense_resource<a> : tensor<2xi8>"), HasSubstr("line 2"));
}

constexpr const char* kFunctions = R"(module @m {
  func.func private @twice(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func public @first() -> tensor<f32> {
    %c = stablehlo.constant dense<1.5> : tensor<f32>
    %0 = call @twice(%c) : (tensor<f32>) -> tensor<f32>
    %1 = func.call @twice(%0) : (tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  func.func @second() -> tensor<f32> {
    %c = stablehlo.constant dense<1.5> : tensor<f32>
    return %c : tensor<f32> loc("a"(1:2))
  }
}
)";

TEST(StablehloFunctions, AreChosenAndExpanded) {
  EXPECT_THAT(RefusalOf(kFunctions), HasSubstr("3 functions: 0 'twice', 1 'first', 2 'second'"));
  Options options;
  options.subgraph = "first";
  EXPECT_THAT(RunProgram(kFunctions, "exact", options), ElementsAre(ElementsAre(6)));
  options.subgraph = "2";
  EXPECT_THAT(RunProgram(kFunctions, "exact", options), ElementsAre(ElementsAre(1.5)));
  options.subgraph = "third";
  EXPECT_THAT(RefusalOf(kFunctions, options), HasSubstr("subgraph 'third'"));
}

TEST(StablehloHostile, EndsRecursionNestingAndBombs) {
  EXPECT_THAT(RefusalOf("func.func @f() { call @f() : () -> () return }"), HasSubstr("32 deep"));
  EXPECT_THAT(RefusalOf("!a = !b\n!b = !a\nfunc.func @f(%x: !a) { return }"), HasSubstr("32 deep"));
  EXPECT_THAT(RefusalOf(Function("%0 = stablehlo.slice %a " + std::string(100000, '['))),
              HasSubstr("expected ']'"));
  EXPECT_THAT(RefusalOf(Function("%0 = stablehlo.slice %a " + std::string(1000, '[') +
                                 std::string(1000, ']'))),
              HasSubstr("32 deep"));
  std::string calls = "func.func private @f0() { return }\n";
  for (int i = 1; i < 30; ++i) {
    const std::string call = " call @f" + std::to_string(i - 1) + "() : () -> ()";
    calls += "func.func private @f" + std::to_string(i) + "() {" + call + call + " return }\n";
  }
  EXPECT_THAT(RefusalOf(calls + "func.func @main() { call @f29() : () -> () return }"),
              HasSubstr("more operators than the limit"));
}

// Each operator and form once.
constexpr const char* kProgram = R"(!t = !quant.uniform<i8<-127:127>:f32:1, {0.5:1, 1.0}>
module @m attributes {a.b = 1 : i32} {
  func.func public @main(%arg0: tensor<2x2xf32> {x = "y"}) -> (tensor<2xf32> {z}) {
    %c = stablehlo.constant dense<[[1.0, 0x7F800000], [-2.5e-1, 3.0]]> : tensor<2x2xf32>
    %h = stablehlo.constant dense<"0x0000803F0000803F"> : tensor<2xf32>
    %0 = stablehlo.uniform_quantize %arg0 : (tensor<2x2xf32>) -> tensor<2x2x!t> loc("l")
    %1 = stablehlo.slice %0 [0:2, 0:2:1] : (tensor<2x2x!t>) -> tensor<2x2x!t>
    %2 = stablehlo.dot_general %1, %c, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x2x!t>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %3 = "stablehlo.reduce"(%2, %z) <{dimensions = array<i64: 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %4 = stablehlo.custom_call @check.eq(%h, %3) : (tensor<2xf32>, tensor<2xf32>) -> tensor<i1>
    return %3 : tensor<2xf32>
  }
}
)";

TEST(StablehloHostile, NamesTheLineOfTypesThatDoNotFit) {
  std::string other = kProgram;
  other.replace(other.find("[0:2, 0:2:1]"), 5, "[0:1,");
  EXPECT_THAT(RefusalOf(other), HasSubstr("line 7: stablehlo.slice: as Slice: found the declared"));
}

TEST(StablehloHostile, SurvivesEveryTruncation) {
  const std::string whole = kProgram;
  ASSERT_EQ(RefusalOf(whole), "");
  for (std::size_t size = 0; size + 3 < whole.size(); ++size) {
    const std::string refusal = RefusalOf(whole.substr(0, size));
    EXPECT_NE(refusal, "") << size;
    EXPECT_EQ(refusal.find('\n'), std::string::npos) << size;
  }
}

TEST(StablehloHostile, SurvivesDamagedBytes) {
  const std::string whole = kProgram;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char c : {'\0', '>', '"', '9', '%', '-'}) {
      std::string damaged = whole;
      damaged[at] = c;
      const std::string refusal = RefusalOf(damaged);
      EXPECT_EQ(refusal.find('\n'), std::string::npos) << at << " " << c;
      EXPECT_EQ(refusal.find("internal"), std::string::npos) << at << " " << c << ": " << refusal;
    }
  }
}

}  // namespace
}  // namespace qtx::convert::stablehlo_test
