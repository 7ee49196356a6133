#include "divide.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "operators.h"
#include "qtx/format/attributes.h"

namespace qtx::quantize {
namespace {

using format::Node;
using format::Tensor;

constexpr int kMostNodes = 64;  // one behind the other

bool IsOneOf(const Node& node, std::initializer_list<const char*> operators) {
  return std::ranges::any_of(operators, [&node](const char* op) { return IsStock(node, op); });
}

// Normalizations, whose scale and bias (inputs 1 and 2) have the channels along their last axis.
bool NormalizesLastAxis(const Node& node) {
  return IsOneOf(node, {"LayerNormalization", "RMSNormalization"});
}
bool NormalizesSecondAxis(const Node& node) {
  return IsOneOf(node, {"BatchNormalization", "InstanceNormalization", "GroupNormalization"});
}

class Divider {
 public:
  Divider(const GraphIndex& index, std::int64_t channels) : index_(index), count_(channels) {}

  // The constants that divide what the node of `value` gives; `steps`: nodes between here and the
  // value that shall be divided.
  bool Divide(const std::string& value, std::int64_t from_end, int steps);
  Division Take() { return std::move(division_); }

 private:
  bool ByProduct(std::size_t at, std::int64_t from_end);
  bool ByNormalization(std::size_t at, std::int64_t from_end);
  bool ByTerms(std::size_t at, std::int64_t from_end, int steps);
  bool ByFactor(std::size_t at, std::int64_t from_end, int steps);
  bool Through(std::size_t at, std::int64_t from_end, int steps);
  bool HasChannels(const std::string& value, std::int64_t from_end) const;
  std::optional<std::int64_t> RankOf(const std::string& value) const {
    const auto* type = index_.TypeOf(value);
    if (type == nullptr || !type->shape) return std::nullopt;
    return std::ssize(*type->shape);
  }
  bool Add(const ConstantChange& change, bool repeats);
  bool Computed(const std::string& value, std::int64_t from_end, int steps) {
    return index_.OnlyUseBeside(value).has_value() && Divide(value, from_end, steps + 1);
  }

  const GraphIndex& index_;
  const std::int64_t count_;
  Division division_;
};

// False for another size that is declared.
bool Divider::HasChannels(const std::string& value, std::int64_t from_end) const {
  const auto rank = RankOf(value);
  if (!rank) return true;
  if (from_end >= *rank) return false;
  const auto& dim = (*index_.TypeOf(value)->shape)[static_cast<std::size_t>(*rank - 1 - from_end)];
  return !dim.value || *dim.value == count_;
}

// Takes a constant that has all channels, or with `repeats` one for all of them.
bool Divider::Add(const ConstantChange& change, bool repeats) {
  const std::string& name = index_.node(change.node).inputs[change.input];
  if (!index_.IsFloatConstant(name)) return false;
  const format::Dims& dims = index_.Initializer(name)->dims;
  const auto axis = std::ssize(dims) - 1 - change.from_end;
  const std::int64_t size = axis < 0 ? 1 : dims[static_cast<std::size_t>(axis)];
  if (size != count_ && (!repeats || size != 1)) return false;
  division_.constants.push_back(change);
  return true;
}

bool Divider::ByProduct(std::size_t at, std::int64_t from_end) {
  const Node& node = index_.node(at);
  if (node.inputs.size() < 2 || !index_.IsFloatConstant(node.inputs[1])) return false;
  const format::Dims& dims = index_.Initializer(node.inputs[1])->dims;
  const auto rank = std::ssize(dims);
  const WeightAxes axes = AxesOf(node, dims);
  const std::int64_t of_output = IsOneOf(node, {"MatMul", "Gemm"}) ? 0 : rank - 2;
  if (!axes.output || from_end != of_output) return false;
  if (!Add({at, 1, rank - 1 - *axes.output}, false)) return false;
  return node.inputs.size() < 3 || node.inputs[2].empty() || Add({at, 2, 0}, true);
}

bool Divider::ByNormalization(std::size_t at, std::int64_t from_end) {
  const Node& node = index_.node(at);
  if (NormalizesLastAxis(node) ? from_end != 0 : RankOf(node.outputs[0]) != from_end + 2)
    return false;
  if (node.inputs.size() < 2 || !Add({at, 1, 0}, false)) return false;
  return node.inputs.size() < 3 || node.inputs[2].empty() || Add({at, 2, 0}, false);
}

bool Divider::ByTerms(std::size_t at, std::int64_t from_end, int steps) {
  const Node& node = index_.node(at);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool done = index_.IsFloatConstant(node.inputs[i])
                          ? Add({at, i, from_end}, true)
                          : Computed(node.inputs[i], from_end, steps);
    if (!done) return false;
  }
  return true;
}

// One of the operands of Mul, or either of Div.
bool Divider::ByFactor(std::size_t at, std::int64_t from_end, int steps) {
  const Node& node = index_.node(at);
  const bool divides = IsStock(node, "Div");
  for (std::size_t i = node.inputs.size(); i-- > 0;) {
    if (index_.IsFloatConstant(node.inputs[i]))
      return Add({at, i, from_end, divides && i == 1}, true);
  }
  for (std::size_t i = node.inputs.size(); i-- > 0;) {
    if (divides && i == 1) continue;
    const Division before = division_;
    if (Computed(node.inputs[i], from_end, steps)) return true;
    division_ = before;
  }
  return false;
}

// Nodes that keep each channel by itself, with f(s x) = s f(x) for s > 0.
bool Divider::Through(std::size_t at, std::int64_t from_end, int steps) {
  const Node& node = index_.node(at);
  if (node.inputs.empty()) return false;
  const std::string& input = node.inputs[0];
  if (IsOneOf(node, {"Relu", "LeakyRelu", "PRelu", "Identity", "Dropout", "Abs", "Neg"}))
    return Computed(input, from_end, steps);
  const auto rank = RankOf(node.outputs[0]), before = RankOf(input);
  if (!rank || !before) return false;
  if (IsOneOf(node, {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"}))
    return from_end == *rank - 2 && Computed(input, from_end, steps);
  if (IsStock(node, "Transpose")) {
    const auto axes = node.IntsOr("perm", {});
    if (std::ssize(axes) != *rank) return false;
    return Computed(input, *rank - 1 - axes[static_cast<std::size_t>(*rank - 1 - from_end)], steps);
  }
  if (!IsOneOf(node, {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) || from_end != 0 ||
      *rank < 1 || *before < 1)
    return false;
  // Rows of as many elements are the same rows; [N, C, 1, ...] becomes [N, C].
  const format::Shape& from = *index_.TypeOf(input)->shape;
  const format::Shape& to = *index_.TypeOf(node.outputs[0])->shape;
  if (to.back().value != count_) return false;
  std::int64_t ones = 0;
  while (ones + 1 < *before && from[static_cast<std::size_t>(*before - 1 - ones)].value == 1 &&
         count_ != 1)
    ++ones;
  return from[static_cast<std::size_t>(*before - 1 - ones)].value == count_ &&
         Computed(input, ones, steps);
}

bool Divider::Divide(const std::string& value, std::int64_t from_end, int steps) {
  const auto at = index_.Producer(value);
  if (!at || steps > kMostNodes || !HasChannels(value, from_end)) return false;
  const Node& node = index_.node(*at);
  if (node.outputs.empty() || node.outputs[0] != value) return false;
  division_.values.push_back(value);
  if (IsOneOf(node, {"MatMul", "Gemm", "Conv", "ConvTranspose"})) return ByProduct(*at, from_end);
  if (NormalizesLastAxis(node) || (NormalizesSecondAxis(node) && node.outputs.size() == 1))
    return ByNormalization(*at, from_end);
  if (IsOneOf(node, {"Add", "Sub"})) return ByTerms(*at, from_end, steps);
  if (IsOneOf(node, {"Mul", "Div"})) return ByFactor(*at, from_end, steps);
  return Through(*at, from_end, steps);
}

}  // namespace

std::optional<Division> DivisionOf(const GraphIndex& index, const std::string& value,
                                   const Channels& channels) {
  Divider divider(index, channels.count);
  if (!divider.Divide(value, channels.from_end, 0)) return std::nullopt;
  return divider.Take();
}

Tensor Changed(const Tensor& constant, const std::vector<float>& factors,
               const ConstantChange& change) {
  Tensor result{.elem_type = constant.elem_type, .dims = constant.dims};
  const auto trailing = static_cast<std::size_t>(change.from_end);
  if (result.dims.size() <= trailing)
    result.dims.insert(result.dims.begin(), trailing + 1 - result.dims.size(), 1);
  std::int64_t& size = result.dims[result.dims.size() - 1 - trailing];
  const bool repeats = size == 1;
  size = std::ssize(factors);
  std::size_t inner = 1;
  for (std::size_t i = 0; i < trailing; ++i)
    inner *= static_cast<std::size_t>(result.dims[result.dims.size() - 1 - i]);
  const auto before = constant.As<float>();
  result.bytes.resize(before.size() * (repeats ? factors.size() : 1) * sizeof(float));
  const auto after = result.As<float>();
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::size_t outer = i / inner / factors.size();
    const auto value = static_cast<double>(before[repeats ? outer * inner + i % inner : i]);
    const auto factor = static_cast<double>(factors[i / inner % factors.size()]);
    after[i] = static_cast<float>(change.multiplies ? value * factor : value / factor);
  }
  return result;
}

}  // namespace qtx::quantize
