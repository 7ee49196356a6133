#include "constants.h"

#include <algorithm>
#include <cmath>

#include "bias_correction.h"
#include "qtx/format/accumulator.h"
#include "qtx/format/scopes.h"
#include "qtx/graph/product_rows.h"

namespace qtx::quantize {
namespace {

using format::Node;
using format::Tensor;

bool HasInput(const Node& node, int input) {
  return input >= 0 && static_cast<std::size_t>(input) < node.inputs.size() &&
         !node.inputs[static_cast<std::size_t>(input)].empty();
}

std::string MethodText(const std::vector<ChosenRange>& ranges) {
  return ranges.empty() ? "" : ", " + ToText(ranges[0].method);
}

}  // namespace

std::string Constants::Replace(const std::string& name, Tensor tensor,
                               std::vector<ChosenRange> ranges, const std::string& why) {
  const auto [at, is_new] =
      names_of_.emplace(std::pair(name, format::SerializeQuantization(*tensor.quantization)), name);
  if (!is_new) return at->second;
  if (index_.Uses(name).size() != 1 || index_.IsOutput(name))
    at->second = names_.Unique(name + "/quantized");
  ledger_.Changed(at->second, "elem_type",
                  std::string(format::Name(tensor.elem_type)) + why + MethodText(ranges));
  result_.sources.emplace(at->second, Quantized::Source{name, std::move(ranges)});
  stored_.emplace(at->second, std::move(tensor));
  return at->second;
}

// True if the bias can have the scale x_scale * w_scale: one value per channel, x per tensor, no
// other factor.
Result<bool> Constants::BiasFits(const Node& node, const NodePlan& plan, const ValuePlans& values,
                                 const WeightAxes& axes) const {
  if (plan.mode != Mode::kQuantized || !HasInput(node, plan.row->bias)) return false;
  const std::string& name = node.inputs[static_cast<std::size_t>(plan.row->bias)];
  if (!index_.IsFloatConstant(name) || !values.contains(node.inputs[0])) return false;
  if (format::IsScaledGemm(node)) return false;
  const format::Dims& dims = index_.Initializer(name)->dims;
  const format::Dims& weights = index_.Initializer(node.inputs[1])->dims;
  if (dims.empty() || std::ranges::any_of(dims, [](std::int64_t d) { return d < 1; })) return false;
  if (!axes.output) return dims.size() == 1;
  const std::int64_t channels = weights[static_cast<std::size_t>(*axes.output)];
  return dims == format::Dims{channels} || dims == format::Dims{1, channels};
}

// The bias, corrected for the mean error of the weights.
void Constants::Correct(const Node& node, const Tensor& real, const Tensor& stored, Tensor* bias) {
  const auto means = ChannelMeans(index_.model(), node.inputs[0]);
  const auto errors = means && bias != nullptr && !IsStock(node, "MatMul")
                          ? MeanError(node, real, stored, *means)
                          : std::nullopt;
  if (!errors || static_cast<std::int64_t>(errors->size()) != format::ElementCount(*bias)) {
    ledger_.Kept(PlaceOf(node), "bias");
    return;
  }
  const auto values = bias->As<float>();
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<double>(values[i]) - (*errors)[i]);
  ledger_.Changed(node.inputs[2], "values", "less the mean error of the weights");
}

// The sums by which a node's weights are rounded; nullptr: to nearest.
Result<const Gram*> Constants::GramFor(const Node& node, const NodePlan& plan,
                                       const format::Dims& dims, const WeightAxes& axes) {
  const auto rows = graph::RowsOf(node, dims);
  if (options_.rounding == Rounding::kNearest || !rows || !axes.reduced ||
      !format::IsIntegerStorage(plan.settings.weights.type.storage))
    return nullptr;
  const Gram* gram = nullptr;
  const bool computed = index_.Initializer(node.inputs[0]) == nullptr;
  if (options_.measure_sums && computed && !format::IsOfBody(node.inputs[0])) {
    // Between nodes of the same rows nothing changes that leads to these.
    if (rows->name != measured_name_) {
      auto measured = options_.measure_sums(result_.real, changed_, node);
      if (!measured.has_value()) return At(PlaceOf(node), std::move(measured).error());
      measured_ = *std::move(measured);
      measured_name_ = rows->name;
    }
    gram = &measured_;
  } else if (const auto at = options_.grams.find(rows->name); at != options_.grams.end()) {
    gram = &at->second;
  }
  const bool fits = gram != nullptr && rows->size == gram->size && rows->groups == gram->Groups();
  return fits ? gram : nullptr;
}

void Constants::Change(const std::string& name, const Tensor& real) {
  if (!options_.measure_sums) return;
  const auto at = std::ranges::find(changed_.graph.initializers, name, &format::TensorData::name);
  if (at != changed_.graph.initializers.end()) *at = format::ToTensorData(name, real);
}

Result<void> Constants::StoreProduct(Node& node, const NodePlan& plan, const ValuePlans& values) {
  const std::string weights = node.inputs[1];
  QTX_ASSIGN_OR_RETURN(const Tensor w, LoadInitializer(index_, weights));
  const WeightAxes axes = AxesOf(node, w.dims);
  QTX_ASSIGN_OR_RETURN(bool fits, BiasFits(node, plan, values, axes));
  fits = fits && plan.settings.weights.granularity != Granularity::kBlocks &&
         format::IsIntegerStorage(plan.settings.weights.type.storage);
  std::vector<float> least;
  Tensor bias;
  float x_scale = 1;
  if (fits) {
    QTX_ASSIGN_OR_RETURN(bias, LoadInitializer(index_, node.inputs[2]));
    x_scale = values.at(node.inputs[0]).parameters.scale;
    least = LeastWeightScales(bias, x_scale);
  }
  QTX_ASSIGN_OR_RETURN(const Gram* gram, GramFor(node, plan, w.dims, axes));
  const bool descends = options_.rounding == Rounding::kDescent;
  auto stored = StoreWeights(w, plan.settings, axes, least, {gram, descends, options_.act_order});
  if (!stored.has_value()) return At(PlaceOfInitializer(weights), stored.error());
  const std::vector<float> scales = stored->tensor.quantization->scale;
  if (options_.correct_bias && plan.mode == Mode::kQuantized)
    Correct(node, w, stored->tensor, fits ? &bias : nullptr);
  Change(weights, Dequantized(stored->tensor));
  const std::string why = options_.rounding == Rounding::kNearest ? ""
                          : gram == nullptr                       ? ", to nearest"
                          : descends                              ? ", coordinate descent"
                                                                  : ", GPTQ";
  node.inputs[1] = Replace(weights, std::move(stored->tensor), std::move(stored->ranges), why);
  if (stored->levels) levels_.insert_or_assign(node.inputs[1], *std::move(stored->levels));
  if (!HasInput(node, plan.row->bias)) return {};
  const std::string name = node.inputs[2];
  if (!fits) {
    ledger_.Kept(name, "elem_type");
    return {};
  }
  if (std::ranges::any_of(bias.As<float>(), [](float b) { return !std::isfinite(b); }))
    return Error{ErrorCode::kInvalid, PlaceOfInitializer(name), "found a value that is not finite"};
  Change(name, bias);
  node.inputs[2] =
      Replace(name, StoreBias(bias, x_scale, scales, std::ssize(bias.dims) - 1), {},
              ", in units of the scales of '" + node.inputs[0] + "' and '" + node.inputs[1] + "'");
  return {};
}

Result<void> Constants::StoreOperand(Node& node, std::size_t input, const NodePlan& plan,
                                     const ValuePlans& values) {
  const std::string name = node.inputs[input];
  QTX_ASSIGN_OR_RETURN(const Tensor real, LoadInitializer(index_, name));
  TypeSpec spec = plan.settings.activations.type;
  Parameters parameters;
  std::vector<ChosenRange> ranges;
  const auto output = values.find(node.outputs[0]);
  if (plan.row->output == OperatorRow::Output::kShared && output != values.end()) {
    spec = output->second.spec;
    parameters = output->second.parameters;
  } else {
    const auto range = RangeOf(real.As<float>(), {RangeMethod{}}, spec);
    if (!range.has_value()) return At(PlaceOfInitializer(name), range.error());
    const auto chosen = ChooseParameters(range->range, spec);
    if (!chosen.has_value()) return At(PlaceOfInitializer(name), chosen.error());
    parameters = *chosen;
    ranges = {*range};
  }
  auto stored = StoreConstant(real, spec, parameters);
  if (!stored.has_value()) return At(PlaceOfInitializer(name), stored.error());
  node.inputs[input] = Replace(name, *std::move(stored), std::move(ranges), "");
  return {};
}

Result<void> Constants::Store(Node& node, const NodePlan& plan, const ValuePlans& values) {
  if (plan.mode == Mode::kFloat) return {};
  const bool product = HasInput(node, plan.row->weights) && index_.IsFloatConstant(node.inputs[1]);
  if (product && plan.settings.weights.quantized)
    QTX_RETURN_IF_ERROR(StoreProduct(node, plan, values));
  if (plan.mode != Mode::kQuantized) return {};
  for (const std::size_t input : DataInputs(index_, node, *plan.row)) {
    if (index_.IsFloatConstant(node.inputs[input]))
      QTX_RETURN_IF_ERROR(StoreOperand(node, input, plan, values));
  }
  return {};
}

// The factors of blocks are in an initializer; that of the tensor has blocks that hold all of it.
void Constants::MoveScales(const std::string& name, const format::Dims& dims,
                           format::Quantization& q) {
  const BlockScales& levels = levels_.at(name);
  const std::string scales = names_.Unique(name + "_scale");
  model_.graph.initializers.push_back(format::ToTensorData(scales, levels.factors));
  q.scale.clear();
  q.scale_levels = {{.tensor = scales}};
  if (!levels.whole) return;
  std::vector<std::int64_t> all;
  for (const std::int64_t axis : q.axis) all.push_back(dims[static_cast<std::size_t>(axis)]);
  q.scale_levels.push_back({.value = {*levels.whole}, .block_shape = std::move(all)});
}

void Constants::Finish() {
  format::Graph& graph = model_.graph;
  for (format::TensorData& data : graph.initializers) {
    const auto at = stored_.find(data.name);
    if (at != stored_.end()) data = format::ToTensorData(data.name, at->second);
  }
  for (auto& [name, tensor] : stored_) {
    if (index_.Initializer(name) == nullptr)
      graph.initializers.push_back(format::ToTensorData(name, tensor));
    auto info = std::ranges::find(graph.values, name, &format::ValueInfo::name);
    if (info == graph.values.end())
      info = graph.values.insert(info, format::ValueInfo{.name = name});
    format::ValueInfo& declared = *info;
    if (!declared.type) declared.type.emplace();
    declared.type->elem_type = tensor.elem_type;
    declared.type->shape = format::ToShape(tensor.dims);
    declared.type->quantization = std::move(tensor.quantization);
    if (levels_.contains(name)) MoveScales(name, tensor.dims, *declared.type->quantization);
  }
}

}  // namespace qtx::quantize
