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

/// A value's name, as messages have it.
inline std::string Quoted(const std::string& value) { return "'" + value + "'"; }

enum class Order { kOnnx, kNhwc };

/// An operator to be written.
struct Call {
  schema::BuiltinOperator code = schema::BuiltinOperator::CUSTOM;
  std::vector<int> inputs;  // tensors; -1 is an absent optional input
  schema::BuiltinOptionsUnion options = {};
};

/// Where its result goes.
struct Target {
  std::string name;  // of the value
  Order order = Order::kOnnx;
  format::Dims dims;  // in ONNX's order
};

/// How values are typed in a file whose operators take signed integers only: UINT8Q is INT8Q with
/// offsets and stored values less 128, the same reals.
format::TensorType ToSigned(format::TensorType type);

/// The same reals for the same stored integers, whatever range they are clamped to.
bool SameGrid(const format::TensorType& a, const format::TensorType& b);

class TfliteWriter {
 public:
  /// Borrows all three. `to_signed`: every UINT8Q value but the graph's inputs and outputs.
  TfliteWriter(const GraphIndex& graph, bool to_signed, Ledger& ledger);

  const GraphIndex& graph() const { return graph_; }
  Ledger& ledger() { return ledger_; }

  /// The element type and quantization as they are written; FLOAT where the graph says nothing.
  /// Errors: those of Resolve.
  Result<format::TensorType> Type(const std::string& value) const;
  /// In ONNX's order.  Errors: kInvalid when no node has produced `value` yet.
  Result<format::Dims> Dims(const std::string& value) const;
  bool IsConstant(const std::string& value) const { return graph_.Initializer(value) != nullptr; }
  /// As it is written.  Errors: those of LoadInitializer.
  Result<format::Tensor> Constant(const std::string& value) const;
  /// The elements of a constant of integers.  Errors: kUnsupported when it is none.
  Result<std::vector<std::int64_t>> Integers(const std::string& value) const;
  /// kNhwc when one of `values`, all of rank 4, exists in that order only.
  Order Common(const std::vector<std::string>& values) const;

  /// The tensor of `value` in `order`; transposed where it exists in the other only.
  Result<int> Use(const std::string& value, Order order);
  /// The same as a tensor of `type`: converted where the value's own grid is another.
  Result<int> UseAs(const std::string& value, Order order, const format::TensorType& type);
  /// A tensor for an operand that is broadcast to `rank`: constants get leading dimensions of 1.
  Result<int> UseBroadcast(const std::string& value, Order order, std::size_t rank);
  Result<int> AddConstant(const std::string& name, const format::Tensor& tensor);
  int AddInt32s(const std::string& name, const std::vector<std::int64_t>& values,
                std::vector<std::int32_t> shape = {});
  /// A tensor between two operators; `type` has its shape.
  Result<int> AddTensor(const std::string& name, const format::TensorType& type);

  /// Adds the operator, whose kernel gives results of type `as` (its shape is not looked at), and a
  /// conversion to the target's own type where that is another grid.
  Result<void> Emit(Call call, const Target& target, const format::TensorType& as);
  /// Makes the target of tensor `from`, whose type is `as`: QUANTIZE, DEQUANTIZE, CAST, or nothing.
  Result<void> Convert(int from, const Target& target, const format::TensorType& as);
  void Append(Call call, std::vector<int> outputs);
  /// `value` is what tensor holds in `order`, without an operator.
  void Alias(const std::string& value, Order order, int tensor, format::Dims dims);
  std::optional<int> Find(const std::string& value, Order order) const;

  /// Errors: kUnsupported, kInvalid.
  Result<void> AddInputs();
  Result<schema::ModelT> Finish(const format::Model& model);

 private:
  schema::TensorT& tensor(int index) { return *tables_->tensors[static_cast<std::size_t>(index)]; }
  Result<int> Define(const Target& target, const format::TensorType& type);
  Result<format::TensorType> TypeFor(const Target& target, const format::TensorType& as);
  Result<void> AppendConversion(int from, int to, const format::TensorType& from_type,
                                const format::TensorType& to_type);
  Result<void> AddOutputs();
  Result<void> AddOutput(const std::string& name);
  std::string Unique(std::string name);
  void NameTensors();

  const GraphIndex& graph_;
  bool to_signed_;
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
