// Add, Sub and Mul of 8-bit operands, with ONNX's broadcasting: a kernel computes blocks of stored
// bytes.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/exact.h"
#include "engine/ops/binary.h"
#include "engine/ops/broadcast.h"
#include "engine/plan.h"

namespace qtx::backend::engine {
namespace {

struct Side {
  PerTensor type;
  Buffer* buffer = nullptr;
  Broadcast broadcast;
};

constexpr double kLargest = 255;  // stored - offset of 8 bits

// Binary32 keeps its relative precision well inside its exponent range.
bool IsUsable(double ratio) { return ratio > 0x1p-90 && ratio < 0x1p90; }

// Sub is the addition of -b. If a ratio leaves the range of binary32, every lane is decided
// exactly.
AddRounding AddRoundingOf(const PerTensor& a, const PerTensor& b, const PerTensor& y, double sign) {
  AddRounding rounding{.a_offset = a.offset,
                       .b_offset = b.offset,
                       .a_ratio = 0,
                       .b_ratio = 0,
                       .threshold = -1,
                       .narrowing = y.Narrowed()};
  const double a_ratio = a.scale / y.scale;
  const double b_ratio = b.scale / y.scale;
  if (!IsUsable(a_ratio) || !IsUsable(b_ratio)) return rounding;
  rounding.a_ratio = static_cast<float>(a_ratio);
  rounding.b_ratio = static_cast<float>(sign * b_ratio);
  // Multiples of 2^-14 below 2^10 have no more than 24 bits.
  const bool exact = IsShift(a.scale, y.scale) && IsShift(b.scale, y.scale);
  rounding.threshold = exact ? kNoDoubt : DoubtThreshold(b_ratio * kLargest, y.Rounded());
  return rounding;
}

// The error is that of an accumulator's rounding without a bias: see DoubtThreshold.
MulRounding MulRoundingOf(const PerTensor& a, const PerTensor& b, const PerTensor& y) {
  MulRounding rounding{.a_offset = a.offset,
                       .b_offset = b.offset,
                       .ratio = 0,
                       .threshold = -1,
                       .narrowing = y.Narrowed()};
  const double ratio = a.scale * b.scale / y.scale;
  if (!IsUsable(ratio)) return rounding;
  rounding.ratio = static_cast<float>(ratio);
  rounding.threshold =
      IsShift(a.scale * b.scale, y.scale) ? kNoDoubt : DoubtThreshold(0, y.Rounded());
  return rounding;
}

class ByteBinary : public Step {
 public:
  ByteBinary(BinaryOperation operation, Side a, Side b, Buffer* y, PerTensor output,
             const NodePlan& node)
      : operation_(operation),
        a_(std::move(a)),
        b_(std::move(b)),
        y_(y),
        output_(output),
        kernels_(node.kernels()),
        threads_(node.threads()),
        add_(AddRoundingOf(a_.type, b_.type, output, operation == BinaryOperation::kSub ? -1 : 1)),
        mul_(MulRoundingOf(a_.type, b_.type, output)) {}

  std::string_view Path() const override {
    return operation_ == BinaryOperation::kMul ? "mul" : "add";
  }
  Result<void> Run() override {
    constexpr std::int64_t kBytesPerNanosecond = 8;
    threads_.ForBlocks(y_->size, kBlock, y_->size / kBytesPerNanosecond,
                       [this](std::int64_t first, std::int64_t n) { RunBlock(first, n); });
    return {};
  }

 private:
  static constexpr std::int64_t kBlock = 512;

  void RunBlock(std::int64_t first, std::int64_t n) const {
    std::array<std::uint8_t, kBlock + kReadAhead> a_bytes;
    std::array<std::uint8_t, kBlock + kReadAhead> b_bytes;
    std::array<std::int32_t, kBlock> doubtful;
    const std::uint8_t* a = a_.broadcast.Take(a_.buffer->bytes(), first, n, a_bytes.data());
    const std::uint8_t* b = b_.broadcast.Take(b_.buffer->bytes(), first, n, b_bytes.data());
    std::uint8_t* out = y_->bytes() + first;
    const std::int64_t count = operation_ == BinaryOperation::kMul
                                   ? kernels_.mul(a, b, n, mul_, out, doubtful.data())
                                   : kernels_.add(a, b, n, add_, out, doubtful.data());
    for (std::int64_t d = 0; d < count; ++d) {
      const auto i = doubtful[static_cast<std::size_t>(d)];
      out[i] = Exactly(a[i], b[i]);
    }
  }

  double DifferenceOf(const Side& side, std::uint8_t byte) const {
    const int stored = kernels_.signed_bytes ? static_cast<std::int8_t>(byte) : byte;
    return static_cast<double>(stored - side.type.offset);
  }

  std::uint8_t Exactly(std::uint8_t a, std::uint8_t b) const {
    const double left = DifferenceOf(a_, a);
    const double right = DifferenceOf(b_, b);
    const double sign = operation_ == BinaryOperation::kSub ? -1 : 1;
    const DoubleDouble real = operation_ == BinaryOperation::kMul
                                  ? TwoProduct(left * right, a_.type.scale * b_.type.scale)
                                  : TwoSum(left * a_.type.scale, sign * right * b_.type.scale);
    return static_cast<std::uint8_t>(RoundPairHalfEven(real, output_.scale, output_.Rounded()) +
                                     output_.offset);
  }

  BinaryOperation operation_;
  Side a_, b_;
  Buffer* y_;
  PerTensor output_;
  const Kernels& kernels_;
  Threads& threads_;
  AddRounding add_;
  MulRounding mul_;
};

}  // namespace

StepResult PrepareByteBinary(const NodePlan& node, BinaryOperation operation) {
  Side a;
  Side b;
  QTX_ASSIGN_OR_RETURN(a.type, EightBitInput(node, 0));
  QTX_ASSIGN_OR_RETURN(b.type, EightBitInput(node, 1));
  QTX_ASSIGN_OR_RETURN(const format::Tensor* a_type, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const format::Tensor* b_type, node.TypeOf(1));
  QTX_ASSIGN_OR_RETURN(const format::Dims dims, node.InferredDims());
  QTX_ASSIGN_OR_RETURN(const format::Tensor y_type, node.OutputType(dims));
  auto output = PerTensorOf(BufferType(y_type, node.kernels().signed_bytes));
  if (!output.has_value()) return node.Because(output.error());
  if (format::BitWidth(y_type.elem_type) != 8)
    return node.Unsupported("a result of other than 8 bits");
  // The larger operand decides, which need not be moved then.
  const bool by_a = !node.IsConstant(0) && a_type->dims == dims;
  const Layout layout = node.LayoutOf(by_a ? 0 : 1);
  QTX_ASSIGN_OR_RETURN(a.buffer, node.InputBuffer(0, OperandLayout(a_type->dims, dims, layout)));
  QTX_ASSIGN_OR_RETURN(b.buffer, node.InputBuffer(1, OperandLayout(b_type->dims, dims, layout)));
  QTX_ASSIGN_OR_RETURN(Buffer * y, node.OutputBuffer(dims, layout));
  for (Side* side : {&a, &b}) {
    side->broadcast = Broadcast(side->buffer->type.dims, side->buffer->layout, dims, y->layout);
  }
  return std::make_unique<ByteBinary>(operation, std::move(a), std::move(b), y, *output, node);
}

}  // namespace qtx::backend::engine
