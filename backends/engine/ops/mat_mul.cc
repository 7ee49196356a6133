// MatMul and Gemm: one product of rows of a with columns of b for each matrix of the batch.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/ops/matrix.h"
#include "engine/product.h"
#include "engine/product_epilogue.h"
#include "engine/weights.h"

namespace qtx::backend::engine {
namespace {

struct Problem : MatrixShape {
  PerTensor a;
  bool eight_bits = true;    // of a; else 16
  std::optional<Weights> b;  // constant, as in the tensor
  PerTensor computed;        // b's type where it is computed: 8 bits
  std::int64_t b_matrices = 0;
  format::Tensor y;
  std::vector<Channel> channels;  // one a column
  Epilogue epilogue;

  std::int64_t ASize() const { return rows * depth; }
  std::int64_t BSize() const { return depth * columns; }
};

// A matrix [rows, columns] of int16 as its transpose.
void Transpose(const std::int16_t* from, std::int64_t rows, std::int64_t columns,
               std::int16_t* to) {
  constexpr std::int64_t kSquare = 32;
  for (std::int64_t c0 = 0; c0 < columns; c0 += kSquare) {
    const std::int64_t c1 = std::min(columns, c0 + kSquare);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = c0; c < c1; ++c) to[c * rows + r] = from[r * columns + c];
    }
  }
}

// A: operands of the kernels, W: what they multiply with.
template <typename A, typename W>
class MatMul : public Step {
 public:
  using Products = ProductKernels<A, W>;

  MatMul(const NodePlan& node, Problem problem, const Products& kernels, OperandRange range,
         std::vector<std::int32_t> addend, Requantizer requantizer)
      : p_(std::move(problem)),
        kernels_(kernels),
        all_(node.kernels()),
        threads_(node.threads()),
        range_(range),
        addend_(std::move(addend)),
        requantizer_(std::move(requantizer)) {
    // Consecutive matrices of a that are multiplied with the same b are one matrix with more rows.
    merged_ = p_.b && p_.b_matrices == 1 && !p_.transpose_a && InOrder(p_.a_matrix);
    const std::int64_t rows =
        merged_ ? p_.rows * static_cast<std::int64_t>(p_.a_matrix.size()) : p_.rows;
    for (std::int64_t r = 0; r < rows; ++r) offsets_.push_back(r * p_.depth);
  }

  void Pack(const std::vector<std::int16_t>& values) {
    for (std::int64_t i = 0; i < p_.b_matrices; ++i) {
      packed_.push_back(PackMatrix(values.data() + i * p_.BSize()));
    }
  }
  const PackedWeights<W>& packed() const { return packed_[0]; }

  Result<void> FindBuffers(const NodePlan& node) {
    QTX_ASSIGN_OR_RETURN(a_, node.InputBuffer(0, Layout::kRowMajor));
    if (!p_.b) {
      QTX_ASSIGN_OR_RETURN(b_, node.InputBuffer(1, Layout::kRowMajor));
    }
    if (Copies()) {
      QTX_ASSIGN_OR_RETURN(
          scratch_,
          node.Scratch(static_cast<std::int64_t>(offsets_.size() * sizeof(A)) * p_.depth));
    }
    QTX_ASSIGN_OR_RETURN(y_, node.OutputBuffer(p_.dims, Layout::kRowMajor));
    return {};
  }

  std::string_view Path() const override {
    return sizeof(A) == 1 ? "byte products" : "word products";
  }
  Result<void> Run() override {
    const std::size_t products = merged_ ? 1 : p_.a_matrix.size();
    for (std::size_t i = 0; i < products; ++i) {
      const std::byte* elements = a_->data + p_.a_matrix[i] * p_.ASize() * (p_.eight_bits ? 1 : 2);
      const A* a = Copies() ? Load(elements) : reinterpret_cast<const A*>(elements);
      const auto matrix = static_cast<std::size_t>(p_.b_matrix[i]);
      const std::optional<PackedWeights<W>> computed =
          p_.b ? std::nullopt : std::optional(PackMatrix(Widened(matrix).data()));
      Multiply<A, W>(kernels_, p_.b ? packed_[matrix] : *computed, {.base = a, .offsets = offsets_},
                     requantizer_,
                     {.data = y_->data,
                      .first = static_cast<std::int64_t>(i) * p_.rows * p_.columns,
                      .stride = p_.columns},
                     threads_);
    }
    return {};
  }

 private:
  static bool InOrder(const std::vector<std::int64_t>& matrices) {
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      if (matrices[i] != static_cast<std::int64_t>(i)) return false;
    }
    return true;
  }
  bool Copies() const { return p_.transpose_a || (sizeof(A) == 2 && p_.eight_bits); }

  PackedWeights<W> PackMatrix(const std::int16_t* values) const {
    std::vector<std::int16_t> columns;
    if (!p_.transpose_b) {
      columns.resize(static_cast<std::size_t>(p_.BSize()));
      Transpose(values, p_.depth, p_.columns, columns.data());
      values = columns.data();
    }
    const Stretch stretch{0, static_cast<std::int32_t>(p_.depth)};
    return {kernels_,
            {.values = values,
             .columns = p_.columns,
             .stretches = {&stretch, 1},
             .activation_min = range_.min,
             .activation_max = range_.max,
             .zero = range_.zero,
             .addend = addend_}};
  }

  // Matrix `i` of a computed b, stored - offset.
  std::vector<std::int16_t> Widened(std::size_t i) const {
    std::vector<std::int16_t> values(static_cast<std::size_t>(p_.BSize()));
    all_.widen(b_->bytes() + static_cast<std::int64_t>(i) * p_.BSize(), p_.BSize(),
               p_.computed.offset, values.data());
    return values;
  }

  // The contiguous rows of a as operands.
  const A* Load(const std::byte* elements) {
    A* to = reinterpret_cast<A*>(scratch_->data);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(elements);
    const auto count = static_cast<std::int64_t>(offsets_.size()) * p_.depth;
    if (!p_.transpose_a) {
      if constexpr (sizeof(A) == 2) all_.widen(bytes, count, p_.a.offset, to);
      return to;
    }
    for (std::int64_t k = 0; k < p_.depth; ++k) {
      for (std::int64_t r = 0; r < p_.rows; ++r) {
        to[r * p_.depth + k] = Element(elements, k * p_.rows + r);
      }
    }
    return to;
  }

  A Element(const std::byte* elements, std::int64_t i) const {
    if (!p_.eight_bits) return static_cast<A>(reinterpret_cast<const std::int16_t*>(elements)[i]);
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(elements);
    if constexpr (sizeof(A) == 1) return bytes[i];
    const int stored = all_.signed_bytes ? static_cast<std::int8_t>(bytes[i]) : bytes[i];
    return static_cast<A>(stored - p_.a.offset);
  }

  Problem p_;
  const Products& kernels_;
  const Kernels& all_;
  Threads& threads_;
  OperandRange range_;
  std::vector<std::int32_t> addend_;
  Requantizer requantizer_;
  bool merged_ = false;
  std::vector<std::int64_t> offsets_;
  std::vector<PackedWeights<W>> packed_;
  Buffer* a_ = nullptr;
  Buffer* b_ = nullptr;
  Buffer* y_ = nullptr;
  Buffer* scratch_ = nullptr;
};

template <typename Step>
StepResult WithValues(const NodePlan& node, std::unique_ptr<Step> step) {
  QTX_RETURN_IF_ERROR(step->FindBuffers(node));
  return step;
}

StepResult Finish(const NodePlan& node, Problem p) {
  const Kernels& kernels = node.kernels();
  const auto taken = TakeIntegerBias(p.channels, p.epilogue);
  if (!taken.has_value()) return node.Because(taken.error());
  const std::vector<std::int32_t>& addend = *taken;
  auto requantizer = Requantizer::Make(p.channels, p.y, kernels, p.epilogue);
  if (!requantizer.has_value()) return node.Because(requantizer.error());
  // A computed b is packed at each run, where a proof about its pairs would take too long.
  const bool bytes = p.eight_bits && (p.b || kernels.bytes.pair_limit == 0);
  const std::vector<std::int16_t> values = p.b ? p.b->values : std::vector<std::int16_t>();
  if (bytes) {
    auto step = std::make_unique<MatMul<std::uint8_t, std::int8_t>>(
        node, p, kernels.bytes, OperandRange::OfBytes(p.a, kernels), addend, *requantizer);
    if (!p.b) return WithValues(node, std::move(step));
    step->Pack(values);
    const auto rows = p.rows * static_cast<std::int64_t>(p.a_matrix.size());
    if (PaysAsBytes(kernels, step->packed(), p.depth, p.columns, rows)) {
      return WithValues(node, std::move(step));
    }
  }
  const OperandRange range =
      p.eight_bits ? OperandRange::OfWidened(p.a, kernels) : OperandRange::OfWords();
  auto step = std::make_unique<MatMul<std::int16_t, std::int16_t>>(
      node, std::move(p), kernels.words, range, addend, *std::move(requantizer));
  if (!values.empty()) step->Pack(values);
  return WithValues(node, std::move(step));
}

// Operand b: constant weights with one scale a column, or computed and per tensor.
Result<void> ReadB(const NodePlan& node, Problem& p, std::vector<double>& scale) {
  if (node.IsConstant(1)) {
    QTX_ASSIGN_OR_RETURN(p.b, LoadWeights(node, 1, p.column_axis));
    scale = p.b->scale;
    return {};
  }
  if (!p.eight_bits) return node.Unsupported("two computed operands of which one has 16 bits");
  QTX_ASSIGN_OR_RETURN(p.computed, EightBitInput(node, 1));
  scale.assign(static_cast<std::size_t>(p.columns), p.computed.scale);
  return {};
}

StepResult Prepare(const NodePlan& node, MatrixShape shape, float alpha, float beta) {
  Problem p;
  static_cast<MatrixShape&>(p) = std::move(shape);
  QTX_ASSIGN_OR_RETURN(const format::Tensor* a, node.TypeOf(0));
  p.eight_bits = a->elem_type != format::ElementType::kInt16Q;
  QTX_ASSIGN_OR_RETURN(p.a, p.eight_bits ? EightBitInput(node, 0) : SixteenBitInput(node, 0));
  if (p.rows < 1 || p.columns < 1 || p.depth < 1 || p.a_matrix.empty()) {
    return node.Unsupported("empty operands");
  }
  p.b_matrices = std::ranges::max(p.b_matrix) + 1;
  const auto matrices = static_cast<std::int64_t>(p.a_matrix.size());
  if (p.depth > kMostDepth || p.rows > kMostOperands / p.depth / matrices) {
    return node.Unsupported("a matrix this large");
  }
  std::vector<double> scale;
  QTX_RETURN_IF_ERROR(ReadB(node, p, scale));
  QTX_ASSIGN_OR_RETURN(
      p.channels, MakeChannels(node, p.a.scale, {{}, std::move(scale)}, p.columns, 2, alpha, beta));
  QTX_ASSIGN_OR_RETURN(p.y, node.OutputType(p.dims));
  QTX_ASSIGN_OR_RETURN(
      const auto epilogue,
      EpilogueOf(node, {.channel_axis = p.column_axis, .alpha = alpha, .beta = beta}, p.y));
  if (!epilogue.has_value()) return node.Unsupported("products of binary32");
  p.epilogue = *epilogue;
  return Finish(node, std::move(p));
}

}  // namespace

StepResult PrepareMatMul(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(MatrixShape shape, MatMulShapeOf(node));
  return Prepare(node, std::move(shape), 1, 1);
}

StepResult PrepareGemm(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(MatrixShape shape, GemmShapeOf(node));
  const float alpha = node.Float("alpha");
  const float beta = node.Float("beta");
  if (node.bias_factor().has_value()) return node.Unsupported("bias_factor");
  if (!std::isfinite(alpha) || !std::isfinite(beta)) {
    return node.Unsupported("alpha or beta is not a finite number");
  }
  return Prepare(node, std::move(shape), alpha, beta);
}

}  // namespace qtx::backend::engine
