// Add of 8-bit operands, with ONNX's broadcasting. Both operands are broadcast as stored bytes; a
// kernel computes the sums.
#include <algorithm>
#include <array>
#include <utility>

#include "engine/exact.h"
#include "engine/ops/indexing.h"
#include "engine/plan.h"

namespace qtx::backend::engine {
namespace {

struct Side {
  PerTensor type;
  Buffer* buffer = nullptr;
  std::vector<std::int64_t> index;  // of the element that meets each of y; empty: in order
};

class Add : public Step {
 public:
  Add(Side a, Side b, Buffer* y, PerTensor output, const NodePlan& node)
      : a_(std::move(a)),
        b_(std::move(b)),
        y_(y),
        output_(output),
        kernels_(node.kernels()),
        threads_(node.threads()) {
    rounding_ = {.a_offset = a_.type.offset,
                 .b_offset = b_.type.offset,
                 .a_ratio = 0,
                 .b_ratio = 0,
                 .threshold = -1,
                 .narrowing = output.Narrowed()};
    const double a_ratio = a_.type.scale / output.scale;
    const double b_ratio = b_.type.scale / output.scale;
    // If a ratio leaves the range of binary32, every lane is decided exactly.
    if (std::min(a_ratio, b_ratio) > 0x1p-90 && std::max(a_ratio, b_ratio) < 0x1p90) {
      constexpr double kLargest = 255;  // stored - offset of 8 bits
      rounding_.a_ratio = static_cast<float>(a_ratio);
      rounding_.b_ratio = static_cast<float>(b_ratio);
      rounding_.threshold = DoubtThreshold(b_ratio * kLargest, output.Rounded());
    }
  }

  Result<void> Run() override {
    constexpr std::int64_t kPiece = 1 << 14;
    constexpr std::int64_t kBytesPerNanosecond = 8;
    threads_.For((y_->size + kPiece - 1) / kPiece, y_->size / kBytesPerNanosecond,
                 [this](std::int64_t piece) {
                   for (std::int64_t i = piece * kPiece;
                        i < std::min(y_->size, (piece + 1) * kPiece); i += kBlock) {
                     RunBlock(i, std::min(kBlock, y_->size - i));
                   }
                 });
    return {};
  }

 private:
  static constexpr std::int64_t kBlock = 512;

  void RunBlock(std::int64_t first, std::int64_t n) const {
    std::array<std::uint8_t, kBlock + kReadAhead> a_bytes;
    std::array<std::uint8_t, kBlock + kReadAhead> b_bytes;
    std::array<std::int32_t, kBlock> doubtful;
    const std::uint8_t* a = Spread(a_, first, n, a_bytes.data());
    const std::uint8_t* b = Spread(b_, first, n, b_bytes.data());
    std::uint8_t* out = y_->bytes() + first;
    const std::int64_t count = kernels_.add(a, b, n, rounding_, out, doubtful.data());
    for (std::int64_t d = 0; d < count; ++d) {
      const auto i = doubtful[static_cast<std::size_t>(d)];
      out[i] = Exactly(a[i], b[i]);
    }
  }

  static const std::uint8_t* Spread(const Side& side, std::int64_t first, std::int64_t n,
                                    std::uint8_t* bytes) {
    const std::uint8_t* stored = side.buffer->bytes();
    if (side.index.empty()) return stored + first;
    for (std::int64_t i = 0; i < n; ++i) {
      bytes[i] = stored[side.index[static_cast<std::size_t>(first + i)]];
    }
    return bytes;
  }

  Term TermOf(const Side& side, std::uint8_t byte) const {
    const int stored = kernels_.signed_bytes ? static_cast<std::int8_t>(byte) : byte;
    return {static_cast<double>(stored - side.type.offset), side.type.scale};
  }

  std::uint8_t Exactly(std::uint8_t a, std::uint8_t b) const {
    const std::array<Term, 2> terms{TermOf(a_, a), TermOf(b_, b)};
    const Quotient sum{terms, output_.scale, 1};
    return static_cast<std::uint8_t>(RoundHalfEven(sum, output_.Rounded()) + output_.offset);
  }

  Side a_, b_;
  Buffer* y_;
  PerTensor output_;
  const Kernels& kernels_;
  Threads& threads_;
  AddRounding rounding_;
};

}  // namespace

StepResult PrepareEightBitAdd(const NodePlan& node) {
  Side a;
  Side b;
  QTX_ASSIGN_OR_RETURN(a.type, EightBitInput(node, 0));
  QTX_ASSIGN_OR_RETURN(b.type, EightBitInput(node, 1));
  QTX_ASSIGN_OR_RETURN(const format::Tensor* a_type, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const format::Tensor* b_type, node.TypeOf(1));
  QTX_ASSIGN_OR_RETURN(format::Dims dims, node.InferredDims());
  QTX_ASSIGN_OR_RETURN(const format::Tensor y_type, node.OutputType(dims));
  auto output = PerTensorOf(BufferType(y_type, node.kernels().signed_bytes));
  if (!output.has_value()) return node.Because(output.error());
  if (format::BitWidth(y_type.elem_type) != 8)
    return node.Unsupported("a result of other than 8 bits");
  const bool alike = a_type->dims == dims && b_type->dims == dims;
  const Layout layout = alike ? node.LayoutOf(node.IsConstant(0) ? 1 : 0) : Layout::kRowMajor;
  if (a_type->dims != dims) a.index = BroadcastIndex(a_type->dims, dims);
  if (b_type->dims != dims) b.index = BroadcastIndex(b_type->dims, dims);
  QTX_ASSIGN_OR_RETURN(a.buffer, node.InputBuffer(0, layout));
  QTX_ASSIGN_OR_RETURN(b.buffer, node.InputBuffer(1, layout));
  QTX_ASSIGN_OR_RETURN(Buffer * y, node.OutputBuffer(std::move(dims), layout));
  return std::make_unique<Add>(std::move(a), std::move(b), y, *output, node);
}

}  // namespace qtx::backend::engine
