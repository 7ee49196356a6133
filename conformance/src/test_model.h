// A model together with the tensors it is run on, in the form that fuzzing makes and shrinking
// reduces: every input and constant is a tensor, parameters are inline, nothing else has a shape.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::conformance {

/// An input of the model, or a constant (initializer) in it.
struct Datum {
  std::string name;
  format::Tensor tensor;
  bool constant = false;
};

struct TestModel {
  std::vector<format::OpsetImport> opset_imports;
  std::vector<format::Node> nodes;
  std::vector<Datum> data;                 // in the order the nodes use them
  std::vector<format::ValueInfo> outputs;  // without shapes
  std::vector<format::ValueInfo> values;   // declared ones between the nodes, without shapes
  // Inputs declare their sizes as symbols, one of each size, but along axes with parameters.
  bool open_shapes = false;
  bool bare_outputs = false;  // declared without shapes
};

/// Tensors by the name of their value.
using Observed = std::map<std::string, format::Tensor>;

/// The names that a node reads: its inputs, and what its bodies take from the graphs around them.
std::vector<std::string> ReadsOf(const format::Node& node);
bool IsRead(const TestModel& test, const std::string& name);

/// Nodes [first, last) of `model`: what they use of other nodes or as the graph's inputs becomes an
/// input with its value of `observed`, what is used of theirs an output. All outputs of a single
/// node are.
/// Errors: those of LoadInitializer and Resolve; kInvalid for a value that `observed` lacks.
Result<TestModel> Extract(const format::Model& model, std::size_t first, std::size_t last,
                          const Observed& observed);

/// Outputs get shapes where `outputs` gives tensors.
format::Model ToModel(const TestModel& test, const std::vector<format::Tensor>& outputs = {});

/// In the order of ToModel's graph.input.
std::vector<format::Tensor> InputsOf(const TestModel& test);

/// Elements of all inputs and constants.
std::int64_t ElementsOf(const TestModel& test);

/// Makes all bits of one element 0.
void ClearElement(format::Tensor& tensor, std::int64_t index);

/// The elements at `indices` (row-major, of the whole tensor) in that order, as a tensor of `dims`.
format::Tensor Pick(const format::Tensor& tensor, const std::vector<std::int64_t>& indices,
                    const format::Dims& dims);

/// The parameters of a tensor of `dims` of which along `axis` only `kept` (increasing) is left;
/// nullopt where a block of what is left would need two.
std::optional<format::Quantization> PickParameters(const format::Quantization& q,
                                                   const format::Dims& dims, std::size_t axis,
                                                   const std::vector<std::int64_t>& kept);

}  // namespace qtx::conformance
