// Builds the ONNX graph while the operators of a Caffe2 net are walked. A blob may be written
// again; each time it is a new value. A value exists in the net's own order of dimensions, channels
// first, or both, whichever its producer and consumers need.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "caffe2/net.h"
#include "layout.h"
#include "ledger.h"
#include "qtx/format/model.h"

namespace qtx::convert {

using graph::Draft;
using graph::Layout;

class Caffe2Builder {
 public:
  /// `types`: of the net's inputs, as far as known.  Borrows `net` and `ledger`.
  Caffe2Builder(const Caffe2Net& net, std::map<std::string, format::TensorType> types,
                Ledger& ledger);

  /// The blob holds this constant from now on.
  void SetConstant(const std::string& blob, format::Tensor tensor);
  /// Type in the net's own order; a blob that nothing wrote is an input of the graph, FLOAT where
  /// nothing is known of it.
  format::TensorType Type(const std::string& blob);
  /// The same.  Errors: kUnsupported when it is not quantized, as for an input of unknown scale.
  Result<format::TensorType> QuantizedType(const std::string& blob);
  /// nullptr: computed.
  const format::Tensor* Constant(const std::string& blob) const;

  /// The name of its value.  Errors: kInvalid when it is known not to have rank 4.
  Result<std::string> Use(const std::string& blob, Layout order = Layout::kOwn);
  /// A constant with its dimensions permuted.  REQUIRES: Constant(blob), of perm's rank.
  std::string UseConstant(const std::string& blob, const Permutation& perm);
  /// The value as a bias: constant bytes become INT32Q of the same reals.
  std::string UseBias(const std::string& blob);
  /// An initializer, declared where it is quantized.
  std::string AddInitializer(const std::string& name, const format::Tensor& tensor);
  std::string AddInts(const std::string& name, const std::vector<std::int64_t>& values) {
    return out_.AddInts(name, values);
  }

  /// The order in which the blob is at hand.
  Layout Preferred(const std::string& blob) const;

  /// Adds a node whose result, of `type` in the net's own order, is the operator's first output.
  /// `relu`: of a quantized type becomes the least stored value, of FLOAT a node after it.
  /// Errors: kInvalid when the operator has no output.
  Result<void> Emit(const Caffe2Operator& op, Draft draft, format::TensorType type,
                    Layout order = Layout::kOwn, bool relu = false);
  /// Adds a node for a value that no blob stands for.
  std::string EmitInner(const Caffe2Operator& op, Draft draft, const std::string& name,
                        format::TensorType type);

  void NoteChange(const std::string& value, const std::string& field, const std::string& why) {
    ledger_.Changed(value, field, why);
  }

  /// Errors: kInvalid and kUnsupported for an output that no operator produces.
  Result<format::Graph> Finish();

 private:
  struct Value {
    format::TensorType type;  // in the net's own order
    graph::Forms forms;
    std::optional<format::Tensor> constant;
  };
  Value& ValueOf(const std::string& blob);
  std::string NewName(const std::string& blob);
  void NoteType(const std::string& value, const format::TensorType& type);
  void Append(const Caffe2Operator* op, Draft draft, std::string output);
  void FuseRelu(const std::string& blob, format::TensorType& type);
  Result<void> AddOutput(const std::string& blob);

  const Caffe2Net& net_;
  Ledger& ledger_;
  graph::GraphBuilder out_;
  std::map<std::string, format::TensorType> input_types_;
  std::map<std::string, Value> values_;
  std::map<std::string, std::size_t> writes_;  // that are still to come
  std::set<std::string> blobs_;                // their names are no other value's
  std::set<std::string> claimed_;              // those that a value has
  std::set<std::string> inputs_, outputs_;
  std::map<std::string, std::map<Permutation, std::string>> converted_;  // of constants
};

/// A shape of which only the rank is known.
format::Shape UnknownShape(std::size_t rank);

}  // namespace qtx::convert
