#include "equalize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "initializers.h"
#include "operators.h"
#include "qtx/format/accumulator.h"
#include "qtx/format/attributes.h"

namespace qtx::quantize {
namespace {

using format::Node;
using format::Tensor;

constexpr int kMostSweeps = 20;
constexpr int kMostBits = 32;  // of one factor

// Two layers and the values between them, with channels along axis 1.
struct Pair {
  std::size_t first = 0, second = 0;
  std::vector<std::string> between;
  std::vector<int> exponents;  // log2 of each channel's divisor so far
};

class Equalizer {
 public:
  explicit Equalizer(const format::Model& model) : index_(model) {}

  Result<void> Run();
  bool IsChanged() const;
  void Store(format::Model& model, Ledger& ledger) const;
  /// Scales the statistics of the values between the layers.  Errors: kInvalid where they are not
  /// per axis 1.
  Result<void> ScaleStatistics(format::Model& model) const;

 private:
  bool IsLayer(const Node& node) const;
  bool IsHomogeneous(const Node& node) const;
  std::optional<Pair> PairFrom(std::size_t first) const;
  Result<void> Load(const std::string& name);
  std::vector<double> Ranges(const Node& node, bool of_outputs) const;
  bool Sweep(Pair& pair);
  void Limit(const Node& node, bool of_outputs, std::vector<int>& exponents) const;
  void Scale(const Node& node, bool of_outputs, const std::vector<int>& exponents);
  std::string BiasOf(const Node& node) const {
    return node.inputs.size() > 2 ? node.inputs[2] : "";
  }

  const GraphIndex index_;
  std::vector<Pair> pairs_;
  std::map<std::string, Tensor> tensors_;  // rescaled weights and biases
};

bool Equalizer::IsLayer(const Node& node) const {
  const bool product = IsStock(node, "Conv") || IsStock(node, "ConvTranspose") ||
                       (IsStock(node, "Gemm") && format::Attributes(node).Int("transA") == 0 &&
                        !format::IsScaledGemm(node));
  if (!product || node.inputs.size() < 2 || node.outputs.size() != 1) return false;
  const auto alone = [this](const std::string& name) {
    return index_.IsFloatConstant(name) && index_.Uses(name).size() == 1 && !index_.IsOutput(name);
  };
  if (!alone(node.inputs[1])) return false;
  const format::Dims& dims = index_.Initializer(node.inputs[1])->dims;
  const std::int64_t group = GroupsOf(node);
  if (dims.size() < 2 || group < 1 || dims[0] % group != 0 ||
      std::ranges::any_of(dims, [](std::int64_t d) { return d < 1; }))
    return false;
  const std::string bias = BiasOf(node);
  return bias.empty() || (alone(bias) && index_.Initializer(bias)->dims.size() == 1);
}

// True for operators with f(s x) = s f(x), s > 0, per channel, that keep channels in place.
bool Equalizer::IsHomogeneous(const Node& node) const {
  constexpr std::array kOperators = {"Relu",     "LeakyRelu",     "PRelu",
                                     "MaxPool",  "AveragePool",   "GlobalAveragePool",
                                     "Identity", "GlobalMaxPool", "Dropout"};
  if (std::ranges::any_of(kOperators, [&node](const char* op) { return IsStock(node, op); }))
    return true;
  if (!IsStock(node, "Reshape") && !IsStock(node, "Flatten") && !IsStock(node, "Squeeze"))
    return false;
  const auto* from = index_.TypeOf(node.inputs[0]);
  const auto* to = index_.TypeOf(node.outputs[0]);
  if (from == nullptr || to == nullptr || !from->shape || !to->shape) return false;
  // [N, C, 1, ...] to [N, C].
  const format::Shape& a = *from->shape;
  const format::Shape& b = *to->shape;
  return a.size() >= 2 && b.size() == 2 && a[1].value && a[1].value == b[1].value &&
         std::ranges::all_of(a.begin() + 2, a.end(), [](const auto& d) { return d.value == 1; });
}

std::optional<Pair> Equalizer::PairFrom(std::size_t first) const {
  if (!IsLayer(index_.node(first))) return std::nullopt;
  Pair pair{.first = first};
  std::string value = index_.node(first).outputs[0];
  while (true) {
    pair.between.push_back(value);
    const auto use = index_.OnlyUse(value);
    if (!use || use->input != 0) return std::nullopt;
    const Node& node = index_.node(use->node);
    if (IsLayer(node)) {
      pair.second = use->node;
      return pair;
    }
    if (!IsHomogeneous(node)) return std::nullopt;
    value = node.outputs[0];
  }
}

Result<void> Equalizer::Load(const std::string& name) {
  if (name.empty() || tensors_.contains(name)) return {};
  QTX_ASSIGN_OR_RETURN(Tensor tensor, LoadInitializer(index_, name));
  tensors_.emplace(name, std::move(tensor));
  return {};
}

// Largest |w| of each output or input channel.
std::vector<double> Equalizer::Ranges(const Node& node, bool of_outputs) const {
  const Tensor& w = tensors_.at(node.inputs[1]);
  const auto values = w.As<float>();
  const WeightChannels most = ChannelsOf(node, w.dims, std::ssize(values) - 1);
  std::vector<double> ranges(static_cast<std::size_t>((of_outputs ? most.output : most.input) + 1));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const WeightChannels at = ChannelsOf(node, w.dims, static_cast<std::int64_t>(i));
    double& range = ranges[static_cast<std::size_t>(of_outputs ? at.output : at.input)];
    range = std::max(range, std::abs(static_cast<double>(values[i])));
  }
  return ranges;
}

// Sets the exponent to 0 for channels whose weights or bias would not stay normal.
void Equalizer::Limit(const Node& node, bool of_outputs, std::vector<int>& exponents) const {
  const auto check = [&](float value, std::int64_t channel) {
    int& exponent = exponents[static_cast<std::size_t>(channel)];
    if (value != 0 && !std::isnormal(std::ldexp(value, of_outputs ? -exponent : exponent)))
      exponent = 0;
  };
  const Tensor& w = tensors_.at(node.inputs[1]);
  const auto values = w.As<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const WeightChannels at = ChannelsOf(node, w.dims, static_cast<std::int64_t>(i));
    check(values[i], of_outputs ? at.output : at.input);
  }
  if (!of_outputs || BiasOf(node).empty()) return;
  const auto bias = tensors_.at(BiasOf(node)).As<float>();
  for (std::size_t i = 0; i < bias.size(); ++i) check(bias[i], static_cast<std::int64_t>(i));
}

void Equalizer::Scale(const Node& node, bool of_outputs, const std::vector<int>& exponents) {
  Tensor& w = tensors_.at(node.inputs[1]);
  const auto values = w.As<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const WeightChannels at = ChannelsOf(node, w.dims, static_cast<std::int64_t>(i));
    values[i] = of_outputs ? std::ldexp(values[i], -exponents[static_cast<std::size_t>(at.output)])
                           : std::ldexp(values[i], exponents[static_cast<std::size_t>(at.input)]);
  }
  if (!of_outputs || BiasOf(node).empty()) return;
  const auto bias = tensors_.at(BiasOf(node)).As<float>();
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = std::ldexp(bias[i], -exponents[i]);
}

// log2 sqrt(r1 / r2) to the nearest integer: with r1 / r2 = m * 2^e and 1/2 <= m < 1 the logarithm
// lies in [e - 1, e), and half of it nearest to floor(e / 2).
bool Equalizer::Sweep(Pair& pair) {
  const Node& first = index_.node(pair.first);
  const Node& second = index_.node(pair.second);
  const std::vector<double> r1 = Ranges(first, true), r2 = Ranges(second, false);
  if (r1.size() != r2.size()) return false;
  if (!BiasOf(first).empty() && format::ElementCount(tensors_.at(BiasOf(first))) != std::ssize(r1))
    return false;
  std::vector<int> exponents(r1.size());
  for (std::size_t i = 0; i < r1.size(); ++i) {
    if (!(r1[i] > 0) || !(r2[i] > 0) || !std::isfinite(r1[i]) || !std::isfinite(r2[i])) continue;
    int e = 0;
    std::frexp(r1[i] / r2[i], &e);
    exponents[i] = std::clamp(e >> 1, -kMostBits, kMostBits);
  }
  Limit(first, true, exponents);
  Limit(second, false, exponents);
  Scale(first, true, exponents);
  Scale(second, false, exponents);
  pair.exponents.resize(exponents.size());
  for (std::size_t i = 0; i < exponents.size(); ++i) pair.exponents[i] += exponents[i];
  return std::ranges::any_of(exponents, [](int e) { return e != 0; });
}

Result<void> Equalizer::Run() {
  for (std::size_t i = 0; i < index_.model().graph.nodes.size(); ++i) {
    auto pair = PairFrom(i);
    if (!pair) continue;
    for (const std::size_t node : {pair->first, pair->second}) {
      QTX_RETURN_IF_ERROR(Load(index_.node(node).inputs[1]));
      QTX_RETURN_IF_ERROR(Load(BiasOf(index_.node(node))));
    }
    pairs_.push_back(*std::move(pair));
  }
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool changed = false;
    for (Pair& pair : pairs_) changed = Sweep(pair) || changed;
    if (!changed) break;
  }
  return {};
}

bool Equalizer::IsChanged() const {
  return std::ranges::any_of(pairs_, [](const Pair& pair) {
    return std::ranges::any_of(pair.exponents, [](int e) { return e != 0; });
  });
}

void Equalizer::Store(format::Model& model, Ledger& ledger) const {
  for (format::TensorData& data : model.graph.initializers) {
    const auto at = tensors_.find(data.name);
    if (at == tensors_.end()) continue;
    data = format::ToTensorData(data.name, at->second);
    for (format::ValueInfo& info : model.graph.values) {
      if (info.name == data.name && info.type) info.type->statistics.reset();
    }
    ledger.Changed(data.name, "values", "channels equalized, by powers of two");
  }
}

void ScaleSum(format::ExactSum& sum, int exponent) {
  if (!sum.integer.empty()) sum.exponent += exponent;
}

// Divides each channel by 2^exponent; drops the histogram, which mixes channels.
void Divide(format::Statistics& statistics, const std::vector<int>& exponents) {
  for (auto* list : {&statistics.min, &statistics.max, &statistics.mean, &statistics.std}) {
    for (std::size_t i = 0; i < std::min(list->size(), exponents.size()); ++i)
      (*list)[i] = std::ldexp((*list)[i], -exponents[i]);
  }
  for (std::size_t i = 0; i < std::min(statistics.moments.size(), exponents.size()); ++i) {
    ScaleSum(statistics.moments[i].sum, -exponents[i]);
    ScaleSum(statistics.moments[i].sum_of_squares, -2 * exponents[i]);
  }
  statistics.histogram.reset();
}

Result<void> Equalizer::ScaleStatistics(format::Model& model) const {
  std::map<std::string, const Pair*> pairs;
  for (const Pair& pair : pairs_) {
    if (std::ranges::all_of(pair.exponents, [](int e) { return e == 0; })) continue;
    for (const std::string& value : pair.between) pairs.emplace(value, &pair);
  }
  for (format::ValueInfo& info : model.graph.values) {
    const auto at = pairs.find(info.name);
    if (at == pairs.end() || !info.type || !info.type->statistics) continue;
    format::Statistics& statistics = *info.type->statistics;
    if (statistics.axis != std::vector<std::int64_t>{1} ||
        statistics.min.size() != at->second->exponents.size()) {
      return Error{ErrorCode::kInvalid, "value '" + info.name + "'",
                   "found statistics of all channels together, which equalization makes void; "
                   "expected them per axis 1 (qtx calibrate --per-axis 1), or data"};
    }
    Divide(statistics, at->second->exponents);
  }
  return {};
}

}  // namespace

Result<void> Equalize(format::Model& model, const Options& options, Ledger& ledger) {
  const format::Model source = model;
  Equalizer equalizer(source);
  QTX_RETURN_IF_ERROR(equalizer.Run());
  if (!equalizer.IsChanged()) return {};
  equalizer.Store(model, ledger);
  if (!options.measure) return equalizer.ScaleStatistics(model);
  QTX_ASSIGN_OR_RETURN(model, options.measure(model));
  return {};
}

}  // namespace qtx::quantize
