#include "ops/common.h"

#include <algorithm>
#include <cstring>

#include "parameters.h"

namespace qtx::reference {

using format::Dims;
using format::ElementType;

namespace {

// Run by a stock operator, whose result may be the plain accumulator of real operands.
bool IsStock(const Call& call) { return !call.positions.empty(); }

}  // namespace

std::string InputName(const Call& call, std::size_t i) {
  const std::size_t at = call.positions.empty() ? i : call.positions[i];
  return "input[" + std::to_string(at) + "] '" + call.node.inputs[at] + "'";
}

bool IsReal(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kFloat16 ||
         type == ElementType::kBfloat16 || format::IsQuantized(type);
}

bool IsPlain(ElementType type) {
  return type == ElementType::kDouble ||
         (format::IsIntegerStorage(type) && !format::IsQuantized(type));
}

Result<void> CheckSaturate(const format::Node& node) {
  const std::int64_t saturate = node.IntOr("saturate", 1);
  if (saturate == 0 || saturate == 1) return {};
  return Error{ErrorCode::kInvalid, "attribute 'saturate'",
               "found " + std::to_string(saturate) + ", expected 0 or 1"};
}

Result<Operand> OperandAt(const Call& call, std::size_t i) {
  const format::Tensor* tensor = call.Input(i);
  if (tensor == nullptr) {
    return Error{ErrorCode::kInvalid, "input[" + std::to_string(i) + "]", "is required"};
  }
  if (!IsReal(tensor->elem_type)) {
    return Error{ErrorCode::kInvalid, InputName(call, i),
                 "found type " + std::string(format::Name(tensor->elem_type)) +
                     ", expected FLOAT or a quantized type"};
  }
  auto operand = Operand::Make(*tensor);
  if (!operand.has_value()) return At(InputName(call, i), std::move(operand).error());
  return operand;
}

Result<Operand> NumberAt(const Call& call, std::size_t i) {
  const format::Tensor* tensor = call.Input(i);
  const ElementType result = call.outputs[0].elem_type;
  if (tensor == nullptr || IsStock(call) || (IsReal(tensor->elem_type) && !IsPlain(result))) {
    return OperandAt(call, i);
  }
  if (!IsPlain(tensor->elem_type) || tensor->elem_type != result) {
    return Error{ErrorCode::kInvalid, InputName(call, i),
                 "found type " + std::string(format::Name(tensor->elem_type)) +
                     " with a result of type " + std::string(format::Name(result)) +
                     ", expected real types or one plain type"};
  }
  auto operand = Operand::Make(*tensor);
  if (!operand.has_value()) return At(InputName(call, i), std::move(operand).error());
  return operand;
}

Result<Operand> RealAt(const Call& call, std::size_t i) {
  const ElementType result = call.outputs[0].elem_type;
  if (IsStock(call) || IsReal(result) || result == ElementType::kDouble) return NumberAt(call, i);
  return Error{
      ErrorCode::kInvalid, "output[0]",
      "found type " + std::string(format::Name(result)) + ", expected FLOAT or a quantized type"};
}

Result<std::optional<Operand>> OptionalOperandAt(const Call& call, std::size_t i) {
  if (call.Input(i) == nullptr) return std::optional<Operand>();
  QTX_ASSIGN_OR_RETURN(Operand operand, OperandAt(call, i));
  return std::optional<Operand>(std::move(operand));
}

Result<std::optional<Operand>> OptionalNumberAt(const Call& call, std::size_t i) {
  if (call.Input(i) == nullptr) return std::optional<Operand>();
  QTX_ASSIGN_OR_RETURN(Operand operand, NumberAt(call, i));
  return std::optional<Operand>(std::move(operand));
}

Result<std::optional<Operand>> BiasAt(const Call& call, std::size_t i) {
  const format::Tensor* bias = call.Input(i);
  if (!IsStock(call) || bias == nullptr || bias->elem_type != ElementType::kInt32) {
    return OptionalNumberAt(call, i);
  }
  QTX_ASSIGN_OR_RETURN(Operand operand, Operand::Make(*bias));
  return std::optional<Operand>(std::move(operand));
}

const Operand* PointerTo(const std::optional<Operand>& operand) {
  return operand ? &*operand : nullptr;
}

Result<std::vector<std::int64_t>> Int64sAt(const Call& call, std::size_t i) {
  const format::Tensor* tensor = call.Input(i);
  if (tensor == nullptr) {
    return Error{ErrorCode::kInvalid, "input[" + std::to_string(i) + "]", "is required"};
  }
  if (tensor->elem_type != ElementType::kInt64 || tensor->dims.size() > 1) {
    return Error{ErrorCode::kInvalid, InputName(call, i),
                 "found " + std::string(format::Name(tensor->elem_type)) +
                     format::ToString(tensor->dims) + ", expected INT64 of rank 1"};
  }
  return format::UnpackIntegers(*tensor);
}

Result<Dims> Broadcast(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  Dims result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {  // i counts axes from the last
    const std::int64_t da = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t db = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (da != db && da != 1 && db != 1) {
      return Error{ErrorCode::kInvalid, "",
                   "shapes " + format::ToString(a) + " and " + format::ToString(b) +
                       " cannot be broadcast: sizes " + std::to_string(da) + " and " +
                       std::to_string(db)};
    }
    result[result.size() - 1 - i] = da == 1 ? db : da;
  }
  QTX_RETURN_IF_ERROR(CheckComputable(result));
  return result;
}

void StridedIndex::Next() {
  for (std::size_t axis = dims_.size(); axis-- > 0;) {
    index_ += strides_[axis];
    if (++at_[axis] < dims_[axis]) return;
    index_ -= strides_[axis] * dims_[axis];
    at_[axis] = 0;
  }
}

std::vector<std::int64_t> BroadcastIndices(std::span<const std::int64_t> from,
                                           std::span<const std::int64_t> dims) {
  const Dims full = format::RowMajorStrides(from);
  Dims strides(dims.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool repeated = from[i] == 1;
    strides[dims.size() - from.size() + i] = repeated ? 0 : full[i];
  }
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  std::vector<std::int64_t> indices;
  indices.reserve(static_cast<std::size_t>(count));
  StridedIndex index(Dims(dims.begin(), dims.end()), strides);
  for (std::int64_t i = 0; i < count; ++i, index.Next()) indices.push_back(*index);
  return indices;
}

namespace {

// One element of `width` bits; those narrower than a byte never cross one.
void CopyBits(const format::Tensor& from, std::int64_t source, format::Tensor& to,
              std::int64_t element, int width) {
  if (width >= 8) {
    const std::int64_t bytes = width / 8;
    std::memcpy(to.bytes.data() + element * bytes, from.bytes.data() + source * bytes,
                static_cast<std::size_t>(bytes));
    return;
  }
  const auto mask = static_cast<std::byte>((1U << static_cast<unsigned>(width)) - 1U);
  const auto byte_of = [width](std::int64_t i) { return static_cast<std::size_t>(i * width / 8); };
  const std::byte bits = (from.bytes[byte_of(source)] >> (source * width % 8)) & mask;
  std::byte& target = to.bytes[byte_of(element)];
  target = (target & ~(mask << (element * width % 8))) | (bits << (element * width % 8));
}

Result<void> CheckMovable(ElementType type) {
  if (type != ElementType::kString && type != ElementType::kComplex64 &&
      type != ElementType::kComplex128) {
    return {};
  }
  return Error{ErrorCode::kUnsupported, "",
               "elements of type " + std::string(format::Name(type)) + " are not supported"};
}

}  // namespace

Result<Mover> Mover::Make(const Call& call, const format::Tensor& like, Dims dims,
                          std::size_t output) {
  QTX_RETURN_IF_ERROR(CheckMovable(like.elem_type));
  Mover mover(call, output);
  const ElementType type = call.outputs[output].elem_type;
  if (type == like.elem_type && !format::IsQuantized(type)) {
    QTX_RETURN_IF_ERROR(CheckComputable(dims));
    QTX_ASSIGN_OR_RETURN(mover.raw_, format::MakeTensor(type, std::move(dims)));
    return mover;
  }
  if (!IsReal(like.elem_type) || !IsReal(type)) {
    return Error{ErrorCode::kInvalid, "output[" + std::to_string(output) + "]",
                 "found type " + std::string(format::Name(type)) + " for elements of type " +
                     std::string(format::Name(like.elem_type))};
  }
  QTX_ASSIGN_OR_RETURN(mover.output_, Output::Make(call, std::move(dims), output));
  return mover;
}

Result<void> Mover::Copy(const format::Tensor& input, std::span<const std::int64_t> elements,
                         std::span<const std::int64_t> sources) {
  const std::int64_t count = elements.empty() && sources.empty()
                                 ? format::ElementCount(input)
                                 : static_cast<std::int64_t>(sources.size());
  const auto element = [elements](std::int64_t i) {
    return elements.empty() ? i : elements[static_cast<std::size_t>(i)];
  };
  const auto source = [sources](std::int64_t i) {
    return sources.empty() ? i : sources[static_cast<std::size_t>(i)];
  };
  if (raw_ && input.elem_type == raw_->elem_type) {
    const int width = format::BitWidth(input.elem_type);
    for (std::int64_t i = 0; i < count; ++i) {
      CopyBits(input, source(i), *raw_, element(i), width);
    }
    return {};
  }
  if (!IsReal(input.elem_type) || (raw_ && !IsReal(raw_->elem_type))) {
    const ElementType own = raw_ ? raw_->elem_type : output_->tensor().elem_type;
    return Error{ErrorCode::kInvalid, "",
                 "found type " + std::string(format::Name(input.elem_type)) +
                     " among elements of type " + std::string(format::Name(own))};
  }
  QTX_ASSIGN_OR_RETURN(const Operand operand, Operand::Make(input));
  std::optional<Output> converted;  // beside what was copied bit for bit
  if (raw_) {
    QTX_ASSIGN_OR_RETURN(converted, Output::Make(*call_, raw_->dims, output_index_));
  }
  Converter converter(call_->arithmetic, operand, raw_ ? &*converted : &*output_, Purpose::kMove);
  for (std::int64_t i = 0; i < count; ++i) converter.Put(element(i), source(i));
  if (!raw_) return {};
  const format::Tensor reals = converted->Take();
  const int width = format::BitWidth(reals.elem_type);
  for (std::int64_t i = 0; i < count; ++i) CopyBits(reals, element(i), *raw_, element(i), width);
  return {};
}

Result<void> Mover::Fill(const format::Tensor* value, std::span<const std::int64_t> elements) {
  if (elements.empty()) return {};
  if (value != nullptr) {
    const std::vector<std::int64_t> sources(elements.size(), 0);
    return Copy(*value, elements, sources);
  }
  if (!output_) return {};  // made zero-filled
  for (const std::int64_t element : elements) output_->PutReal(element, Real{});
  return {};
}

format::Tensor Mover::Take() { return output_ ? output_->Take() : std::move(*raw_); }

Result<format::Tensor> Reshaped(const Call& call, Dims dims) {
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, *call.inputs[0], std::move(dims)));
  QTX_RETURN_IF_ERROR(mover.Copy(*call.inputs[0]));
  return mover.Take();
}

}  // namespace qtx::reference
