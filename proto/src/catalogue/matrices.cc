// Products of matrices.
// Source: spec/ops/, the sections that the rows name.
#include <utility>

#include "quantized.h"

namespace qtx::format::catalogue {

namespace {

using MatrixShapes = std::vector<std::optional<Dims>>;

constexpr TypeSet kMatrixBytes = {ElementType::kUint8, ElementType::kInt8};

// The last two sizes of a matrix.
struct MatrixSizes {
  std::int64_t rows = kUnknownSize, columns = kUnknownSize;
};

// mat_mul.S3: rank 1 is a row on the left, a column on the right.  REQUIRES: rank 1 or more.
MatrixSizes MatrixSizesOf(const Dims& dims, bool left) {
  if (dims.size() == 1) return left ? MatrixSizes{1, dims[0]} : MatrixSizes{dims[0], 1};
  return {dims[dims.size() - 2], dims.back()};
}

Dims MatrixBatch(const Dims& dims) {
  return dims.size() < 2 ? Dims{} : Dims(dims.begin(), dims.end() - 2);
}

Result<void> MatrixInner(const Application& a, std::size_t right, std::int64_t columns,
                         std::int64_t rows) {
  if (!Differ(columns, rows)) return {};
  return BadInput(a, right, "inner size " + std::to_string(rows),
                  std::to_string(columns) + ", as " + InputPlace(a, 0) + " has");
}

// mat_mul.C3, of inputs 0 and `right`.
ClauseRule MatMulInner(std::size_t right) {
  return [=](const Application& a) -> Result<void> {
    const Dims* x = DimsOf(a.Input(0));
    const Dims* w = DimsOf(a.Input(right));
    if (x == nullptr || w == nullptr) return {};
    return MatrixInner(a, right, MatrixSizesOf(*x, true).columns, MatrixSizesOf(*w, false).rows);
  };
}

// mat_mul.C4.
ClauseRule MatMulBatches(std::size_t right) {
  return [=](const Application& a) -> Result<void> {
    const Dims* x = DimsOf(a.Input(0));
    const Dims* w = DimsOf(a.Input(right));
    if (x == nullptr || w == nullptr) return {};
    auto batch = BroadcastOf(MatrixBatch(*x), MatrixBatch(*w));
    if (!batch.has_value()) return At(InputPlace(a, right), std::move(batch).error());
    return {};
  };
}

// mat_mul.C2 to mat_mul.C4 in one.
ClauseRule MatMulShapes(std::size_t right) {
  return Both({RankAtLeast(0, 1), RankAtLeast(right, 1), MatMulInner(right), MatMulBatches(right)});
}

// mat_mul.S2, mat_mul.S3.
template <std::size_t kRight>
Result<MatrixShapes> ShapeOfMatMul(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  const Dims* w = DimsOf(a.Input(kRight));
  if (x == nullptr || w == nullptr) return MatrixShapes{std::nullopt};
  QTX_ASSIGN_OR_RETURN(Dims dims, BroadcastOf(MatrixBatch(*x), MatrixBatch(*w)));
  if (x->size() > 1) dims.push_back(MatrixSizesOf(*x, true).rows);
  if (w->size() > 1) dims.push_back(MatrixSizesOf(*w, false).columns);
  return MatrixShapes{std::move(dims)};
}

// q_linear_mat_mul.S3: one for all, a vector for the rows of a left or the columns of a right
// matrix, or of its rank; along what is summed over there is one.
bool MatrixParametersFit(const Dims& found, const Dims& tensor, bool left) {
  if (found.empty() || !Differ(found, {1})) return true;
  const std::size_t rank = tensor.size();
  if (rank < 2) return false;
  const std::size_t summed = left ? rank - 1 : rank - 2;
  if (found.size() == 1) return !Differ(found[0], tensor[left ? rank - 2 : rank - 1]);
  if (found.size() != rank) return false;
  for (std::size_t i = 0; i < rank; ++i) {
    if (Differ(found[i], 1) && (i == summed || Differ(found[i], tensor[i]))) return false;
  }
  return true;
}

ClauseRule MatrixParameters(std::size_t i, std::size_t tensor, bool left) {
  return [=](const Application& a) -> Result<void> {
    const Dims* found = DimsOf(a.Input(i));
    const Dims* dims = DimsOf(a.Input(tensor));
    if (found == nullptr || dims == nullptr || MatrixParametersFit(*found, *dims, left)) return {};
    return BadInput(a, i, "shape " + ShapeText(*found),
                    std::string("one value, or one for each ") + (left ? "row" : "column") +
                        " of shape " + ShapeText(*dims));
  };
}

// A' or B' of gemm.S1, of rank 2.
MatrixSizes GemmOperand(const Application& a, std::size_t i, std::string_view transposed) {
  const Dims* dims = DimsOf(a.Input(i));
  if (dims == nullptr || dims->size() != 2) return {};
  MatrixSizes sizes{(*dims)[0], (*dims)[1]};
  if (a.Int(transposed) != 0) std::swap(sizes.rows, sizes.columns);
  return sizes;
}

Dims GemmDims(const Application& a, std::size_t right) {
  return {GemmOperand(a, 0, "transA").rows, GemmOperand(a, right, "transB").columns};
}

// gemm.C3.
ClauseRule GemmInner(std::size_t right) {
  return [=](const Application& a) {
    return MatrixInner(a, right, GemmOperand(a, 0, "transA").columns,
                       GemmOperand(a, right, "transB").rows);
  };
}

// gemm.C4.
ClauseRule GemmBias(std::size_t right, std::size_t bias) {
  return [=](const Application& a) -> Result<void> {
    const Dims* found = DimsOf(a.Input(bias));
    if (found == nullptr) return {};
    const Dims dims = GemmDims(a, right);
    const auto both = BroadcastOf(*found, dims);
    if (both.has_value() && !Differ(*both, dims)) return {};
    return BadInput(a, bias, "shape " + ShapeText(*found),
                    "one that broadcasts to " + ShapeText(dims) + " without enlarging it");
  };
}

template <std::size_t kRight>
Result<MatrixShapes> ShapeOfGemm(const Application& a) {
  return MatrixShapes{GemmDims(a, kRight)};
}

// q_gemm.C1 of y and its zero point: without y_scale y is FLOAT.
Result<void> QGemmResult(const Application& a) {
  const TypeSet types = a.Input(7).given ? kMatrixBytes : TypeSet{ElementType::kFloat};
  QTX_RETURN_IF_ERROR(OutputTypes(0, types)(a));
  QTX_RETURN_IF_ERROR(InputTypes(8, types)(a));
  return QuantizedOutputIsThatOf(8)(a);
}

// q_gemm.C3: b_scale and b_zero_point are scalars or [N].
Result<void> QGemmColumns(const Application& a) {
  const Dims columns{GemmOperand(a, 3, "transB").columns};
  for (const std::size_t i : {std::size_t{4}, std::size_t{5}}) {
    const Dims* dims = DimsOf(a.Input(i));
    if (dims == nullptr || dims->empty() || !Differ(*dims, {1}) || !Differ(*dims, columns)) {
      continue;
    }
    return BadInput(a, i, "shape " + ShapeText(*dims), "one value or " + ShapeText(columns));
  }
  return {};
}

// A zero point's type is that of y, which q_gemm.S4 says without y_scale.
ElementType QGemmType(const Application& a, std::size_t) {
  if (!a.Input(7).given) return ElementType::kFloat;
  const ElementType zero_point = a.Input(8).type;
  return kMatrixBytes.Has(zero_point) ? zero_point : ElementType::kUndefined;
}

ElementType QLinearMatMulType(const Application& a, std::size_t) {
  const ElementType zero_point = a.Input(7).type;
  return IsQuantized(zero_point) ? ElementType::kUndefined : zero_point;
}

OpSchema MatMulIntegerRow() {
  return {.op_type = "MatMulInteger",
          .inputs = {{"A"}, {"B"}, {"a_zero_point", true}, {"b_zero_point", true}},
          .outputs = {{"y"}},
          .attributes = {},
          .checks = {{"mat_mul_integer.C1",
                      Both({InputTypes(0, kMatrixBytes), InputTypes(1, kMatrixBytes),
                            OutputTypes(0, {ElementType::kInt32})})},
                     {"mat_mul_integer.C2",
                      Both({QuantizedTypeIsThatOf(2, 0), QuantizedTypeIsThatOf(3, 1),
                            MatrixParameters(2, 0, true), MatrixParameters(3, 1, false)})},
                     {"mat_mul_integer.C3", MatMulShapes(1)}},
          .shape = ShapeOfMatMul<1>,
          .shape_clause = "mat_mul_integer.C3",
          .type = Int32Type};
}

OpSchema QGemmRow() {
  constexpr TypeSet kScale = {ElementType::kFloat};
  return {
      .op_type = "QGemm",
      .domain = "com.microsoft",
      .inputs = {{"A"},
                 {"a_scale"},
                 {"a_zero_point"},
                 {"B"},
                 {"b_scale"},
                 {"b_zero_point"},
                 {"C", true},
                 {"y_scale", true},
                 {"y_zero_point", true}},
      .outputs = {{"y"}},
      .attributes = {{"alpha", AttributeType::kFloat, 1.0F},
                     {"transA", AttributeType::kInt, std::int64_t{0}},
                     {"transB", AttributeType::kInt, std::int64_t{0}}},
      .checks =
          {{"q_gemm.C1",
            Both({InputTypes(0, kMatrixBytes), InputTypes(3, kMatrixBytes), InputTypes(1, kScale),
                  InputTypes(4, kScale), InputTypes(7, kScale), QuantizedTypeIsThatOf(2, 0),
                  QuantizedTypeIsThatOf(5, 3), InputTypes(6, {ElementType::kInt32}), QGemmResult})},
           {"q_gemm.C2",
            Both({QuantizedScaleIsPositive(1), QuantizedScaleIsPositive(4),
                  QuantizedScaleIsPositive(7), QuantizedZeroPointFits(2, 1),
                  QuantizedZeroPointFits(5, 4), QuantizedZeroPointFits(8, 7), IsFinite("alpha")})},
           {"q_gemm.C3", Both({IsScalar(1), IsScalar(2), QGemmColumns, IsScalar(7), IsScalar(8)})},
           {"q_gemm.C4", Both({RankIs(0, 2), RankIs(3, 2), GemmInner(3), GemmBias(3, 6)})}},
      .shape = ShapeOfGemm<3>,
      .shape_clause = "q_gemm.C4",
      .type = QGemmType};
}

OpSchema QLinearMatMulRow() {
  constexpr TypeSet kStorage = kMatrixBytes | kFloat8Types;
  constexpr TypeSet kScale = {ElementType::kFloat, ElementType::kFloat16, ElementType::kBfloat16};
  return {
      .op_type = "QLinearMatMul",
      .inputs = {{"a"},
                 {"a_scale"},
                 {"a_zero_point"},
                 {"b"},
                 {"b_scale"},
                 {"b_zero_point"},
                 {"y_scale"},
                 {"y_zero_point"}},
      .outputs = {{"y"}},
      .attributes = {},
      .checks = {{"q_linear_mat_mul.C1",
                  Both({InputTypes(0, kStorage), InputTypes(3, kStorage), InputTypes(1, kScale),
                        InputTypes(4, kScale), InputTypes(6, kScale), QuantizedTypeIsThatOf(2, 0),
                        QuantizedTypeIsThatOf(5, 3), InputTypes(7, kStorage),
                        QuantizedOutputIsThatOf(7), OutputTypes(0, kStorage)})},
                 {"q_linear_mat_mul.C2",
                  Both({QuantizedScaleIsPositive(1), QuantizedScaleIsPositive(4),
                        QuantizedScaleIsPositive(6), QuantizedZeroPointFits(2, 1),
                        QuantizedZeroPointFits(5, 4), QuantizedZeroPointFits(7, 6)})},
                 {"q_linear_mat_mul.C3",
                  Both({MatrixParameters(1, 0, true), MatrixParameters(2, 0, true),
                        MatrixParameters(4, 3, false), MatrixParameters(5, 3, false), IsScalar(6),
                        IsScalar(7)})},
                 {"q_linear_mat_mul.C4", MatMulShapes(3)}},
      .shape = ShapeOfMatMul<3>,
      .shape_clause = "q_linear_mat_mul.C4",
      .type = QLinearMatMulType};
}

}  // namespace

void AddMatrices(std::vector<OpSchema>& rows) {
  rows.push_back({.op_type = "MatMul",
                  .inputs = {{"a"}, {"b"}},
                  .outputs = {{"y"}},
                  .attributes = {},
                  .checks = {{"mat_mul.C1", RealOrOne({0, 1}, {0}, kPlainTypes)},
                             {"mat_mul.C2", Both({RankAtLeast(0, 1), RankAtLeast(1, 1)})},
                             {"mat_mul.C3", MatMulInner(1)},
                             {"mat_mul.C4", MatMulBatches(1)}},
                  .shape = ShapeOfMatMul<1>,
                  .shape_clause = "mat_mul.C5"});
  rows.push_back({.op_type = "Gemm",
                  .inputs = {{"A"}, {"B"}, {"C", true}},
                  .outputs = {{"y"}},
                  .attributes = {{"alpha", AttributeType::kFloat, 1.0F},
                                 {"beta", AttributeType::kFloat, 1.0F},
                                 {"transA", AttributeType::kInt, std::int64_t{0}},
                                 {"transB", AttributeType::kInt, std::int64_t{0}}},
                  .checks = {{"gemm.C1", RealOrOne({0, 1, 2}, {0}, kPlainTypes)},
                             {"gemm.C2", Both({RankIs(0, 2), RankIs(1, 2)})},
                             {"gemm.C3", GemmInner(1)},
                             {"gemm.C4", GemmBias(1, 2)}},
                  .shape = ShapeOfGemm<1>,
                  .shape_clause = "gemm.C5"});
  rows.push_back(MatMulIntegerRow());
  rows.push_back(QGemmRow());
  rows.push_back(QLinearMatMulRow());
}

}  // namespace qtx::format::catalogue
