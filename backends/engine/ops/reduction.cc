#include "engine/ops/reduction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/elements.h"
#include "engine/ops/conversion.h"
#include "engine/ops/float_mean.h"
#include "engine/ops/float_sum.h"
#include "engine/ops/function.h"
#include "engine/ops/reals.h"
#include "engine/ops/types.h"
#include "engine/product_epilogue.h"

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
      input.push_back(axis.input);
      kernel.push_back(axis.kernel);
    }
    input_strides_ = format::RowMajorStrides(input);
    kernel_strides_ = format::RowMajorStrides(kernel);
  }

  std::int64_t operator()(std::int64_t position, std::vector<Pair>& taps) {
    taps.assign(1, Pair{});
    std::int64_t counted = 1;
    // From the last axis to the first: each pass repeats the taps of the axes after it for every
    // tap of its own axis.
    for (std::size_t d = axes_.size(); d-- > 0; position /= axes_[d].output) {
      const Taps along = TapsAt(axes_[d], position % axes_[d].output);
      counted *= along.counted;
      last_axes_.swap(taps);
      taps.clear();
      for (std::int64_t i = 0; i < along.count; ++i) {
        const Pair base{(along.first + i * along.step) * input_strides_[d],
                        (along.tap + i) * kernel_strides_[d]};
        for (const Pair& tap : last_axes_) taps.push_back({base.a + tap.a, base.b + tap.b});
      }
    }
    const auto inside = static_cast<std::int64_t>(taps.size());
    return std::max<std::int64_t>(count_padding_ ? counted : inside, 1);
  }

 private:
  std::vector<WindowAxis> axes_;
  bool count_padding_;
  format::Dims input_strides_, kernel_strides_;
  std::vector<Pair> last_axes_;
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
          AppendProduct(addend[i], {1, sum_.addend_unit}, sum_.addend_factor, terms);
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

// Calls visit(element of y, plane, taps, divisor) for all elements.
template <typename Visit>
void ForEachElement(Walk& walk, Visit visit) {
  std::vector<Pair> taps;
  for (std::int64_t position = 0; position < walk.positions && !walk.planes.empty(); ++position) {
    const std::int64_t divisor = walk.taps_at(position, taps);
    for (std::size_t p = 0; p < walk.planes.size(); ++p) {
      visit(static_cast<std::int64_t>(p) * walk.positions + position, p, taps, divisor);
    }
  }
}

// The same sum over numbers, for types whose elements do not fit terms.
class NumberSum : public Step {
 public:
  NumberSum(Sum sum, Walk walk, Value* y) : sum_(std::move(sum)), walk_(std::move(walk)), y_(y) {}

  Result<void> Run() override {
    const NumberReader a(sum_.a->tensor);
    const NumberReader b((sum_.b != nullptr ? sum_.b : sum_.a)->tensor);
    const NumberReader addend((sum_.addend != nullptr ? sum_.addend : sum_.a)->tensor);
    const Number factor = Number::OfDouble(sum_.factor);
    const Number addend_factor =
        Number::OfDouble(sum_.addend_factor) * Number::OfDouble(sum_.addend_unit);
    NumberWriter writer(y_->tensor);
    ForEachElement(walk_, [&](std::int64_t element, std::size_t p, const std::vector<Pair>& taps,
                              std::int64_t divisor) {
      Number total;
      for (const Pair& tap : taps) {
        const Number left = a(walk_.planes[p].a + tap.a);
        total = total + (sum_.b != nullptr ? left * b(walk_.planes[p].b + tap.b) : left);
      }
      total = factor * total;
      if (sum_.addend != nullptr) total = total + addend_factor * addend(sum_.addend_index[p]);
      writer.Put(element, total / Number::Of(divisor));
    });
    return {};
  }

 private:
  Sum sum_;
  Walk walk_;
  Value* y_;
};

class ExtremeStep : public Step {
 public:
  ExtremeStep(Extreme extreme, Walk walk, Value* y)
      : extreme_(extreme), walk_(std::move(walk)), y_(y) {}

  Result<void> Run() override {
    const NumberReader a(extreme_.a->tensor);
    NumberWriter writer(y_->tensor);
    ForEachElement(walk_, [&](std::int64_t element, std::size_t p, const std::vector<Pair>& taps,
                              std::int64_t) {
      const auto [number, from] = Winner(a, walk_.planes[p].a, taps);
      writer.Put(element, number);
      if (extreme_.indices != nullptr) {
        extreme_.indices->tensor.As<std::int64_t>()[static_cast<std::size_t>(element)] = from;
      }
    });
    return {};
  }

 private:
  std::pair<Number, std::int64_t> Winner(const NumberReader& a, std::int64_t plane,
                                         const std::vector<Pair>& taps) const {
    std::pair<Number, std::int64_t> best{Number::Infinity(extreme_.least ? 1 : -1), plane};
    // To BOOL an infinity of either sign is true.
    if (y_->tensor.elem_type == format::ElementType::kBool) {
      best.first = Number::Of(extreme_.least ? 1 : 0);
    }
    for (std::size_t i = 0; i < taps.size(); ++i) {
      const std::int64_t from = plane + taps[i].a;
      Number number = a(from);
      const bool wins = extreme_.least ? number < best.first : best.first < number;
      if (i == 0 || wins || number.nan()) best = {std::move(number), from};
      if (best.first.nan()) break;
    }
    return best;
  }

  Extreme extreme_;
  Walk walk_;
  Value* y_;
};

// The greatest of terms, without big numbers.
class GreatestStep : public Step {
 public:
  GreatestStep(const Value* a, Walk walk, Value* y, const ChangeRule& rule)
      : a_(a), walk_(std::move(walk)), y_(y), rule_(rule) {}

  Result<void> Run() override {
    if (walk_.planes.empty()) return {};
    const std::vector<Term> reals = RealsOf(a_->tensor);
    std::vector<Term> greatest(walk_.planes.size() * static_cast<std::size_t>(walk_.positions));
    ForEachElement(walk_, [&](std::int64_t element, std::size_t p, const std::vector<Pair>& taps,
                              std::int64_t) {
      greatest[static_cast<std::size_t>(element)] = Greatest(reals, walk_.planes[p].a, taps);
    });
    StoreChanged(rule_, greatest, y_->tensor);
    return {};
  }

 private:
  static Term Greatest(const std::vector<Term>& reals, std::int64_t plane,
                       const std::vector<Pair>& taps) {
    Term greatest{1, -std::numeric_limits<double>::infinity()};
    for (std::size_t i = 0; i < taps.size(); ++i) {
      const Term& real = reals[static_cast<std::size_t>(plane + taps[i].a)];
      if (std::isnan(real.integer * real.scale)) return real;
      if (i == 0 || Less(greatest, real)) greatest = real;
    }
    return greatest;
  }

  const Value* a_;
  Walk walk_;
  Value* y_;
  ChangeRule rule_;
};

// The greatest FLOAT of each window.
class GreatestFloat : public Step {
 public:
  GreatestFloat(const Value* a, Walk walk, Value* y) : a_(a), walk_(std::move(walk)), y_(y) {}

  std::string_view Path() const override { return "floats"; }
  Result<void> Run() override {
    const float* a = a_->tensor.As<float>().data();
    float* y = y_->tensor.As<float>().data();
    ForEachElement(walk_, [&](std::int64_t element, std::size_t p, const std::vector<Pair>& taps,
                              std::int64_t) {
      float greatest = -std::numeric_limits<float>::infinity();
      const float* plane = a + walk_.planes[p].a;
      for (const Pair& tap : taps) {
        const float value = plane[tap.a];
        if (greatest < value || std::isnan(value))
          greatest = value;  // NaN stays: nothing is above it
      }
      y[element] = greatest;
    });
    return {};
  }

 private:
  const Value* a_;
  Walk walk_;
  Value* y_;
};

class NormStep : public Step {
 public:
  NormStep(const Value* a, std::int64_t p, Walk walk, Value* y)
      : a_(a), p_(p), walk_(std::move(walk)), y_(y) {}

  Result<void> Run() override {
    const NumberReader a(a_->tensor);
    NumberWriter writer(y_->tensor);
    ForEachElement(walk_, [&](std::int64_t element, std::size_t plane,
                              const std::vector<Pair>& taps, std::int64_t) {
      Number sum;
      for (const Pair& tap : taps) sum = sum + Power(a(walk_.planes[plane].a + tap.a));
      writer.Put(element, RootOf(sum, static_cast<unsigned long>(p_)));
    });
    return {};
  }

 private:
  Number Power(const Number& x) const {
    if (!x.finite()) return Magnitude(x);
    return Number(*IntegerPower(abs(x.value()), p_));  // of at most 64 times its bits
  }

  const Value* a_;
  std::int64_t p_;
  Walk walk_;
  Value* y_;
};

// True if all types fit terms: not DOUBLE, FLOAT16, BFLOAT16 or plain integers.
bool AreTerms(std::initializer_list<const Value*> values) {
  return std::ranges::all_of(values, [](const Value* value) {
    return value == nullptr || IsRealOutput(value->tensor.elem_type);
  });
}

}  // namespace

Result<Walk> WalkOf(const NodePlan& node, std::vector<WindowAxis> axes, bool count_padding) {
  Walk walk;
  double kernel = 1;
  walk.terms = 1;
  for (const WindowAxis& axis : axes) {
    walk.positions *= axis.output;  // y was given that many elements
    kernel *= static_cast<double>(axis.kernel);
    std::int64_t taps = 0;
    for (std::int64_t out = 0; out < axis.output; ++out) taps += TapsAt(axis, out).count;
    walk.terms *= static_cast<double>(taps);
  }
  if (kernel >= 0x1p52) return node.Unsupported("a window this large");
  walk.taps_at = WindowTaps(std::move(axes), count_padding);
  return walk;
}

namespace {

StepResult MakeMean(const NodePlan& node, Sum sum, Walk walk, Value* y) {
  if (node.arithmetic() == Arithmetic::kFloat32) {
    return MakeFloatSum(std::move(sum), std::move(walk), y);
  }
  if (!sum.counts_padding && AveragesStored(node.arithmetic(), sum.a->tensor, y->tensor)) {
    return MakeStoredMean(sum.a, std::move(walk), y);
  }
  if (TakesFloatMean(node, sum, *y)) {
    return MakeFloatMean(node, std::move(sum), std::move(walk), y);
  }
  return std::make_unique<SumStep>(std::move(sum), std::move(walk), y);
}

}  // namespace

StepResult MakeSum(const NodePlan& node, Sum sum, Walk walk, Value* y) {
  QTX_RETURN_IF_ERROR(CheckWork(node, walk));
  std::vector<const Value*> inputs;
  for (const Value* value : {sum.a, sum.b, sum.addend}) {
    if (value != nullptr) inputs.push_back(value);
  }
  QTX_RETURN_IF_ERROR(CheckTypes(node, inputs, y, sum.plain));
  if (!AreTerms({sum.a, sum.b, sum.addend, y})) {
    if (node.arithmetic() != Arithmetic::kExact && IsRealOutput(y->tensor.elem_type)) {
      return node.Unsupported("sums of FLOAT16 or BFLOAT16 in an arithmetic other than exact");
    }
    return std::make_unique<NumberSum>(std::move(sum), std::move(walk), y);
  }
  if (sum.b == nullptr) {
    return MakeMean(node, std::move(sum), std::move(walk), y);
  }
  if (TakesFloatMean(node, sum, *y)) {
    return MakeFloatMean(node, std::move(sum), std::move(walk), y);
  }
  const ProductRoles roles{
      .channel_axis = sum.channel_axis, .alpha = sum.factor, .beta = sum.addend_factor};
  QTX_ASSIGN_OR_RETURN(const auto epilogue, EpilogueOf(node, roles, y->tensor));
  if (!epilogue.has_value()) return MakeFloatSum(std::move(sum), std::move(walk), y);
  if (!epilogue->is_exact()) {
    return MakeIntegerSum(node, std::move(sum), std::move(walk), y, *epilogue);
  }
  return std::make_unique<SumStep>(std::move(sum), std::move(walk), y);
}

StepResult MakeExtreme(const NodePlan& node, Extreme extreme, Walk walk, Value* y) {
  QTX_RETURN_IF_ERROR(CheckWork(node, walk));
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&extreme.a, 1), y, extreme.plain));
  const ChangeRule rule =
      RuleFor(node.arithmetic(), Purpose::kSelect, extreme.a->tensor, y->tensor);
  const bool greatest = !extreme.least && extreme.indices == nullptr;
  if (greatest && IsFloat(*extreme.a) && IsFloat(*y) && rule.copies()) {
    return std::make_unique<GreatestFloat>(extreme.a, std::move(walk), y);
  }
  if (greatest && AreTerms({extreme.a, y})) {
    return std::make_unique<GreatestStep>(extreme.a, std::move(walk), y, rule);
  }
  if (rule.in_binary32()) return node.Unsupported("a change of type beside a greatest element");
  return std::make_unique<ExtremeStep>(extreme, std::move(walk), y);
}

StepResult MakeNorm(const NodePlan& node, const Value* a, std::int64_t p, Walk walk, Value* y,
                    Plain plain) {
  QTX_RETURN_IF_ERROR(CheckWork(node, walk));
  QTX_RETURN_IF_ERROR(CheckTypes(node, std::span(&a, 1), y, plain));
  return std::make_unique<NormStep>(a, p, std::move(walk), y);
}

}  // namespace qtx::backend::engine
