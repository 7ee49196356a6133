#include "values.h"

#include <algorithm>
#include <cmath>

#include "qtx/format/levels.h"

namespace qtx::backend::faulty {
namespace {

std::int64_t BlockOf(const format::Quantization& q, std::size_t k, const Dims& at, const Dims& dims,
                     Fault fault) {
  const auto axis = At(q.axis[k]);
  const std::int64_t block = q.block_shape.empty() ? 1 : q.block_shape[k];
  std::int64_t coordinate = at[axis];
  if (fault == Fault::kPerAxisOnNextAxis && dims.size() > 1) {
    coordinate = at[(axis + 1) % dims.size()] % dims[axis];
  }
  const bool counted_in_whole_blocks = fault == Fault::kLastBlockShort && dims[axis] > block;
  if (counted_in_whole_blocks) return std::min(coordinate / block, dims[axis] / block - 1);
  return coordinate / block;
}

// Which of the parameters element `i` has.  Source: quantization.S2.
std::size_t ParameterOf(const format::Quantization& q, std::int64_t i, const Dims& dims,
                        Fault fault) {
  if (q.axis.empty() || fault == Fault::kPerAxisFirstOnly) return 0;
  if (fault == Fault::kPerAxisWrongStride && q.axis.size() == 1) {
    return At(i) % q.scale.size();  // as if the axis were the last
  }
  const Dims at = Coordinates(i, dims);
  std::int64_t index = 0;
  for (std::size_t j = 0; j < q.axis.size(); ++j) {
    const std::size_t k = fault == Fault::kAxesTransposed ? q.axis.size() - 1 - j : j;
    const std::int64_t block = q.block_shape.empty() ? 1 : q.block_shape[k];
    index = index * ((dims[At(q.axis[k])] + block - 1) / block) + BlockOf(q, k, at, dims, fault);
  }
  return At(index);
}

bool IsFloat(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kFloat16 ||
         type == ElementType::kBfloat16;
}

void SwapNibbles(const Tensor& tensor, std::vector<std::int64_t>& stored) {
  if (format::BitWidth(tensor.elem_type) != 4) return;
  if (stored.size() % 2 != 0) stored.push_back(0);
  for (std::size_t i = 0; i + 1 < stored.size(); i += 2) std::swap(stored[i], stored[i + 1]);
}

std::vector<std::int64_t> ReadStored(const Call& call, const Tensor& tensor) {
  std::vector<std::int64_t> stored = format::UnpackIntegers(tensor);
  const std::size_t count = stored.size();
  const bool four_bits = format::BitWidth(tensor.elem_type) == 4;
  if (call.Is(Fault::kNibblesSwapped)) SwapNibbles(tensor, stored);
  if (call.Is(Fault::kOddNibbleDropped) && four_bits && count % 2 != 0) stored.back() = 0;
  stored.resize(count);
  if (call.Is(Fault::kInt4NotSignExtended) && format::StorageRange(tensor.elem_type).min == -8) {
    for (std::int64_t& value : stored) value &= 15;
  }
  if (call.Is(Fault::kTwoBitsHighFirst) && format::BitWidth(tensor.elem_type) == 2) {
    stored.resize((count + 3) / 4 * 4);
    for (std::size_t i = 0; i < stored.size(); i += 4) {
      std::reverse(stored.begin() + static_cast<std::ptrdiff_t>(i),
                   stored.begin() + static_cast<std::ptrdiff_t>(i) + 4);
    }
    stored.resize(count);
  }
  if (call.Is(Fault::kBipolarAsZeroAndOne) && tensor.elem_type == ElementType::kBipolar1Q) {
    for (std::int64_t& value : stored) value = value < 0 ? 0 : 1;
  }
  return stored;
}

// The type of 16 bits of reals; kUndefined for FLOAT.
ElementType HalfOf(const format::Quantization& q, Fault fault) {
  if (!format::IsHalf(q.real_type) || fault != Fault::kHalfTypesExchanged) return q.real_type;
  return q.real_type == ElementType::kFloat16 ? ElementType::kBfloat16 : ElementType::kFloat16;
}

// Half even, and to infinity beyond the greatest.
float ToHalf(ElementType type, float value) {
  // Halfway from the greatest to what would be next: a tie that goes to infinity.
  const float beyond = type == ElementType::kFloat16 ? 65520.0F : 0x1.FFp127F;
  if (std::abs(value) >= beyond)
    return std::copysign(std::numeric_limits<float>::infinity(), value);
  const auto code = format::EncodeSmallFloat(type, static_cast<double>(value));
  return static_cast<float>(format::DecodeSmallFloat(type, code));
}

void DistortBook(const Call& call, Values& values) {
  std::vector<float>& book = values.quantization->code_book;
  if (call.Is(Fault::kCodeBookIgnored)) book.clear();
  if (call.Is(Fault::kCodeBookOffByOne) && !book.empty()) {
    std::rotate(book.begin(), book.begin() + 1, book.end());
  }
}

void DistortSigns(const Call& call, Values& values) {
  const bool mirrors = call.Is(Fault::kNegativeScaleMirrored);
  if (!mirrors && !call.Is(Fault::kScaleSignDropped)) return;
  const format::IntegerRange storage = format::StorageRange(values.type);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!(values.scale[i] < 0)) continue;
    values.scale[i] = -values.scale[i];
    if (!mirrors) continue;
    values.stored[i] =
        std::clamp(2 * values.offset[i] - values.stored[i], storage.min, storage.max);
  }
}

void DistortOffsets(const Call& call, Values& values) {
  const bool sixteen = format::BitWidth(values.type) == 16;
  if (call.Is(Fault::kInt16OffsetIgnored) && sixteen) {
    std::ranges::fill(values.offset, 0);
  }
  if (call.Is(Fault::kOffsetOfFirstChannel)) std::ranges::fill(values.offset, values.offset[0]);
  const bool by_book = !values.quantization->code_book.empty();  // codes, not differences
  if (call.Is(Fault::kDifferenceWraps) && format::BitWidth(values.type) == 8 && !by_book) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto wrapped = static_cast<std::int8_t>(values.stored[i] - values.offset[i]);
      values.stored[i] = values.offset[i] + wrapped;
    }
  }
}

std::int64_t Wrapped(std::int64_t value, const format::IntegerRange& storage) {
  const std::int64_t size = storage.max - storage.min + 1;
  return ((value - storage.min) % size + size) % size + storage.min;
}

Tie TieOf(Fault fault, Step step) {
  const bool quantize = step == Step::kQuantize;
  switch (fault) {
    case Fault::kQuantizeHalfAway:
      return quantize ? Tie::kAway : Tie::kEven;
    case Fault::kQuantizeHalfUp:
      return quantize ? Tie::kUp : Tie::kEven;
    case Fault::kQuantizeHalfDown:
      return quantize ? Tie::kDown : Tie::kEven;
    case Fault::kQuantizeTruncates:
      return quantize ? Tie::kTruncate : Tie::kEven;
    case Fault::kRequantizeHalfAway:
      return quantize ? Tie::kEven : Tie::kAway;
    case Fault::kRequantizeHalfUp:
      return quantize ? Tie::kEven : Tie::kUp;
    case Fault::kRequantizeHalfDown:
      return quantize ? Tie::kEven : Tie::kDown;
    case Fault::kRequantizeTruncates:
      return quantize ? Tie::kEven : Tie::kTruncate;
    case Fault::kRequantizeFloors:
      return quantize ? Tie::kEven : Tie::kFloor;
    default:
      return Tie::kEven;
  }
}

// Faults that give a wrong shape, which is not compared with the declared one.
bool GivesOtherShapes(const Call& call) {
  const std::string& op = call.node.op_type;
  if (op == "GlobalAveragePool") return call.Is(Fault::kGlobalPoolDropsAxes);
  if (op.starts_with("Reduce")) return call.Is(Fault::kKeepdimsIgnored);
  return call.RoundsUp() &&
         (call.Is(Fault::kCeilModeOffByOne) || call.Is(Fault::kCeilModeKeepsLastWindow));
}

}  // namespace

Parameters Expand(const format::Quantization& q, const Dims& dims, Fault fault) {
  Parameters all;
  for (std::int64_t i = 0; i < Size(dims); ++i) {
    const std::size_t k = ParameterOf(q, i, dims, fault);
    all.scale.push_back(q.scale[q.scale.size() == 1 ? 0 : k]);
    all.offset.push_back(format::OffsetAt(q, static_cast<std::int64_t>(k)));
    // -0 changes no sum, not even the sign of a zero.
    all.base.push_back(format::HasBase(q) ? format::BaseAt(q, static_cast<std::int64_t>(k))
                                          : -0.0F);
  }
  return all;
}

// What the scale multiplies.  Source: quantization.S1, quantization.S9.
double Values::Steps(std::size_t i) const {
  const std::vector<float>& book = quantization->code_book;
  return book.empty() ? static_cast<double>(stored[i] - offset[i])
                      : static_cast<double>(book[At(stored[i])]);
}

template <>
Exact Values::Real<Exact>(std::size_t i) const {
  if (!quantized) return Exact(real[i]);
  return Exact(mpq_class(static_cast<double>(scale[i])) * mpq_class(Steps(i)) +
               mpq_class(static_cast<double>(base[i])));
}
// Source: float32.S1, quantization.S8, quantization.S13.
template <>
float Values::Real<float>(std::size_t i) const {
  if (!quantized) return static_cast<float>(real[i]);
  const ElementType half = HalfOf(*quantization, fault);
  const float product = static_cast<float>(Steps(i)) * scale[i];
  if (!format::IsHalf(half)) return product + base[i];
  const float rounded = fault == Fault::kHalfProductNotRounded ? product : ToHalf(half, product);
  if (!format::HasBase(*quantization)) return rounded;
  return fault == Fault::kHalfSumNotRounded ? rounded + base[i] : ToHalf(half, rounded + base[i]);
}

Result<Values> Read(const Call& call, const Tensor& tensor) {
  Values values;
  values.dims = tensor.dims;
  values.type = tensor.elem_type;
  values.quantization = tensor.quantization;
  values.quantized = tensor.quantization.has_value();
  if (IsFloat(values.type)) {
    values.real = format::StoredValues(tensor);
    return values;
  }
  if (!format::IsIntegerStorage(values.type)) {
    return Declined(call, "elements of type " + std::string(format::Name(values.type)));
  }
  values.stored = ReadStored(call, tensor);
  if (!values.quantized) return values;
  const bool has_parameters = !tensor.quantization->scale.empty();
  if (!has_parameters) return Declined(call, "parameters in other tensors");
  values.per_tensor = tensor.quantization->axis.empty();
  Parameters parameters = Expand(*tensor.quantization, tensor.dims, call.fault);
  values.scale = std::move(parameters.scale);
  values.offset = std::move(parameters.offset);
  values.base = std::move(parameters.base);
  values.fault = call.fault;
  DistortBook(call, values);
  DistortSigns(call, values);
  if (!values.stored.empty()) DistortOffsets(call, values);
  return values;
}

Result<Values> RealsAt(const Call& call, std::size_t i) {
  if (!call.Has(i)) return Declined(call, "no input " + std::to_string(i));
  QTX_ASSIGN_OR_RETURN(Values values, Read(call, *call.inputs[i]));
  if (!values.quantized && values.type != ElementType::kFloat) {
    return Declined(call, "an input of type " + std::string(format::Name(values.type)));
  }
  return values;
}

template <class N>
Result<Writer<N>> Writer<N>::Make(const Call& call, std::size_t output, Dims dims, Step step) {
  const OutputType& type = call.outputs[output];
  if (type.dims && *type.dims != dims && !GivesOtherShapes(call)) {
    return Error{
        ErrorCode::kInvalid, "node '" + call.node.op_type + "'",
        "gives shape " + format::ToString(dims) + ", declared " + format::ToString(*type.dims)};
  }
  Writer writer;
  writer.fault_ = call.fault;
  writer.step_ = step;
  writer.quantized_ = format::IsQuantized(type.elem_type);
  const bool integers = writer.quantized_ && format::IsIntegerStorage(type.elem_type);
  if ((!integers && type.elem_type != ElementType::kFloat) ||
      (integers && (!type.quantization || type.quantization->scale.empty()))) {
    return Declined(call, "a result of type " + std::string(format::Name(type.elem_type)));
  }
  QTX_ASSIGN_OR_RETURN(writer.tensor_,
                       format::MakeTensor(type.elem_type, std::move(dims), type.quantization));
  if (!writer.quantized_) return writer;
  QTX_ASSIGN_OR_RETURN(const Dims counts,
                       format::ParameterDims(*type.quantization, writer.tensor_.dims));
  // The checker cannot compare the number of parameters with a shape that is not declared.
  const std::size_t scales = type.quantization->scale.size();
  if (scales != 1 && scales != At(Size(counts))) return Declined(call, "so many parameters");
  writer.storage_ = format::StorageRange(type.elem_type);
  writer.range_ = format::StoredRange(type.elem_type, *type.quantization);
  if (call.Is(Fault::kQuantRangeIgnored)) writer.range_ = writer.storage_;
  writer.parameters_ = Expand(*type.quantization, writer.tensor_.dims, call.fault);
  writer.stored_.resize(writer.size());
  return writer;
}

template <class N>
void Writer<N>::Put(std::size_t i, const N& real) {
  if (!quantized_) {
    tensor_.As<float>()[i] = ToFloat(real);
    return;
  }
  if constexpr (std::is_same_v<N, float>) {
    const ElementType half = HalfOf(*tensor_.quantization, fault_);
    if (format::IsHalf(half)) return PutReal(i, ToHalf(half, real));
  }
  PutReal(i, real);
}

template <class N>
void Writer<N>::PutReal(std::size_t i, const N& real) {
  const float scale = parameters_.scale[i];
  const N unit = FromDouble<N>(static_cast<double>(scale));
  const bool quantize = step_ == Step::kQuantize;
  if (fault_ == Fault::kReciprocal && quantize) {
    return PutQuotient(i, real * FromDouble<N>(static_cast<double>(1.0F / scale)));
  }
  if (fault_ == Fault::kSubnormalScaleFlushed && scale < std::numeric_limits<float>::min()) {
    return PutQuotient(i, FromDouble<N>(0));
  }
  PutQuotient(i, real / unit);
}

// Source: exact.S1 to exact.S4, exact.S9, float32.S2.
template <class N>
void Writer<N>::PutQuotient(std::size_t i, const N& quotient) {
  const std::int64_t offset = parameters_.offset[i];
  if (tensor_.elem_type == ElementType::kBipolar1Q) {
    return PutStored(i, quotient < FromDouble<N>(0) ? -1 : 1);
  }
  if (IsNan(quotient)) {
    const bool greatest = fault_ == Fault::kNanToMaximum;
    return PutStored(i, greatest ? range_.max : offset);
  }
  const Tie tie = TieOf(fault_, step_);
  if (fault_ == Fault::kOffsetBeforeRounding) {
    return PutStored(i, Round(quotient + FromInteger<N>(offset), tie));
  }
  const std::int64_t rounded = Round(quotient, tie);
  const bool beyond_int32 = rounded > INT32_MAX || rounded < INT32_MIN;
  if (fault_ == Fault::kBeyondInt32ToMinimum && beyond_int32) return PutStored(i, range_.min);
  const bool wraps =
      fault_ == (step_ == Step::kQuantize ? Fault::kQuantizeWraps : Fault::kRequantizeWraps);
  if (wraps) return PutRaw(i, Wrapped(rounded + offset, storage_));
  if (fault_ == Fault::kClampBeforeOffset) {
    return PutStored(i, std::clamp(rounded, range_.min, range_.max) + offset);
  }
  PutStored(i, rounded + offset);
}

template <class N>
void Writer<N>::PutStored(std::size_t i, std::int64_t stored) {
  stored_[i] = std::clamp(stored, range_.min, range_.max);
}

template <class N>
Tensor Writer<N>::Take() {
  if (quantized_) format::PackIntegers(stored_, tensor_);
  return std::move(tensor_);
}

template class Writer<Exact>;
template class Writer<float>;

Tensor PlainTensor(ElementType type, Dims dims, const std::vector<std::int64_t>& values) {
  Tensor tensor = *format::MakeTensor(type, std::move(dims));
  format::PackIntegers(values, tensor);
  return tensor;
}

}  // namespace qtx::backend::faulty
