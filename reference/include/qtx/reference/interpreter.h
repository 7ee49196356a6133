// Runs a model in the extended form, operator by operator, in a named arithmetic.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/feature.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"
#include "qtx/reference/arithmetic.h"

namespace qtx::reference {

class Interpreter {
 public:
  /// Arithmetics of single nodes, by the node's name or, where it has none, that of its first
  /// output.
  using NodeArithmetics = std::map<std::string, std::string, std::less<>>;

  /// Checks every node (known operator, types, attributes) before anything runs. Nodes that
  /// `by_node` names compute in their own arithmetic, all others and the inputs in `arithmetic`.
  /// Errors: kInvalid with the broken clause, or for a name of `by_node` that is no node or no
  /// arithmetic; kUnsupported with node and reason.
  static Result<Interpreter> Prepare(format::Model model, std::string_view arithmetic = "exact",
                                     const NodeArithmetics& by_node = {},
                                     format::Features features = format::Features::Current());

  /// In a row that need not be one of Arithmetics(): what diagnosis searches.  Errors: as above.
  static Result<Interpreter> Prepare(format::Model model, const Arithmetic& arithmetic,
                                     format::Features features = format::Features::Current());

  Interpreter(Interpreter&&) noexcept;
  Interpreter& operator=(Interpreter&&) noexcept;
  ~Interpreter();

  /// `inputs` in the order of graph.input without initializers. Each has the declared element type,
  /// or is FLOAT for a quantized input, and then quantized by that input's own parameters
  /// (quantization.S5).
  /// The result is in the order of graph.output.
  Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs);

  /// Called with every value that a node produces (name, tensor), for inspection and diagnosis;
  /// those of bodies, and their inputs, by their names in the flat form (scopes.h) and each time.
  using Observer = std::function<void(const std::string&, const format::Tensor&)>;
  void set_observer(Observer observer);

  Counters counters() const;

 private:
  struct State;
  explicit Interpreter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A node that an arithmetic computes as `exact`, since no clause states what the system that it
/// describes does with these types.  Source: tflite.S11.
struct Unmodelled {
  std::string where;  // "graph.node[3] 'name'"
  std::string says;   // "'tflite' states no HardSwish of INT8Q to INT8Q: computed as in exact ..."
};

/// All such nodes of a model in the extended form, by declared types alone: no tensor is read. A
/// value without a declaration counts as FLOAT.
/// Errors: kInvalid for a name that is no arithmetic, and for parameters that cannot be read.
Result<std::vector<Unmodelled>> FindUnmodelled(
    const format::Model& model, std::string_view arithmetic,
    const Interpreter::NodeArithmetics& by_node = {},
    format::Features features = format::Features::Current());

/// What Run does to a FLOAT tensor given for an input of the quantized type `to`, whose parameters
/// are inline. Errors: kInvalid when `real` is not FLOAT or its dims do not fit `to`.
Result<format::Tensor> QuantizeInput(const format::Tensor& real, const format::TensorType& to,
                                     std::string_view arithmetic = "exact",
                                     format::Features features = format::Features::Current());

/// op_types the interpreter knows, of every domain, sorted.
std::vector<std::string> SupportedOperators();

}  // namespace qtx::reference
