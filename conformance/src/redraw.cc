#include "redraw.h"

#include <array>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "generator.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Tensor;

constexpr std::array kKinds = {GeneratorKind::kUniform, GeneratorKind::kTies,
                               GeneratorKind::kBoundary, GeneratorKind::kSaturate,
                               GeneratorKind::kNormal};

std::optional<float> AimOf(const TestModel& test) {
  if (test.outputs.empty() || !test.outputs[0].type) return std::nullopt;
  const auto& q = test.outputs[0].type->quantization;
  return q && !q->scale.empty() ? std::optional(q->scale[0]) : std::nullopt;
}

void Permute(Random& random, Tensor& tensor) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(format::ElementCount(tensor)));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  tensor = Pick(tensor, order, tensor.dims);
}

void Generated(Random& random, std::optional<float> target, Tensor& tensor) {
  format::TensorType type;
  type.elem_type = tensor.elem_type;
  type.quantization = tensor.quantization;
  const GeneratorKind kind = kKinds[random.Below(kKinds.size())];
  auto drawn = Generate({kind, random.Next(), -1}, type, tensor.dims, target);
  if (drawn) tensor = *std::move(drawn);
}

}  // namespace

bool HasValues(const Datum& datum) {
  const ElementType storage = format::StorageOf(datum.tensor.elem_type);
  const bool is_index = storage == ElementType::kInt64 || storage == ElementType::kUint64 ||
                        storage == ElementType::kBool;
  return !is_index && format::BitWidth(storage) > 0 && !datum.tensor.bytes.empty();
}

TestModel Redraw(const TestModel& test, std::uint64_t draw) {
  Random random(draw);
  const bool permute = draw % 2 == 0;
  TestModel drawn = test;
  std::vector<std::size_t> data;
  for (std::size_t i = 0; i < drawn.data.size(); ++i) {
    if (HasValues(drawn.data[i])) data.push_back(i);
  }
  if (data.empty()) return drawn;
  const std::size_t always = data[random.Below(data.size())];
  for (const std::size_t i : data) {
    if (i != always && random.Below(4) == 0) continue;
    Tensor& tensor = drawn.data[i].tensor;
    // A single value of no quantized type may be a parameter: a scale, an offset, a bound.
    const bool is_parameter = !tensor.quantization && format::ElementCount(tensor) == 1;
    if (permute || (is_parameter && random.Below(4) != 0)) {
      Permute(random, tensor);
    } else {
      Generated(random, AimOf(test), tensor);
    }
  }
  return drawn;
}

}  // namespace qtx::conformance
