#include "fuzz_maker.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "qtx/format/onnx_operators.h"

namespace qtx::conformance {
namespace {

using format::Dims;
using format::ElementType;
using format::Quantization;
using format::Tensor;

constexpr int kMaxTypes = 60;         // for the type of one input
constexpr const char* kToCome = "?";  // an input that is not drawn yet

struct Weighted {
  ElementType type;
  std::uint64_t weight;
};
constexpr std::array<Weighted, 18> kWeights = {{{ElementType::kInt8Q, 40},
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
                                                {ElementType::kFloat8E5M2FNUZQ, 1},
                                                {ElementType::kFloat16, 1},
                                                {ElementType::kBfloat16, 1},
                                                {ElementType::kBipolar1Q, 1}}};
constexpr ElementType kOthers[] = {
    ElementType::kFloat,  ElementType::kFloat,  ElementType::kFloat,        ElementType::kUint8,
    ElementType::kUint8,  ElementType::kInt8,   ElementType::kInt8,         ElementType::kInt32,
    ElementType::kInt64,  ElementType::kBool,   ElementType::kBool,         ElementType::kInt16,
    ElementType::kUint16, ElementType::kUint32, ElementType::kUint64,       ElementType::kInt4,
    ElementType::kUint4,  ElementType::kDouble, ElementType::kFloat8E4M3FN, ElementType::kInt2};

}  // namespace

Maker::Maker(Random& random, const ModelTraits& traits, const format::OpSchema& schema,
             const std::vector<Datum>& known, std::size_t number)
    : random_(random),
      traits_(traits),
      schema_(schema),
      known_(known),
      number_(std::to_string(number)) {
  draft_.node.op_type = schema.op_type;
  draft_.node.domain = schema.domain;
  for (std::size_t i = 0; i < schema.inputs.size(); ++i) {
    if (!schema.inputs[i].optional) draft_.node.inputs.resize(i + 1, kToCome);
  }
}

const Datum* Maker::Find(std::string_view name) const {
  for (const auto* data : {&draft_.data, &known_}) {
    const auto found = std::ranges::find(*data, name, &Datum::name);
    if (found != data->end()) return &*found;
  }
  return nullptr;
}

std::int64_t Maker::Between(std::int64_t low, std::int64_t high) {
  if (high <= low) return low;  // the axis may be empty, which the reference may refuse
  return low + static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(high - low + 1)));
}

std::int64_t Maker::Size(std::int64_t room) {
  constexpr std::int64_t kSizes[] = {1, 1, 2,  2,  3,  3,  4,  5,  6,  7,
                                     8, 9, 15, 16, 17, 31, 32, 33, 63, 65};
  constexpr std::int64_t kBlocks[] = {24,  25,  64,  127, 128, 129,  240,  241, 255,
                                      256, 257, 511, 512, 513, 1023, 1024, 1025};
  if (traits_.room > ModelTraits().room && Chance(20)) {
    const std::int64_t size = kBlocks[random_.Below(std::size(kBlocks))];
    if (size <= room) return size;
  }
  return std::max<std::int64_t>(std::min(kSizes[random_.Below(std::size(kSizes))], room), 1);
}

Dims Maker::Shape(std::int64_t lowest_rank, std::int64_t highest_rank) {
  Dims dims(static_cast<std::size_t>(Between(lowest_rank, highest_rank)));
  std::int64_t room = traits_.room;
  for (std::int64_t& dim : dims) {
    dim = Size(room);
    room /= dim;
  }
  return dims;
}

Dims Maker::BroadcastTo(const Dims& dims) {
  Dims other = dims;
  for (std::int64_t& dim : other) {
    if (Chance(25)) dim = 1;
  }
  if (!other.empty() && Chance(30)) {
    other.erase(other.begin(), other.begin() + Between(1, std::ssize(other)));
  }
  return other;
}

float Maker::Scale() {
  if (traits_.odd_scales && Chance(40)) {
    const float mantissa = 1.0F + static_cast<float>(random_.Below(1U << 23)) * 0x1p-23F;
    return std::ldexp(mantissa, static_cast<int>(Between(-149, 127)));
  }
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
  if (Chance(8)) Narrow(type, q);
  return q;
}

// quant_min and quant_max within the storage, around the offset: a symmetric range without the
// lowest value, fewer bits, or a folded activation.
void Maker::Narrow(ElementType type, Quantization& q) {
  if (!format::IsIntegerStorage(type) || format::BitWidth(type) > 16) return;
  if (format::StorageOf(type) == ElementType::kBipolar1) return;
  const format::IntegerRange range = format::StorageRange(type);
  std::int64_t low = 0, high = 0;  // of the offsets
  for (std::size_t i = 0; i < q.offset.size(); ++i) {
    low = i == 0 ? q.offset[i] : std::min<std::int64_t>(low, q.offset[i]);
    high = i == 0 ? q.offset[i] : std::max<std::int64_t>(high, q.offset[i]);
  }
  q.quant_min = Chance(50) ? std::min(range.min + 1, low) : Between(range.min, low);
  q.quant_max = Chance(50) ? range.max : Between(high, range.max);
  if (*q.quant_min == *q.quant_max) q.quant_max.reset();
}

ElementType Maker::DrawReal() {
  if (traits_.bytes_only) return Chance(60) ? ElementType::kInt8Q : ElementType::kUint8Q;
  std::uint64_t total = 0;
  for (const Weighted& one : kWeights) total += one.weight;
  std::uint64_t at = random_.Below(total);
  for (const Weighted& one : kWeights) {
    if (at < one.weight) return one.type;
    at -= one.weight;
  }
  return ElementType::kInt8Q;
}

// Often the type of another input: plain operands must be of one type. Rarer types become likelier
// with every try.
ElementType Maker::DrawType(int tries) {
  if (next_ > 0 && Chance(30)) {
    const Datum* other = Find(draft_.node.inputs[random_.Below(next_)]);
    if (other != nullptr) return other->tensor.elem_type;
  }
  if (next_ > 0 && Chance(35)) return Chance(50) ? ElementType::kInt64 : ElementType::kFloat;
  return Chance(10 + static_cast<std::uint64_t>(tries)) ? kOthers[random_.Below(std::size(kOthers))]
                                                        : DrawReal();
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

Tensor Maker::Filled(ElementType type, const Dims& dims, std::optional<std::int64_t> axis) {
  std::optional<Quantization> q;
  if (format::IsQuantized(type)) {
    q = Parameters(type, dims, Chance(45) ? axis : std::nullopt);
    if (!format::IsIntegerStorage(type)) q->offset.clear();
  }
  return Fill(type, dims, std::move(q));
}

format::Application Maker::Asked() const {
  format::Application a{schema_, draft_.node, traits_.opset, {}, {}};
  for (const std::string& name : draft_.node.inputs) {
    const Datum* datum = Find(name);
    a.inputs.push_back(datum == nullptr ? format::ValueFacts{.given = !name.empty()}
                                        : format::FactsOf(datum->tensor, datum->constant));
  }
  a.outputs.resize(draft_.node.outputs.size());
  return a;
}

std::string Maker::Refusal() const {
  format::Application a = Asked();
  const auto checked = format::CheckApplication(a);
  return checked.has_value() ? "" : checked.error().Text();
}

// What is still to be chosen may be missed until then.
bool Maker::IsRefusedAnew() const {
  const std::string refusal = Refusal();
  return !refusal.empty() && refusal != refusal_;
}

bool Maker::Offer(std::string name, bool keep) {
  std::vector<std::string>& inputs = draft_.node.inputs;
  const bool is_further = next_ == inputs.size();
  if (is_further) inputs.emplace_back();
  std::string before = std::exchange(inputs[next_], std::move(name));
  const bool fits = !IsRefusedAnew();
  if (fits && keep) {
    ++next_;
    refusal_ = Refusal();
    return true;
  }
  inputs[next_] = std::move(before);
  if (is_further) inputs.pop_back();
  return fits;
}

bool Maker::Offer(Tensor tensor, bool constant, bool keep) {
  std::string name = "v" + number_ + "_" + std::to_string(next_);
  draft_.data.push_back({name, std::move(tensor), constant});
  const bool fits = Offer(std::move(name), keep);
  if (!fits || !keep) draft_.data.pop_back();
  return fits;
}

// Elements are drawn where type and sizes fit.
bool Maker::Fits(ElementType type, const Dims& dims) {
  return Offer(Tensor{.elem_type = type, .dims = dims}, /*constant=*/false, /*keep=*/false);
}

bool Maker::Offer(format::Attribute attribute) {
  draft_.node.attributes.push_back(std::move(attribute));
  if (IsRefusedAnew()) {
    draft_.node.attributes.pop_back();
    return false;
  }
  refusal_ = Refusal();
  return true;
}

Dims Maker::New(const Dims& dims, std::optional<std::int64_t> axis, bool constant) {
  for (int tries = 0; tries < kMaxTypes; ++tries) {
    const ElementType type = DrawType(tries);
    if (Fits(type, dims) && Offer(Filled(type, dims, axis), constant)) break;
  }
  return dims;
}

Dims Maker::Value(std::int64_t lowest_rank, std::int64_t highest_rank) {
  for (std::size_t tries = 0; tries < 4 && !known_.empty(); ++tries) {
    const Datum& known = known_[random_.Below(known_.size())];
    const std::int64_t rank = std::ssize(known.tensor.dims);
    if (rank < lowest_rank || rank > highest_rank || !Offer(known.name)) continue;
    return known.tensor.dims;
  }
  const Dims dims = Shape(lowest_rank, highest_rank);
  std::optional<std::int64_t> axis;
  if (!dims.empty() && Chance(15)) axis = Between(0, std::ssize(dims) - 1);
  return New(dims, axis, /*constant=*/false);
}

format::TensorType Maker::ResultType(const Tensor& reals) {
  format::TensorType result;
  result.elem_type = DrawReal();
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

void Maker::Bias(std::size_t x_input, std::size_t w_input, std::int64_t axis,
                 std::int64_t channels) {
  const Dims dims = {channels};
  const Datum* x = Find(draft_.node.inputs[x_input]);
  const Datum* w = Find(draft_.node.inputs[w_input]);
  if (x == nullptr || w == nullptr || Chance(30)) return;
  if (!x->tensor.quantization || !w->tensor.quantization || Chance(15)) {
    Offer(Fill(ElementType::kFloat, dims, std::nullopt), /*constant=*/true);
    return;
  }
  const Quantization& wq = *w->tensor.quantization;
  const float x_scale = x->tensor.quantization->scale[0];
  Quantization q;
  q.scale = {x_scale * wq.scale[0]};
  if (wq.axis == std::vector<std::int64_t>{axis} && std::ssize(wq.scale) == channels) {
    q.axis = {0};
    q.scale.clear();
    for (const float scale : wq.scale) q.scale.push_back(x_scale * scale);
  }
  auto made = format::MakeTensor(ElementType::kInt32Q, dims, std::move(q));
  if (!made) return;
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < channels; ++i) values.push_back(Between(-4000, 4000));
  format::PackIntegers(values, *made);
  Offer(*std::move(made), /*constant=*/true);
}

void Maker::Int64s(const std::vector<std::int64_t>& values) {
  auto made = format::MakeTensor(ElementType::kInt64, {std::ssize(values)});
  if (!made) return;
  format::PackIntegers(values, *made);
  Offer(*std::move(made), /*constant=*/true);
}

void Maker::Scales(const Dims& dims, float factor) {
  auto made = format::MakeTensor(ElementType::kFloat, dims);
  if (!made) return;
  for (float& scale : made->As<float>()) scale = Scale() * factor;
  Offer(*std::move(made), /*constant=*/true);
}

void Maker::Inputs(std::size_t count) {
  draft_.node.inputs.resize(count, kToCome);
  refusal_ = Refusal();
}

void Maker::Outputs(std::size_t count) {
  draft_.node.outputs.clear();
  for (std::size_t i = 0; i < count; ++i) {
    draft_.node.outputs.push_back("t" + number_ + "_" + std::to_string(i));
  }
}

bool Maker::Has(std::string_view name) const {
  const format::AttributeRule* rule = schema_.FindAttribute(name, traits_.opset);
  if (rule == nullptr || traits_.opset < rule->since || traits_.opset > rule->until) return false;
  if (!schema_.domain.empty()) return true;
  const auto* op = format::catalogue::FindOnnxOperator(schema_.op_type, traits_.opset);
  return op != nullptr &&
         std::ranges::count(op->Attributes(), name, &format::catalogue::OnnxAttribute::name) > 0;
}

void Maker::Int(std::string name, std::int64_t value) {
  if (Has(name)) Offer(format::Attribute::Int(std::move(name), value));
}
void Maker::String(std::string name, std::string value) {
  if (Has(name)) Offer(format::Attribute::String(std::move(name), std::move(value)));
}

}  // namespace qtx::conformance
