#include "engine/ops/real_product.h"

#include <algorithm>
#include <array>

#include "engine/ops/binary32.h"
#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;
using format::Tensor;

constexpr std::size_t At(std::int64_t i) { return static_cast<std::size_t>(i); }

// A difference of 17 bits times a scale of 24 is a binary64.
bool IsOperand(const Tensor& tensor) {
  if (tensor.elem_type == ElementType::kFloat) return true;
  const ElementType storage = format::StorageOf(tensor.elem_type);
  return storage != tensor.elem_type && format::IsIntegerStorage(storage) &&
         format::BitWidth(storage) <= 16;
}

bool HasRealOperands(const Sum& sum, const Value& y) {
  return IsFloat(y) && IsOperand(sum.a->tensor) && IsOperand(sum.b->tensor) &&
         (sum.addend == nullptr || IsFloat(*sum.addend)) && sum.factor == 1 &&
         sum.addend_factor == 1 && sum.addend_unit == 1;
}

}  // namespace

bool TakesRealProducts(const NodePlan& node, const Sum& sum, const Value& y) {
  return node.arithmetic() == Arithmetic::kExact && HasRealOperands(sum, y);
}

bool TakesFloatProducts(const NodePlan& node, const Sum& sum, const Value& y) {
  return node.arithmetic() == Arithmetic::kFloat32 && HasRealOperands(sum, y) &&
         (IsFloat(*sum.a) || IsFloat(*sum.b));
}

std::vector<double> RealResults::Load(const Tensor& tensor) {
  if (tensor.elem_type == ElementType::kFloat) {
    const auto floats = tensor.As<float>();
    return {floats.begin(), floats.end()};
  }
  std::vector<double> doubles;
  for (const Term& term : RealsOf(tensor)) doubles.push_back(term.integer * term.scale);
  return doubles;
}

void RealResults::Begin() {
  writer_.emplace(y_->tensor);
  if (!sum_.a->constant) a_.reset();
  if (!sum_.b->constant) b_.reset();
}

// Each product and each sum has a relative error of at most 2^-53 of the magnitudes before it
// (Higham, Accuracy and Stability of Numerical Algorithms, 3.1): terms + 1 of them and one of a
// factor, twice for what is of second order, for the rounding of the bound itself and of the sums'
// ends in Settle.
double RealResults::Bound(std::int64_t terms, double products, double addend) {
  return static_cast<double>(2 * terms + 8) * 0x1p-53 * (products + addend);
}

bool RealResults::PutSum(std::int64_t element, const CompensatedSum& sum, std::int64_t terms) {
  if (!exact_products_) return false;
  const BoundedMean value = MeanOf(sum, terms + 1, 1);
  const auto low = static_cast<float>(value.value - value.error);
  const auto high = static_cast<float>(value.value + value.error);
  if (!(low == high)) return false;
  y()[element] = high;
  return true;
}

Term RealResults::TermAt(const Value& value, std::optional<std::vector<Term>>& reals,
                         std::int64_t i) const {
  if (value.tensor.elem_type == ElementType::kFloat) return {1, value.tensor.As<float>()[At(i)]};
  if (!reals.has_value()) reals = RealsOf(value.tensor);
  return (*reals)[At(i)];
}

void RealResults::PutExactly(std::int64_t element) {
  const std::lock_guard lock(*exactly_);
  const std::size_t p = At(element / walk_.positions);
  const Pair& plane = walk_.planes[p];
  walk_.taps_at(element % walk_.positions, taps_);
  terms_.clear();
  for (const Pair& tap : taps_) {
    AppendProduct(TermAt(*sum_.a, a_, plane.a + tap.a), TermAt(*sum_.b, b_, plane.b + tap.b), 1,
                  terms_);
  }
  if (sum_.addend != nullptr) {
    const float addend = sum_.addend->tensor.As<float>()[At(sum_.addend_index[p])];
    AppendProduct({1, addend}, {1, 1}, 1, terms_);
  }
  writer_->Put(element, terms_);
}

std::vector<float> FloatResults::Load(const Tensor& tensor) { return Binary32Of(tensor); }

void FloatResults::Begin() {
  if (!sum_.a->constant) a_.reset();
  if (!sum_.b->constant) b_.reset();
}

void FloatResults::Put(std::int64_t element, const float*, std::span<const std::int64_t>,
                       const float*, std::int64_t, float addend) {
  const std::lock_guard lock(*putting_);
  if (!a_.has_value()) a_ = Load(sum_.a->tensor);
  if (!b_.has_value()) b_ = Load(sum_.b->tensor);
  const Pair& plane = walk_.planes[At(element / walk_.positions)];
  walk_.taps_at(element % walk_.positions, taps_);
  float total = 0;
  for (const Pair& tap : taps_) total += (*a_)[At(plane.a + tap.a)] * (*b_)[At(plane.b + tap.b)];
  y()[element] = total + addend;
}

}  // namespace qtx::backend::engine
