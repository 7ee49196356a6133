// Builds the ONNX graph while the operators of a StableHLO program are walked.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ledger.h"
#include "qtx/format/model.h"
#include "qtx/graph/graph_builder.h"
#include "stablehlo/parser.h"

namespace qtx::convert {

struct StablehloValue {
  std::string name;                // in the graph; "": a constant that no node reads yet
  std::string label = "constant";  // the name that such a constant gets, if it is free
  format::TensorType type;
  std::optional<format::Tensor> constant;
  bool stored = false;   // stands for the stored integers of a quantized value, not its reals
  bool verdict = false;  // what a check found, which is no value of the graph
};

class StablehloBuilder {
 public:
  /// Borrows both.
  StablehloBuilder(MlirParser& parser, Ledger& ledger) : parser_(parser), ledger_(ledger) {
    scopes_.emplace_back();
  }

  Ledger& ledger() { return ledger_; }
  MlirText& text() { return parser_.text(); }
  std::int64_t& repeated() { return repeated_; }

  void AddInput(const MlirArgument& argument);
  /// An operand of `op`.  Errors: kInvalid for one that nothing defines; kUnsupported where it is
  /// the stored integers of a quantized value.  REQUIRES: i < op.operands.size().
  Result<StablehloValue*> Operand(const MlirOp& op, std::size_t i);
  /// The same, whatever it is.
  Result<StablehloValue*> Find(const MlirOp& op, const std::string& name);

  /// The name of a value as the input of a node.
  std::string Use(StablehloValue* value);
  std::string Ints(const MlirOp& op, const std::vector<std::int64_t>& values);

  /// Adds a node between the operands and the result of `op`.
  StablehloValue* Inner(const MlirOp& op, graph::Draft draft, format::TensorType type);
  StablehloValue* Constant(format::Tensor tensor);
  StablehloValue* Copy(StablehloValue value) { return &values_.emplace_back(std::move(value)); }
  /// Adds the node that gives result 0 of `op`, of the type that the program says.
  /// Errors: kInvalid for an operator without a result.
  Result<void> Emit(const MlirOp& op, graph::Draft draft);
  /// Result 0 of `op` is this value.  Errors: as Emit.
  Result<void> Bind(const MlirOp& op, StablehloValue* value);
  Result<StablehloValue*> NewResult(const MlirOp& op);

  /// The value becomes an output of the graph; a second time only where it is `returned` twice.
  Result<void> AddOutput(const MlirOp& op, StablehloValue* value, bool returned);

  void EnterScope() { scopes_.emplace_back(); }
  void LeaveScope() { scopes_.pop_back(); }
  std::size_t depth() const { return scopes_.size(); }
  /// `name` is `value` in the innermost scope.
  void Name(const std::string& name, StablehloValue* value) { scopes_.back()[name] = value; }

  std::string Place(const MlirOp& op) { return parser_.text().Place(op.at) + ": " + op.name; }
  Result<format::Graph> Finish();

 private:
  /// The name of result 0 in the graph, if it is free: that of its location, or behind %.
  static const std::string& NameOf(const MlirOp& op);
  format::Origin OriginOf(const MlirOp& op);
  void NoteType(const std::string& value, const format::TensorType& type);

  MlirParser& parser_;
  Ledger& ledger_;
  graph::GraphBuilder out_;
  std::deque<StablehloValue> values_;
  std::vector<std::unordered_map<std::string, StablehloValue*>> scopes_;
  std::set<std::string> inputs_, outputs_, returned_;
  std::int64_t repeated_ = std::int64_t{1} << 26;
};

/// The dimensions of a type.  Errors: kUnsupported where one is unknown.
Result<format::Dims> FixedDimsOf(const format::TensorType& type);
/// `type` with other dimensions.
format::TensorType WithDims(format::TensorType type, const format::Dims& dims);

}  // namespace qtx::convert
