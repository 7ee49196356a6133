// Builds a TFLite file while the nodes of an ONNX graph are walked. A value of rank 4 exists as
// ONNX has it, as [N,H,W,C], or both, whichever its producer and consumers need.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "layout.h"
#include "ledger.h"
#include "onnx/graph_index.h"
#include "qtx/format/model.h"
#include "tflite_generated.h"

namespace qtx::convert {

/// A value's name in quotes, for messages.
inline std::string Quoted(const std::string& value) { return "'" + value + "'"; }

enum class Order { kOnnx, kNhwc };

/// An operator to write.
struct Call {
  schema::BuiltinOperator code = schema::BuiltinOperator::CUSTOM;
  std::vector<int> inputs;  // tensors; -1 is an absent optional input
  schema::BuiltinOptionsUnion options = {};
  std::string custom_code = {};  // the name of a CUSTOM operator
  std::vector<std::uint8_t> custom_options = {};
};

/// The destination of an operator's result.
struct Target {
  std::string name;  // of the value
  Order order = Order::kOnnx;
  format::Dims dims;  // in ONNX's order
};

/// Converts UINT8Q to INT8Q by subtracting 128 from offsets and stored values, for operators that
/// take only signed integers.
format::TensorType ToSigned(format::TensorType type);

/// True if both map stored integers to the same reals, ignoring the range.
bool SameGrid(const format::TensorType& a, const format::TensorType& b);

/// True if several elements along an axis share a scale.
bool HasBlocks(const format::Quantization& q);

class TfliteWriter {
 public:
  /// Keeps references to the arguments. `to_signed` converts every UINT8Q value except graph inputs
  /// and outputs; the constants `halves`, of FLOAT, are stored as FLOAT16.
  TfliteWriter(const GraphIndex& graph, bool to_signed, const std::set<std::string>& halves,
               Ledger& ledger);

  const GraphIndex& graph() const { return graph_; }
  Ledger& ledger() { return ledger_; }

  /// The element type and quantization as written; FLOAT if undeclared.
  /// Errors: those of Resolve.
  Result<format::TensorType> Type(const std::string& value) const;
  /// Dimensions in ONNX's order.  Errors: kInvalid when no node has produced `value` yet.
  Result<format::Dims> Dims(const std::string& value) const;
  bool IsConstant(const std::string& value) const { return graph_.Initializer(value) != nullptr; }
  /// The constant as written.  Errors: those of LoadInitializer.
  Result<format::Tensor> Constant(const std::string& value) const;
  /// The elements of a constant of integers.  Errors: kUnsupported otherwise.
  Result<std::vector<std::int64_t>> Integers(const std::string& value) const;
  /// kNhwc when one of `values`, all of rank 4, exists in that order only.
  Order Common(const std::vector<std::string>& values) const;

  /// The tensor of `value` in `order`; adds a transpose if needed.
  Result<int> Use(const std::string& value, Order order);
  /// The tensor of `value` as `type`; adds a conversion if the grids differ. A constant that
  /// DEQUANTIZE does not take is stored as FLOAT.
  Result<int> UseAs(const std::string& value, Order order, const format::TensorType& type);
  /// Tensor `from`, of type `own`, as `type`, under a name made of `name`.
  Result<int> Converted(int from, const std::string& name, const format::TensorType& own,
                        const format::TensorType& type);
  /// A tensor for an operand that is broadcast to `rank`: constants get leading dimensions of 1.
  /// `real`: as FLOAT.
  Result<int> UseBroadcast(const std::string& value, Order order, std::size_t rank, bool real);
  /// A constant; behind a DEQUANTIZE where it is stored as FLOAT16.
  Result<int> AddConstant(const std::string& name, const format::Tensor& tensor);
  int AddInt32s(const std::string& name, const std::vector<std::int64_t>& values,
                std::vector<std::int32_t> shape = {});
  /// A tensor between two operators; `type` has its shape.
  Result<int> AddTensor(const std::string& name, const format::TensorType& type);

  /// Adds the operator, whose kernel returns type `as` (the shape is ignored), and a conversion if
  /// the target's grid differs.
  Result<void> Emit(Call call, const Target& target, const format::TensorType& as);
  /// Converts tensor `from` of type `as` to the target: by QUANTIZE, DEQUANTIZE, CAST, or not at
  /// all.
  Result<void> Convert(int from, const Target& target, const format::TensorType& as);
  void Append(Call call, std::vector<int> outputs);
  /// Adds a tensor for the target, of type `type`; an operator must give it.
  Result<int> Define(const Target& target, const format::TensorType& type);
  /// Makes `value` an alias of `tensor` in `order`, without an operator.
  void Alias(const std::string& value, Order order, int tensor, format::Dims dims);
  std::optional<int> Find(const std::string& value, Order order) const;

  /// Errors: kUnsupported, kInvalid.
  Result<void> AddInputs();
  Result<schema::ModelT> Finish(const format::Model& model);

 private:
  schema::TensorT& tensor(int index) { return *tables_->tensors[static_cast<std::size_t>(index)]; }
  Result<int> AddBlocks(const std::string& name, const format::Tensor& tensor);
  Result<int> AddStored(const std::string& name, const format::Tensor& tensor);
  Result<format::TensorType> TypeFor(const Target& target, const format::TensorType& as);
  Result<void> AppendConversion(int from, int to, const format::TensorType& from_type,
                                const format::TensorType& to_type);
  Result<void> AddOutputs();
  Result<void> AddOutput(const std::string& name);
  std::string Unique(std::string name);
  void NameTensors();

  const GraphIndex& graph_;
  bool to_signed_;
  const std::set<std::string>& halves_;
  Ledger& ledger_;
  schema::ModelT model_;
  schema::SubGraphT* tables_ = nullptr;
  std::map<std::pair<std::string, Order>, int> forms_;
  std::map<std::string, format::TensorType> inferred_;  // of values that the graph does not declare
  std::map<std::string, format::Dims> dims_;
  std::set<int> edges_;  // tensors that are the graph's inputs and outputs
  std::set<std::string> names_;
};

}  // namespace qtx::convert
