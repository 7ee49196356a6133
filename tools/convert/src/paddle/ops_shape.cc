// Operators that move data, and constants.  Source: paddle/fluid/operators (reshape_op.cc,
// slice_op.cc, split_op.cc, flatten_op.cc, fill_constant_op.cc).
#include <algorithm>
#include <charconv>
#include <numeric>

#include "paddle/ops.h"

namespace qtx::convert::paddle {
namespace {

using A = format::Attribute;
using format::ElementType;

// One node of X (or Input) and a list of integers.
Result<void> WithList(Builder& builder, const Op& op, const char* onnx, const char* what,
                      const std::vector<std::int64_t>& list) {
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  builder.Node(onnx, {x, builder.Ints(y + "/" + what, list)}, {y});
  return {};
}

Result<void> Reshape(Builder& builder, const Op& op) {
  for (const char* parameter : {"ShapeTensor", "Shape"})
    QTX_RETURN_IF_ERROR(RefuseInput(builder, op, parameter));
  return WithList(builder, op, "Reshape", "shape", op.Ints("shape"));
}

Result<void> Transpose(Builder& builder, const Op& op) {
  return Unary(builder, op, "Transpose", {A::Ints("perm", op.Ints("axis"))});
}

Result<void> Flatten(Builder& builder, const Op& op) {
  return Unary(builder, op, "Flatten", {A::Int("axis", op.Int("axis", 1))});
}

// Merges axes start to stop. 0 copies the axes before; those after must be known.
Result<void> FlattenRange(Builder& builder, const Op& op) {
  QTX_ASSIGN_OR_RETURN(const Var x, builder.Declared(op, "X"));
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  auto start = format::NormalizeAxis(op.Int("start_axis", 1), std::max<std::int64_t>(rank, 1));
  auto stop = format::NormalizeAxis(op.Int("stop_axis", 1), std::max<std::int64_t>(rank, 1));
  if (!start.has_value() || !stop.has_value() || *start > *stop)
    return Invalid(op, "expected start_axis <= stop_axis within the rank");
  std::vector<std::int64_t> shape(static_cast<std::size_t>(*start), 0);
  shape.push_back(-1);
  for (std::int64_t i = *stop + 1; i < rank; ++i) {
    const auto dim = x.shape[static_cast<std::size_t>(i)].value;
    if (!dim) return Unsupported(op, "the size of axis " + std::to_string(i) + " is not known");
    shape.push_back(*dim);
  }
  return WithList(builder, op, "Reshape", "shape", shape);
}

Result<void> Squeeze(Builder& builder, const Op& op) {
  QTX_RETURN_IF_ERROR(RefuseInput(builder, op, "AxesTensor"));
  QTX_RETURN_IF_ERROR(RefuseInput(builder, op, "AxesTensorList"));
  const bool squeeze = op.type.starts_with("squeeze");
  if (squeeze && op.Ints("axes").empty()) return Unary(builder, op, "Squeeze");
  return WithList(builder, op, squeeze ? "Squeeze" : "Unsqueeze", "axes", op.Ints("axes"));
}

Result<void> Concat(Builder& builder, const Op& op) {
  QTX_RETURN_IF_ERROR(RefuseInput(builder, op, "AxisTensor"));
  QTX_ASSIGN_OR_RETURN(std::vector<std::string> inputs, builder.AllIn(op, "X"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  if (op.type == "stack") {
    const std::string axes = builder.Ints(y + "/axes", {op.Int("axis", 0)});
    for (std::string& input : inputs) {
      const std::string slice = builder.Between(input, "stacked");
      builder.Node("Unsqueeze", {input, axes}, {slice});
      input = slice;
    }
  }
  builder.Node("Concat", inputs, {y}, {A::Int("axis", op.Int("axis", 0))});
  return {};
}

Result<void> Split(Builder& builder, const Op& op) {
  QTX_RETURN_IF_ERROR(RefuseInput(builder, op, "AxisTensor"));
  QTX_RETURN_IF_ERROR(RefuseInput(builder, op, "SectionsTensorList"));
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "X"));
  std::vector<std::string> outputs;
  const auto found = op.outputs.find("Out");
  const std::size_t count = found == op.outputs.end() ? 0 : found->second.size();
  for (std::size_t i = 0; i < count; ++i) {
    QTX_ASSIGN_OR_RETURN(std::string output, builder.Out(op, "Out", i));
    outputs.push_back(std::move(output));
  }
  if (outputs.empty()) return Invalid(op, "has no output Out");
  std::vector<std::int64_t> sections = op.Ints("sections");
  const A axis = A::Int("axis", op.Int("axis", 0));
  if (sections.empty()) {
    builder.Node("Split", {x}, outputs,
                 {axis, A::Int("num_outputs", static_cast<std::int64_t>(outputs.size()))});
    return {};
  }
  if (std::ranges::any_of(sections, [](std::int64_t section) { return section < 0; }))
    return Unsupported(op, "a section of unknown size");
  builder.Node("Split", {x, builder.Ints(outputs[0] + "/split", sections)}, outputs, {axis});
  return {};
}

Result<void> Slice(Builder& builder, const Op& op) {
  for (const char* parameter : {"StartsTensor", "EndsTensor", "StridesTensor", "StartsTensorList",
                                "EndsTensorList", "StridesTensorList"})
    QTX_RETURN_IF_ERROR(RefuseInput(builder, op, parameter));
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "Input"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  const auto squeezed = op.Ints("decrease_axis");
  const std::string sliced = squeezed.empty() ? y : builder.Between(y, "slice");
  std::vector<std::string> inputs = {x, builder.Ints(y + "/starts", op.Ints("starts")),
                                     builder.Ints(y + "/ends", op.Ints("ends")),
                                     builder.Ints(y + "/axes", op.Ints("axes"))};
  if (!op.Ints("strides").empty()) inputs.push_back(builder.Ints(y + "/steps", op.Ints("strides")));
  builder.Node("Slice", inputs, {sliced});
  if (!squeezed.empty())
    builder.Node("Squeeze", {sliced, builder.Ints(y + "/squeezed", squeezed)}, {y});
  return {};
}

// Paddle's shape is INT32, ONNX's INT64.
Result<void> Shape(Builder& builder, const Op& op) {
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, "Input"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  const std::string wide = builder.Between(y, "int64");
  builder.Node("Shape", {x}, {wide});
  builder.Node("Cast", {wide}, {y}, {A::Int("to", static_cast<std::int64_t>(ElementType::kInt32))});
  return {};
}

// One element of `type`.
Result<format::Tensor> ValueOf(const Op& op, ElementType type) {
  const std::string text = op.String("str_value", "");
  double value = static_cast<double>(op.Float("value", 0));
  if (!text.empty()) {
    QTX_ASSIGN_OR_RETURN(value, format::ParseFloat(text));
  }
  if (type == ElementType::kFloat) {
    const auto real = static_cast<float>(value);
    return TensorOf(type, {}, &real);
  }
  if (type != ElementType::kInt32 && type != ElementType::kInt64)
    return Unsupported(op, "dtype " + std::string(format::Name(type)));
  const double limit = type == ElementType::kInt32 ? 0x1p31 : 0x1p53;
  if (!(value > -limit && value < limit)) return Invalid(op, "its value is out of range");
  QTX_ASSIGN_OR_RETURN(format::Tensor tensor, format::MakeTensor(type, {}));
  format::PackIntegers(std::vector{static_cast<std::int64_t>(value)}, tensor);
  return tensor;
}

// The element is expanded at run time, so that a short program does not make a large model.
Result<void> FillConstant(Builder& builder, const Op& op) {
  for (const char* parameter : {"ValueTensor", "ShapeTensor", "ShapeTensorList"})
    QTX_RETURN_IF_ERROR(RefuseInput(builder, op, parameter));
  auto value = ValueOf(op, ElementTypeOf(op.Int("dtype", 5)));
  if (!value.has_value()) return At(op.Name(), value.error());
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  const std::string element = builder.Constant(y + "/value", *std::move(value));
  builder.Node("Expand", {element, builder.Ints(y + "/shape", op.Ints("shape"))}, {y});
  return {};
}

Result<void> Gather(Builder& builder, const Op& op) {
  const bool table = op.type != "gather";
  QTX_RETURN_IF_ERROR(RefuseInput(builder, op, "Axis"));
  if (table && op.Int("padding_idx", -1) != -1) return Unsupported(op, "a padding_idx");
  QTX_ASSIGN_OR_RETURN(const std::string x, builder.In(op, table ? "W" : "X"));
  QTX_ASSIGN_OR_RETURN(const std::string i, builder.In(op, table ? "Ids" : "Index"));
  QTX_ASSIGN_OR_RETURN(const std::string y, builder.Out(op, "Out"));
  builder.Node("Gather", {x, i}, {y}, {A::Int("axis", table ? 0 : op.Int("axis", 0))});
  return {};
}

using W = Operator::Whole;
constexpr Operator kShapeOperators[] = {
    {"reshape", Reshape, W::kCarried},
    {"reshape2", Reshape, W::kCarried},
    {"transpose", Transpose, W::kCarried},
    {"transpose2", Transpose, W::kCarried},
    {"flatten", Flatten, W::kCarried},
    {"flatten2", Flatten, W::kCarried},
    {"flatten_contiguous_range", FlattenRange, W::kCarried},
    {"squeeze", Squeeze, W::kCarried},
    {"squeeze2", Squeeze, W::kCarried},
    {"unsqueeze", Squeeze, W::kCarried},
    {"unsqueeze2", Squeeze, W::kCarried},
    {"concat", Concat},
    {"stack", Concat},
    {"split", Split},
    {"slice", Slice, W::kCarried},
    {"strided_slice", Slice, W::kCarried},
    {"shape", Shape},
    {"fill_constant", FillConstant},
    {"gather", Gather},
    {"lookup_table_v2", Gather},
};

}  // namespace

std::span<const Operator> ShapeOperators() { return kShapeOperators; }

}  // namespace qtx::convert::paddle
