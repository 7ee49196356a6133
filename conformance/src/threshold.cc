#include "threshold.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "redraw.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Tensor;

constexpr std::int64_t kFewElements = 4;  // of a tensor of which values are varied

bool IsFloat(const Tensor& tensor) { return tensor.elem_type == ElementType::kFloat; }

// Operands: other inputs may be scales, offsets, sizes.
bool IsOperand(const TestModel& test, const Datum& datum) {
  if (datum.tensor.quantization) return true;
  return std::ranges::any_of(test.nodes, [&](const format::Node& node) {
    const auto& inputs = node.inputs;
    return inputs[0] == datum.name || (inputs.size() == 2 && inputs[1] == datum.name);
  });
}

bool HasLine(const TestModel& test, const Datum& datum) {
  const Tensor& tensor = datum.tensor;
  const bool is_integer =
      format::IsIntegerStorage(tensor.elem_type) && format::BitWidth(tensor.elem_type) <= 32;
  return HasValues(datum) && IsOperand(test, datum) && (is_integer || IsFloat(tensor)) &&
         format::ElementCount(tensor) <= kFewElements;
}

// The values of an element in their order: stored integers; of binary32 the bits below the sign,
// negative for negative ones, from one infinity to the other.
class Line {
 public:
  Line(const Tensor& tensor, std::int64_t index) : is_float_(IsFloat(tensor)) {
    if (is_float_) {
      range_ = {-kInfinity, kInfinity};
      return;
    }
    range_ = format::StorageRange(tensor.elem_type);
    if (!tensor.quantization) return;
    range_ = format::StoredRange(tensor.elem_type, *tensor.quantization);
    const format::ParameterMap map(*tensor.quantization, tensor.dims);
    zero_ = format::OffsetAt(*tensor.quantization, map(index));
  }

  const format::IntegerRange& range() const { return range_; }
  std::int64_t zero() const { return zero_; }

  bool IsInfinite(std::int64_t value) const { return is_float_ && std::abs(value) == kInfinity; }

  std::int64_t At(const Tensor& tensor, std::size_t index) const {
    if (!is_float_) return format::UnpackIntegers(tensor)[index];
    const auto bits = std::bit_cast<std::int32_t>(tensor.As<float>()[index]);
    return bits >= 0 ? bits : -static_cast<std::int64_t>(bits & INT32_MAX);
  }
  void Set(std::int64_t value, std::size_t index, Tensor& tensor) const {
    if (is_float_) {
      tensor.As<float>()[index] = Float(value);
      return;
    }
    std::vector<std::int64_t> values = format::UnpackIntegers(tensor);
    values[index] = value;
    format::PackIntegers(values, tensor);
  }
  std::string Text(std::int64_t value) const {
    return is_float_ ? fmt::format("{}", Float(value)) : std::to_string(value);
  }

 private:
  static constexpr std::int64_t kInfinity = 0x7F800000;
  static float Float(std::int64_t value) {
    const auto magnitude = std::bit_cast<float>(static_cast<std::int32_t>(std::abs(value)));
    return value < 0 ? -magnitude : magnitude;
  }

  bool is_float_;
  format::IntegerRange range_;
  std::int64_t zero_ = 0;
};

// True if the first element that differs in `wrong` is an end of its range in `right`.
bool IsClamped(const Verdict& wrong, const Verdict& right) {
  if (wrong.got.size() != 1 || right.expected.size() != 1) return false;
  const Tensor& expected = right.expected[0];
  if (!expected.quantization || !format::IsIntegerStorage(expected.elem_type)) return false;
  if (wrong.got[0].elem_type != expected.elem_type || wrong.got[0].dims != expected.dims ||
      wrong.got[0].bytes.size() != expected.bytes.size()) {
    return false;
  }
  const auto range = format::StoredRange(expected.elem_type, *expected.quantization);
  const std::vector<std::int64_t> got = format::UnpackIntegers(wrong.got[0]);
  const std::vector<std::int64_t> before = format::UnpackIntegers(wrong.expected[0]);
  const std::vector<std::int64_t> now = format::UnpackIntegers(expected);
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (got[i] != before[i]) return now[i] == range.min || now[i] == range.max;
  }
  return false;
}

class Element {
 public:
  Element(DifferentialTester& tester, const TestModel& test, const Verdict& verdict,
          const Budget& budget, std::size_t datum, std::size_t index)
      : tester_(tester),
        test_(test),
        verdict_(verdict),
        budget_(budget),
        datum_(datum),
        index_(index),
        line_(test.data[datum].tensor, static_cast<std::int64_t>(index)),
        own_(line_.At(test.data[datum].tensor, index)) {}

  std::string Text() {
    if (own_ == line_.zero() || own_ < line_.range().min || own_ > line_.range().max) return "";
    const auto below = LastWrong(-1);
    const auto above = LastWrong(1);
    if (!below && !above) return "";
    const std::string element =
        test_.data[datum_].name + "[" + std::to_string(index_) + "]: wrong ";
    const auto text = [this](std::int64_t value) { return line_.Text(value); };
    if (!above) {
      return element + "from " + text(*below) + " on, right with " + text(*below - 1);
    }
    if (!below) return element + "up to " + text(*above) + ", right with " + text(*above + 1);
    const std::string right = ", right with " + text(*below - 1) + " and " + text(*above + 1);
    if (*below == *above) return element + "with " + text(*below) + right;
    return element + "from " + text(*below) + " to " + text(*above) + right;
  }

 private:
  // In that direction, by steps that double and then by halves; nullopt where nothing beside it
  // says anything.
  std::optional<std::int64_t> LastWrong(std::int64_t direction) {
    std::int64_t wrong = own_;
    std::optional<std::int64_t> right;
    for (std::int64_t step = 1; !right; step *= 2) {
      const std::int64_t next =
          std::clamp(own_ + direction * step, line_.range().min, line_.range().max);
      if (next == wrong) return std::nullopt;
      const auto is_wrong = IsWrong(next);
      if (!is_wrong) return std::nullopt;
      (*is_wrong ? wrong : right.emplace()) = next;
    }
    while (std::abs(*right - wrong) > 1) {
      const std::int64_t middle = wrong + (*right - wrong) / 2;
      const auto is_wrong = IsWrong(middle);
      if (!is_wrong) return std::nullopt;
      (*is_wrong ? wrong : *right) = middle;
    }
    const bool hides =
        *right == line_.zero() || line_.IsInfinite(*right) || IsClamped(verdict_, Ask(*right));
    return hides ? std::nullopt : std::optional(wrong);
  }

  Verdict Ask(std::int64_t value) {
    TestModel changed = test_;
    line_.Set(value, index_, changed.data[datum_].tensor);
    return tester_.Run(changed);
  }
  // nullopt where that is not known.
  std::optional<bool> IsWrong(std::int64_t value) {
    if (tester_.Spent(budget_)) return std::nullopt;
    const VerdictKind kind = Ask(value).kind;
    if (kind != VerdictKind::kPass && kind != verdict_.kind) return std::nullopt;
    return kind == verdict_.kind;
  }

  DifferentialTester& tester_;
  const TestModel& test_;
  const Verdict& verdict_;
  const Budget& budget_;
  std::size_t datum_;
  std::size_t index_;
  Line line_;
  std::int64_t own_;
};

}  // namespace

std::vector<std::string> ThresholdsOf(DifferentialTester& tester, const TestModel& test,
                                      const Verdict& verdict, const Budget& budget) {
  std::vector<std::string> texts;
  for (std::size_t d = 0; d < test.data.size(); ++d) {
    if (!HasLine(test, test.data[d])) continue;
    const auto count = static_cast<std::size_t>(format::ElementCount(test.data[d].tensor));
    for (std::size_t i = 0; i < count; ++i) {
      std::string text = Element(tester, test, verdict, budget, d, i).Text();
      if (!text.empty()) texts.push_back(std::move(text));
    }
  }
  return texts;
}

}  // namespace qtx::conformance
