// Add of 8-bit operands, with ONNX's broadcasting. Both operands are brought to the output's shape
// as stored bytes; the sum itself is one kernel call.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "engine/exact.h"
#include "engine/ops/indexing.h"
#include "engine/plan.h"

namespace qtx::backend::engine {
namespace {

class Add : public Step {
 public:
  Add(Operand a, Operand b, Value* y, PerTensor output, const Kernels& kernels)
      : a_(a), b_(b), y_(y), output_(output), kernels_(kernels) {
    rounding_ = {.a_signed = a.is_signed,
                 .b_signed = b.is_signed,
                 .a_offset = a.type.offset,
                 .b_offset = b.type.offset,
                 .a_ratio = 0,
                 .b_ratio = 0,
                 .threshold = -1,
                 .low = static_cast<float>(output.Rounded().min),
                 .high = static_cast<float>(output.Rounded().max),
                 .offset = output.offset};
    const double a_ratio = a.type.scale / output.scale;
    const double b_ratio = b.type.scale / output.scale;
    // Extreme ratios leave binary32's range: then every lane is decided exactly.
    if (std::min(a_ratio, b_ratio) > 0x1p-90 && std::max(a_ratio, b_ratio) < 0x1p90) {
      rounding_.a_ratio = static_cast<float>(a_ratio);
      rounding_.b_ratio = static_cast<float>(b_ratio);
      rounding_.threshold = DoubtThreshold(b_ratio * b.LargestMagnitude(), output.Rounded());
    }
    const format::Dims& dims = y->tensor.dims;
    if (a.value->tensor.dims != dims) a_index_ = BroadcastIndex(a.value->tensor.dims, dims);
    if (b.value->tensor.dims != dims) b_index_ = BroadcastIndex(b.value->tensor.dims, dims);
    a_bytes_.resize(a_index_.size());
    b_bytes_.resize(b_index_.size());
    doubtful_.resize(y->tensor.bytes.size());
  }

  Result<void> Run() override {
    const std::uint8_t* a = Spread(a_, a_index_, a_bytes_);
    const std::uint8_t* b = Spread(b_, b_index_, b_bytes_);
    std::uint8_t* out = Bytes(y_->tensor);
    const auto n = static_cast<std::int64_t>(y_->tensor.bytes.size());
    const std::int64_t count = kernels_.add(a, b, n, rounding_, out, doubtful_.data());
    for (std::int64_t d = 0; d < count; ++d) {
      const auto i = doubtful_[static_cast<std::size_t>(d)];
      out[i] = Exactly(a[i], b[i]);
    }
    return {};
  }

 private:
  static const std::uint8_t* Spread(const Operand& operand, const std::vector<std::int64_t>& index,
                                    std::vector<std::uint8_t>& bytes) {
    const std::uint8_t* stored = Bytes(operand.value->tensor);
    if (index.empty()) return stored;
    for (std::size_t i = 0; i < index.size(); ++i) bytes[i] = stored[index[i]];
    return bytes.data();
  }

  static Term TermOf(const Operand& operand, std::uint8_t byte) {
    const int stored = operand.is_signed ? static_cast<std::int8_t>(byte) : byte;
    return {static_cast<double>(stored - operand.type.offset), operand.type.scale};
  }

  std::uint8_t Exactly(std::uint8_t a, std::uint8_t b) const {
    const std::array<Term, 2> terms{TermOf(a_, a), TermOf(b_, b)};
    const Quotient sum{terms, output_.scale, 1};
    return static_cast<std::uint8_t>(RoundHalfEven(sum, output_.Rounded()) + output_.offset);
  }

  Operand a_, b_;
  Value* y_;
  PerTensor output_;
  const Kernels& kernels_;
  AddRounding rounding_;
  std::vector<std::int64_t> a_index_, b_index_;
  std::vector<std::uint8_t> a_bytes_, b_bytes_;
  std::vector<std::int32_t> doubtful_;
};

}  // namespace

StepResult PrepareEightBitAdd(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const Operand a, EightBitOperand(node, 0));
  QTX_ASSIGN_OR_RETURN(const Operand b, EightBitOperand(node, 1));
  auto dims = BroadcastDims(a.value->tensor.dims, b.value->tensor.dims);
  if (!dims.has_value()) return node.Because(dims.error());
  QTX_ASSIGN_OR_RETURN(Value * y, node.Output(*std::move(dims)));
  auto output = PerTensorOf(y->tensor);
  if (!output.has_value()) return node.Because(output.error());
  return std::make_unique<Add>(a, b, y, *output, node.kernels());
}

}  // namespace qtx::backend::engine
