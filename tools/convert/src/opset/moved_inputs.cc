#include "opset/moved_inputs.h"

#include <array>

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Tensor;

enum class Form : std::uint8_t {
  kInts,    // an INT64 vector
  kInt,     // an INT64 vector of one, for an attribute INT
  kScalar,  // an INT64 scalar, for an attribute INT
  kFloats,  // a FLOAT vector
  kFloat,   // a FLOAT scalar
  kReal,    // a scalar of the first input's type, for an attribute FLOAT
};

struct MovedInput {
  std::string_view op_type;
  std::uint8_t since = 0;
  std::string_view attribute;
  std::uint8_t input = 0;
  Form form = Form::kInts;
};

constexpr auto kMoved = std::to_array<MovedInput>({
    {"Clip", 11, "min", 1, Form::kReal},
    {"Clip", 11, "max", 2, Form::kReal},
    {"DFT", 20, "axis", 2, Form::kScalar},
    {"Dropout", 12, "ratio", 1, Form::kFloat},
    {"Pad", 11, "pads", 1},
    {"Pad", 11, "value", 2, Form::kReal},
    {"ReduceL1", 18, "axes", 1},
    {"ReduceL2", 18, "axes", 1},
    {"ReduceLogSum", 18, "axes", 1},
    {"ReduceLogSumExp", 18, "axes", 1},
    {"ReduceMax", 18, "axes", 1},
    {"ReduceMean", 18, "axes", 1},
    {"ReduceMin", 18, "axes", 1},
    {"ReduceProd", 18, "axes", 1},
    {"ReduceSum", 13, "axes", 1},
    {"ReduceSumSquare", 18, "axes", 1},
    {"Slice", 10, "starts", 1},
    {"Slice", 10, "ends", 2},
    {"Slice", 10, "axes", 3},
    {"Split", 13, "split", 1},
    {"Squeeze", 13, "axes", 1},
    {"TopK", 10, "k", 1, Form::kInt},
    {"Unsqueeze", 13, "axes", 1},
    {"Upsample", 9, "scales", 1, Form::kFloats},
});

Result<Tensor> ToInput(const Attribute& attribute, Form form, const OpsetStep& step) {
  switch (form) {
    case Form::kInts:
      return IntegerTensor(attribute.ints);
    case Form::kInt:
      return IntegerTensor({attribute.i});
    case Form::kScalar:
      return IntegerTensor({attribute.i}, true);
    case Form::kFloats:
      return RealTensor(attribute.floats, ElementType::kFloat, false);
    case Form::kFloat:
      return RealTensor({attribute.f}, ElementType::kFloat, true);
    case Form::kReal:
      break;
  }
  const ElementType type = step.TypeOf(0);
  if (type == ElementType::kUndefined) {
    return Unsupported("becomes an input of the type of '" + step.node.inputs.at(0) +
                       "', which is not known");
  }
  return RealTensor({attribute.f}, type, true);
}

// The elements of a constant that an attribute of binary32 can have.
Result<std::vector<float>> Floats(const Tensor& tensor) {
  using enum ElementType;
  const ElementType type = tensor.elem_type;
  if (type != kFloat && type != kFloat16 && type != kBfloat16 && type != kDouble)
    return Unsupported("found type " + std::string(format::Name(type)) + ", expected FLOAT");
  std::vector<float> values;
  for (const double value : format::StoredValues(tensor)) {
    values.push_back(static_cast<float>(value));
    if (static_cast<double>(values.back()) != value)
      return Unsupported("found " + std::to_string(value) + ", which is no binary32");
  }
  return values;
}

Result<Attribute> ToAttribute(const MovedInput& row, const OpsetStep& step) {
  QTX_ASSIGN_OR_RETURN(const Tensor* tensor, step.Constant(row.input));
  std::string name(row.attribute);
  if (row.form == Form::kInts) {
    QTX_ASSIGN_OR_RETURN(std::vector<std::int64_t> values, step.Integers(row.input));
    return Attribute::Ints(std::move(name), std::move(values));
  }
  if (row.form == Form::kFloats) {
    QTX_ASSIGN_OR_RETURN(std::vector<float> values, Floats(*tensor));
    return Attribute::Floats(std::move(name), std::move(values));
  }
  if (format::ElementCount(*tensor) != 1)
    return Invalid("found " + std::to_string(format::ElementCount(*tensor)) +
                   " elements, expected 1");
  if (row.form == Form::kInt || row.form == Form::kScalar) {
    QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> values, step.Integers(row.input));
    return Attribute::Int(std::move(name), values[0]);
  }
  QTX_ASSIGN_OR_RETURN(const std::vector<float> values, Floats(*tensor));
  return Attribute::Float(std::move(name), values[0]);
}

// No axes are all axes, and Pad's value is 0 where it is left out: in both forms.
bool IsAbsence(const Attribute& attribute) {
  return (attribute.name == "axes" && attribute.ints.empty()) ||
         (attribute.name == "value" && attribute.f == 0);
}

bool IsOf(const MovedInput& row, const OpsetStep& step) {
  return row.op_type == step.node.op_type && row.since == step.since;
}

}  // namespace

Result<void> AttributesToInputs(OpsetStep& step) {
  for (const MovedInput& row : kMoved) {
    const Attribute* attribute = IsOf(row, step) ? step.node.Find(row.attribute) : nullptr;
    if (attribute == nullptr) continue;
    if (!IsAbsence(*attribute)) {
      auto tensor = ToInput(*attribute, row.form, step);
      if (!tensor.has_value()) return At("attribute '" + attribute->name + "'", tensor.error());
      step.SetConstant(row.input, attribute->name, *std::move(tensor));
    }
    step.Erase(row.attribute);
  }
  return {};
}

Result<void> InputsToAttributes(OpsetStep& step) {
  for (const MovedInput& row : kMoved) {
    if (!IsOf(row, step) || !step.Has(row.input)) continue;
    auto attribute = ToAttribute(row, step);
    if (!attribute.has_value()) {
      const std::string place = step.PlaceOf(row.input);
      return attribute.error().where.empty() ? At(place, attribute.error()) : attribute.error();
    }
    if (!IsAbsence(*attribute)) step.Set(*std::move(attribute));
  }
  for (const MovedInput& row : kMoved) {
    if (IsOf(row, step)) step.DropInput(row.input);
  }
  return {};
}

}  // namespace qtx::convert
