// Operators that are a table from 8 bits to 8 bits, and those that only rename elements.
#include <utility>

#include "engine/ops/conversion.h"
#include "engine/ops/movement.h"

namespace qtx::backend::engine {
namespace {

class ByteMap : public Step {
 public:
  ByteMap(Buffer* x, Buffer* y, const ByteTable& table, Threads& threads)
      : x_(x), y_(y), table_(table), threads_(threads) {}

  std::string_view Path() const override { return "byte table"; }
  Result<void> Run() override {
    constexpr std::int64_t kBlock = 1 << 14;
    constexpr std::int64_t kBytesPerNanosecond = 2;
    threads_.ForBlocks(x_->size, kBlock, x_->size / kBytesPerNanosecond,
                       [this](std::int64_t first, std::int64_t n) {
                         const std::uint8_t* from = x_->bytes() + first;
                         std::uint8_t* to = y_->bytes() + first;
                         for (std::int64_t i = 0; i < n; ++i) to[i] = table_[from[i]];
                       });
    return {};
  }

 private:
  Buffer *x_, *y_;
  ByteTable table_;
  Threads& threads_;
};

// Where dimension 1 goes last, or comes back from there.
bool MovesChannels(std::span<const std::int64_t> perm, bool to_last) {
  const std::size_t rank = perm.size();
  if (rank < 3 || perm[0] != 0) return false;
  for (std::size_t i = 1; i < rank; ++i) {
    const std::size_t from = to_last ? (i + 1 == rank ? 1 : i + 1) : (i == 1 ? rank - 1 : i - 1);
    if (perm[i] != static_cast<std::int64_t>(from)) return false;
  }
  return true;
}

}  // namespace

StepResult PrepareByteMap(const NodePlan& node, const RealBounds& bounds, Purpose purpose) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x_type, node.TypeOf(0));
  QTX_RETURN_IF_ERROR(EightBitInput(node, 0));
  QTX_ASSIGN_OR_RETURN(const format::Tensor y_type, node.OutputType(x_type->dims));
  const bool is_signed = node.kernels().signed_bytes;
  const format::Tensor from = BufferType(*x_type, is_signed);
  const format::Tensor to = BufferType(y_type, is_signed);
  // Whether Relu has a kernel the types decide, not those of the buffers, whose bytes are of one
  // sign.
  const bool by_types = purpose == Purpose::kActivate;
  const ChangeRule rule =
      RuleFor(node.arithmetic(), purpose, by_types ? *x_type : from, by_types ? y_type : to);
  auto table = MakeByteTable(from, to, bounds, rule);
  if (!table.has_value()) return node.Because(table.error());
  return MakeByteMap(node, 0, *table);
}

StepResult MakeByteMap(const NodePlan& node, std::size_t i, const ByteTable& table) {
  const Layout layout = node.LayoutOf(i);
  QTX_ASSIGN_OR_RETURN(Buffer * x, node.InputBuffer(i, layout));
  QTX_ASSIGN_OR_RETURN(Buffer * y, node.OutputBuffer(x->type.dims, layout));
  return std::make_unique<ByteMap>(x, y, table, node.threads());
}

StepResult RenameElements(const NodePlan& node, Layout from, format::Dims dims, Layout to) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x_type, node.TypeOf(0));
  QTX_ASSIGN_OR_RETURN(const format::Tensor y_type, node.OutputType(dims));
  // A step between tensors would cost less than two changes of form.
  if (node.IsConstant(0) || !SameReals(*x_type, y_type)) {
    return node.Unsupported("a result of another type than its input");
  }
  QTX_ASSIGN_OR_RETURN(Buffer * x, node.InputBuffer(0, from));
  QTX_RETURN_IF_ERROR(node.OutputAlias(*x, std::move(dims), to));
  return std::unique_ptr<Step>();
}

StepResult PrepareTransposedNames(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(const format::Tensor* x, node.TypeOf(0));
  const std::vector<std::int64_t> perm = node.Ints("perm");
  if (perm.size() != x->dims.size()) return node.Unsupported("another permutation");
  const bool to_last = MovesChannels(perm, true);
  if (!to_last && !MovesChannels(perm, false)) return node.Unsupported("another permutation");
  format::Dims dims;
  for (const std::int64_t axis : perm) dims.push_back(x->dims[static_cast<std::size_t>(axis)]);
  return to_last ? RenameElements(node, Layout::kChannelsLast, std::move(dims), Layout::kRowMajor)
                 : RenameElements(node, Layout::kRowMajor, std::move(dims), Layout::kChannelsLast);
}

}  // namespace qtx::backend::engine
