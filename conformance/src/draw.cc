#include "draw.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "generator.h"

namespace qtx::conformance {
namespace {

using format::Dims;
using format::ElementType;
using format::Tensor;

// What is drawn again: all; integers as well, but neither 0 nor shapes; reals alone; the order of
// reals alone.
enum class Change { kAll, kTowardsZero, kReals, kOrder };

// What a plain draw changes: quantized values and floats; quantized values; those of the first
// input.
enum class PlainChange { kReals, kQuantized, kFirst };

// Twice the value, which keeps its sign: a scale stays one. The largest stay as they are.
template <typename Float>
void Double(std::span<Float> values) {
  for (Float& value : values) {
    if (std::isfinite(value + value)) value += value;
  }
}

template <typename Code>
void DoubleSmall(ElementType type, std::span<Code> codes) {
  for (Code& code : codes) {
    const double value = format::DecodeSmallFloat(type, code);
    const auto twice = static_cast<Code>(format::EncodeSmallFloat(type, 2 * value));
    if (format::DecodeSmallFloat(type, twice) == 2 * value) code = twice;
  }
}

void Reverse(Tensor& tensor) {
  const auto size = static_cast<std::ptrdiff_t>(format::BitWidth(tensor.elem_type) / 8);
  std::vector<std::byte> bytes;
  bytes.reserve(tensor.bytes.size());
  for (auto at = tensor.bytes.end(); at != tensor.bytes.begin(); at -= size) {
    bytes.insert(bytes.end(), at - size, at);
  }
  tensor.bytes = std::move(bytes);
}

void DrawFloats(Change change, std::int64_t draw, Tensor& tensor) {
  const int width = format::BitWidth(tensor.elem_type);
  if (width < 8) return;
  if (draw % 2 == 1) Reverse(tensor);
  for (std::int64_t i = 0; change != Change::kOrder && i < draw; ++i) {
    if (tensor.elem_type == ElementType::kFloat) {
      Double(tensor.As<float>());
    } else if (tensor.elem_type == ElementType::kDouble) {
      Double(tensor.As<double>());
    } else if (width == 16) {
      DoubleSmall(tensor.elem_type, tensor.As<std::uint16_t>());
    } else {
      DoubleSmall(tensor.elem_type, tensor.As<std::uint8_t>());
    }
  }
}

// Within the range of the type; an index that is in range stays so, but for 0 of kAll.
std::int64_t DrawInteger(Change change, std::int64_t value) {
  if (value != 0) return value > 0 ? value - 1 : value + 1;
  return change == Change::kAll ? 1 : 0;
}

void DrawIntegers(Change change, std::int64_t draw, Tensor& tensor) {
  if (change == Change::kReals || change == Change::kOrder) return;
  if (tensor.elem_type == ElementType::kBool) {
    for (std::uint8_t& flag : tensor.As<std::uint8_t>())
      flag ^= static_cast<std::uint8_t>(draw & 1);
    return;
  }
  std::vector<std::int64_t> values = format::UnpackIntegers(tensor);
  for (std::int64_t& value : values) {
    for (std::int64_t i = 0; i < draw; ++i) value = DrawInteger(change, value);
  }
  if (change == Change::kAll && draw % 2 == 1) std::ranges::reverse(values);
  format::PackIntegers(values, tensor);
}

void DrawQuantized(Change change, std::int64_t draw, std::size_t input, Tensor& tensor) {
  if (change == Change::kOrder) {
    if (format::BitWidth(tensor.elem_type) >= 8) Reverse(tensor);
    return;
  }
  format::TensorType type;
  type.elem_type = tensor.elem_type;
  type.quantization = tensor.quantization;
  constexpr std::uint64_t kInputs = 1 << 16;
  const std::uint64_t seed = static_cast<std::uint64_t>(draw) * kInputs + input;
  auto drawn = Generate({GeneratorKind::kUniform, seed, -1}, type, tensor.dims, std::nullopt);
  if (drawn) tensor = *std::move(drawn);
}

// The elements repeated or cut off to other dims.
void Resize(const Dims& dims, Tensor& tensor) {
  const auto size = static_cast<std::size_t>(format::BitWidth(tensor.elem_type) / 8);
  const bool parameters = tensor.quantization && !tensor.quantization->axis.empty();
  auto resized = format::MakeTensor(tensor.elem_type, dims, tensor.quantization);
  if (size == 0 || parameters || tensor.bytes.empty() || !resized) return;
  const Dims strides = format::RowMajorStrides(tensor.dims);
  for (std::size_t i = 0; i < resized->bytes.size() / size; ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t from = 0;
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d]) {
      from += rest % dims[d] % tensor.dims[d] * strides[d];
    }
    std::copy_n(tensor.bytes.begin() + from * static_cast<std::ptrdiff_t>(size), size,
                resized->bytes.begin() + static_cast<std::ptrdiff_t>(i * size));
  }
  tensor = *std::move(resized);
}

// Each symbol stands for one more element than before.
void DrawShapes(const std::vector<const format::ValueInfo*>& infos, std::int64_t draw,
                std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!infos[i]->type || !infos[i]->type->shape) continue;
    const format::Shape& shape = *infos[i]->type->shape;
    if (shape.size() != inputs[i].dims.size()) continue;
    Dims dims = inputs[i].dims;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (!shape[d].value && !shape[d].symbol.empty()) dims[d] += draw;
    }
    if (dims != inputs[i].dims) Resize(dims, inputs[i]);
  }
}

std::size_t ElementSize(const Tensor& tensor) {
  return static_cast<std::size_t>(format::BitWidth(tensor.elem_type) / 8);
}

// The element at `from` in the place of that at `to`.
void CopyElement(std::size_t from, std::size_t to, Tensor& tensor) {
  const std::size_t size = ElementSize(tensor);
  for (std::size_t i = 0; i < size; ++i) {
    tensor.bytes[to * size + i] = tensor.bytes[from * size + i];
  }
}

// The first element and the last that is not like it change places.
void ExchangeElements(Tensor& tensor) {
  const std::size_t size = ElementSize(tensor);
  if (size == 0) return;
  const std::span<std::byte> bytes = tensor.bytes;
  for (std::size_t at = bytes.size(); at > size; at -= size) {
    const auto other = bytes.subspan(at - size, size);
    if (std::ranges::equal(bytes.first(size), other)) continue;
    std::ranges::swap_ranges(bytes.first(size), other);
    return;
  }
}

// Bit 0 is in the first byte of an element, the highest in its last.
void ChangeBits(std::int64_t draw, Tensor& tensor) {
  const std::size_t size = ElementSize(tensor);
  if (size == 0) return;
  const std::size_t first = draw == kLowestBitDraw ? 0 : size - 1;
  const std::byte bit{draw == kLowestBitDraw ? std::uint8_t{1} : std::uint8_t{0x80}};
  for (std::size_t i = first; i < tensor.bytes.size(); i += size) tensor.bytes[i] ^= bit;
}

// Elements that are no integers.
void DrawPlainFloats(std::int64_t draw, Tensor& tensor) {
  const auto count = static_cast<std::size_t>(format::ElementCount(tensor));
  switch (draw) {
    case kZeroDraw:
    case kStoredZeroDraw:
      std::ranges::fill(tensor.bytes, std::byte{0});
      return;
    case kLastElementDraw:
      return CopyElement(0, count - 1, tensor);
    case kLowestBitDraw:
    case kHighestBitDraw:
      return ChangeBits(draw, tensor);
    case kMiddleElementDraw: {
      const std::size_t size = ElementSize(tensor);
      std::ranges::fill(std::span(tensor.bytes).subspan(count / 2 * size, size), std::byte{0});
      return;
    }
    default:
      for (std::size_t i = 0; i < count; ++i) {
        CopyElement(draw == kLowestDraw ? 0 : count - 1, i, tensor);
      }
  }
}

// The value with its lowest bit changed, or with its highest; itself where the range lacks that.
std::int64_t WithOtherBit(std::int64_t draw, ElementType type, format::IntegerRange range,
                          std::int64_t value) {
  const std::int64_t highest = std::int64_t{1} << (format::BitWidth(type) - 1);
  const std::int64_t with_other_highest =
      value - highest >= range.min ? value - highest : value + highest;
  const std::int64_t other = draw == kLowestBitDraw ? value ^ 1 : with_other_highest;
  return other >= range.min && other <= range.max ? other : value;
}

void DrawPlainIntegers(std::int64_t draw, Tensor& tensor) {
  const format::IntegerRange range = format::StoredRange(tensor.elem_type, *tensor.quantization);
  std::vector<std::int64_t> values = format::UnpackIntegers(tensor);
  if (draw == kLastElementDraw) {
    values.back() += values.back() == range.max ? -1 : 1;
  } else if (draw == kMiddleElementDraw) {
    std::int64_t& middle = values[values.size() / 2];
    middle = range.max - middle < middle - range.min ? range.min : range.max;
  } else if (draw == kLowestBitDraw || draw == kHighestBitDraw) {
    for (std::int64_t& value : values) {
      value = WithOtherBit(draw, tensor.elem_type, range, value);
    }
  } else if (draw == kStoredZeroDraw) {
    std::ranges::fill(values, std::clamp<std::int64_t>(0, range.min, range.max));
  } else {
    std::ranges::fill(values, draw == kLowestDraw ? range.min : range.max);
  }
  format::PackIntegers(values, tensor);
}

void DrawPlain(PlainChange change, std::int64_t draw, Tensor& tensor) {
  const bool is_integer = format::IsIntegerStorage(tensor.elem_type);
  const bool is_kept = !tensor.quantization && (is_integer || change == PlainChange::kQuantized);
  if (tensor.bytes.empty() || is_kept || tensor.elem_type == ElementType::kBool) return;
  if (draw == kExchangedElementsDraw) return ExchangeElements(tensor);
  if (!is_integer) return DrawPlainFloats(draw, tensor);
  if (draw != kZeroDraw) return DrawPlainIntegers(draw, tensor);
  format::TensorType type;
  type.elem_type = tensor.elem_type;
  type.quantization = tensor.quantization;
  if (auto zeros = Generate({GeneratorKind::kZero, 0, -1}, type, tensor.dims, std::nullopt)) {
    tensor = *std::move(zeros);
  }
}

std::vector<std::vector<Tensor>> DrawnPlain(const std::vector<Tensor>& inputs, std::int64_t draw) {
  std::vector<std::vector<Tensor>> candidates;
  for (const PlainChange change :
       {PlainChange::kReals, PlainChange::kQuantized, PlainChange::kFirst}) {
    std::vector<Tensor> drawn = inputs;
    const std::size_t count =
        change == PlainChange::kFirst ? std::min<std::size_t>(1, drawn.size()) : drawn.size();
    for (std::size_t i = 0; i < count; ++i) DrawPlain(change, draw, drawn[i]);
    const bool known = std::ranges::find(candidates, drawn) != candidates.end();
    if (!known && drawn != inputs) candidates.push_back(std::move(drawn));
  }
  return candidates;
}

// True if what one holds can lie in the other; not so of integers that are no quantized values.
bool HoldsTheSame(const Tensor& one, const Tensor& other) {
  if (one.elem_type != other.elem_type || one.dims != other.dims) return false;
  if (!one.quantization) return !format::IsIntegerStorage(one.elem_type);
  return one.quantization->quant_min == other.quantization->quant_min &&
         one.quantization->quant_max == other.quantization->quant_max;
}

// Each input holds what the first like it does.
std::vector<std::vector<Tensor>> DrawnSame(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> drawn = inputs;
  for (Tensor& tensor : drawn) {
    const auto like = [&tensor](const Tensor& other) { return HoldsTheSame(tensor, other); };
    const auto first = std::ranges::find_if(drawn, like);
    if (first != drawn.end()) tensor.bytes = std::vector(first->bytes);
  }
  if (drawn == inputs) return {};
  return {std::move(drawn)};
}

// Each input holds what the next like it does, the last of them what the first does.
std::vector<std::vector<Tensor>> DrawnExchanged(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> drawn = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t step = 1; step < inputs.size(); ++step) {
      const Tensor& next = inputs[(i + step) % inputs.size()];
      if (!HoldsTheSame(inputs[i], next)) continue;
      drawn[i].bytes = std::vector(next.bytes);
      break;
    }
  }
  if (drawn == inputs) return {};
  return {std::move(drawn)};
}

std::vector<Tensor> Drawn(const std::vector<const format::ValueInfo*>& infos, Change change,
                          std::int64_t draw, std::vector<Tensor> inputs) {
  if (change == Change::kAll) DrawShapes(infos, draw, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor& tensor = inputs[i];
    if (tensor.quantization) {
      DrawQuantized(change, draw, i, tensor);
    } else if (tensor.elem_type == ElementType::kBool ||
               format::IsIntegerStorage(tensor.elem_type)) {
      DrawIntegers(change, draw, tensor);
    } else {
      DrawFloats(change, draw, tensor);
    }
  }
  return inputs;
}

}  // namespace

std::vector<std::vector<Tensor>> DrawAgain(const format::Model& model,
                                           const std::vector<Tensor>& inputs, std::int64_t draw) {
  std::vector<const format::ValueInfo*> infos;
  for (const format::ValueInfo& info : model.graph.inputs) {
    if (model.graph.FindInitializer(info.name) == nullptr) infos.push_back(&info);
  }
  std::vector<std::vector<Tensor>> candidates;
  if (infos.size() != inputs.size()) return candidates;
  if (draw == kSameBytesDraw) return DrawnSame(inputs);
  if (draw == kExchangedInputsDraw) return DrawnExchanged(inputs);
  const bool is_others = draw == kOtherInputsDraw;
  if (draw >= kZeroDraw && !is_others) return DrawnPlain(inputs, draw);
  for (const Change change : {Change::kAll, Change::kTowardsZero, Change::kReals, Change::kOrder}) {
    auto drawn = Drawn(infos, change, is_others ? 1 : draw, inputs);
    if (is_others && !drawn.empty()) drawn[0] = inputs[0];
    const bool known = std::ranges::find(candidates, drawn) != candidates.end();
    if (!known && drawn != inputs) candidates.push_back(std::move(drawn));
  }
  return candidates;
}

}  // namespace qtx::conformance
