#include "engine/ops/integer_reduce.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "engine/transpose.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::ElementType;
using format::Tensor;

enum class Reduction { kSum, kMax, kMin };

// An axis of x, in the order of its memory: elements from one to the next in x and in y.
struct Axis {
  std::int64_t count = 1, x = 1, y = 0;
};

struct Reducing {
  Reduction reduction = Reduction::kSum;
  std::vector<Axis> axes;
  std::int32_t initial = 0;  // of each accumulator
  std::int32_t offset = 0;   // of x; subtracted from a greatest or least element
  std::int64_t results = 1;
};

template <typename T>
void AddRun(const T* x, std::int64_t n, std::int32_t* sums) {
  for (std::int64_t i = 0; i < n; ++i) sums[i] += x[i];
}
template <typename T>
void RaiseRun(const T* x, std::int64_t n, std::int32_t* greatest) {
  for (std::int64_t i = 0; i < n; ++i) greatest[i] = std::max<std::int32_t>(greatest[i], x[i]);
}
template <typename T>
void LowerRun(const T* x, std::int64_t n, std::int32_t* least) {
  for (std::int64_t i = 0; i < n; ++i) least[i] = std::min<std::int32_t>(least[i], x[i]);
}

template <typename T>
std::int32_t Fold(Reduction reduction, const T* x, std::int64_t n, std::int32_t value) {
  if (reduction == Reduction::kSum) {
    for (std::int64_t i = 0; i < n; ++i) value += x[i];
  } else if (reduction == Reduction::kMax) {
    for (std::int64_t i = 0; i < n; ++i) value = std::max<std::int32_t>(value, x[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) value = std::min<std::int32_t>(value, x[i]);
  }
  return value;
}

// The innermost axis of x's memory: into one accumulator, or one each.
template <typename T>
void ReduceRun(Reduction reduction, const Axis& axis, const T* x, std::int32_t* acc) {
  if (axis.y == 0) {
    *acc = Fold(reduction, x, axis.count, *acc);
  } else if (axis.y != 1) {
    for (std::int64_t i = 0; i < axis.count; ++i) {
      acc[i * axis.y] = Fold(reduction, x + i, 1, acc[i * axis.y]);
    }
  } else if (reduction == Reduction::kSum) {
    AddRun(x, axis.count, acc);
  } else if (reduction == Reduction::kMax) {
    RaiseRun(x, axis.count, acc);
  } else {
    LowerRun(x, axis.count, acc);
  }
}

template <typename T>
void ReduceFrom(const Reducing& r, std::size_t axis, const T* x, std::int32_t* acc) {
  const Axis& here = r.axes[axis];
  if (axis + 1 == r.axes.size()) return ReduceRun(r.reduction, here, x, acc);
  for (std::int64_t i = 0; i < here.count; ++i) {
    ReduceFrom(r, axis + 1, x + i * here.x, acc + i * here.y);
  }
}

class IntegerReduce : public Step {
 public:
  IntegerReduce(Reducing reducing, Buffer* x, Buffer* y, Buffer* sums, Requantizer requantizer)
      : r_(std::move(reducing)), x_(x), y_(y), sums_(sums), requantizer_(std::move(requantizer)) {}

  static constexpr std::int64_t kBlock = 256;  // accumulators that are requantized at once

  std::string_view Path() const override { return "reduce"; }
  Result<void> Run() override {
    auto* acc = reinterpret_cast<std::int32_t*>(sums_->data);
    std::fill_n(acc, r_.results, r_.initial);
    switch (format::StorageOf(x_->type.elem_type)) {
      case ElementType::kInt8:
        ReduceFrom(r_, 0, reinterpret_cast<const std::int8_t*>(x_->data), acc);
        break;
      case ElementType::kUint8:
        ReduceFrom(r_, 0, x_->bytes(), acc);
        break;
      case ElementType::kInt16:
        ReduceFrom(r_, 0, reinterpret_cast<const std::int16_t*>(x_->data), acc);
        break;
      default:
        ReduceFrom(r_, 0, reinterpret_cast<const std::uint16_t*>(x_->data), acc);
    }
    if (r_.reduction != Reduction::kSum) {
      for (std::int64_t i = 0; i < r_.results; ++i) acc[i] -= r_.offset;
    }
    for (std::int64_t i = 0; i < r_.results; i += kBlock) {
      const std::int64_t n = std::min(kBlock, r_.results - i);
      requantizer_.Convert({.acc = acc + i, .stride = n, .columns = n, .element = i}, y_->data);
    }
    return {};
  }

 private:
  Reducing r_;
  Buffer* x_;
  Buffer* y_;
  Buffer* sums_;
  Requantizer requantizer_;
};

// Axes of x in the order of its memory, neighbours that advance alike as one.
std::vector<Axis> AxesOf(const Dims& dims, const Dims& x, const Dims& y) {
  std::vector<std::size_t> order(dims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return x[a] > x[b]; });
  std::vector<Axis> axes;
  for (const std::size_t d : order) {
    if (dims[d] == 1) continue;
    Axis* outer = axes.empty() ? nullptr : &axes.back();
    if (outer != nullptr && outer->y == dims[d] * y[d]) {
      *outer = {outer->count * dims[d], x[d], y[d]};
    } else {
      axes.push_back({dims[d], x[d], y[d]});
    }
  }
  if (axes.empty()) axes.push_back({1, 1, 0});
  return axes;
}

Result<Reduction> ReductionOf(const NodePlan& node) {
  const std::string& op = node.node().op_type;
  if (op == "ReduceSum" || op == "ReduceMean") return Reduction::kSum;
  if (op == "ReduceMax") return Reduction::kMax;
  if (op == "ReduceMin") return Reduction::kMin;
  return node.Unsupported("another reduction");
}

bool IsInteger(ElementType type) {
  const int bits = format::BitWidth(type);
  return format::IsQuantized(type) && format::IsIntegerStorage(type) && (bits == 8 || bits == 16);
}

}  // namespace

StepResult PrepareIntegerReduce(const NodePlan& node, const std::vector<bool>& reduced) {
  QTX_ASSIGN_OR_RETURN(const Tensor* x_type, node.TypeOf(0));
  if (node.arithmetic() != Arithmetic::kExact || !IsInteger(x_type->elem_type)) {
    return node.Unsupported("found " + std::string(format::Name(x_type->elem_type)) +
                            ", expected integers of 8 or 16 bits");
  }
  Reducing r;
  QTX_ASSIGN_OR_RETURN(r.reduction, ReductionOf(node));
  const bool is_signed = node.kernels().signed_bytes;
  auto input = PerTensorOf(BufferType(*x_type, is_signed));
  if (!input.has_value()) return node.Because(input.error());
  const Dims from = x_type->dims;
  const bool keep = node.Int("keepdims") != 0;
  Dims to;
  double count = 1;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (reduced[d]) count *= static_cast<double>(from[d]);
    if (!reduced[d] || keep) to.push_back(reduced[d] ? 1 : from[d]);
    r.results *= reduced[d] ? 1 : from[d];
  }
  const double largest = format::BitWidth(x_type->elem_type) == 8 ? 0x1p8 : 0x1p16;
  if (count < 1 || r.results < 1 || count * largest > 0x1p31) {
    return node.Unsupported("no elements, or more than their sum in 32 bits allows");
  }
  QTX_ASSIGN_OR_RETURN(const Tensor y_type, node.OutputType(to));
  const bool mean = node.node().op_type == "ReduceMean";
  const Channel channel{.scale = input->scale,
                        .divisor = mean ? static_cast<std::int64_t>(count) : 1};
  auto requantizer =
      Requantizer::Make(std::vector(static_cast<std::size_t>(IntegerReduce::kBlock), channel),
                        y_type, node.kernels());
  if (!requantizer.has_value()) return node.Unsupported(requantizer.error().Text());
  r.offset = input->offset;
  using Limits = std::numeric_limits<std::int32_t>;
  r.initial = r.reduction == Reduction::kMax   ? Limits::min()
              : r.reduction == Reduction::kMin ? Limits::max()
                                               : -static_cast<std::int32_t>(count) * r.offset;
  const Layout layout = node.LayoutOf(0);
  QTX_ASSIGN_OR_RETURN(Buffer * x, node.InputBuffer(0, layout));
  QTX_ASSIGN_OR_RETURN(Buffer * sums,
                       node.Scratch(r.results * static_cast<std::int64_t>(sizeof(std::int32_t))));
  QTX_ASSIGN_OR_RETURN(Buffer * y, node.OutputBuffer(to, keep ? layout : Layout::kRowMajor));
  const Dims y_strides = StridesOf(to, y->layout);
  Dims meets(from.size(), 0);
  for (std::size_t d = 0, kept = 0; d < from.size(); ++d) {
    if (reduced[d]) continue;
    meets[d] = y_strides[keep ? d : kept++];
  }
  r.axes = AxesOf(from, StridesOf(from, x->layout), meets);
  return std::make_unique<IntegerReduce>(std::move(r), x, y, sums, *std::move(requantizer));
}

}  // namespace qtx::backend::engine
