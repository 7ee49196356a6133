// Operators with windows: convolutions, pools, sampling.
#include <algorithm>

#include "errors.h"
#include "nnef/nnef.h"
#include "nnef/ops.h"

namespace qtx::convert::nnef {
namespace {

using format::Attribute;
using format::Dims;

// The spatial axes of a window, and what an ONNX node says of it.
struct Window {
  std::vector<std::int64_t> size, stride, dilation;
  std::vector<std::int64_t> pads;  // all begins, then all ends
  Dims output;

  bool IsPadded() const {
    return std::ranges::any_of(pads, [](std::int64_t pad) { return pad != 0; });
  }
  std::vector<Attribute> Attributes(bool with_size) const {
    std::vector<Attribute> attributes = {Attribute::Ints("pads", pads),
                                         Attribute::Ints("strides", stride)};
    if (with_size) attributes.push_back(Attribute::Ints("kernel_shape", size));
    if (std::ranges::any_of(dilation, [](std::int64_t d) { return d != 1; }))
      attributes.push_back(Attribute::Ints("dilations", dilation));
    return attributes;
  }
};

Result<std::vector<std::int64_t>> Steps(const Call& call, std::string_view name, std::size_t rank) {
  QTX_ASSIGN_OR_RETURN(auto steps, call.Ints(name));
  if (steps.empty()) steps.assign(rank, 1);
  const bool good = steps.size() == rank && std::ranges::all_of(steps, [](std::int64_t step) {
                      return step >= 1 && step <= kMostNnefWindow;
                    });
  if (good) return steps;
  return call.Wrong(name, std::to_string(rank) + " integers of 1 to 2^24");
}

// A list over all axes whose first two are `neutral`: the rest.
Result<std::vector<std::int64_t>> Spatial(const Call& call, std::string_view name,
                                          std::vector<std::int64_t> list, std::int64_t neutral) {
  if (list.size() >= 2 && list[0] == neutral && list[1] == neutral) {
    list.erase(list.begin(), list.begin() + 2);
    return list;
  }
  return Unsupported(call.text().Place(),
                     std::string(name) + " along the axes of batch and channels");
}

// Without padding the output has ceil(input / stride) elements, and the smaller half is before.
Result<void> Pad(const Call& call, const Dims& input, const std::vector<std::int64_t>& pairs,
                 Window& window) {
  const std::size_t rank = window.size.size();
  if (!pairs.empty() && pairs.size() != 2 * rank)
    return call.Wrong("padding", std::to_string(rank) + " pairs of integers");
  std::vector<std::int64_t> both = pairs;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t taps = (window.size[i] - 1) * window.dilation[i] + 1;
    if (pairs.empty()) {
      const std::int64_t out = (input[i] + window.stride[i] - 1) / window.stride[i];
      const std::int64_t total =
          std::max<std::int64_t>(0, (out - 1) * window.stride[i] + taps - input[i]);
      both.insert(both.end(), {total / 2, total - total / 2});
    }
    const bool good = both[2 * i] >= 0 && both[2 * i] <= kMostNnefWindow && both[2 * i + 1] >= 0 &&
                      both[2 * i + 1] <= kMostNnefWindow;
    if (!good) return call.Wrong("padding", "pairs of integers of 0 to 2^24");
    const std::int64_t room = input[i] + both[2 * i] + both[2 * i + 1] - taps;
    if (room < 0)
      return Invalid(call.text().Place(), "found a window of " + std::to_string(taps) +
                                              ", longer than what it slides over");
    window.output.push_back(room / window.stride[i] + 1);
  }
  window.pads = BeginsThenEnds(both);
  return {};
}

Dims SpatialDims(const Dims& dims) { return Dims(dims.begin() + 2, dims.end()); }

Dims Outer(std::int64_t batch, std::int64_t channels, const Dims& spatial) {
  Dims dims = {batch, channels};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

// Pads of all axes, of those of the spatial ones.
std::vector<std::int64_t> WholePads(const std::vector<std::int64_t>& pads) {
  std::vector<std::int64_t> whole = pads;
  whole.insert(whole.begin() + std::ssize(pads) / 2, {0, 0});
  whole.insert(whole.begin(), {0, 0});
  return whole;
}

struct Filter {
  GraphTensor* x;
  GraphTensor* w;
  GraphTensor* bias;  // nullptr: none
  std::int64_t groups;
};

// [1, C], [C] or one number, as [C]; nullptr for the number 0.
Result<GraphTensor*> BiasOf(Builder& builder, const Call& call, std::int64_t channels) {
  const Value* value = call.Find("bias");
  if (value == nullptr) return nullptr;
  if (value->kind == Value::Kind::kNumber && value->number == 0) return nullptr;
  QTX_ASSIGN_OR_RETURN(GraphTensor * bias, builder.Operand(call, "bias"));
  if (*format::ElementCount(bias->dims) == 1 && channels != 1) {
    return builder.Inner(
        call, {"Expand", {builder.Use(builder.Reals(call, bias)), builder.Ints(call, {channels})}},
        {channels});
  }
  return builder.Reshaped(call, bias, {channels});
}

Result<Filter> FilterOf(Builder& builder, const Call& call, bool transposed) {
  Filter filter{};
  QTX_ASSIGN_OR_RETURN(filter.x, builder.Operand(call, "input"));
  QTX_ASSIGN_OR_RETURN(filter.w, builder.Operand(call, "filter"));
  QTX_ASSIGN_OR_RETURN(filter.groups, call.Int("groups", 1));
  const Dims &x = filter.x->dims, &w = filter.w->dims;
  if (x.size() < 3 || w.size() != x.size())
    return Invalid(call.text().Place(), "found shapes " + format::ToString(x) + " and " +
                                            format::ToString(w) +
                                            ", expected one rank of 3 or more");
  if (filter.groups == 0) filter.groups = transposed ? w[0] : x[1];
  const std::int64_t groups = filter.groups;
  bool fits = groups > 0 && groups <= w[0] && w[0] % groups == 0;
  fits = fits && (transposed ? w[0] == x[1] : x[1] % groups == 0 && w[1] == x[1] / groups);
  if (!fits)
    return Invalid(call.text().Place(), "found filter " + format::ToString(w) + " and " +
                                            std::to_string(groups) + " groups for input " +
                                            format::ToString(x));
  QTX_ASSIGN_OR_RETURN(filter.bias, BiasOf(builder, call, transposed ? w[1] * groups : w[0]));
  return filter;
}

std::vector<std::string> InputsOf(Builder& builder, const Filter& filter) {
  std::vector<std::string> inputs = {builder.Use(filter.x), builder.Use(filter.w)};
  if (filter.bias != nullptr) inputs.push_back(builder.Use(filter.bias));
  return inputs;
}

}  // namespace

Result<void> ConvertConv(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(Filter filter, FilterOf(builder, call, false));
  QTX_ASSIGN_OR_RETURN(const std::string border, call.String("border", "constant"));
  QTX_ASSIGN_OR_RETURN(const auto pairs, call.Pairs("padding"));
  Window window{.size = SpatialDims(filter.w->dims)};
  QTX_ASSIGN_OR_RETURN(window.stride, Steps(call, "stride", window.size.size()));
  QTX_ASSIGN_OR_RETURN(window.dilation, Steps(call, "dilation", window.size.size()));
  QTX_RETURN_IF_ERROR(Pad(call, SpatialDims(filter.x->dims), pairs, window));
  if (border != "constant" && window.IsPadded()) {
    QTX_ASSIGN_OR_RETURN(filter.x,
                         Padded(builder, call, filter.x, WholePads(window.pads), border, 0));
    std::ranges::fill(window.pads, 0);
  }
  std::vector<Attribute> attributes = window.Attributes(true);
  attributes.push_back(IntAttribute("group", filter.groups));
  return builder.Emit(call, {"Conv", InputsOf(builder, filter), attributes},
                      Outer(filter.x->dims[0], filter.w->dims[0], window.output));
}

Result<void> ConvertDeconv(Builder& builder, const Call& call, const Operator&) {
  QTX_ASSIGN_OR_RETURN(const Filter filter, FilterOf(builder, call, true));
  QTX_ASSIGN_OR_RETURN(const std::string border, call.String("border", "constant"));
  if (border != "constant")
    return Unsupported(call.text().Place(), "a border that is not constant");
  QTX_ASSIGN_OR_RETURN(auto pairs, call.Pairs("padding"));
  QTX_ASSIGN_OR_RETURN(const Dims shape, call.Ints("output_shape"));
  Window window{.size = SpatialDims(filter.w->dims)};
  const std::size_t rank = window.size.size();
  QTX_ASSIGN_OR_RETURN(window.stride, Steps(call, "stride", rank));
  QTX_ASSIGN_OR_RETURN(window.dilation, Steps(call, "dilation", rank));
  const Dims input = SpatialDims(filter.x->dims);
  if (!pairs.empty() && pairs.size() != 2 * rank)
    return call.Wrong("padding", std::to_string(rank) + " pairs of integers");
  if (!shape.empty() && shape.size() != rank + 2) return call.Wrong("output_shape", "all sizes");
  std::vector<std::int64_t> extra(rank, 0);
  const bool automatic = pairs.empty();
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t taps = (window.size[i] - 1) * window.dilation[i] + 1;
    const std::int64_t full = (input[i] - 1) * window.stride[i] + taps;
    std::int64_t out =
        automatic ? input[i] * window.stride[i] : full - pairs[2 * i] - pairs[2 * i + 1];
    if (!shape.empty()) out = shape[i + 2];
    const std::int64_t total = std::max<std::int64_t>(0, full - out);
    if (automatic) pairs.insert(pairs.end(), {total / 2, 0});
    pairs[2 * i + 1] = full - out - pairs[2 * i];
    extra[i] = std::max<std::int64_t>(0, -pairs[2 * i + 1]);
    pairs[2 * i + 1] += extra[i];
    const bool good = out >= 1 && pairs[2 * i] >= 0 && pairs[2 * i] <= kMostNnefWindow &&
                      extra[i] < std::max(window.stride[i], window.dilation[i]);
    if (!good) return call.Wrong("padding", "pairs that give the sizes of output_shape");
    window.output.push_back(out);
  }
  window.pads = BeginsThenEnds(pairs);
  std::vector<Attribute> attributes = window.Attributes(true);
  attributes.push_back(IntAttribute("group", filter.groups));
  if (std::ranges::any_of(extra, [](std::int64_t e) { return e != 0; }))
    attributes.push_back(Attribute::Ints("output_padding", extra));
  return builder.Emit(call, {"ConvTranspose", InputsOf(builder, filter), attributes},
                      Outer(filter.x->dims[0], filter.w->dims[1] * filter.groups, window.output));
}

namespace {

Result<Window> PoolWindow(const Call& call, const Dims& dims, const Operator& op) {
  Window window;
  std::vector<std::int64_t> pairs;
  if (op.name == "area_downsample") {
    QTX_ASSIGN_OR_RETURN(window.size, Steps(call, "factor", dims.size() - 2));
    window.stride = window.size;
    window.dilation.assign(window.size.size(), 1);
    pairs.assign(2 * window.size.size(), 0);
    QTX_RETURN_IF_ERROR(Pad(call, SpatialDims(dims), pairs, window));
    return window;
  }
  if (call.Find("size") == nullptr) return call.Wrong("size", "a list of integers");
  QTX_ASSIGN_OR_RETURN(window.size, Steps(call, "size", dims.size()));
  QTX_ASSIGN_OR_RETURN(window.size, Spatial(call, "size", window.size, 1));
  QTX_ASSIGN_OR_RETURN(window.stride, Steps(call, "stride", dims.size()));
  QTX_ASSIGN_OR_RETURN(window.stride, Spatial(call, "stride", window.stride, 1));
  QTX_ASSIGN_OR_RETURN(window.dilation, Steps(call, "dilation", dims.size()));
  QTX_ASSIGN_OR_RETURN(window.dilation, Spatial(call, "dilation", window.dilation, 1));
  QTX_ASSIGN_OR_RETURN(pairs, call.Pairs("padding"));
  if (!pairs.empty()) {
    if (pairs.size() != 2 * dims.size()) return call.Wrong("padding", "a pair for each axis");
    QTX_ASSIGN_OR_RETURN(pairs, Spatial(call, "padding", pairs, 0));
    QTX_ASSIGN_OR_RETURN(pairs, Spatial(call, "padding", pairs, 0));
  }
  QTX_RETURN_IF_ERROR(Pad(call, SpatialDims(dims), pairs, window));
  return window;
}

// Without padding there is none of whole windows: ONNX's pools pad less than the window only.
bool PadsLessThanWindow(const Window& window) {
  for (std::size_t i = 0; i < window.pads.size(); ++i) {
    if (window.pads[i] >= window.size[i % window.size.size()]) return false;
  }
  return true;
}

}  // namespace

// max_pool, avg_pool, box and area_downsample. A border of 'ignore' takes no part; one that is
// 'constant' is 0.
Result<void> ConvertPool(Builder& builder, const Call& call, const Operator& op) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  if (x->dims.size() < 3)
    return Unsupported(call.text().Place(), "an input of rank " + std::to_string(x->dims.size()) +
                                                ", expected 3 or more");
  const bool down = op.name == "area_downsample";
  QTX_ASSIGN_OR_RETURN(const std::string border, call.String("border", "constant"));
  QTX_ASSIGN_OR_RETURN(Window window, PoolWindow(call, x->dims, op));
  bool counts = border != "ignore";
  const bool is_max = op.name == "max_pool";
  const bool pads_first = window.IsPadded() && (is_max ? counts : counts && border != "constant");
  if (pads_first || !PadsLessThanWindow(window)) {
    if (!counts) return Unsupported(call.text().Place(), "windows that lie in the border");
    QTX_ASSIGN_OR_RETURN(x, Padded(builder, call, x, WholePads(window.pads), border, 0));
    std::ranges::fill(window.pads, 0);
  }
  const Dims dims = Outer(x->dims[0], x->dims[1], window.output);
  std::vector<Attribute> attributes = window.Attributes(true);
  if (is_max) {
    x = builder.Movable(call, x);
    return builder.EmitMove(call, {"MaxPool", {builder.Use(x)}, attributes}, dims, *x);
  }
  QTX_ASSIGN_OR_RETURN(bool normalize, call.Flag("normalize", false));
  normalize = normalize || op.name == "avg_pool" || down;
  // A sum is a mean over all of the window, times its elements.
  if (!normalize) counts = true;
  attributes.push_back(IntAttribute("count_include_pad", counts && window.IsPadded() ? 1 : 0));
  graph::Draft pool = {"AveragePool", {builder.Use(x)}, attributes};
  if (normalize) return builder.Emit(call, std::move(pool), dims);
  std::int64_t elements = 1;
  for (const std::int64_t size : window.size) {
    if (__builtin_mul_overflow(elements, size, &elements)) return call.Wrong("size", "a window");
  }
  GraphTensor* mean = builder.Inner(call, std::move(pool), dims);
  const std::string factor = builder.Scalar(call, static_cast<float>(elements));
  return builder.Emit(call, {"Mul", {builder.Use(mean), factor}, {}}, dims);
}

// nearest_upsample, multilinear_upsample.
Result<void> ConvertUpsample(Builder& builder, const Call& call, const Operator& op) {
  QTX_ASSIGN_OR_RETURN(GraphTensor * x, builder.Operand(call, "input"));
  if (x->dims.size() < 3) return Unsupported(call.text().Place(), "an input of rank below 3");
  if (call.Find("factor") == nullptr) return call.Wrong("factor", "a list of integers");
  QTX_ASSIGN_OR_RETURN(const auto factor, Steps(call, "factor", x->dims.size() - 2));
  QTX_ASSIGN_OR_RETURN(const std::string method, call.String("method", "symmetric"));
  QTX_ASSIGN_OR_RETURN(const std::string border, call.String("border", "replicate"));
  const bool nearest = op.name == "nearest_upsample";
  if (!nearest && border != "replicate" && method != "aligned")
    return Unsupported(call.text().Place(), "border '" + border.substr(0, 32) + "'");
  std::string mode = "asymmetric";
  if (!nearest && method == "symmetric") mode = "half_pixel";
  if (!nearest && method == "aligned") mode = "align_corners";
  if (!nearest && mode == "asymmetric" && method != "asymmetric")
    return call.Wrong("method", "'symmetric', 'asymmetric' or 'aligned'");
  Dims dims = x->dims;
  for (std::size_t i = 0; i < factor.size(); ++i) {
    if (__builtin_mul_overflow(dims[i + 2], factor[i], &dims[i + 2]))
      return call.Wrong("factor", "sizes below 2^63");
  }
  std::vector<Attribute> attributes = {Attribute::String("mode", nearest ? "nearest" : "linear"),
                                       Attribute::String("coordinate_transformation_mode", mode)};
  if (nearest) attributes.push_back(Attribute::String("nearest_mode", "floor"));
  x = builder.Reals(call, x);
  return builder.Emit(
      call, {"Resize", {builder.Use(x), "", "", builder.Ints(call, dims)}, attributes}, dims);
}

}  // namespace qtx::convert::nnef
