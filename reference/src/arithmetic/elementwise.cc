#include "arithmetic/elementwise.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "arithmetic/kernel_types.h"
#include "qtx/format/levels.h"

namespace qtx::reference {
namespace {

// One scale and offset for all elements, as TFLite's integer kernels need.
bool OneScale(const Operand& operand) {
  return operand.is_integer() && operand.per_tensor() && operand.tensor().quantization;
}
bool OneScale(const Output& output) { return output.is_integer() && output.per_tensor(); }

// One element type and one range of stored values: definitions.S2.
bool SameRange(const format::Tensor& x, const format::Tensor& y) {
  return x.elem_type == y.elem_type && format::StoredRange(x.elem_type, *x.quantization) ==
                                           format::StoredRange(y.elem_type, *y.quantization);
}

bool IsSubByte(const format::Tensor& tensor) { return format::BitWidth(tensor.elem_type) < 8; }

void PutOne(Domain domain, const Operand& input, std::int64_t source, Output* output,
            std::int64_t element) {
  if (domain == Domain::kFloat32) return output->PutFloat(element, input.binary32(source));
  if (!input.is_integer() && !input.is_wide()) {
    const Dyadic x = input.exact(source);
    if (x.kind == Dyadic::Kind::kFinite) {
      const auto value = ExactDouble(x);
      if (value && output->PutIfCertain(element, {*value, 0})) return;
      output->CountFallback();
    }
    return output->PutReal(element, ToReal(x));
  }
  const Term term{input.integer(source), static_cast<double>(input.scale(source))};
  output->PutTerms(element, {&term, 1});
}

// How a kernel rescales elements taken over for `purpose`; nullptr where none does. Of the rows
// that rescale a Cast only TOSA's do so with data movement (fixed_point.S4; glow.S5, tvm_upward.S5
// and tflite.S10 do not).
const RequantizeRecipe* KernelFor(const Arithmetic& arithmetic, Purpose purpose) {
  const RequantizeRecipe* kernel = nullptr;
  if (purpose == Purpose::kChange) kernel = &arithmetic.rescale;
  if (purpose == Purpose::kMove && arithmetic.domain == Domain::kExact) {
    kernel = &arithmetic.rescale;
  }
  const bool exists =
      kernel != nullptr && kernel->multiplier != RequantizeRecipe::Multiplier::kNone;
  return exists ? kernel : nullptr;
}

// Whether the parameters of an element may be equal in both: definitions.S1.
bool HaveParameters(const format::Tensor& x, const format::Tensor& y) {
  return x.quantization && y.quantization && format::HasIntegerForm(*x.quantization);
}

// What moves between small floats of two types is computed for all that (definitions.S2); what is
// selected is exact (definitions.S3).
bool Compares(const format::Tensor& x, const format::Tensor& y, bool integers, Purpose purpose) {
  return HaveParameters(x, y) &&
         (integers || purpose == Purpose::kSelect || x.elem_type == y.elem_type);
}

}  // namespace

Converter::Converter(const Arithmetic& arithmetic, const Operand& input, Output* output,
                     Purpose purpose)
    : domain_(DomainFor(arithmetic, *output)),
      input_(&input),
      output_(output),
      equal_domain_(domain_) {
  const format::Tensor& x = input.tensor();
  const format::Tensor& y = output->tensor();
  const bool narrow = domain_ == Domain::kStored && (IsSubByte(x) || IsSubByte(y));
  const RequantizeRecipe* kernel = KernelFor(arithmetic, purpose);
  const bool halves = HasHalfReals(x) || HasHalfReals(y);
  if (narrow || halves || !OneScale(input) || !OneScale(*output)) kernel = nullptr;
  if (domain_ == Domain::kStored) {
    // QUANTIZE of a FLOAT is a binary32 division (tflite.S9); all else without a kernel is exact.
    const bool quantizes = purpose == Purpose::kChange && !x.quantization;
    domain_ = quantizes ? Domain::kFloat32 : Domain::kExact;
  }
  // Neither movement nor selection computes anything of equal parameters; any other operator
  // computes in the domain (float32.S7).
  const bool computes = purpose == Purpose::kChange || purpose == Purpose::kActivate;
  equal_domain_ = computes ? domain_ : Domain::kExact;
  const bool integers = HaveParameters(x, y) && input.is_integer() && output->is_integer();
  compares_ = Compares(x, y, integers, purpose);
  copies_ = compares_ && purpose == Purpose::kMove && SameRange(x, y);
  clamps_ = integers && (kernel != nullptr || equal_domain_ == Domain::kExact);
  if (kernel == nullptr) return;
  // A change of type is a kernel's also between equal parameters, where an int32 wraps or
  // saturates, but Glow's (glow.S3).
  const bool takes_equal =
      purpose == Purpose::kChange && kernel->multiplier != RequantizeRecipe::Multiplier::kPreShift;
  if (takes_equal || !AreEqual(0, 0)) {
    rescale_.emplace_back(*kernel, AccumulatorScales{x.quantization->scale[0], {1.0F}}, output);
  }
}

// definitions.S1: at the coordinates that the element has in either tensor.
bool Converter::AreEqual(std::int64_t element, std::int64_t source) const {
  return compares_ && input_->scale(source) == output_->scale(element) &&
         input_->offset(source) == output_->offset(element);
}

void Converter::PutEqual(std::int64_t element, std::int64_t source) {
  if (copies_) {
    const bool codes = format::IsSmallFloat(input_->tensor().elem_type);
    return output_->PutCopy(element, codes ? input_->code(source) : input_->stored(source));
  }
  if (clamps_) return output_->PutStored(element, input_->stored(source));
  PutOne(equal_domain_, *input_, source, output_, element);
}

void Converter::Put(std::int64_t element, std::int64_t source) {
  if (!rescale_.empty()) return rescale_[0].Put(element, 0, input_->integer(source));
  if (AreEqual(element, source)) return PutEqual(element, source);
  PutOne(domain_, *input_, source, output_, element);
}

void Converter::PutZero(std::int64_t element) {
  if (domain_ == Domain::kFloat32) return output_->PutFloat(element, 0);
  output_->PutReal(element, Real{});
}

void Converter::PutValue(std::int64_t element, const Operand& constant, std::int64_t source) {
  PutOne(domain_, constant, source, output_, element);
}

Result<format::Tensor> ConvertAll(const Call& call, const Operand& input) {
  QTX_ASSIGN_OR_RETURN(Output output, Output::Make(call, input.tensor().dims));
  Converter converter(call.arithmetic, input, &output, Purpose::kChange);
  const std::int64_t count = format::ElementCount(input.tensor());
  for (std::int64_t i = 0; i < count; ++i) converter.Put(i, i);
  return output.Take();
}

Combiner::Combiner(Binary kind, const format::Node& node, const Arithmetic& arithmetic,
                   const Operand& a, const Operand& b, Output* output)
    : kind_(kind),
      domain_(DomainFor(arithmetic, *output)),
      add_(arithmetic.add),
      a_(&a),
      b_(&b),
      output_(output) {
  if (kind != Binary::kSub && HasByteKernel(arithmetic, {&a, &b}, *output)) {
    bytes_.emplace(kind == Binary::kMul ? ByteCombiner::Kind::kProduct : ByteCombiner::Kind::kSum,
                   a, b, *output);
    path_ = Path::kBytes;
    return;
  }
  const std::array<ValueType, 3> types = {a.tensor(), b.tensor(), output->tensor()};
  if (HasShiftedSum(arithmetic, node, types, a.tensor().dims == b.tensor().dims)) {
    PreparePowers();
    return;
  }
  vectors_ = VectorSum::Make(arithmetic, node, a, b, *output);
  if (vectors_) {
    path_ = Path::kVectors;
    return;
  }
  if (!HasBinaryKernel(arithmetic, node, types)) return;
  if (!Is8Bit(a.tensor())) add_.left_shift = add_.wide_left_shift;
  const float sa = a.scale(0);
  const float sb = b.scale(0);
  if (kind == Binary::kMul) {
    if (arithmetic.multiply.multiplier == RequantizeRecipe::Multiplier::kNone) return;
    requantizers_.emplace_back(arithmetic.multiply, AccumulatorScales{sa, {sb}}, output);
    path_ = Path::kProduct;
  } else if (add_.kind == AddRecipe::Kind::kShifted) {
    PrepareShifted(arithmetic.rescale);
  } else if (add_.kind == AddRecipe::Kind::kCommonShift) {
    PrepareCommonShift();
  } else if (add_.kind == AddRecipe::Kind::kEach) {
    requantizers_.emplace_back(arithmetic.rescale, AccumulatorScales{sa, {1.0F}}, output);
    requantizers_.emplace_back(arithmetic.rescale, AccumulatorScales{sb, {1.0F}}, output);
    path_ = Path::kEach;
  }
}

// tflite.S5: both addends are brought to twice the larger scale, in 2^-left_shift of it.
void Combiner::PrepareShifted(const RequantizeRecipe& rescale) {
  path_ = Path::kShifted;
  rounds_ = rescale.rounds;
  tie_ = rescale.tie;
  const auto sa = static_cast<double>(a_->scale(0));
  const auto sb = static_cast<double>(b_->scale(0));
  const double twice = 2 * std::max(sa, sb);
  const auto headroom = static_cast<double>(std::int64_t{1} << add_.left_shift);
  a_factor_ = ToFixed(sa / twice);
  b_factor_ = ToFixed(sb / twice);
  y_factor_ = ToFixed(twice / (headroom * static_cast<double>(output_->scale(0))));
}

// tflite.S12: one addend has the scale of the sum, the other is shifted to it.
void Combiner::PreparePowers() {
  path_ = Path::kPowers;
  const auto shift = [this](const Operand& addend) {
    return std::ilogb(output_->scale(0)) - std::ilogb(addend.scale(0));
  };
  a_shift_ = shift(*a_);
  b_shift_ = shift(*b_);
}

// xnnpack.S4: the larger ratio has mantissa_bits bits, the other the same shift.
void Combiner::PrepareCommonShift() {
  path_ = Path::kCommonShift;
  const float a = a_->scale(0) / output_->scale(0);
  const float b = b_->scale(0) / output_->scale(0);
  if (!HasXnnpackRatio(a) || !HasXnnpackRatio(b)) return output_->Refuse(add_.clause);
  shift_ = add_.mantissa_bits - 1 - std::ilogb(std::max(a, b));
  const auto mantissa = [this](float ratio) {
    return static_cast<std::int64_t>(RoundFloat(std::ldexp(ratio, shift_), TieRule::kHalfEven));
  };
  a_mantissa_ = mantissa(a);
  b_mantissa_ = mantissa(b);
}

void Combiner::PutExact(std::int64_t element, std::int64_t ia, std::int64_t ib) {
  const bool integers = a_->is_integer() && b_->is_integer();
  if (integers && kind_ != Binary::kMul) {
    const std::int64_t sign = kind_ == Binary::kSub ? -1 : 1;
    const std::array<Term, 2> terms = {
        Term{a_->integer(ia), static_cast<double>(a_->scale(ia))},
        Term{sign * b_->integer(ib), static_cast<double>(b_->scale(ib))}};
    return output_->PutTerms(element, terms);
  }
  // Integers of 32 bits and scales of 24: both products are exact, in 63 and 48 bits.
  constexpr std::int64_t kSmall = std::int64_t{1} << 31;
  if (integers && std::abs(a_->integer(ia)) < kSmall && std::abs(b_->integer(ib)) < kSmall) {
    const Term term{a_->integer(ia) * b_->integer(ib),
                    static_cast<double>(a_->scale(ia)) * static_cast<double>(b_->scale(ib))};
    return output_->PutTerms(element, {&term, 1});
  }
  ExactSum sum;
  Dyadic b = b_->exact(ib);
  if (kind_ == Binary::kMul) {
    sum.AddProduct(a_->exact(ia), b);
  } else {
    if (kind_ == Binary::kSub) b.mantissa = -b.mantissa;
    sum.Add(a_->exact(ia));
    sum.Add(b);
  }
  output_->PutReal(element, sum.Value());
}

void Combiner::PutFloat32(std::int64_t element, std::int64_t ia, std::int64_t ib) {
  const float a = a_->binary32(ia);
  const float b = b_->binary32(ib);
  output_->PutFloat(element, kind_ == Binary::kAdd ? a + b : kind_ == Binary::kSub ? a - b : a * b);
}

std::int64_t Combiner::ShiftedSum(std::int64_t a, std::int64_t b) const {
  const auto times = [this](std::int64_t value, FixedMultiplier factor) {
    return MultiplyFixed(value, factor, rounds_, tie_);
  };
  const std::int64_t headroom = std::int64_t{1} << add_.left_shift;
  const std::int64_t u = times(a * headroom, a_factor_);
  const std::int64_t v = times(b * headroom, b_factor_);
  return times(kind_ == Binary::kSub ? u - v : u + v, y_factor_);
}

void Combiner::Put(std::int64_t element, std::int64_t ia, std::int64_t ib) {
  if (path_ == Path::kReals) {
    if (domain_ == Domain::kFloat32) return PutFloat32(element, ia, ib);
    return PutExact(element, ia, ib);  // also where TFLite has no kernel: tflite.S11
  }
  if (path_ == Path::kBytes) {
    return output_->PutStored(
        element, ConvertedByte(bytes_->Shifted(a_->stored(ia), b_->stored(ib)), *output_));
  }
  if (path_ == Path::kVectors) {
    return output_->PutStored(element, vectors_->StoredOf(element, ia, ib));
  }
  const std::int64_t a = a_->integer(ia);
  const std::int64_t b = b_->integer(ib);
  const std::int64_t sign = kind_ == Binary::kSub ? -1 : 1;
  std::int64_t sum = 0;
  if (path_ == Path::kProduct) return requantizers_[0].Put(element, 0, a * b);
  if (path_ == Path::kShifted) sum = ShiftedSum(a, b);
  if (path_ == Path::kPowers) {
    sum = RoundShift(a, a_shift_, TieRule::kHalfAway) +
          sign * RoundShift(b, b_shift_, TieRule::kHalfAway);
  }
  if (path_ == Path::kCommonShift) {
    sum = RoundShift(a * a_mantissa_ + sign * b * b_mantissa_, shift_, add_.tie);
  }
  if (path_ == Path::kEach) {
    sum = requantizers_[0].Scaled(element, 0, a) + sign * requantizers_[1].Scaled(element, 0, b);
  }
  output_->PutStored(element, sum + output_->offset(element));
}

}  // namespace qtx::reference
