// Builds the ONNX graph while the operators of an NNEF graph are walked.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ledger.h"
#include "nnef/files.h"
#include "nnef/text.h"
#include "qtx/format/model.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::convert::nnef {

/// A tensor of the graph.
struct GraphTensor {
  std::string name;   // in the graph; "": a constant that no node reads yet
  std::string label;  // of a constant: the name that it gets, if that is free
  format::TensorType type;
  format::Dims dims;
  std::optional<format::Tensor> constant;
};

/// An invocation whose arguments are bound to the operator's parameters.
class Call {
 public:
  /// `parameters`: the names, separated by blanks.  Errors: kInvalid for unknown, repeated and
  /// missing ones, at the line.  Borrows `invocation`.
  static Result<Call> Bind(const Invocation& invocation, std::string_view parameters);

  const Invocation& text() const { return *invocation_; }
  const Value* Find(std::string_view parameter) const;  // nullptr: not given
  /// Errors of those below: kInvalid for a value of another kind.
  Result<std::vector<std::int64_t>> Ints(std::string_view parameter,
                                         std::vector<std::int64_t> fallback = {}) const;
  Result<std::int64_t> Int(std::string_view parameter, std::int64_t fallback) const;
  Result<double> Number(std::string_view parameter, std::optional<double> fallback = {}) const;
  Result<bool> Flag(std::string_view parameter, bool fallback) const;
  Result<std::string> String(std::string_view parameter, std::string fallback) const;
  /// [(1, 2), (3, 4)] as {1, 2, 3, 4}.
  Result<std::vector<std::int64_t>> Pairs(std::string_view parameter) const;
  Error Wrong(std::string_view parameter, const std::string& expected) const;

 private:
  explicit Call(const Invocation& invocation) : invocation_(&invocation) {}
  const Invocation* invocation_;
  std::map<std::string, const Value*, std::less<>> arguments_;
};

class Builder {
 public:
  /// Borrows all.
  Builder(const Files& files, const std::map<std::string, Invocation>& quant, Ledger& ledger)
      : files_(files), quant_(quant), ledger_(ledger) {}

  Ledger& ledger() { return ledger_; }
  const Files& files() const { return files_; }

  /// A tensor that an argument names, or a literal as a constant: FLOAT, INT64 beside integers,
  /// BOOL.  Errors: kInvalid for a name that nothing defines, and where the argument is missing.
  Result<GraphTensor*> Operand(const Call& call, std::string_view parameter);
  Result<std::vector<GraphTensor*>> Operands(const Call& call, std::string_view parameter);
  Result<GraphTensor*> OfValue(const Call& call, const Value& value);

  /// The name of a tensor as the input of a node.
  std::string Use(GraphTensor* tensor);
  std::string Ints(const Call& call, const std::vector<std::int64_t>& values);
  std::string Scalar(const Call& call, float value);
  /// A tensor of these dimensions with the same elements; a constant stays one.
  Result<GraphTensor*> Reshaped(const Call& call, GraphTensor* tensor, const format::Dims& dims);
  /// The tensor as FLOAT, where it is quantized.
  GraphTensor* Reals(const Call& call, GraphTensor* tensor);
  GraphTensor* Constant(format::Tensor tensor, std::string label);

  /// A node whose result is read within this operator only: FLOAT, or of `type`.
  GraphTensor* Inner(const Call& call, graph::Draft draft, format::Dims dims,
                     format::ElementType type = format::ElementType::kFloat);
  /// The same, of the type of `from`.
  GraphTensor* Inner(const Call& call, graph::Draft draft, format::Dims dims,
                     const GraphTensor& from);
  /// The node of result `i`: quantized as graph.quant says, else of `type`.
  /// Errors: kInvalid for a result defined twice, too few of them; those of TypeOf.
  Result<void> Emit(const Call& call, graph::Draft draft, format::Dims dims,
                    format::ElementType type = format::ElementType::kFloat, std::size_t i = 0);
  /// The same for a node that moves elements of `from`: it keeps the type, and a Cast follows where
  /// graph.quant says another one.
  Result<void> EmitMove(const Call& call, graph::Draft draft, format::Dims dims,
                        const GraphTensor& from, std::size_t i = 0);
  /// What a node that moves elements takes: `tensor`, or its reals where it has parameters along an
  /// axis.
  GraphTensor* Movable(const Call& call, GraphTensor* tensor);
  /// Result `i` is this tensor, cast where graph.quant says so.
  Result<void> Bind(const Call& call, GraphTensor* tensor, std::size_t i = 0);

  /// The name of result `i`, the items of an array counting as results.
  Result<std::string> ResultName(const Call& call, std::size_t i) const;
  std::size_t ResultCount(const Call& call) const;
  bool HasEntry(const std::string& name) const { return quant_.contains(name); }
  /// The type that graph.quant says; nullopt where it says none.
  Result<std::optional<format::TensorType>> Quantized(const std::string& name,
                                                      const format::Dims& dims, bool stored);
  Result<void> Define(const Call& call, const std::string& name, GraphTensor* tensor);

  Result<void> AddInput(const Call& call, const std::string& name, GraphTensor tensor);
  Result<void> AddOutput(const std::string& name);
  Result<format::Graph> Finish();

 private:
  format::Origin OriginOf(const Call& call) const;
  GraphTensor* Node(const Call& call, const std::string& name, graph::Draft draft,
                    GraphTensor tensor);

  const Files& files_;
  const std::map<std::string, Invocation>& quant_;
  Ledger& ledger_;
  graph::GraphBuilder out_;
  std::deque<GraphTensor> tensors_;
  std::unordered_map<std::string, GraphTensor*> values_;
  std::set<std::string> inputs_, outputs_;
};

}  // namespace qtx::convert::nnef
