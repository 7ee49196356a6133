#include "error_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "lstm_bound.h"
#include "qtx/reference/op.h"

namespace qtx::convert::golden {
namespace {

using format::ElementType;
using format::Tensor;
using Bound = std::vector<double>;

// What a function of the C library, of Eigen or XNNPACK may err by, in units of its result, and how
// steep it is where it is not exact in its argument (infinite: only exact arguments have a bound).
// glibc and musl state less than 1 ulp = 2 units; the polynomials of Eigen and XNNPACK are stated
// or measured at 2 to 5 ulp by their authors.
struct Function {
  const char* op_type;
  double units, slope;
};
constexpr double kSteep = std::numeric_limits<double>::infinity();
constexpr Function kFunctions[] = {
    {"Abs", 0, 1},       {"Neg", 0, 1},         {"Relu", 0, 1},     {"Clip", 0, 1},
    {"LeakyRelu", 2, 1}, {"Sigmoid", 12, 0.25}, {"Tanh", 12, 1},    {"Sin", 4, 1},
    {"Cos", 4, 1},       {"HardSwish", 8, 1.5}, {"Exp", 6, kSteep}, {"Log", 4, kSteep},
    {"Sqrt", 2, kSteep}, {"Pow", 8, kSteep},    {"Div", 2, kSteep}, {"Ceil", 0, kSteep},
    {"Floor", 0, kSteep}};
const std::set<std::string> kMoves = {"Concat", "DepthToSpace", "Expand",   "Flatten",
                                      "Gather", "GatherND",     "Identity", "MaxPool",
                                      "Max",    "ReduceMax",    "Reshape",  "ReverseSequence",
                                      "Slice",  "SpaceToDepth", "Split",    "Squeeze",
                                      "Tile",   "Transpose",    "Unsqueeze"};
const std::set<std::string> kSums = {"AveragePool",       "Conv",   "ConvTranspose", "Gemm",
                                     "GlobalAveragePool", "MatMul", "ReduceMean",    "ReduceSum"};

// A double rounded up, with room for the roundings of the computation of the bound itself.
float Up(double value) {
  return std::nextafter(static_cast<float>(value * (1 + 0x1p-18)),
                        std::numeric_limits<float>::max());
}

// Products in one sum, at most: those of a row of w, or the elements of x.
double Terms(const format::Node& node, const Tensor& x, const Tensor* w) {
  const auto all = static_cast<double>(format::ElementCount(x));
  if (w == nullptr || w->elem_type != ElementType::kFloat || w->dims.size() < 2) return all;
  if (node.op_type == "MatMul") return static_cast<double>(w->dims[w->dims.size() - 2]);
  const std::int64_t rows = w->dims[node.op_type == "ConvTranspose" ? 1 : 0];
  return static_cast<double>(format::ElementCount(*w) / rows);
}

class Propagation {
 public:
  Propagation(const format::Model& model, const Values& values) : model_(model), values_(values) {}
  Result<void> Visit(const format::Node& node);
  std::map<std::string, Bound> Take() { return std::move(bounds_); }

 private:
  const Tensor& value(const std::string& name) const { return values_.at(name); }
  double ErrorOf(const std::string& name, std::size_t i) const {
    const auto found = bounds_.find(name);
    return found == bounds_.end() ? 0 : found->second[i];
  }
  double Greatest(const std::string& name) const {
    const auto found = bounds_.find(name);
    return found == bounds_.end() ? 0
                                  : *std::max_element(found->second.begin(), found->second.end());
  }
  // gamma |x| + error, as a FLOAT tensor.
  Tensor Inflated(const std::string& name, double gamma) const;
  Result<Bound> Apply(const format::Node& node, const std::vector<Tensor>& inputs);
  Result<Bound> Sum(const format::Node& node);
  Result<Bound> Move(const format::Node& node);
  Bound Binary(const format::Node& node);
  Bound Softmax(const format::Node& node);
  Bound Elementwise(const format::Node& node, const Function& f);
  Bound Lstm(const format::Node& node);

  const format::Model& model_;
  const Values& values_;
  std::map<std::string, Bound> bounds_;
};

Tensor Propagation::Inflated(const std::string& name, double gamma) const {
  Tensor tensor = value(name);
  if (tensor.elem_type != ElementType::kFloat) return tensor;
  const std::span<float> elements = tensor.As<float>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const double magnitude = std::abs(static_cast<double>(elements[i]));
    elements[i] = Up(gamma * magnitude + ErrorOf(name, i) * (1 + gamma));
  }
  return tensor;
}

Result<Bound> Propagation::Apply(const format::Node& node, const std::vector<Tensor>& inputs) {
  const reference::Operator* op = reference::FindOperator(node.domain, node.op_type);
  std::vector<const Tensor*> pointers;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    pointers.push_back(node.inputs[i].empty() ? nullptr : &inputs[i]);
  }
  const std::vector<reference::OutputType> types(node.outputs.size(),
                                                 {ElementType::kFloat, std::nullopt});
  reference::Counters counters;
  QTX_ASSIGN_OR_RETURN(const reference::Arithmetic* exact, reference::FindArithmetic("exact"));
  const reference::Call call{.node = node,
                             .arithmetic = *exact,
                             .opset = model_.OpsetVersion(""),
                             .inputs = pointers,
                             .outputs = types,
                             .counters = &counters};
  QTX_ASSIGN_OR_RETURN(const std::vector<Tensor> results, reference::RunOperator(*op, call));
  for (std::size_t i = 1; i < results.size(); ++i) {
    const auto rest = results[i].As<float>();
    bounds_[node.outputs[i]] = Bound(rest.begin(), rest.end());
  }
  const auto elements = results[0].As<float>();
  return Bound(elements.begin(), elements.end());
}

// Sums of n products: gamma_n times the sum of magnitudes, and the error of x through |w|.
Result<Bound> Propagation::Sum(const format::Node& node) {
  const bool weighted = node.inputs.size() > 1 && !node.inputs[1].empty();
  const double n =
      Terms(node, value(node.inputs[0]), weighted ? &value(node.inputs[1]) : nullptr) + 3;
  const double gamma = n * kUnit / (1 - n * kUnit);
  std::vector<Tensor> inputs = {Inflated(node.inputs[0], gamma)};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    Tensor w = node.inputs[i].empty() ? Tensor() : value(node.inputs[i]);
    if (w.elem_type == ElementType::kFloat) {
      for (float& element : w.As<float>()) {
        element = std::abs(element) * (i == 2 ? Up(gamma) : 1.0F);
      }
    }
    inputs.push_back(std::move(w));
  }
  return Apply(node, inputs);
}

// What moves elements, or picks the greatest, does so with their errors.
Result<Bound> Propagation::Move(const format::Node& node) {
  std::vector<Tensor> inputs;
  for (const std::string& name : node.inputs) {
    inputs.push_back(name.empty() ? Tensor() : Inflated(name, 0));
  }
  return Apply(node, inputs);
}

Bound Propagation::Binary(const format::Node& node) {
  const auto y = value(node.outputs[0]).As<float>();
  const std::string &a = node.inputs[0], &b = node.inputs[1];
  const auto reach = [this](const std::string& name) {
    double most = 0;
    for (const float x : value(name).As<float>()) {
      most = std::max(most, std::abs(static_cast<double>(x)));
    }
    return most;
  };
  // Of broadcast operands the greatest magnitude and error stand for all.
  const double ea = Greatest(a), eb = Greatest(b);
  const double carried = node.op_type == "Mul" ? reach(a) * eb + reach(b) * ea + ea * eb : ea + eb;
  Bound bound;
  for (const float element : y) {
    bound.push_back(carried + 2 * kUnit * (std::abs(static_cast<double>(element)) + carried));
  }
  return bound;
}

// y = exp(x) / sum: errors e in x move y by a factor of at most exp(2e); the exponential errs by 6
// units, of differences that err by their own rounding, the sum by n, the quotient by one.
Bound Propagation::Softmax(const format::Node& node) {
  const Tensor& x = value(node.inputs[0]);
  double reach = 0;
  for (const float element : x.As<float>()) {
    reach = std::max(reach, std::abs(static_cast<double>(element)));
  }
  const double n = x.dims.empty() ? 1 : static_cast<double>(x.dims.back());
  const double error = Greatest(node.inputs[0]);
  const double factor = std::expm1(2 * error + 8 * reach * kUnit) + (n + 14) * kUnit;
  const bool log = node.op_type == "LogSoftmax";
  Bound bound;
  for (const float element : value(node.outputs[0]).As<float>()) {
    const double y = std::abs(static_cast<double>(element));
    // A share below the least normal number may have been flushed to zero.
    bound.push_back(log ? factor + 8 * kUnit * (y + reach) : y * factor + 0x1p-126);
  }
  return bound;
}

Bound Propagation::Elementwise(const format::Node& node, const Function& f) {
  const auto y = value(node.outputs[0]).As<float>();
  Bound bound;
  for (std::size_t i = 0; i < y.size(); ++i) {
    double error = 0;
    for (const std::string& name : node.inputs) {
      error = std::max(error, f.slope == kSteep ? Greatest(name) : ErrorOf(name, i));
    }
    bound.push_back((error == 0 ? 0 : error * f.slope) +
                    (f.units + 1) * kUnit * std::abs(static_cast<double>(y[i])));
  }
  return bound;
}

Bound Propagation::Lstm(const format::Node& node) {
  std::vector<const Tensor*> inputs;
  for (const std::string& name : node.inputs) {
    inputs.push_back(name.empty() ? nullptr : &value(name));
  }
  LstmBounds bounds = BoundLstm(inputs, Greatest(node.inputs[0]));
  bounds_[node.outputs[1]] = std::move(bounds.h);
  bounds_[node.outputs[2]] = std::move(bounds.c);
  return std::move(bounds.y);
}

Result<void> Propagation::Visit(const format::Node& node) {
  const std::string& type = node.op_type;
  if (value(node.outputs[0]).elem_type != ElementType::kFloat) return {};
  const bool linear = type == "Resize" && node.StringOr("mode", "") == "linear";
  Bound bound;
  const auto* f = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                               [&type](const Function& g) { return type == g.op_type; });
  if (type == "Softmax" || type == "LogSoftmax") {
    bound = Softmax(node);
  } else if (type == "LSTM") {
    bound = Lstm(node);
  } else if (type == "Add" || type == "Sub" || type == "Mul") {
    bound = Binary(node);
  } else if (f != std::end(kFunctions)) {
    bound = Elementwise(node, *f);
  } else if (kSums.contains(type) || linear) {
    QTX_ASSIGN_OR_RETURN(bound, Sum(node));
  } else if (kMoves.contains(type) || type == "Resize" || type == "Pad") {
    QTX_ASSIGN_OR_RETURN(bound, Move(node));
  } else if (type == "Min") {  // errs as its greatest operand does
    format::Node greatest = node;
    greatest.op_type = "Max";
    QTX_ASSIGN_OR_RETURN(bound, Move(greatest));
  } else if (type == "TopK") {  // no order statistic moves by more than every element may
    bound.assign(value(node.outputs[0]).As<float>().size(), Greatest(node.inputs[0]));
  } else {
    return Error{ErrorCode::kUnsupported, type, "has no rule for its error"};
  }
  bounds_[node.outputs[0]] = std::move(bound);
  return {};
}

}  // namespace

Result<std::map<std::string, std::vector<double>>> ErrorBounds(const format::Model& model,
                                                               const Values& values) {
  Propagation propagation(model, values);
  for (const format::Node& node : model.graph.nodes) {
    QTX_RETURN_IF_ERROR(propagation.Visit(node));
  }
  return propagation.Take();
}

}  // namespace qtx::convert::golden
