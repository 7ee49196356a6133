#include "onnx_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "qtx/format/onnx_operators.h"

namespace qtx::spec {
namespace {

using format::ElementType;
using format::TypeSet;
using format::catalogue::OnnxOperator;
using format::catalogue::OnnxParameter;
using format::catalogue::OnnxPresence;

constexpr std::array<OnnxParameter, 1> kX = {{{"x"}}}, kY = {{{"y"}}};
constexpr std::array<TypeSet, 1> kReal = {{{ElementType::kFloat}}};

// The types of a constraint; none where it has FLOAT, or more than three: such an operand is real.
std::vector<std::string> PlainTypes(TypeSet types) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> names;
  for (int code = 1; code < 32; ++code) {
    const ElementType type{code};
    if (types.Has(type)) names.emplace_back(format::Name(type));
  }
  if (types.Has(ElementType::kFloat) || names.size() > kMost) names.clear();
  return names;
}

std::string Rows(std::span<const OnnxParameter> parameters, std::span<const TypeSet> types) {
  std::string rows;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const OnnxParameter& parameter = parameters[i];
    const char* remark = "";
    if (parameter.presence == OnnxPresence::kOptional) remark = " (optional)";
    if (parameter.presence == OnnxPresence::kVariadic) remark = ", one or more";
    std::string names;
    for (const std::string& name : PlainTypes(types[parameter.types])) {
      names += (names.empty() ? "" : " or ") + name;
    }
    rows += fmt::format("{}| {} | {}{} | TODO | {} |", i == 0 ? "" : "\n", i, parameter.name,
                        remark, names.empty() ? "real" : names);
  }
  return rows;
}

// The inputs that a node must have, as keys of a case.
std::string Values(std::span<const OnnxParameter> parameters, std::span<const TypeSet> types,
                   bool with_data) {
  std::string values;
  for (const OnnxParameter& parameter : parameters) {
    if (parameter.presence == OnnxPresence::kOptional) continue;
    const auto names = PlainTypes(types[parameter.types]);
    std::string type = names.empty() ? "int8q, scale: [0.75], offset: [3]" : names.front();
    for (char& c : type) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    values += fmt::format("{}{}: {{type: {}{}}}", values.empty() ? "" : ", ", parameter.name, type,
                          with_data ? ", data: [5, 1]" : "");
  }
  return values;
}

std::string AttributesOf(const OnnxOperator& op) {
  std::string text;
  for (const auto& attribute : op.Attributes()) {
    std::string otherwise = "no default";
    if (!attribute.otherwise.empty()) otherwise = fmt::format("default {}", attribute.otherwise);
    if (attribute.required) otherwise = "required";
    text += fmt::format("{}`{}` ({}, {})", text.empty() ? "Attributes: " : ",\n", attribute.name,
                        format::catalogue::AttributeTypeName(attribute.type), otherwise);
  }
  return text.empty() ? text : text + ".\n\n";
}

}  // namespace

Fields OnnxFields(std::string_view op_type) {
  const OnnxOperator* op =
      format::catalogue::FindOnnxOperator(op_type, format::catalogue::kNewestOpset);
  std::span<const OnnxParameter> inputs = kX, outputs = kY;
  std::span<const TypeSet> types = kReal;
  if (op != nullptr) {
    inputs = op->Inputs();
    outputs = op->Outputs();
    types = op->Types();
  }
  return {{"X", std::string(inputs.empty() ? "" : inputs[0].name)},
          {"Y", std::string(outputs[0].name)},
          {"INPUTS", Rows(inputs, types)},
          {"ATTRIBUTES", op == nullptr ? "" : AttributesOf(*op)},
          {"OUTPUTS", Rows(outputs, types)},
          {"FORMULA_INPUTS", Values(inputs, types, /*with_data=*/false)},
          {"EXAMPLE_INPUTS", Values(inputs, types, /*with_data=*/true)},
          {"SOURCE", op == nullptr ? "TODO: ONNX has no such operator"
                                   : fmt::format("ONNX {}-{}", op_type, op->since)}};
}

}  // namespace qtx::spec
