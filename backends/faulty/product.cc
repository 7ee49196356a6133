// MatMul, Gemm, Conv and ConvTranspose: which elements each result multiplies.
#include <algorithm>
#include <cstdlib>

#include "dot.h"
#include "window.h"

namespace qtx::backend::faulty {
namespace {

constexpr std::int64_t kMostProducts = std::int64_t{1} << 24;  // a textbook is slow

// Everything a product operator needs besides its pairs.
struct Product {
  Values x, w;
  std::optional<Values> bias;
  Factors factors;
};

// The bias of an operator of quantized tensors is a real, that of QLinearConv a plain INT32.
Result<void> ReadFactors(const Call& call, Product& product) {
  const auto read = [&call](std::size_t i) -> Result<Values> {
    if (!call.Has(i)) return Declined(call, "no input " + std::to_string(i));
    return RealsAt(call, i);
  };
  QTX_ASSIGN_OR_RETURN(product.x, read(0));
  QTX_ASSIGN_OR_RETURN(product.w, read(1));
  if (call.Has(2)) {
    const bool plain = call.inputs[2]->elem_type == ElementType::kInt32 &&
                       call.node.op_type.starts_with("QLinear");
    if (plain) {
      QTX_ASSIGN_OR_RETURN(product.bias, Read(call, *call.inputs[2]));
    } else {
      QTX_ASSIGN_OR_RETURN(product.bias, read(2));
    }
  }
  if (call.Is(Fault::kInt8BiasZeroExtended) && product.bias &&
      product.bias->type == ElementType::kInt8Q) {
    for (std::int64_t& stored : product.bias->stored) stored &= 255;
  }
  product.factors.x = &product.x;
  product.factors.w = &product.w;
  product.factors.bias = product.bias ? &*product.bias : nullptr;
  return {};
}

// One result at a time; `pairs` gives its elements, `bias` its addend.
template <class N>
class Multiplier {
 public:
  static Result<Multiplier> Make(const Call& call, const Factors& factors, Dims dims) {
    const bool plain = call.node.op_type.ends_with("Integer");
    Multiplier multiplier(call, factors);
    if (plain) {
      multiplier.dims_ = std::move(dims);
      multiplier.sums_.resize(At(Size(multiplier.dims_)));
      if (call.outputs[0].dims && *call.outputs[0].dims != multiplier.dims_) {
        return Declined(call, "another shape");
      }
      return multiplier;
    }
    if (!call.exact && call.outputs[0].elem_type == format::ElementType::kBipolar1Q) {
      return Declined(call, "a BIPOLAR1Q result");
    }
    if (!call.exact && AddsIntegers(factors) && !multiplier.integer_) {
      return Declined(call, "products of 32-bit integers");
    }
    QTX_ASSIGN_OR_RETURN(multiplier.writer_, Writer<N>::Make(call, 0, std::move(dims)));
    return multiplier;
  }

  void Put(std::size_t element, const std::vector<Pair>& pairs, std::optional<std::size_t> bias) {
    if (!writer_) {
      sums_[element] = static_cast<std::int32_t>(Dot(call_, factors_, pairs));
    } else if (!integer_) {
      writer_->Put(element, RealDot<N>(factors_, pairs, bias));
    } else {
      const std::int64_t sum = pairs.empty() ? 0 : AsRun(element, Dot(call_, factors_, pairs));
      Requantizer<N>(call_, factors_, *writer_).Put(element, sum, ChannelWeight(pairs), bias);
    }
  }

  Tensor Take() {
    return writer_ ? writer_->Take() : PlainTensor(ElementType::kInt32, dims_, sums_);
  }

 private:
  Multiplier(const Call& call, const Factors& factors)
      : call_(call), factors_(factors), integer_(HasIntegerAccumulator(factors)) {}

  // A result without pairs takes any weight: all have the same scale.
  static std::size_t ChannelWeight(const std::vector<Pair>& pairs) {
    return pairs.empty() ? 0 : At(pairs.front().w);
  }

  // A race loses a result now and then; a run finds accumulators as the run before left them.
  std::int64_t AsRun(std::size_t element, std::int64_t sum) {
    if (call_.Is(Fault::kNondeterministic)) return call_.memory->runs % 5 == 3 ? 0 : sum;
    if (!call_.Is(Fault::kStateFromLastRun)) return sum;
    std::vector<std::int64_t>& left = call_.memory->accumulators;
    if (left.size() <= element) left.resize(element + 1);
    return left[element] += sum;
  }

  const Call& call_;
  const Factors& factors_;
  bool integer_;
  std::optional<Writer<N>> writer_;
  Dims dims_;
  std::vector<std::int64_t> sums_;  // of a plain result
};

// A matrix in memory: element (row, column) is at start + row * row_step + column * column_step.
struct Matrix {
  std::int64_t rows, columns, row_step, column_step, start = 0;
  std::int64_t at(std::int64_t row, std::int64_t column) const {
    return start + row * row_step + column * column_step;
  }
};

std::vector<Pair> RowTimesColumn(const Call& call, const Matrix& a, const Matrix& b,
                                 std::int64_t row, std::int64_t column) {
  std::vector<Pair> pairs;
  for (std::int64_t k = 0; k < a.columns; ++k) {
    std::int64_t x = a.at(row, k);
    // An aligned load of a row that begins at an odd address reads from the address before it.
    if (call.Is(Fault::kUnalignedRows) && a.column_step == 1) x -= a.at(row, 0) % 4;
    pairs.push_back({x, b.at(k, column)});
  }
  return pairs;
}

Dims Leading(const Dims& dims) {
  return dims.size() < 2 ? Dims{} : Dims(dims.begin(), dims.end() - 2);
}

Matrix LastTwo(const Dims& dims, bool left) {
  if (dims.size() == 1) return left ? Matrix{1, dims[0], dims[0], 1} : Matrix{dims[0], 1, 1, 1};
  return {dims[dims.size() - 2], dims.back(), dims.back(), 1};
}

// Source: mat_mul.S1 to .S4.
template <class N>
Outputs MatMulOf(const Call& call) {
  Product p;
  QTX_RETURN_IF_ERROR(ReadFactors(call, p));
  const Dims& ad = p.x.dims;
  const Dims& bd = p.w.dims;
  if (ad.empty() || bd.empty()) return Declined(call, "a scalar");
  Matrix a = LastTwo(ad, true);
  Matrix b = LastTwo(bd, false);
  if (a.columns != b.rows) return Declined(call, "inner dimensions that differ");
  if (call.Is(Fault::kCrashOnEmptySum) && a.columns == 0) std::abort();
  QTX_ASSIGN_OR_RETURN(const Dims batch, Broadcast(call, Leading(ad), Leading(bd)));
  Dims dims = batch;
  if (ad.size() > 1) dims.push_back(a.rows);
  if (bd.size() > 1) dims.push_back(b.columns);
  QTX_RETURN_IF_ERROR(CheckSize(call, dims));
  if (Size(dims) * a.columns > kMostProducts) return Declined(call, "so many products");
  p.factors.channel_axis = bd.size() == 1 ? -1 : static_cast<std::int64_t>(bd.size()) - 1;
  if (call.Is(Fault::kSingleRowWithoutOffset) && a.rows == 1) {
    std::ranges::fill(p.w.offset, 0);
  }
  QTX_ASSIGN_OR_RETURN(auto multiplier, Multiplier<N>::Make(call, p.factors, std::move(dims)));
  const auto a_batch = BroadcastIndex(Leading(ad), batch);
  const auto b_batch = BroadcastIndex(Leading(bd), batch);
  std::size_t element = 0;
  for (std::size_t n = 0; n < a_batch.size(); ++n) {
    a.start = a_batch[n] * a.rows * a.columns;
    b.start = call.Is(Fault::kBatchReadsFirst) ? 0 : b_batch[n] * b.rows * b.columns;
    for (std::int64_t i = 0; i < a.rows; ++i) {
      for (std::int64_t j = 0; j < b.columns; ++j) {
        multiplier.Put(element++, RowTimesColumn(call, a, b, i, j), std::nullopt);
      }
    }
  }
  return One(multiplier.Take());
}

// Source: gemm.S1 to .S4.
template <class N>
Outputs GemmOf(const Call& call) {
  Product p;
  QTX_RETURN_IF_ERROR(ReadFactors(call, p));
  if (p.x.dims.size() != 2 || p.w.dims.size() != 2) return Declined(call, "other ranks than 2");
  const auto view = [](const Dims& d, bool transposed) {
    return transposed ? Matrix{d[1], d[0], 1, d[1]} : Matrix{d[0], d[1], d[1], 1};
  };
  const bool square = p.w.dims[0] == p.w.dims[1];
  const bool trans_b = call.Int("transB") != 0;
  const Matrix a = view(p.x.dims, call.Int("transA") != 0);
  const Matrix b = view(p.w.dims, trans_b && !(square && call.Is(Fault::kTransposedBIgnored)));
  if (a.columns != b.rows) return Declined(call, "inner dimensions that differ");
  p.factors.alpha = call.Float("alpha");
  p.factors.beta = call.Float("beta");
  if (!std::isfinite(p.factors.alpha) || !std::isfinite(p.factors.beta)) {
    return Declined(call, "factors that are not finite");
  }
  p.factors.channel_axis = trans_b ? 0 : 1;
  const Dims dims = {a.rows, b.columns};
  QTX_RETURN_IF_ERROR(CheckSize(call, dims));
  if (Size(dims) * a.columns > kMostProducts) return Declined(call, "so many products");
  std::vector<std::int64_t> bias;
  if (p.bias) {
    QTX_ASSIGN_OR_RETURN(const Dims both, Broadcast(call, p.bias->dims, dims));
    if (both != dims) return Declined(call, "a C that is larger than the result");
    bias = BroadcastIndex(p.bias->dims, dims);
  }
  QTX_ASSIGN_OR_RETURN(auto multiplier, Multiplier<N>::Make(call, p.factors, dims));
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      const std::size_t element = At(i * b.columns + j);
      std::optional<std::size_t> addend;
      if (p.bias) addend = At(bias[element]);
      if (p.bias && call.Is(Fault::kColumnBiasAsRow)) addend = At(j) % p.bias->size();
      multiplier.Put(element, RowTimesColumn(call, a, b, i, j), addend);
    }
  }
  return One(multiplier.Take());
}

// The sizes of a convolution and its groups.
struct Channels {
  std::int64_t batch, in, out, group;
  bool transposed;
  std::int64_t in_per_group() const { return in / group; }
  std::int64_t out_per_group() const { return out / group; }
};

Result<Channels> ChannelsOf(const Call& call, const Product& p) {
  const Dims& x = p.x.dims;
  const Dims& w = p.w.dims;
  const std::int64_t group = call.Int("group");
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size() || group < 1 || w[0] == 0 || w[1] == 0) {
    return Declined(call, "these ranks or groups");
  }
  const bool transposed = call.node.op_type == "ConvTranspose";
  const Channels c{x[0], x[1], transposed ? w[1] * group : w[0], group, transposed};
  const std::int64_t in = transposed ? w[0] : w[1] * group;
  if (in != c.in || c.in % group != 0 || c.out % group != 0) {
    return Declined(call, "channels that the groups do not divide");
  }
  if (p.bias && p.bias->dims != Dims{c.out}) return Declined(call, "a bias of this shape");
  return c;
}

// The pairs of output channel `m` at the taps of one position.  Source: conv.S1, conv_transpose.S1.
std::vector<Pair> PairsOf(const Call& call, const Channels& c, const Window& window,
                          const std::vector<Tap>& taps, std::int64_t n, std::int64_t m) {
  const std::int64_t g = m / c.out_per_group();
  const std::int64_t i = m % c.out_per_group();
  const std::int64_t plane = window.planes_in();
  const std::int64_t kernel = Size(window.kernel);
  std::vector<Pair> pairs;
  for (std::int64_t k = 0; k < c.in_per_group(); ++k) {
    std::int64_t channel = g * c.in_per_group() + k;
    if (call.Is(Fault::kGroupsReadFirst)) channel = k;
    if (call.Is(Fault::kDepthwiseOrder) && c.in_per_group() == 1) channel = m % c.in;
    const std::int64_t x = ((call.Is(Fault::kBatchReadsFirst) ? 0 : n) * c.in + channel) * plane;
    const std::int64_t w = c.transposed
                               ? ((g * c.in_per_group() + k) * c.out_per_group() + i) * kernel
                               : (m * c.in_per_group() + k) * kernel;
    for (const Tap& tap : taps) {
      pairs.push_back({tap.input < 0 ? -1 : x + tap.input, w + tap.kernel});
    }
  }
  return pairs;
}

template <class N>
Outputs ConvolutionOf(const Call& call) {
  Product p;
  QTX_RETURN_IF_ERROR(ReadFactors(call, p));
  QTX_ASSIGN_OR_RETURN(const Channels c, ChannelsOf(call, p));
  const Dims input(p.x.dims.begin() + 2, p.x.dims.end());
  const Dims kernel(p.w.dims.begin() + 2, p.w.dims.end());
  QTX_ASSIGN_OR_RETURN(const Window window, c.transposed ? TransposedWindowOf(call, input, kernel)
                                                         : WindowOf(call, input, kernel));
  Dims dims = {c.batch, c.out};
  dims.insert(dims.end(), window.output.begin(), window.output.end());
  QTX_RETURN_IF_ERROR(CheckSize(call, dims));
  if (Size(dims) * c.in_per_group() * Size(kernel) > kMostProducts || Size(p.x.dims) == 0) {
    return Declined(call, "a result of this size");
  }
  p.factors.channel_axis = c.transposed ? 1 : 0;
  p.factors.spatial = Size(kernel);
  if (c.transposed && !p.w.per_tensor && p.bias) return Declined(call, "a bias per channel scale");
  QTX_ASSIGN_OR_RETURN(auto multiplier, Multiplier<N>::Make(call, p.factors, dims));
  for (std::int64_t o = 0; o < window.planes_out(); ++o) {
    const auto taps = c.transposed ? window.TransposedTaps(o) : window.Taps(o);
    for (std::int64_t n = 0; n < c.batch; ++n) {
      for (std::int64_t m = 0; m < c.out; ++m) {
        std::optional<std::size_t> bias;
        if (p.bias) bias = At(m);
        multiplier.Put(At((n * c.out + m) * window.planes_out() + o),
                       PairsOf(call, c, window, taps, n, m), bias);
      }
    }
  }
  return One(multiplier.Take());
}

}  // namespace

Outputs MatMul(const Call& call) {
  return call.exact ? MatMulOf<Exact>(call) : MatMulOf<float>(call);
}
Outputs Gemm(const Call& call) { return call.exact ? GemmOf<Exact>(call) : GemmOf<float>(call); }
Outputs Convolution(const Call& call) {
  return call.exact ? ConvolutionOf<Exact>(call) : ConvolutionOf<float>(call);
}

}  // namespace qtx::backend::faulty
