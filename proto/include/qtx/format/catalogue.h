// The catalogue of operators. Each row says what a node of the operator may have, which clause it
// breaks otherwise, and which types and shapes its outputs get. Source: spec/ops/, a section a row;
// spec/format/graph.md.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "qtx/format/attributes.h"
#include "qtx/format/element_type.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/shape.h"
#include "qtx/format/tensor.h"

namespace qtx::format {

/// A set of element types.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  constexpr TypeSet(std::initializer_list<ElementType> types) {
    for (const ElementType type : types) bits_ |= Bit(type);
  }
  constexpr bool Has(ElementType type) const { return (bits_ & Bit(type)) != 0; }
  constexpr TypeSet operator|(TypeSet other) const {
    other.bits_ |= bits_;
    return other;
  }
  constexpr bool operator==(const TypeSet&) const = default;

 private:
  // ONNX's codes are below 32, and those of quantized types below 1032 but for BIPOLAR1Q.
  static constexpr std::uint64_t Bit(ElementType type) {
    const auto code = static_cast<std::int32_t>(type);
    if (type == ElementType::kBipolar1Q) return std::uint64_t{1} << 63;
    if (code > 1000 && code < 1031) return std::uint64_t{1} << (code - 1000 + 32);
    return code > 0 && code < 32 ? std::uint64_t{1} << code : 0;
  }
  std::uint64_t bits_ = 0;
};

inline constexpr TypeSet kQuantizedTypes = {
    ElementType::kUint8Q,      ElementType::kInt8Q,           ElementType::kUint16Q,
    ElementType::kInt16Q,      ElementType::kInt32Q,          ElementType::kFloat8E4M3FNQ,
    ElementType::kFloat8E5M2Q, ElementType::kFloat8E4M3FNUZQ, ElementType::kFloat8E5M2FNUZQ,
    ElementType::kUint4Q,      ElementType::kInt4Q,           ElementType::kFloat4E2M1Q,
    ElementType::kUint2Q,      ElementType::kInt2Q,           ElementType::kBipolar1Q};
/// Real operands. Source: spec/glossary.md.
inline constexpr TypeSet kRealTypes =
    kQuantizedTypes | TypeSet{ElementType::kFloat, ElementType::kFloat16, ElementType::kBfloat16};
inline constexpr TypeSet kPlainIntegers = {
    ElementType::kUint8, ElementType::kInt8,  ElementType::kUint16, ElementType::kInt16,
    ElementType::kInt32, ElementType::kInt64, ElementType::kUint32, ElementType::kUint64,
    ElementType::kUint4, ElementType::kInt4,  ElementType::kUint2,  ElementType::kInt2};
/// Source: exact.S10.
inline constexpr TypeSet kPlainTypes = kPlainIntegers | TypeSet{ElementType::kDouble};
inline constexpr TypeSet kFloat8Types = {ElementType::kFloat8E4M3FN, ElementType::kFloat8E4M3FNUZ,
                                         ElementType::kFloat8E5M2, ElementType::kFloat8E5M2FNUZ};
/// "any" of the tables of spec/ops/. Source: spec/README.md.
inline constexpr TypeSet kAnyType =
    kRealTypes | kPlainTypes | kFloat8Types |
    TypeSet{ElementType::kBool, ElementType::kFloat4E2M1, ElementType::kFloat8E8M0};

/// A size that is unknown before a model runs is negative: kUnknownSize, or a smaller number for
/// each symbol of the model, so that equal numbers below kUnknownSize are equal sizes.
inline constexpr std::int64_t kUnknownSize = -1;

/// What is known of an input or output of a node.
struct ValueFacts {
  bool given = false;                          // the node names it
  ElementType type = ElementType::kUndefined;  // kUndefined: not known
  std::optional<Dims> dims;                    // may hold negative sizes; nullopt: rank not known
  const Tensor* constant = nullptr;            // its elements, if they are known
  bool is_initializer = false;                 // whose elements no run computes
};

struct OpSchema;

/// A node and what is known of its values.
struct Application {
  const OpSchema& schema;
  const Node& node;
  std::int64_t opset = 0;  // version of ai.onnx that the model imports
  std::vector<ValueFacts> inputs, outputs;

  /// Input `i`; an absent one if the node has fewer. Likewise for outputs.
  const ValueFacts& Input(std::size_t i) const;
  const ValueFacts& Output(std::size_t i) const;
  /// With the defaults of `schema`.
  Attributes attributes() const { return {schema, node, opset}; }
  std::int64_t Int(std::string_view attribute) const { return attributes().Int(attribute); }
  float Float(std::string_view attribute) const { return attributes().Float(attribute); }
  std::string String(std::string_view attribute) const { return attributes().String(attribute); }
  /// nullptr if the node does not give it.
  const Attribute* Find(std::string_view attribute) const { return node.Find(attribute); }
};

/// Name of an input or output, and whether a node may leave it out.
struct ValueRule {
  std::string_view name;
  bool optional = false;
  bool variadic = false;  // the last one only: one or more values
};

inline constexpr std::int64_t kAnyOpset = std::int64_t{1} << 32;

struct AttributeRule {
  std::string_view name;
  AttributeType type = AttributeType::kUndefined;
  std::variant<std::monostate, std::int64_t, float, std::string_view> otherwise =
      {};  // its default
  bool required = false;
  std::int64_t since = 0;          // the first opset of ai.onnx that has it
  std::int64_t until = kAnyOpset;  // the last one
};

/// Succeeds unless the known facts show that the node breaks the clause. `where` names the input,
/// output or attribute. Errors: kInvalid; kUnsupported, of a clause that says so: ONNX defines what
/// the node asks for, and this version of the text does not.
using ClauseRule = std::function<Result<void>(const Application&)>;

struct ClauseCheck {
  std::string_view clause;  // "conv.C3"
  ClauseRule rule;          // may assume that the clauses before it hold
};

/// Sizes of each output, nullopt for an unknown rank. Errors: kInvalid if no such output can exist.
using ShapeRule = Result<std::vector<std::optional<Dims>>> (*)(const Application&);
/// The element type of an output that the model does not declare; kUndefined if the model must
/// declare it.
using TypeRule = ElementType (*)(const Application&, std::size_t output);

struct OpSchema {
  std::string_view op_type;
  std::string_view domain = {};  // "" is ai.onnx
  std::vector<ValueRule> inputs, outputs;
  std::vector<AttributeRule> attributes;
  std::vector<ClauseCheck> checks = {};  // in the order in which they run
  ShapeRule shape = nullptr;             // nullptr: no shape rule
  std::string_view shape_clause = {};  // the clause that an output breaks if `shape` contradicts it
  TypeRule type = nullptr;             // nullptr: every output has the type of input 0
  // Every element of output 0 is one of input 0, so that it can have the same parameters.
  bool copies_elements = false;

  /// Of several with that name (their defaults differ) the one that the opset has, else the first.
  const AttributeRule* FindAttribute(std::string_view name, std::int64_t opset) const;
};

/// The rows of the operators that have a section in spec/ops/, by domain, then op_type.
std::span<const OpSchema> Sections();
/// The row of an operator's section; nullptr when it has none. `domain` "" and "ai.onnx" are the
/// same.
const OpSchema* FindSchema(std::string_view domain, std::string_view op_type);

/// Whether ONNX has the node's operator in that opset, with these attributes, as many inputs and
/// outputs, and inputs and outputs of these types, as far as they are given.
/// Errors: kInvalid, of graph.C4 to graph.C7; `where` is below the node.
Result<void> CheckOnnxForm(const Node& node, std::int64_t opset,
                           std::span<const ElementType> inputs = {},
                           std::span<const ElementType> outputs = {});

/// The opset of ai.onnx that nodes of the model are held to: the newest one where it imports none.
std::int64_t OnnxOpset(const Model& model);

/// What is known of a tensor: type and sizes, and its elements where `there` and not quantized.
/// Borrows it.
ValueFacts FactsOf(const Tensor& tensor, bool there);
/// What a declaration says. Symbols are sizes that are not known.
ValueFacts FactsOf(const ValueInfo& declared);

/// The type of an output that is not declared: that of the row's type rule; kUndefined where none
/// follows.
ElementType TypeOfOutput(const Application& application, std::size_t output);

/// The first clause that the node breaks, in Error::clause; `where` is below the node. Otherwise
/// `outputs` of `application` gain what follows for them: types and sizes that were not known.
/// Errors: kInvalid; kUnsupported where a rule says so and all clauses are kept (outputs gain then,
/// too).
Result<void> CheckApplication(Application& application);

}  // namespace qtx::format
