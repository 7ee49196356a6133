#include "engine/ops/float_pool.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/ops/float_mean.h"
#include "engine/ops/reals.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

constexpr std::int64_t kFewest = 4;  // elements of a line

std::size_t At(std::int64_t i) { return static_cast<std::size_t>(i); }
std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The elements of a line of y that tap `tap` of their window reaches inside the input: from `first`
// up to `end`; the first of them reads element `from` of the input's line, each next one `stride`
// further.
struct Reached {
  std::int64_t first = 0, end = 0, from = 0;

  Reached(const WindowAxis& axis, std::int64_t tap) {
    const std::int64_t shift = axis.pad_begin - tap * axis.dilation;
    first = shift > 0 ? CeilDivide(shift, axis.stride) : 0;
    const std::int64_t last = axis.input - 1 + shift;  // of the input, in positions of windows
    end = last < 0 ? 0 : std::min(axis.output, last / axis.stride + 1);
    from = first * axis.stride - shift;
  }
};

// The greatest element so far of each window of a line, or NaN.
class MaxLine {
 public:
  explicit MaxLine(std::int64_t length) : greatest_(At(length)) {}
  void Begin() { std::ranges::fill(greatest_, -std::numeric_limits<float>::infinity()); }

  template <int kStride>
  void Add(const float* from, std::int64_t stride, std::int64_t first, std::int64_t end) {
    const std::int64_t step = kStride == 0 ? stride : kStride;
    float* to = greatest_.data();
    for (std::int64_t i = first; i < end; ++i) {
      const float value = from[(i - first) * step];
      to[i] = to[i] < value || value != value ? value : to[i];  // NaN stays: nothing is above it
    }
  }
  const std::vector<float>& greatest() const { return greatest_; }

 private:
  std::vector<float> greatest_;
};

class MeanLine {
 public:
  explicit MeanLine(std::int64_t length) : sums_(At(length)) {}
  void Begin() { std::ranges::fill(sums_, CompensatedSum()); }

  template <int kStride>
  void Add(const float* from, std::int64_t stride, std::int64_t first, std::int64_t end) {
    const std::int64_t step = kStride == 0 ? stride : kStride;
    for (std::int64_t i = first; i < end; ++i) sums_[At(i)].Add(from[(i - first) * step]);
  }
  const CompensatedSum& at(std::int64_t i) const { return sums_[At(i)]; }

 private:
  std::vector<CompensatedSum> sums_;
};

// Windows whose lines may be columns of the tensors: x is the axis along a line.
struct Lines {
  Window window;
  bool columns = false;

  // From an element to the next of its line, and from a line to the next, in tensors of `across`
  // elements a row.
  std::int64_t Step(std::int64_t across) const { return columns ? across : 1; }
  std::int64_t Pitch(std::int64_t across) const { return columns ? 1 : across; }
  const WindowAxis& Rows() const { return columns ? window.y : window.x; }
};

template <typename Line>
class FloatPool : public Step {
 public:
  FloatPool(const NodePlan& node, const Lines& lines, std::int64_t planes, const Value* x, Value* y)
      : window_(lines.window),
        step_(lines.Step(lines.Rows().input)),
        pitch_(lines.Pitch(lines.Rows().input)),
        y_step_(lines.Step(lines.Rows().output)),
        y_pitch_(lines.Pitch(lines.Rows().output)),
        planes_(planes),
        x_(x),
        y_(y),
        threads_(node.threads()) {
    for (std::int64_t tap = 0; tap < window_.x.kernel; ++tap) reached_.emplace_back(window_.x, tap);
  }

  std::string_view Path() const override { return "float pool"; }
  Result<void> Run() override {
    const std::int64_t work =
        planes_ * window_.y.output * window_.x.output * window_.y.kernel * window_.x.kernel;
    threads_.For(planes_, work, [&](std::int64_t plane) {
      Line line(window_.x.output);
      for (std::int64_t oy = 0; oy < window_.y.output; ++oy) RunLine(plane, oy, line);
    });
    return {};
  }

 protected:
  virtual void Put(const Line& line, std::int64_t plane, std::int64_t oy, float* to) = 0;
  const float* Plane(std::int64_t plane) const {
    return x_->tensor.As<float>().data() + plane * window_.y.input * window_.x.input;
  }

  Window window_;
  std::int64_t step_, pitch_;      // of x: see Lines
  std::int64_t y_step_, y_pitch_;  // of y
  std::int64_t planes_;
  const Value* x_;
  Value* y_;

 private:
  void RunLine(std::int64_t plane, std::int64_t oy, Line& line) {
    const std::int64_t stride = window_.x.stride * step_;
    const Taps rows = TapsAt(window_.y, oy);
    line.Begin();
    for (std::int64_t r = rows.first; r < rows.end; r += rows.step) {
      const float* from = Plane(plane) + r * pitch_;
      for (const Reached& part : reached_) {
        if (part.first >= part.end) continue;
        if (stride == 1) {
          line.template Add<1>(from + part.from * step_, 1, part.first, part.end);
        } else if (stride == 2) {
          line.template Add<2>(from + part.from * step_, 2, part.first, part.end);
        } else {
          line.template Add<0>(from + part.from * step_, stride, part.first, part.end);
        }
      }
    }
    const std::int64_t first = plane * window_.y.output * window_.x.output + oy * y_pitch_;
    Put(line, plane, oy, y_->tensor.As<float>().data() + first);
  }

  Threads& threads_;
  std::vector<Reached> reached_;  // by each tap along a line
};

class FloatMaxPool : public FloatPool<MaxLine> {
 public:
  using FloatPool::FloatPool;

 private:
  void Put(const MaxLine& line, std::int64_t, std::int64_t, float* to) override {
    for (const float greatest : line.greatest()) {
      *to = greatest;
      to += y_step_;
    }
  }
};

class FloatAveragePool : public FloatPool<MeanLine> {
 public:
  FloatAveragePool(const NodePlan& node, const Lines& lines, std::int64_t planes,
                   bool count_padding, const Value* x, Value* y)
      : FloatPool(node, lines, planes, x, y), count_padding_(count_padding), writer_(y->tensor) {
    const WindowAxis& along = lines.window.x;
    for (std::int64_t ox = 0; ox < along.output; ++ox) columns_.push_back(TapsAt(along, ox));
  }

 private:
  void Put(const MeanLine& line, std::int64_t plane, std::int64_t oy, float* to) override {
    const Taps rows = TapsAt(window_.y, oy);
    for (std::int64_t ox = 0; ox < window_.x.output; ++ox) {
      const Taps& columns = columns_[At(ox)];
      const std::int64_t terms = rows.count * columns.count;
      const std::int64_t divisor =
          std::max<std::int64_t>(count_padding_ ? rows.counted * columns.counted : terms, 1);
      const BoundedMean mean = MeanOf(line.at(ox), terms, divisor);
      const auto low = static_cast<float>(mean.value - mean.error);
      const auto high = static_cast<float>(mean.value + mean.error);
      to[ox * y_step_] = high;
      if (!(low == high)) PutExactly(to + ox * y_step_, plane, rows, columns, divisor);
    }
  }

  void PutExactly(float* to, std::int64_t plane, const Taps& rows, const Taps& columns,
                  std::int64_t divisor) {
    const std::lock_guard lock(exactly_);
    terms_.clear();
    for (std::int64_t r = rows.first; r < rows.end; r += rows.step) {
      for (std::int64_t c = columns.first; c < columns.end; c += columns.step) {
        terms_.push_back({1, Plane(plane)[r * pitch_ + c * step_]});
      }
    }
    writer_.Put(to - y_->tensor.As<float>().data(), terms_, divisor);
  }

  bool count_padding_;
  std::vector<Taps> columns_;
  std::mutex exactly_;
  RealWriter writer_;
  std::vector<Term> terms_;
};

// The lines of a pool of FLOAT if they have some length: columns where rows are short.
std::optional<Lines> LinesOf(const NodePlan& node, const PoolShape& pool, const Value* x,
                             const Value* y) {
  constexpr std::int64_t kMostTaps = 1 << 12;  // along a line
  const auto window = WindowOf(node, pool.axes);
  if (!window.has_value() || !IsFloat(*x) || !IsFloat(*y)) return std::nullopt;
  Lines lines{.window = *window, .columns = window->x.output < kFewest};
  if (lines.columns) std::swap(lines.window.x, lines.window.y);
  const WindowAxis& along = lines.window.x;
  if (along.output < kFewest || along.kernel > kMostTaps) return std::nullopt;
  return lines;
}

}  // namespace

std::unique_ptr<Step> MakeFloatMaxPool(const NodePlan& node, const PoolShape& pool, const Value* x,
                                       Value* y) {
  const auto lines = LinesOf(node, pool, x, y);
  if (!lines.has_value()) return nullptr;
  return std::make_unique<FloatMaxPool>(node, *lines, pool.planes, x, y);
}

std::unique_ptr<Step> MakeFloatAveragePool(const NodePlan& node, const PoolShape& pool,
                                           bool count_padding, const Value* x, Value* y) {
  const auto lines = LinesOf(node, pool, x, y);
  if (!lines.has_value()) return nullptr;
  return std::make_unique<FloatAveragePool>(node, *lines, pool.planes, count_padding, x, y);
}

}  // namespace qtx::backend::engine
