// Builds the ONNX graph of a Paddle program, operator by operator.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ledger.h"
#include "paddle/program.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::convert::paddle {

/// The unit of a value that Paddle's old quantized form holds as integers while this graph holds
/// reals: Paddle's integer is real / unit.
struct Units {
  double unit = 0;  // 0: one for each channel
  double quant_max = 0;
};

class Builder {
 public:
  /// Keeps references to the arguments.
  Builder(const Program& program, const Params& params, Ledger& ledger);

  Ledger& ledger() { return ledger_; }
  /// The fake_dequantize that reads `var`, or nullptr.
  const Op* DequantizerOf(const std::string& var) const;

  /// Begins to emit the nodes of `op`.
  void Begin(const Op& op);

  bool Has(const Op& op, std::string_view parameter) const;
  /// The value of an input; a parameter becomes an initializer.
  /// Errors: kInvalid when there is none, or nothing produced it.
  Result<std::string> In(const Op& op, std::string_view parameter, std::size_t i = 0);
  Result<std::vector<std::string>> AllIn(const Op& op, std::string_view parameter);
  /// A new value for an output: a variable written twice becomes two values.
  Result<std::string> Out(const Op& op, std::string_view parameter, std::size_t i = 0);
  /// A new value with the variable's name, made unique.
  std::string Define(const std::string& var);
  /// From now on `var` refers to `value`.
  void Alias(const std::string& var, const std::string& value) { current_[var] = value; }
  /// The current value of `var`; `var` itself if nothing wrote it.
  std::string Current(const std::string& var) const;
  /// Sets statistics of `var` from its largest magnitude.
  void AnnotateThreshold(const std::string& var, float threshold);
  /// The variable of an input, and its declaration.
  Result<std::string> VarOf(const Op& op, std::string_view parameter, std::size_t i = 0) const;
  Result<Var> Declared(const Op& op, std::string_view parameter, bool output = false) const;
  Result<std::int64_t> Rank(const Op& op, std::string_view parameter) const;
  /// The data of a parameter; nullptr if it was overwritten or is none.
  const format::Tensor* Param(const Op& op, std::string_view parameter, std::size_t i = 0) const;

  void Node(std::string op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
            std::vector<format::Attribute> attributes = {});
  /// A value between two nodes of one operator: `name`/`what`.
  std::string Between(const std::string& name, const std::string& what) {
    return out_.Unique(name + "/" + what);
  }
  std::string Constant(const std::string& name, const format::Tensor& tensor);
  std::string Ints(const std::string& name, const std::vector<std::int64_t>& values) {
    return Constant(name, graph::IntsTensor(values));
  }
  std::string Scalar(const std::string& name, float value) {
    return Constant(name, graph::FloatTensor(value));
  }
  format::TensorType& Type(const std::string& value) { return types_[value]; }
  const format::TensorType* Known(const std::string& value) const;

  std::map<std::string, Units>& units() { return units_; }
  /// Sets the units of `var`, effective once the operator has defined it.
  void WholeResult(const std::string& var, Units units) { pending_ = {{var, units}}; }
  void SettleUnits();
  /// Outputs of quantize_linear; true: ties round away from zero.
  std::map<std::string, bool>& away() { return away_; }

  Result<void> AddInput(const std::string& var);
  /// REQUIRES: Begin(fetch), a value of `var`.
  void AddOutput(const std::string& var, std::int64_t column);
  format::Graph Finish();

 private:
  std::string Initializer(const std::string& var);
  void Declare(const std::string& value, const Var& var);

  const Program& program_;
  const Params& params_;
  Ledger& ledger_;
  graph::GraphBuilder out_;
  format::Origin origin_;
  std::size_t op_ = 0;
  std::set<std::string> initializers_, fetched_;
  std::map<std::string, const Op*> dequantizers_;  // by the variable they read
  std::map<std::string, std::string> current_;     // value of each variable written so far
  std::map<std::string, format::TensorType> types_;
  std::map<std::string, Units> units_;
  std::map<std::string, Units> pending_;
  std::map<std::string, bool> away_;
  std::map<std::int64_t, std::string> outputs_;  // values by column
};

/// Statistics for the range -max_abs to max_abs, bit-equal to Paddle's.
format::Statistics MaxAbs(const std::vector<float>& max_abs, std::vector<std::int64_t> axis,
                          std::string source);

format::Tensor TensorOf(format::ElementType type, format::Dims dims, const void* data);

}  // namespace qtx::convert::paddle
