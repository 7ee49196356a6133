// Fault models of pools: what an average counts and adds in, how a maximum compares.
#include <algorithm>
#include <array>
#include <cmath>

#include "node_editor.h"
#include "windows.h"

namespace qtx::conformance {
namespace {

using format::Attribute;
using format::Node;
using format::Tensor;
using Integers = std::vector<std::int64_t>;

template <std::int64_t kValue>
bool CountPadding(NodeEditor& editor) {
  bool any = false;
  for (Node& node : editor.graph().nodes) {
    if (node.op_type != "AveragePool" || node.IntOr("count_include_pad", 0) == kValue) continue;
    std::erase_if(node.attributes,
                  [](const Attribute& a) { return a.name == "count_include_pad"; });
    node.attributes.push_back(Attribute::Int("count_include_pad", kValue));
    any = true;
  }
  return any;
}

// A pool of stored integers with one scale and offset at each end.
struct Pool {
  const Tensor& x;
  Windows windows;
  bool counts_padding = false;

  static std::optional<Pool> Of(const Question& question, const Outputs& outputs) {
    if (question.inputs.size() != 1 || outputs.size() != 1) return std::nullopt;
    const Node& node = question.model.graph.nodes.front();
    const Tensor& x = question.inputs[0];
    auto windows = Windows::Of(node, x.dims);
    const auto is_plain = [](const Tensor& tensor) {
      return tensor.quantization && format::IsIntegerStorage(tensor.elem_type) &&
             tensor.quantization->axis.empty() && tensor.quantization->scale.size() == 1;
    };
    const auto count = windows ? x.dims[0] * x.dims[1] * windows->outputs() : -1;
    if (count != format::ElementCount(outputs[0]) || !is_plain(x) || !is_plain(outputs[0])) {
      return std::nullopt;
    }
    return Pool{x, *std::move(windows), node.IntOr("count_include_pad", 0) != 0};
  }
};

// A sum of stored values, and the number that divides it.
struct Mean {
  std::int64_t sum = 0;
  std::int64_t count = 0;
};

// Where `kChange` changes the mean of a window, it is rounded once to the output's parameters.
template <Mean (*kChange)(const Mean& right, const Window& window, bool counts_padding)>
bool ChangeAverages(const Question& question, Outputs& outputs) {
  if (!question.model.graph.nodes.front().op_type.ends_with("AveragePool")) return false;
  const auto pool = Pool::Of(question, outputs);
  if (!pool) return false;
  Tensor& y = outputs[0];
  const Integers from = format::UnpackIntegers(pool->x);
  Integers to = format::UnpackIntegers(y);
  const format::IntegerRange range = format::StoredRange(y.elem_type, *y.quantization);
  const auto factor = static_cast<long double>(pool->x.quantization->scale[0]) /
                      static_cast<long double>(y.quantization->scale[0]);
  bool any = false;
  for (std::int64_t i = 0; i < std::ssize(to); ++i) {
    const Window window = pool->windows.At(i % pool->windows.outputs());
    const std::int64_t image = i / pool->windows.outputs() * pool->windows.image();
    Mean right{0, std::ssize(window.elements) + (pool->counts_padding ? window.padding : 0)};
    for (const std::int64_t element : window.elements) {
      right.sum += from[static_cast<std::size_t>(image + element)];
    }
    const Mean mean = kChange(right, window, pool->counts_padding);
    if ((mean.sum == right.sum && mean.count == right.count) || mean.count == 0) continue;
    any = true;
    const std::int64_t real =
        mean.sum - std::ssize(window.elements) * format::OffsetAt(*pool->x.quantization, 0);
    const long double rounded =
        std::nearbyint(static_cast<long double>(real) * factor / mean.count);
    to[static_cast<std::size_t>(i)] =
        std::clamp(static_cast<std::int64_t>(std::clamp(rounded, -0x1p40L, 0x1p40L)) +
                       format::OffsetAt(*y.quantization, 0),
                   range.min, range.max);
  }
  format::PackIntegers(to, y);
  return any;
}

Mean WrapTo16(const Mean& right, const Window&, bool) {
  return {static_cast<std::int16_t>(right.sum), right.count};
}
Mean ClampTo16(const Mean& right, const Window&, bool) {
  return {std::clamp<std::int64_t>(right.sum, INT16_MIN, INT16_MAX), right.count};
}
// Where padding counts, so does what ceil_mode adds beyond it.
Mean CountBeyond(const Mean& right, const Window& window, bool counts_padding) {
  return {right.sum, right.count + (counts_padding ? window.beyond : 0)};
}

bool IsByteOfOneScale(const Tensor& x) {
  return x.quantization && x.quantization->axis.empty() && format::BitWidth(x.elem_type) == 8;
}

// -1 is 255 and 255 is -1.
std::int64_t OfOtherSignedness(std::int64_t v) { return v < 0 ? v + 256 : v > 127 ? v - 256 : v; }

// A MaxPool that compares 8-bit stored values with the other signedness. The chosen values are
// then converted as right ones are.
bool CompareReinterpreted(NodeEditor& editor) {
  Node& node = editor.node();
  if (!node.op_type.ends_with("MaxPool") || node.outputs.size() != 1) return false;
  const bool done = editor.EditIntegers(editor.Input(0), [&](Integers& values, Tensor& x) {
    const auto windows = Windows::Of(node, x.dims);
    if (!windows || !IsByteOfOneScale(x)) return false;
    const Integers from = values;
    x.dims.resize(2);
    values.resize(static_cast<std::size_t>(x.dims[0] * x.dims[1] * windows->outputs()));
    const format::Dims sizes = windows->output_dims();
    x.dims.insert(x.dims.end(), sizes.begin(), sizes.end());
    for (std::int64_t i = 0; i < std::ssize(values); ++i) {
      const Window window = windows->At(i % windows->outputs());
      if (window.elements.empty()) return false;
      const std::int64_t image = i / windows->outputs() * windows->image();
      Integers seen;
      for (const std::int64_t element : window.elements) {
        seen.push_back(from[static_cast<std::size_t>(image + element)]);
      }
      values[static_cast<std::size_t>(i)] = *std::ranges::max_element(seen, {}, OfOtherSignedness);
    }
    return true;
  });
  if (!done) return false;
  node.op_type = "Identity";
  node.attributes.clear();
  return true;
}

constexpr std::array kPoolFaults = {
    Fault{.name = "average_counts_padding",
          .says = "counts padding in an average that excludes it",
          .question = CountPadding<1>},
    Fault{.name = "average_excludes_padding",
          .says = "leaves padding out of an average that includes it",
          .question = CountPadding<0>},
    Fault{
        .name = "average_counts_overhang",
        .says = "counts what ceil_mode adds beyond the padding in an average that includes padding",
        .answers = ChangeAverages<CountBeyond>},
    Fault{.name = "average_16_bits_wraps",
          .says = "adds the values of an average in 16 bits that wrap",
          .answers = ChangeAverages<WrapTo16>},
    Fault{.name = "average_16_bits_saturates",
          .says = "adds the values of an average in 16 bits that saturate",
          .answers = ChangeAverages<ClampTo16>},
    Fault{.name = "max_pool_unsigned",
          .says = "compares 8-bit stored values with the other signedness",
          .question = CompareReinterpreted},
};

}  // namespace

std::span<const Fault> PoolFaults() { return kPoolFaults; }

}  // namespace qtx::conformance
