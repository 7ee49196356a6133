#include "engine/ops/inexact_binary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "engine/fixed_point.h"
#include "engine/ops/binary32.h"
#include "engine/ops/indexing.h"

namespace qtx::backend::engine {
namespace {

using format::ElementType;
using format::Tensor;
using Maybe = Result<std::optional<std::unique_ptr<Step>>>;

float Combined(BinaryOperation operation, float a, float b) {
  if (operation == BinaryOperation::kMul) return a * b;
  return operation == BinaryOperation::kAdd ? a + b : a - b;
}

// TFLite's kernels on integers: each operand through a multiplier of its own (Mul: none), then
// their sum or product through that of the result.  Source: tflite.S5, tflite.S6, tflite.S12.
struct IntegerRule {
  Epilogue::Kind kind = Epilogue::Kind::kTwice;
  std::int32_t headroom = 1;  // operands are multiplied with it first
  Multiplier a, b, y;

  std::int32_t Multiplied(std::int64_t integer, Multiplier factor) const {
    const auto value = static_cast<std::int32_t>(integer * headroom);
    return static_cast<std::int32_t>(kind == Epilogue::Kind::kOnce ? MultiplyOnce(value, factor)
                                                                   : MultiplyTwice(value, factor));
  }
  std::int32_t Accumulator(BinaryOperation operation, std::int64_t left, std::int64_t right) const {
    if (operation == BinaryOperation::kMul) return static_cast<std::int32_t>(left * right);
    const std::int32_t u = Multiplied(left, a);
    const std::int32_t v = Multiplied(right, b);
    return operation == BinaryOperation::kSub ? u - v : u + v;
  }
};

IntegerRule RuleOf(Arithmetic arithmetic, BinaryOperation operation, int headroom_bits, double a,
                   double b, double y) {
  IntegerRule rule;
  if (arithmetic == Arithmetic::kTfliteSingle) rule.kind = Epilogue::Kind::kOnce;
  if (operation == BinaryOperation::kMul) {
    const float product = static_cast<float>(a) * static_cast<float>(b);
    rule.y = MakeMultiplier(static_cast<double>(product / static_cast<float>(y)));
    return rule;
  }
  rule.headroom = std::int32_t{1} << headroom_bits;
  const double twice = 2 * std::max(a, b);
  rule.a = MakeMultiplier(a / twice);
  rule.b = MakeMultiplier(b / twice);
  rule.y = MakeMultiplier(twice / (y * rule.headroom));
  return rule;
}

// 8 bits: what an operand contributes is a table of its stored byte.
template <typename T>
using Contributions = std::array<T, 256>;

struct Operand {
  PerTensor type;
  Buffer* buffer = nullptr;
  std::vector<std::int64_t> index;  // of the element that meets each of y; empty: in order

  std::uint8_t At(std::int64_t i) const {
    return buffer->bytes()[index.empty() ? i : index[static_cast<std::size_t>(i)]];
  }
};

constexpr std::int64_t kBlock = 512;

// A byte of a buffer minus the offset.
std::int64_t IntegerOf(std::size_t byte, const PerTensor& type, bool is_signed) {
  const auto raw = static_cast<std::uint8_t>(byte);
  return (is_signed ? static_cast<std::int8_t>(raw) : raw) - type.offset;
}

class EightBitBinary : public Step {
 public:
  EightBitBinary(const NodePlan& node, BinaryOperation operation, Operand a, Operand b, Buffer* y)
      : operation_(operation),
        a_(std::move(a)),
        b_(std::move(b)),
        y_(y),
        kernels_(node.kernels()),
        threads_(node.threads()) {}

  std::string_view Path() const override { return "binary"; }
  Result<void> Run() override {
    threads_.ForBlocks(y_->size, kBlock, y_->size,
                       [this](std::int64_t first, std::int64_t n) { RunBlock(first, n); });
    return {};
  }

 protected:
  virtual void RunBlock(std::int64_t first, std::int64_t n) const = 0;

  BinaryOperation operation_;
  Operand a_, b_;
  Buffer* y_;
  const Kernels& kernels_;
  Threads& threads_;
};

class EightBitFloats : public EightBitBinary {
 public:
  EightBitFloats(const NodePlan& node, BinaryOperation operation, Operand a, Operand b, Buffer* y,
                 const PerTensor& output)
      : EightBitBinary(node, operation, std::move(a), std::move(b), y), output_(output) {
    for (std::size_t byte = 0; byte < left_.size(); ++byte) {
      left_[byte] = Real(byte, a_.type);
      right_[byte] = Real(byte, b_.type);
    }
  }

 private:
  float Real(std::size_t byte, const PerTensor& type) const {
    return Binary32Of(
        Term{static_cast<double>(IntegerOf(byte, type, kernels_.signed_bytes)), type.scale});
  }

  using Reals = std::array<float, kBlock + kReadAhead>;

  void Load(const Operand& operand, const Contributions<float>& table, std::int64_t first,
            std::int64_t n, Reals& reals) const {
    if (operand.index.empty()) {
      return kernels_.dequantize(operand.buffer->bytes() + first, n, operand.type.offset,
                                 static_cast<float>(operand.type.scale), reals.data());
    }
    for (std::int64_t i = 0; i < n; ++i) {
      reals[static_cast<std::size_t>(i)] = table[operand.At(first + i)];
    }
  }

  void RunBlock(std::int64_t first, std::int64_t n) const override {
    Reals values;
    Reals right;
    Load(a_, left_, first, n, values);
    Load(b_, right_, first, n, right);
    const auto combine = [&](auto operation) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        values[i] = operation(values[i], right[i]);
      }
    };
    if (operation_ == BinaryOperation::kMul) combine(std::multiplies());
    if (operation_ == BinaryOperation::kAdd) combine(std::plus());
    if (operation_ == BinaryOperation::kSub) combine(std::minus());
    std::fill_n(values.begin() + n, kReadAhead, 0.0F);
    kernels_.quantize(values.data(), n, static_cast<float>(output_.scale), output_.Narrowed(),
                      y_->bytes() + first);
  }

  PerTensor output_;
  Contributions<float> left_{}, right_{};
};

class EightBitIntegers : public EightBitBinary {
 public:
  EightBitIntegers(const NodePlan& node, BinaryOperation operation, Operand a, Operand b, Buffer* y,
                   const PerTensor& output, const IntegerRule& rule)
      : EightBitBinary(node, operation, std::move(a), std::move(b), y),
        requantizer_(Requantizer::OfMultiplier(rule.kind, rule.y, kBlock, output, node.kernels())) {
    for (std::size_t byte = 0; byte < left_.size(); ++byte) {
      const std::int64_t a_integer = IntegerOf(byte, a_.type, kernels_.signed_bytes);
      const std::int64_t b_integer = IntegerOf(byte, b_.type, kernels_.signed_bytes);
      const bool product = operation == BinaryOperation::kMul;
      left_[byte] = product ? static_cast<std::int32_t>(a_integer)
                            : rule.Accumulator(BinaryOperation::kAdd, a_integer, 0);
      right_[byte] = product ? static_cast<std::int32_t>(b_integer)
                             : rule.Accumulator(operation, 0, b_integer);
    }
  }

 private:
  void RunBlock(std::int64_t first, std::int64_t n) const override {
    std::array<std::int32_t, kBlock + kReadAhead> sums;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int32_t left = left_[a_.At(first + i)];
      const std::int32_t right = right_[b_.At(first + i)];
      sums[static_cast<std::size_t>(i)] =
          operation_ == BinaryOperation::kMul ? left * right : left + right;
    }
    std::fill_n(sums.begin() + n, kReadAhead, 0);
    requantizer_.Convert({.acc = sums.data(), .stride = n, .columns = n, .element = first},
                         y_->data);
  }

  Requantizer requantizer_;
  Contributions<std::int32_t> left_{}, right_{};
};

// All types of reals, element by element.
class GeneralBinary : public Step {
 public:
  GeneralBinary(BinaryOperation operation, const Value* a, const Value* b, Value* y)
      : operation_(operation),
        a_(a),
        b_(b),
        y_(y),
        a_index_(BroadcastIndex(a->tensor.dims, y->tensor.dims)),
        b_index_(BroadcastIndex(b->tensor.dims, y->tensor.dims)) {}

 protected:
  // Calls put(element, left, right).
  template <typename Put>
  void ForEach(Put put) const {
    const std::vector<Term> a = RealsOf(a_->tensor);
    const std::vector<Term> b = RealsOf(b_->tensor);
    for (std::size_t i = 0; i < a_index_.size(); ++i) {
      put(static_cast<std::int64_t>(i), a[static_cast<std::size_t>(a_index_[i])],
          b[static_cast<std::size_t>(b_index_[i])]);
    }
  }

  BinaryOperation operation_;
  const Value* a_;
  const Value* b_;
  Value* y_;
  std::vector<std::int64_t> a_index_, b_index_;
};

class GeneralFloats : public GeneralBinary {
 public:
  using GeneralBinary::GeneralBinary;
  Result<void> Run() override {
    FloatWriter writer(y_->tensor);
    ForEach([&](std::int64_t element, const Term& a, const Term& b) {
      writer.Put(element, Combined(operation_, Binary32Of(a), Binary32Of(b)));
    });
    writer.Finish();
    return {};
  }
};

class SixteenBitIntegers : public GeneralBinary {
 public:
  SixteenBitIntegers(BinaryOperation operation, const Value* a, const Value* b, Value* y,
                     const IntegerRule& rule, const PerTensor& output)
      : GeneralBinary(operation, a, b, y),
        rule_(rule),
        scaling_(Scaling::OfMultiplier(rule.kind, rule.y, 1, output.AsStored(), 0)) {}

  Result<void> Run() override {
    std::vector<std::int32_t> stored;
    ForEach([&](std::int64_t, const Term& a, const Term& b) {
      const std::int32_t sum = rule_.Accumulator(operation_, static_cast<std::int64_t>(a.integer),
                                                 static_cast<std::int64_t>(b.integer));
      stored.push_back(static_cast<std::int32_t>(scaling_.Stored(sum, 0)));
    });
    format::PackInt32(stored, y_->tensor);
    return {};
  }

 private:
  IntegerRule rule_;
  Scaling scaling_;
};

bool IsPowerOfTwo(double scale) {
  int exponent = 0;
  return std::frexp(scale, &exponent) == 0.5;
}

struct Types {
  Tensor a, b, y;  // without bytes

  bool All(ElementType one, ElementType other) const {
    return std::ranges::all_of(std::array{&a, &b, &y}, [=](const Tensor* t) {
      return t->elem_type == one || t->elem_type == other;
    });
  }
};

// ADD or SUB of a TFLite file, which says by an option which kernel it has: tflite.S12.
bool HasKernelByOption(const NodePlan& node, const Types& types) {
  const bool named = ComesFromTflite(node.node(), "ADD") || ComesFromTflite(node.node(), "SUB");
  return named && types.All(ElementType::kInt16Q, ElementType::kInt16Q);
}

// The types of TFLite's kernels: 8 bits, or 16 without offsets; with all three scales powers of two
// ADD and SUB have a kernel that no clause states.
bool HasKernel(const Types& types, BinaryOperation operation) {
  std::array<PerTensor, 3> each;
  for (std::size_t i = 0; i < each.size(); ++i) {
    const auto type = PerTensorOf(*std::array{&types.a, &types.b, &types.y}[i]);
    if (!type.has_value()) return false;
    each[i] = *type;
  }
  if (types.All(ElementType::kInt8Q, ElementType::kUint8Q)) return true;
  if (!types.All(ElementType::kInt16Q, ElementType::kInt16Q)) {
    return false;
  }
  const bool offsets = std::ranges::any_of(each, [](const PerTensor& t) { return t.offset != 0; });
  const bool shifts =
      std::ranges::all_of(each, [](const PerTensor& t) { return IsPowerOfTwo(t.scale); });
  return !offsets && (operation == BinaryOperation::kMul || !shifts);
}

IntegerRule RuleOf(const NodePlan& node, BinaryOperation operation, const Types& types) {
  const int headroom = types.a.elem_type == ElementType::kInt16Q ? 15 : 20;
  return RuleOf(node.arithmetic(), operation, headroom, PerTensorOf(types.a)->scale,
                PerTensorOf(types.b)->scale, PerTensorOf(types.y)->scale);
}

Result<Types> TypesOf(const NodePlan& node) {
  Types types;
  QTX_ASSIGN_OR_RETURN(const Tensor* a, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const Tensor* b, node.TypeOf(1));
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, node.InferredDims());
  QTX_ASSIGN_OR_RETURN(types.y, node.OutputType(dims));
  types.a = {a->elem_type, a->dims, a->quantization, {}};
  types.b = {b->elem_type, b->dims, b->quantization, {}};
  return types;
}

StepResult MakeEightBits(const NodePlan& node, BinaryOperation operation, const Types& types) {
  Operand a;
  Operand b;
  QTX_ASSIGN_OR_RETURN(a.type, EightBitInput(node, 0));
  QTX_ASSIGN_OR_RETURN(b.type, EightBitInput(node, 1));
  auto output = PerTensorOf(BufferType(types.y, node.kernels().signed_bytes));
  if (!output.has_value()) return node.Because(output.error());
  const format::Dims& dims = types.y.dims;
  const bool alike = types.a.dims == dims && types.b.dims == dims;
  const Layout layout = alike ? node.LayoutOf(node.IsConstant(0) ? 1 : 0) : Layout::kRowMajor;
  if (types.a.dims != dims) a.index = BroadcastIndex(types.a.dims, dims);
  if (types.b.dims != dims) b.index = BroadcastIndex(types.b.dims, dims);
  QTX_ASSIGN_OR_RETURN(a.buffer, node.InputBuffer(0, layout));
  QTX_ASSIGN_OR_RETURN(b.buffer, node.InputBuffer(1, layout));
  QTX_ASSIGN_OR_RETURN(Buffer * y, node.OutputBuffer(dims, layout));
  if (!IsTflite(node.arithmetic())) {
    return std::make_unique<EightBitFloats>(node, operation, std::move(a), std::move(b), y,
                                            *output);
  }
  return std::make_unique<EightBitIntegers>(node, operation, std::move(a), std::move(b), y, *output,
                                            RuleOf(node, operation, types));
}

StepResult MakeGeneral(const NodePlan& node, BinaryOperation operation, const Types& types) {
  QTX_ASSIGN_OR_RETURN(const Value* a, node.Input(0));
  QTX_ASSIGN_OR_RETURN(const Value* b, node.Input(1));
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(types.y.dims));
  for (const Value* value : {a, b, static_cast<const Value*>(y)}) {
    QTX_RETURN_IF_ERROR(CheckReals(node, *value));
  }
  if (!IsTflite(node.arithmetic())) {
    return std::make_unique<GeneralFloats>(operation, a, b, y);
  }
  return std::make_unique<SixteenBitIntegers>(operation, a, b, y, RuleOf(node, operation, types),
                                              *PerTensorOf(types.y));
}

}  // namespace

Maybe PrepareInexactBinary(const NodePlan& node, BinaryOperation operation) {
  if (node.arithmetic() == Arithmetic::kExact) return Maybe(std::nullopt);
  QTX_ASSIGN_OR_RETURN(const Types types, TypesOf(node));
  if (IsTflite(node.arithmetic()) && HasKernelByOption(node, types)) {
    return node.Unsupported("a sum of INT16Q, whose kernel an option of the TFLite file chooses");
  }
  if (IsTflite(node.arithmetic()) && !HasKernel(types, operation)) {
    return Maybe(std::nullopt);
  }
  const auto per_tensor = [](const Tensor& t) { return PerTensorOf(t).has_value(); };
  const bool eight = types.All(ElementType::kInt8Q, ElementType::kUint8Q) && per_tensor(types.a) &&
                     per_tensor(types.b) && per_tensor(types.y);
  QTX_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, eight ? MakeEightBits(node, operation, types)
                                                         : MakeGeneral(node, operation, types));
  return Maybe(std::move(step));
}

}  // namespace qtx::backend::engine
