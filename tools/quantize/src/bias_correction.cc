#include "bias_correction.h"

#include <algorithm>

#include "initializers.h"
#include "qtx/format/attributes.h"

namespace qtx::quantize {
namespace {

using format::Node;
using format::Tensor;

bool IsCorrected(const GraphIndex& index, const Node& node) {
  const bool product =
      IsStock(node, "Conv") || IsStock(node, "ConvTranspose") || IsStock(node, "Gemm");
  return product && node.inputs.size() >= 2 && index.IsFloatConstant(node.inputs[1]) &&
         index.IsFloatValue(node.inputs[0]);
}

}  // namespace

std::optional<std::vector<double>> ChannelMeans(const format::Model& model,
                                                const std::string& value) {
  const format::ValueInfo* info = model.graph.FindValue(value);
  if (info == nullptr || !info->type || !info->type->statistics) return std::nullopt;
  const format::Statistics& statistics = *info->type->statistics;
  if (statistics.axis != std::vector<std::int64_t>{1} || statistics.mean.empty())
    return std::nullopt;
  return statistics.mean;
}

Result<void> EnsureMeans(format::Model& model, const Options& options) {
  const GraphIndex index(model);
  const auto lacks = std::ranges::find_if(model.graph.nodes, [&](const Node& node) {
    return IsCorrected(index, node) && !ChannelMeans(model, node.inputs[0]);
  });
  if (lacks == model.graph.nodes.end()) return {};
  if (!options.measure) {
    return Error{ErrorCode::kInvalid, "value '" + lacks->inputs[0] + "'",
                 "found no mean along axis 1, which bias correction needs (qtx calibrate "
                 "--per-axis 1, or data)"};
  }
  QTX_ASSIGN_OR_RETURN(model, options.measure(model));
  return {};
}

std::optional<std::vector<double>> MeanError(const Node& node, const Tensor& real,
                                             const Tensor& stored,
                                             const std::vector<double>& means) {
  const format::Dims& dims = real.dims;
  const std::int64_t group = GroupsOf(node);
  if (dims.size() < 2 || group < 1 || dims[0] % group != 0 || format::ElementCount(real) == 0)
    return std::nullopt;
  if (IsStock(node, "Gemm") &&
      (format::Attributes(node).Int("transA") != 0 || format::Attributes(node).Float("alpha") != 1))
    return std::nullopt;
  const std::int64_t last = format::ElementCount(real) - 1;
  const WeightChannels most = ChannelsOf(node, dims, last);
  if (most.input + 1 != std::ssize(means)) return std::nullopt;
  std::vector<double> errors(static_cast<std::size_t>(most.output + 1));
  const format::Quantization& q = *stored.quantization;
  const format::ParameterMap map(q, dims);
  const auto integers = format::UnpackInt32(stored);
  const auto values = real.As<float>();
  for (std::int64_t i = 0; i <= last; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double is = static_cast<double>(format::ScaleAt(q, map(i))) *
                      static_cast<double>(integers[at] - format::OffsetAt(q, map(i)));
    const WeightChannels channels = ChannelsOf(node, dims, i);
    errors[static_cast<std::size_t>(channels.output)] +=
        (is - static_cast<double>(values[at])) * means[static_cast<std::size_t>(channels.input)];
  }
  return errors;
}

}  // namespace qtx::quantize
