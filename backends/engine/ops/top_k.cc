// ArgMax, ArgMin, TopK: indices of elements, compared as exact reals.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/indexing.h"
#include "engine/ops/operators.h"
#include "engine/ops/select.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;
using format::ElementType;
using format::Tensor;

std::vector<Number> RowOf(const NumberReader& x, const AxisRows& rows, std::int64_t row) {
  std::vector<Number> numbers;
  const std::int64_t first = rows.First(row);
  for (std::int64_t i = 0; i < rows.length; ++i) numbers.push_back(x(first + i * rows.stride));
  return numbers;
}

Result<void> CheckComparable(const NodePlan& node, const Value* x) {
  return CheckTypes(node, std::span(&x, 1), std::span<const Value* const>(), Plain::kNumbers);
}

class ArgExtreme : public Step {
 public:
  ArgExtreme(const Value* x, Value* y, AxisRows rows, bool least, bool last)
      : x_(x), y_(y), rows_(rows), least_(least), last_(last), stored_(IsOrdered(x->tensor)) {}

  std::string_view Path() const override { return stored_ ? "arg extreme" : kGeneralPath; }
  Result<void> Run() override {
    // Stored integers of one scale are in the order of their reals.
    if (stored_ && x_->tensor.elem_type == ElementType::kInt8Q) return RunStored<std::int8_t>();
    if (stored_ && x_->tensor.elem_type == ElementType::kUint8Q) return RunStored<std::uint8_t>();
    if (stored_) return RunStored<std::int16_t>();
    const NumberReader x(x_->tensor);
    for (std::int64_t row = 0; row < rows_.count(); ++row) {
      y_->tensor.As<std::int64_t>()[static_cast<std::size_t>(row)] = Place(RowOf(x, rows_, row));
    }
    return {};
  }

 private:
  template <typename T>
  Result<void> RunStored() {
    const auto* stored = reinterpret_cast<const T*>(x_->tensor.bytes.data());
    const auto y = y_->tensor.As<std::int64_t>();
    for (std::int64_t row = 0; row < rows_.count(); ++row) {
      const T* values = stored + rows_.First(row);
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < rows_.length; ++i) {
        const T a = values[i * rows_.stride];
        const T b = values[best * rows_.stride];
        if ((least_ ? a < b : b < a) || (last_ && a == b)) best = i;
      }
      y[static_cast<std::size_t>(row)] = best;
    }
    return {};
  }

  static bool IsOrdered(const Tensor& tensor) {
    const bool known = tensor.elem_type == ElementType::kInt8Q ||
                       tensor.elem_type == ElementType::kUint8Q ||
                       tensor.elem_type == ElementType::kInt16Q;
    return known && PerTensorOf(tensor).has_value();
  }

  std::int64_t Place(const std::vector<Number>& row) const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < row.size(); ++i) {
      if (Beats(row[i], row[best])) best = i;
    }
    return static_cast<std::int64_t>(best);
  }

  // Whether `a`, which comes later, takes the place of `b`.
  bool Beats(const Number& a, const Number& b) const {
    if (b.nan()) return a.nan() && last_;
    if (a.nan()) return true;
    return (least_ ? a < b : b < a) || (last_ && a == b);
  }

  const Value* x_;
  Value* y_;
  AxisRows rows_;
  bool least_, last_, stored_;
};

// The places along the axis that TopK names, in its order.
class TopK {
 public:
  TopK(const Value* x, AxisRows rows, std::int64_t k, bool largest)
      : x_(x), rows_(rows), k_(k), largest_(largest) {}

  /// Calls visit(element of the outputs, place along the axis, element of x).
  template <typename Visit>
  void ForEach(Visit visit) const {
    const NumberReader x(x_->tensor);
    for (std::int64_t row = 0; row < rows_.count(); ++row) {
      const std::vector<Number> numbers = RowOf(x, rows_, row);
      std::vector<std::size_t> places(numbers.size());
      std::iota(places.begin(), places.end(), std::size_t{0});
      std::ranges::stable_sort(places, [&](std::size_t a, std::size_t b) {
        return largest_ ? Greater(numbers[a], numbers[b]) : Greater(numbers[b], numbers[a]);
      });
      for (std::int64_t i = 0; i < k_; ++i) {
        const auto place = static_cast<std::int64_t>(places[static_cast<std::size_t>(i)]);
        visit(rows_.First(row, k_) + i * rows_.stride, place,
              rows_.First(row) + place * rows_.stride);
      }
    }
  }

 private:
  // NaN is greater than every number.
  static bool Greater(const Number& a, const Number& b) { return a.nan() ? !b.nan() : b < a; }

  const Value* x_;
  AxisRows rows_;
  std::int64_t k_;
  bool largest_;
};

class TopKIndices : public Step {
 public:
  TopKIndices(TopK top, Value* indices) : top_(top), indices_(indices) {}
  Result<void> Run() override {
    const auto to = indices_->tensor.As<std::int64_t>();
    top_.ForEach([&](std::int64_t element, std::int64_t place, std::int64_t) {
      to[static_cast<std::size_t>(element)] = place;
    });
    return {};
  }

 private:
  TopK top_;
  Value* indices_;
};

}  // namespace

StepResult PrepareArgExtreme(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_RETURN_IF_ERROR(CheckComparable(node, x));
  Dims dims = x->tensor.dims;
  const std::size_t axis = AxisOf(node.Int("axis"), dims.size());
  const AxisRows rows = RowsOf(dims, axis);
  QTX_ASSIGN_OR_RETURN(dims, node.InferredDims());
  QTX_ASSIGN_OR_RETURN(Value * y, node.OutputOfType(std::move(dims), ElementType::kInt64));
  return std::make_unique<ArgExtreme>(x, y, rows, node.node().op_type == "ArgMin",
                                      node.Int("select_last_index") != 0);
}

StepResult PrepareTopK(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Value* x, node.Input(0));
  QTX_RETURN_IF_ERROR(CheckComparable(node, x));
  Dims dims = x->tensor.dims;
  const std::size_t axis = AxisOf(node.Int("axis"), dims.size());
  const AxisRows rows = RowsOf(dims, axis);
  QTX_ASSIGN_OR_RETURN(const auto k, node.ConstantIntegers(1));
  dims[axis] = k[0];
  const TopK top(x, rows, k[0], node.Int("largest") != 0);
  std::vector<std::unique_ptr<Step>> steps;
  if (node.HasOutput(0)) {
    QTX_ASSIGN_OR_RETURN(Value * values, node.OutputAt(0, dims, x->tensor));
    QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&x, 1), values, Plain::kNumbers));
    const std::int64_t count = format::ElementCount(values->tensor);
    const auto sources = [top, count]() -> Result<Sources> {
      Sources from(static_cast<std::size_t>(count));
      top.ForEach([&](std::int64_t element, std::int64_t, std::int64_t source) {
        from[static_cast<std::size_t>(element)] = source;
      });
      return from;
    };
    QTX_ASSIGN_OR_RETURN(auto step, MakeSelection({x}, values, sources, std::span(&x, 1)));
    steps.push_back(std::move(step));
  }
  if (node.HasOutput(1)) {
    QTX_ASSIGN_OR_RETURN(Value * indices,
                         node.OutputAt(1, dims, {.elem_type = ElementType::kInt64}));
    steps.push_back(std::make_unique<TopKIndices>(top, indices));
  }
  return MakeSequence(std::move(steps));
}

}  // namespace qtx::backend::engine
