#include "fuzz_maker.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace qtx::conformance {
namespace {

using format::Dims;
using format::ElementType;
using format::Quantization;
using format::Tensor;

constexpr std::int64_t kMaxElements = 2048;  // of one tensor

struct Weighted {
  ElementType type;
  std::uint64_t weight;
};
constexpr std::array<Weighted, 15> kRealTypes = {{{ElementType::kInt8Q, 40},
                                                  {ElementType::kUint8Q, 24},
                                                  {ElementType::kInt16Q, 7},
                                                  {ElementType::kUint16Q, 4},
                                                  {ElementType::kInt4Q, 6},
                                                  {ElementType::kUint4Q, 4},
                                                  {ElementType::kInt2Q, 2},
                                                  {ElementType::kUint2Q, 2},
                                                  {ElementType::kInt32Q, 2},
                                                  {ElementType::kFloat, 4},
                                                  {ElementType::kFloat8E4M3FNQ, 1},
                                                  {ElementType::kFloat8E5M2Q, 1},
                                                  {ElementType::kFloat4E2M1Q, 1},
                                                  {ElementType::kFloat8E4M3FNUZQ, 1},
                                                  {ElementType::kBipolar1Q, 1}}};

bool Fits(const Tensor& tensor, Operand operand) {
  const ElementType type = tensor.elem_type;
  switch (operand) {
    case Operand::kReal:
      return format::IsQuantized(type) || type == ElementType::kFloat;
    case Operand::kFloat:
      return type == ElementType::kFloat;
    case Operand::kByte:
      return type == ElementType::kUint8 || type == ElementType::kInt8;
    case Operand::kAny:
      break;
  }
  return true;
}

}  // namespace

std::int64_t Maker::Between(std::int64_t low, std::int64_t high) {
  if (high <= low) return low;  // the axis may be empty, which the reference may refuse
  return low + static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(high - low + 1)));
}

std::int64_t Maker::OneOf(std::span<const std::int64_t> values) {
  return values[random_.Below(values.size())];
}

std::int64_t Maker::Size(std::int64_t room) {
  constexpr std::int64_t kSizes[] = {1, 1, 2,  2,  3,  3,  4,  5,  6,  7,
                                     8, 9, 15, 16, 17, 31, 32, 33, 63, 65};
  return std::max<std::int64_t>(std::min(OneOf(kSizes), room), 1);
}

Dims Maker::Shape(std::int64_t lowest_rank, std::int64_t highest_rank) {
  Dims dims(static_cast<std::size_t>(Between(lowest_rank, highest_rank)));
  std::int64_t room = kMaxElements;
  for (std::int64_t& dim : dims) {
    dim = Size(room);
    room /= dim;
  }
  return dims;
}

std::int64_t Maker::Axis(const Dims& dims) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  return rank == 0 ? 0 : Between(-rank, rank - 1);
}

float Maker::Scale() {
  // Powers of two make ties; other scales are as training produces them.
  if (Chance(30)) return std::ldexp(1.0F, static_cast<int>(Between(-6, 1)));
  const float mantissa = 1.0F + static_cast<float>(random_.Below(1U << 23)) * 0x1p-23F;
  return std::ldexp(mantissa, static_cast<int>(Between(-9, 0)));
}

std::int32_t Maker::Offset(ElementType type) {
  if (!format::IsIntegerStorage(type) || Chance(25)) return 0;
  if (format::StorageOf(type) == ElementType::kBipolar1) return 0;
  const format::IntegerRange range = format::StorageRange(type);
  if (format::BitWidth(type) > 16) return static_cast<std::int32_t>(Between(-1000, 1000));
  switch (random_.Below(5)) {
    case 0:
      return static_cast<std::int32_t>(range.min);
    case 1:
      return static_cast<std::int32_t>(range.max);
    case 2:
      return static_cast<std::int32_t>((range.min + range.max + 1) / 2);
    default:
      return static_cast<std::int32_t>(Between(range.min, range.max));
  }
}

Quantization Maker::Parameters(ElementType type, const Dims& dims,
                               std::optional<std::int64_t> axis) {
  Quantization q;
  std::int64_t count = 1;
  if (axis && !dims.empty() && dims[static_cast<std::size_t>(*axis)] > 0) {
    const std::int64_t size = dims[static_cast<std::size_t>(*axis)];
    q.axis = {*axis};
    if (size > 3 && Chance(20)) q.block_shape = {Between(2, std::min<std::int64_t>(size, 16))};
    const std::int64_t block = q.block_shape.empty() ? 1 : q.block_shape[0];
    count = (size + block - 1) / block;
  }
  const bool offsets = Chance(60);
  const float base = Scale();
  for (std::int64_t i = 0; i < count; ++i) {
    q.scale.push_back(i == 0 ? base
                             : base * (0.5F + static_cast<float>(random_.Below(1024)) * 0x1p-9F));
    if (offsets) q.offset.push_back(Offset(type));
  }
  return q;
}

ElementType Maker::TypeFor(Operand operand) {
  if (operand == Operand::kFloat) return ElementType::kFloat;
  if (operand == Operand::kByte) return Chance(50) ? ElementType::kUint8 : ElementType::kInt8;
  if (traits_.bytes_only) return Chance(60) ? ElementType::kInt8Q : ElementType::kUint8Q;
  std::uint64_t total = 0;
  for (const Weighted& one : kRealTypes) total += one.weight;
  std::uint64_t at = random_.Below(total);
  for (const Weighted& one : kRealTypes) {
    if (at < one.weight) return one.type;
    at -= one.weight;
  }
  return ElementType::kInt8Q;
}

Tensor Maker::Fill(ElementType type, const Dims& dims, std::optional<Quantization> q) {
  constexpr GeneratorKind kKinds[] = {GeneratorKind::kUniform, GeneratorKind::kUniform,
                                      GeneratorKind::kUniform, GeneratorKind::kBoundary,
                                      GeneratorKind::kTies,    GeneratorKind::kSaturate};
  Generator generator;
  generator.kind = kKinds[random_.Below(std::size(kKinds))];
  generator.seed = random_.Next();
  format::TensorType full;
  full.elem_type = type;
  full.quantization = std::move(q);
  const bool halves = full.quantization && !full.quantization->scale.empty();
  auto tensor = Generate(generator, full, dims, halves ? full.quantization->scale[0] * 2 : Scale());
  return tensor ? *std::move(tensor) : Tensor{};
}

Tensor Maker::Add(Tensor tensor, bool constant) {
  const std::string name =
      "v" + std::to_string(number_) + "_" + std::to_string(draft_.node.inputs.size());
  draft_.node.inputs.push_back(name);
  draft_.data.push_back({name, tensor, constant});
  return tensor;
}

Tensor Maker::New(Operand operand, const Dims& dims, std::optional<std::int64_t> axis,
                  bool constant) {
  const ElementType type = TypeFor(operand);
  std::optional<Quantization> q;
  if (format::IsQuantized(type)) {
    q = Parameters(type, dims, Chance(45) ? axis : std::nullopt);
    if (!format::IsIntegerStorage(type)) q->offset.clear();
  }
  return Add(Fill(type, dims, std::move(q)), constant);
}

Tensor Maker::Value(Operand operand, std::int64_t lowest_rank, std::int64_t highest_rank) {
  for (std::size_t tries = 0; tries < 4 && !known_.empty(); ++tries) {
    const Datum& known = known_[random_.Below(known_.size())];
    const std::int64_t rank = std::ssize(known.tensor.dims);
    if (!Fits(known.tensor, operand) || rank < lowest_rank || rank > highest_rank) continue;
    draft_.node.inputs.push_back(known.name);
    return known.tensor;
  }
  const Dims dims = Shape(lowest_rank, highest_rank);
  std::optional<std::int64_t> axis;
  if (!dims.empty() && Chance(15)) axis = Between(0, std::ssize(dims) - 1);
  return New(operand, dims, axis, /*constant=*/false);
}

format::TensorType Maker::ResultType(const Tensor& reals) {
  format::TensorType result;
  result.elem_type = TypeFor(Operand::kReal);
  if (!format::IsQuantized(result.elem_type)) return result;
  float largest = 0;
  for (const float real : reals.As<float>()) {
    if (std::isfinite(real)) largest = std::max(largest, std::abs(real));
  }
  std::optional<std::int64_t> axis;
  if (!reals.dims.empty() && Chance(8)) axis = Between(0, std::ssize(reals.dims) - 1);
  Quantization q = Parameters(result.elem_type, reals.dims, axis);
  const bool integers = format::IsIntegerStorage(result.elem_type);
  if (!integers) q.offset.clear();
  const format::IntegerRange range =
      integers ? format::StorageRange(result.elem_type) : format::IntegerRange{-6, 6};
  constexpr float kFits[] = {0.2F, 0.5F, 1.0F, 1.0F, 1.0F, 1.7F, 5.0F};
  const float half = static_cast<float>(range.max - range.min) / 2 + 1;
  const float wanted =
      std::clamp(largest / half * kFits[random_.Below(std::size(kFits))], 0x1p-60F, 0x1p60F);
  const bool power = Chance(40);
  const float base = q.scale[0];
  for (float& scale : q.scale) {
    scale = wanted * (scale / base);
    if (power) scale = std::ldexp(1.0F, std::ilogb(scale));
  }
  result.quantization = std::move(q);
  return result;
}

void Maker::Bias(const Tensor& x, const Tensor& w, std::int64_t axis, std::int64_t channels) {
  const Dims dims = {channels};
  if (Chance(30)) return;
  if (!x.quantization || !w.quantization || Chance(15)) {
    New(Operand::kFloat, dims, std::nullopt, /*constant=*/true);
    return;
  }
  Quantization q;
  q.scale = {x.quantization->scale[0] * w.quantization->scale[0]};
  const auto& wq = *w.quantization;
  if (wq.axis == std::vector<std::int64_t>{axis} && std::ssize(wq.scale) == channels) {
    q.axis = {0};
    q.scale.clear();
    for (const float scale : wq.scale) q.scale.push_back(x.quantization->scale[0] * scale);
  }
  auto made = format::MakeTensor(ElementType::kInt32Q, dims, std::move(q));
  if (!made) return;
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < channels; ++i) values.push_back(Between(-4000, 4000));
  format::PackIntegers(values, *made);
  Add(*std::move(made), /*constant=*/true);
}

void Maker::Int64s(const std::vector<std::int64_t>& values) {
  auto made = format::MakeTensor(ElementType::kInt64, {std::ssize(values)});
  if (!made) return;
  format::PackIntegers(values, *made);
  Add(*std::move(made), /*constant=*/true);
}

void Maker::ScaleAndZero(ElementType type, const Dims& dims, float scale) {
  auto scales = format::MakeTensor(ElementType::kFloat, dims);
  auto zeros = format::MakeTensor(type, dims);
  if (!scales || !zeros) return;
  std::vector<std::int64_t> offsets;
  for (float& one : scales->As<float>()) {
    one = scale * (offsets.empty() ? 1.0F : 0.5F + static_cast<float>(random_.Below(64)) * 0x1p-5F);
    offsets.push_back(Offset(type));
  }
  format::PackIntegers(offsets, *zeros);
  Add(*std::move(scales), /*constant=*/true);
  Add(*std::move(zeros), /*constant=*/true);
}

void Maker::Int(std::string name, std::int64_t value) {
  draft_.node.attributes.push_back(format::Attribute::Int(std::move(name), value));
}
void Maker::Ints(std::string name, std::vector<std::int64_t> values) {
  draft_.node.attributes.push_back(format::Attribute::Ints(std::move(name), std::move(values)));
}
void Maker::Float(std::string name, float value) {
  draft_.node.attributes.push_back(format::Attribute::Float(std::move(name), value));
}
void Maker::String(std::string name, std::string value) {
  draft_.node.attributes.push_back(format::Attribute::String(std::move(name), std::move(value)));
}

}  // namespace qtx::conformance
