#include "engine/ops/reduction.h"

#include <cmath>
#include <utility>

#include "engine/ops/reals.h"

namespace qtx::backend::engine {
namespace {

// One position of a window after another.
class WindowTaps {
 public:
  WindowTaps(std::vector<WindowAxis> axes, bool count_padding)
      : axes_(std::move(axes)), count_padding_(count_padding) {
    format::Dims input;
    format::Dims kernel;
    for (const WindowAxis& axis : axes_) {
      input.push_back(axis.in);
      kernel.push_back(axis.kernel);
    }
    input_strides_ = format::RowMajorStrides(input);
    kernel_strides_ = format::RowMajorStrides(kernel);
  }

  std::int64_t operator()(std::int64_t position, std::vector<Pair>& taps) {
    taps.assign(1, Pair{});
    std::int64_t counted = 1;
    // Innermost axis first, as the position's remainders come; each pass puts the taps so far
    // behind every tap of its axis.
    for (std::size_t d = axes_.size(); d-- > 0; position /= axes_[d].out) {
      const Taps along = TapsAt(axes_[d], position % axes_[d].out);
      counted *= along.counted;
      inner_.swap(taps);
      taps.clear();
      for (std::int64_t i = 0; i < along.count; ++i) {
        const Pair base{(along.first + i * along.step) * input_strides_[d],
                        (along.tap + i) * kernel_strides_[d]};
        for (const Pair& tap : inner_) taps.push_back({base.a + tap.a, base.b + tap.b});
      }
    }
    const auto inside = static_cast<std::int64_t>(taps.size());
    return std::max<std::int64_t>(count_padding_ ? counted : inside, 1);
  }

 private:
  std::vector<WindowAxis> axes_;
  bool count_padding_;
  format::Dims input_strides_, kernel_strides_;
  std::vector<Pair> inner_;
};

Result<void> CheckWork(const NodePlan& node, const Walk& walk) {
  if (walk.terms <= static_cast<double>(kMostTerms)) return {};
  return node.Unsupported("more than " + std::to_string(kMostTerms) +
                          " terms where there is no kernel");
}

class SumStep : public Step {
 public:
  SumStep(Sum sum, Walk walk, Value* y) : sum_(std::move(sum)), walk_(std::move(walk)), y_(y) {}

  Result<void> Run() override {
    if (walk_.planes.empty()) return {};
    const std::vector<Term> a = RealsOf(sum_.a->tensor);
    const std::vector<Term> b = sum_.b != nullptr ? RealsOf(sum_.b->tensor) : std::vector<Term>();
    const std::vector<Term> addend =
        sum_.addend != nullptr ? RealsOf(sum_.addend->tensor) : std::vector<Term>();
    RealWriter writer(y_->tensor);
    std::vector<Pair> taps;
    std::vector<Term> terms;
    for (std::int64_t position = 0; position < walk_.positions; ++position) {
      const std::int64_t divisor = walk_.taps_at(position, taps);
      for (std::size_t p = 0; p < walk_.planes.size(); ++p) {
        terms.clear();
        for (const Pair& tap : taps) AppendTap(walk_.planes[p], tap, a, b, terms);
        if (sum_.addend != nullptr) {
          const auto i = static_cast<std::size_t>(sum_.addend_index[p]);
          AppendProduct(addend[i], kOne, sum_.addend_factor, terms);
        }
        const std::int64_t element = static_cast<std::int64_t>(p) * walk_.positions + position;
        writer.Put(element, terms, divisor);
      }
    }
    writer.Finish();
    return {};
  }

 private:
  static constexpr Term kOne{1, 1};

  void AppendTap(const Pair& plane, const Pair& tap, const std::vector<Term>& a,
                 const std::vector<Term>& b, std::vector<Term>& terms) const {
    const Term& left = a[static_cast<std::size_t>(plane.a + tap.a)];
    const Term& right = b.empty() ? kOne : b[static_cast<std::size_t>(plane.b + tap.b)];
    AppendProduct(left, right, sum_.factor, terms);
  }

  Sum sum_;
  Walk walk_;
  Value* y_;
};

class GreatestStep : public Step {
 public:
  GreatestStep(const Value* a, Walk walk, Value* y) : a_(a), walk_(std::move(walk)), y_(y) {}

  Result<void> Run() override {
    if (walk_.planes.empty()) return {};
    const std::vector<Term> reals = RealsOf(a_->tensor);
    RealWriter writer(y_->tensor);
    std::vector<Pair> taps;
    for (std::int64_t position = 0; position < walk_.positions; ++position) {
      walk_.taps_at(position, taps);
      for (std::size_t p = 0; p < walk_.planes.size(); ++p) {
        const Term greatest = Greatest(reals, walk_.planes[p].a, taps);
        const std::int64_t element = static_cast<std::int64_t>(p) * walk_.positions + position;
        writer.Put(element, {&greatest, 1});
      }
    }
    writer.Finish();
    return {};
  }

 private:
  static Term Greatest(const std::vector<Term>& reals, std::int64_t plane,
                       const std::vector<Pair>& taps) {
    Term greatest = reals[static_cast<std::size_t>(plane + taps[0].a)];
    for (const Pair& tap : taps) {
      const Term& real = reals[static_cast<std::size_t>(plane + tap.a)];
      if (std::isnan(real.integer * real.scale)) return real;
      if (Less(greatest, real)) greatest = real;
    }
    return greatest;
  }

  const Value* a_;
  Walk walk_;
  Value* y_;
};

}  // namespace

Result<Walk> WalkOf(const NodePlan& node, std::vector<WindowAxis> axes, bool count_padding) {
  Walk walk;
  double kernel = 1;
  walk.terms = 1;
  for (const WindowAxis& axis : axes) {
    walk.positions *= axis.out;  // y was given that many elements
    kernel *= static_cast<double>(axis.kernel);
    std::int64_t taps = 0;
    for (std::int64_t out = 0; out < axis.out; ++out) taps += TapsAt(axis, out).count;
    walk.terms *= static_cast<double>(taps);
  }
  if (kernel >= 0x1p52) return node.Unsupported("a window this large");
  walk.taps_at = WindowTaps(std::move(axes), count_padding);
  return walk;
}

StepResult MakeSum(const NodePlan& node, Sum sum, Walk walk, Value* y) {
  QTX_RETURN_IF_ERROR(CheckWork(node, walk));
  for (const Value* value : {sum.a, sum.b, sum.addend, static_cast<const Value*>(y)}) {
    if (value != nullptr) QTX_RETURN_IF_ERROR(CheckReals(node, *value));
  }
  return std::make_unique<SumStep>(std::move(sum), std::move(walk), y);
}

StepResult MakeGreatest(const NodePlan& node, const Value* a, Walk walk, Value* y) {
  QTX_RETURN_IF_ERROR(CheckWork(node, walk));
  QTX_RETURN_IF_ERROR(CheckReals(node, *a));
  QTX_RETURN_IF_ERROR(CheckReals(node, *y));
  return std::make_unique<GreatestStep>(a, std::move(walk), y);
}

}  // namespace qtx::backend::engine
