#include "engine/ops/word_binary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "engine/exact.h"
#include "engine/ops/broadcast.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;

constexpr std::int64_t kBlock = 512;
using Reals = std::array<double, kBlock>;

// Calls work with a value of the type that `storage` is in memory.
template <typename Work>
void WithStorage(ElementType storage, const Work& work) {
  switch (storage) {
    case ElementType::kInt8:
      return work(std::int8_t{});
    case ElementType::kUint8:
      return work(std::uint8_t{});
    case ElementType::kInt16:
      return work(std::int16_t{});
    default:
      return work(std::uint16_t{});
  }
}

// An operand as differences of at most 17 bits.
struct Operand {
  const Value* value = nullptr;
  PerTensor type;
  ElementType storage = ElementType::kUndefined;
  Broadcast broadcast;

  template <typename T>
  void LoadAs(std::int64_t first, std::int64_t n, Reals& differences) const {
    std::array<T, kBlock> copy;
    const T* stored = broadcast.Take(reinterpret_cast<const T*>(value->tensor.bytes.data()), first,
                                     n, copy.data());
    const auto offset = static_cast<std::int32_t>(type.offset);
    for (std::int64_t i = 0; i < n; ++i) {
      differences[static_cast<std::size_t>(i)] = static_cast<double>(stored[i] - offset);
    }
  }
  void Load(std::int64_t first, std::int64_t n, Reals& differences) const {
    WithStorage(storage, [&](auto type_of) { LoadAs<decltype(type_of)>(first, n, differences); });
  }
};

class WordBinary : public Step {
 public:
  WordBinary(const NodePlan& node, BinaryOperation operation, std::array<Operand, 2> operands,
             Value* y, const PerTensor& output)
      : multiplies_(operation == BinaryOperation::kMul),
        operands_(std::move(operands)),
        y_(y),
        output_(output),
        storage_(format::StorageOf(y->tensor.elem_type)),
        threads_(node.threads()) {
    left_ = operands_[0].type.scale;
    right_ = operands_[1].type.scale;
    if (operation == BinaryOperation::kSub) right_ = -right_;
    unit_ = left_ * right_;  // exact: 48 bits
  }

  std::string_view Path() const override { return "word binary"; }
  Result<void> Run() override {
    const std::int64_t count = format::ElementCount(y_->tensor);
    threads_.ForBlocks(count, kBlock, count * 4,
                       [this](std::int64_t first, std::int64_t n) { RunBlock(first, n); });
    return {};
  }

 private:
  void RunBlock(std::int64_t first, std::int64_t n) const {
    Reals a, b, nearest;
    operands_[0].Load(first, n, a);
    operands_[1].Load(first, n, b);
    const bool certain = Round(a, b, n, nearest);
    for (std::int64_t i = 0; i < n && !certain; ++i) {
      const auto k = static_cast<std::size_t>(i);
      nearest[k] = Settled(a[k], b[k]);
    }
    WithStorage(storage_, [&](auto type_of) { Store<decltype(type_of)>(nearest, first, n); });
  }

  // The real in units of y, nearly. Its error, three roundings of 2^-53, is of no account beside
  // kDoubt where it is within the range.
  double StepsOf(double a, double b) const {
    const double real = multiplies_ ? a * b * unit_ : a * left_ + b * right_;
    return real / output_.scale;
  }
  double Low() const { return static_cast<double>(output_.Rounded().min) - 1; }
  double High() const { return static_cast<double>(output_.Rounded().max) + 1; }

  // The nearest integers of all; false if one of them may be a tie.
  bool Round(const Reals& a, const Reals& b, std::int64_t n, Reals& nearest) const {
    constexpr double kRounder = 0x1.8p52;  // a sum with it is rounded to an integer
    constexpr double kDoubt = 0.5 - 0x1p-20;
    const double low = Low();
    const double high = High();
    bool certain = true;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      const double steps = StepsOf(a[i], b[i]);
      const double within = steps < low ? low : steps > high ? high : steps;
      nearest[i] = (within + kRounder) - kRounder;
      certain &= std::fabs(within - nearest[i]) < kDoubt;
    }
    return certain;
  }

  double Settled(double a, double b) const {
    const DoubleDouble real =
        multiplies_ ? TwoProduct(a * b, unit_) : TwoSum(a * left_, b * right_);
    return static_cast<double>(RoundPairHalfEven(real, output_.scale, output_.Rounded()));
  }

  template <typename T>
  void Store(const Reals& nearest, std::int64_t first, std::int64_t n) const {
    T* stored = reinterpret_cast<T*>(y_->tensor.bytes.data()) + first;
    const auto offset = static_cast<std::int32_t>(output_.offset);
    const auto low = static_cast<std::int32_t>(output_.stored.min);
    const auto high = static_cast<std::int32_t>(output_.stored.max);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto value = static_cast<std::int32_t>(nearest[static_cast<std::size_t>(i)]) + offset;
      stored[i] = static_cast<T>(std::clamp(value, low, high));
    }
  }

  bool multiplies_;
  std::array<Operand, 2> operands_;
  Value* y_;
  PerTensor output_;
  ElementType storage_;
  double left_ = 1, right_ = 1, unit_ = 1;
  Threads& threads_;
};

// Integers of 8 or 16 bits with one scale.
std::optional<PerTensor> WordsOf(const format::Tensor& type) {
  const ElementType storage = format::StorageOf(type.elem_type);
  const bool known = storage == ElementType::kInt8 || storage == ElementType::kUint8 ||
                     storage == ElementType::kInt16 || storage == ElementType::kUint16;
  if (!known || storage == type.elem_type) return std::nullopt;
  const auto parameters = PerTensorOf(type);
  // Offsets of more bits would make differences of more.
  if (!parameters.has_value() || std::abs(parameters->offset) > (1 << 16)) return std::nullopt;
  return *parameters;
}

}  // namespace

std::unique_ptr<Step> MakeWordBinary(const NodePlan& node, BinaryOperation operation,
                                     const Value* a, const Value* b, Value* y) {
  std::array<Operand, 2> operands;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Value* value = i == 0 ? a : b;
    const auto type = WordsOf(value->tensor);
    if (!type.has_value()) return nullptr;
    operands[i] = {
        value, *type, format::StorageOf(value->tensor.elem_type),
        Broadcast(value->tensor.dims, Layout::kRowMajor, y->tensor.dims, Layout::kRowMajor)};
  }
  const auto output = WordsOf(y->tensor);
  if (!output.has_value()) return nullptr;
  return std::make_unique<WordBinary>(node, operation, std::move(operands), y, *output);
}

}  // namespace qtx::backend::engine
