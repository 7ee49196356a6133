#include "ops/common.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>
#include <vector>

#include "parameters.h"

namespace qtx::reference {

using format::Dims;
using format::ElementType;

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

Result<Operand> OperandAt(const Call& call, std::size_t i) {
  auto operand = Operand::Make(*call.inputs[i]);
  if (!operand.has_value()) return At(InputName(call, i), std::move(operand).error());
  return operand;
}

Result<std::optional<Operand>> OptionalOperandAt(const Call& call, std::size_t i) {
  if (call.Input(i) == nullptr) return std::optional<Operand>();
  QTX_ASSIGN_OR_RETURN(Operand operand, OperandAt(call, i));
  return std::optional<Operand>(std::move(operand));
}

const Operand* PointerTo(const std::optional<Operand>& operand) {
  return operand ? &*operand : nullptr;
}

std::vector<std::int64_t> IntegersAt(const Call& call, std::size_t i) {
  return format::UnpackIntegers(*call.inputs[i]);
}

std::size_t FromFirst(std::int64_t axis, std::size_t rank) {
  const auto size = static_cast<std::int64_t>(rank);
  assert(axis >= -size && axis < size);
  return static_cast<std::size_t>(axis < 0 ? axis + size : axis);
}

std::size_t AxisOf(const Call& call, std::size_t rank) { return FromFirst(call.Int("axis"), rank); }

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

}  // namespace

Result<Mover> Mover::Make(const Call& call, const format::Tensor& like, Dims dims,
                          std::size_t output) {
  Mover mover(call, output);
  const ElementType type = call.outputs[output].elem_type;
  if (type == like.elem_type && !format::IsQuantized(type)) {
    QTX_RETURN_IF_ERROR(CheckComputable(dims));
    QTX_ASSIGN_OR_RETURN(mover.raw_, format::MakeTensor(type, std::move(dims)));
    return mover;
  }
  QTX_ASSIGN_OR_RETURN(mover.output_, Output::Make(call, std::move(dims), output));
  return mover;
}

Result<Mover> Mover::Of(const Call& call, const format::Tensor& like, std::size_t output) {
  QTX_ASSIGN_OR_RETURN(Dims dims, call.OutputDims(output));
  return Make(call, like, std::move(dims), output);
}

Result<void> Mover::Copy(const format::Tensor& input) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(format::ElementCount(input)));
  std::iota(all.begin(), all.end(), 0);
  return Copy(input, all, all);
}

Result<void> Mover::Copy(const format::Tensor& input, std::span<const std::int64_t> elements,
                         std::span<const std::int64_t> sources) {
  const auto count = static_cast<std::int64_t>(sources.size());
  const auto element = [elements](std::int64_t i) {
    return elements.empty() ? i : elements[static_cast<std::size_t>(i)];
  };
  const auto source = [sources](std::int64_t i) { return sources[static_cast<std::size_t>(i)]; };
  if (raw_ && input.elem_type == raw_->elem_type) {
    const int width = format::BitWidth(input.elem_type);
    for (std::int64_t i = 0; i < count; ++i) {
      CopyBits(input, source(i), *raw_, element(i), width);
    }
    return {};
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
  if (value != nullptr) {
    const std::vector<std::int64_t> sources(elements.size(), 0);
    return Copy(*value, elements, sources);
  }
  if (!output_) return {};  // made zero-filled
  for (const std::int64_t element : elements) output_->PutReal(element, Real{});
  return {};
}

format::Tensor Mover::Take() { return output_ ? output_->Take() : std::move(*raw_); }

Result<format::Tensor> Reshaped(const Call& call) {
  const format::Tensor& x = *call.inputs[0];
  QTX_ASSIGN_OR_RETURN(const Dims dims, call.OutputDims());
  assert(format::ElementCount(dims) == format::ElementCount(x));
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Make(call, x, dims));
  QTX_RETURN_IF_ERROR(mover.Copy(x));
  return mover.Take();
}

}  // namespace qtx::reference
