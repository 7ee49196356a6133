// Products: dot_general as MatMul or Einsum.
#include <algorithm>

#include "errors.h"
#include "stablehlo/steps.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;
using format::ElementType;
using format::TensorType;

struct DotDimensions {
  std::vector<std::int64_t> lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
};

Result<DotDimensions> DotDimensionsOf(StablehloBuilder& builder, const MlirOp& op,
                                      std::size_t lhs_rank) {
  DotDimensions dims;
  if (op.name == "stablehlo.dot") {
    dims.lhs_contracting = {static_cast<std::int64_t>(lhs_rank) - 1};
    dims.rhs_contracting = {0};
    return dims;
  }
  if (const MlirAttribute* numbers = op.Find({"dot_dimension_numbers"})) {
    const auto read = [&](const char* key, std::vector<std::int64_t>& to) -> Result<void> {
      QTX_ASSIGN_OR_RETURN(to, IntsOf(builder, op, numbers->Find(key), {}));
      return {};
    };
    QTX_RETURN_IF_ERROR(read("lhs_batching_dimensions", dims.lhs_batch));
    QTX_RETURN_IF_ERROR(read("rhs_batching_dimensions", dims.rhs_batch));
    QTX_RETURN_IF_ERROR(read("lhs_contracting_dimensions", dims.lhs_contracting));
    QTX_RETURN_IF_ERROR(read("rhs_contracting_dimensions", dims.rhs_contracting));
    return dims;
  }
  const auto pair = [&](const char* name, std::vector<std::int64_t>& lhs,
                        std::vector<std::int64_t>& rhs) -> Result<void> {
    const MlirAttribute* attribute = op.Find({name});
    if (attribute == nullptr) return {};
    if (attribute->list.size() != 2)
      return Invalid("", std::string(name) + ": expected [...] x [...]");
    QTX_ASSIGN_OR_RETURN(lhs, IntsOf(builder, op, &attribute->list[0], {}));
    QTX_ASSIGN_OR_RETURN(rhs, IntsOf(builder, op, &attribute->list[1], {}));
    return {};
  };
  QTX_RETURN_IF_ERROR(pair("batching_dims", dims.lhs_batch, dims.rhs_batch));
  QTX_RETURN_IF_ERROR(pair("contracting_dims", dims.lhs_contracting, dims.rhs_contracting));
  return dims;
}

// The axes of an operand that are neither batch nor contracted.
std::vector<std::int64_t> FreeAxes(std::size_t rank, const std::vector<std::int64_t>& batch,
                                   const std::vector<std::int64_t>& contracting) {
  std::vector<std::int64_t> free;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(rank); ++axis) {
    if (std::ranges::find(batch, axis) == batch.end() &&
        std::ranges::find(contracting, axis) == contracting.end())
      free.push_back(axis);
  }
  return free;
}

std::int64_t SizeOf(const Dims& dims, const std::vector<std::int64_t>& axes) {
  std::int64_t size = 1;
  for (const std::int64_t axis : axes) size *= dims[static_cast<std::size_t>(axis)];
  return size;
}

// One operand: batch axes, then `second` and `third`, each as one axis.
Result<StablehloValue*> Matrix(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                               const std::vector<std::int64_t>& batch,
                               const std::vector<std::int64_t>& second,
                               const std::vector<std::int64_t>& third) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, FixedDimsOf(value->type));
  Permutation perm = batch;
  perm.insert(perm.end(), second.begin(), second.end());
  perm.insert(perm.end(), third.begin(), third.end());
  Dims merged;
  for (const std::int64_t axis : batch) merged.push_back(dims[static_cast<std::size_t>(axis)]);
  merged.push_back(SizeOf(dims, second));
  merged.push_back(SizeOf(dims, third));
  return Reshaped(builder, op, Transposed(builder, op, value, perm), merged);
}

// Plain operands are computed in the type of the result, of at least 32 bits.
ElementType ProductType(const TensorType& result) {
  const ElementType type = result.elem_type;
  const bool narrow =
      !result.quantization && format::IsIntegerStorage(type) && format::BitWidth(type) < 32;
  return narrow ? ElementType::kInt32 : type;
}

StablehloValue* Computed(StablehloBuilder& builder, const MlirOp& op, StablehloValue* value,
                         const TensorType& result) {
  if (value->type.quantization || result.quantization) return value;
  return CastTo(builder, op, value, ProductType(result));
}

std::string Letters(std::size_t rank, char& next) {
  std::string letters;
  for (std::size_t i = 0; i < rank; ++i) letters += next++;
  return letters;
}

// The same as an equation, which no axis is merged for.
std::string Equation(const DotDimensions& dims, std::size_t lhs_rank, std::size_t rhs_rank) {
  char next = 'a';
  const std::string lhs = Letters(lhs_rank, next);
  std::string rhs = Letters(rhs_rank, next);
  std::string result;
  const auto join = [&](const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      rhs[static_cast<std::size_t>(b[i])] = lhs[static_cast<std::size_t>(a[i])];
  };
  join(dims.lhs_batch, dims.rhs_batch);
  join(dims.lhs_contracting, dims.rhs_contracting);
  for (const std::int64_t axis : dims.lhs_batch) result += lhs[static_cast<std::size_t>(axis)];
  for (const std::int64_t axis : FreeAxes(lhs_rank, dims.lhs_batch, dims.lhs_contracting))
    result += lhs[static_cast<std::size_t>(axis)];
  for (const std::int64_t axis : FreeAxes(rhs_rank, dims.rhs_batch, dims.rhs_contracting))
    result += rhs[static_cast<std::size_t>(axis)];
  return lhs + "," + rhs + "->" + result;
}

Result<void> CheckDot(StablehloBuilder& builder, const MlirOp& op, const DotDimensions& dims,
                      const Dims& lhs, const Dims& rhs) {
  const auto together = [](std::vector<std::int64_t> a, const std::vector<std::int64_t>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const auto of_lhs = together(dims.lhs_batch, dims.lhs_contracting);
  const auto of_rhs = together(dims.rhs_batch, dims.rhs_contracting);
  QTX_RETURN_IF_ERROR(CheckAxes(builder, op, "dimensions of lhs", of_lhs, lhs.size()));
  QTX_RETURN_IF_ERROR(CheckAxes(builder, op, "dimensions of rhs", of_rhs, rhs.size()));
  if (dims.lhs_batch.size() != dims.rhs_batch.size() || of_lhs.size() != of_rhs.size())
    return Invalid("", "other numbers of dimensions of lhs and rhs");
  for (std::size_t i = 0; i < of_lhs.size(); ++i) {
    if (lhs[static_cast<std::size_t>(of_lhs[i])] != rhs[static_cast<std::size_t>(of_rhs[i])])
      return Invalid("", "dimension " + std::to_string(of_lhs[i]) + " of lhs and " +
                             std::to_string(of_rhs[i]) + " of rhs differ in size");
  }
  return {};
}

bool IsAlongAxes(const TensorType& type) {
  return type.quantization && !type.quantization->axis.empty();
}

// The product of matrices whose axes are merged, or whose integers are wider than the result's.
Result<void> EmitMerged(StablehloBuilder& builder, const MlirOp& op, graph::Draft draft,
                        const StablehloValue& a, const StablehloValue& b) {
  const TensorType& result = op.result_types[0];
  QTX_ASSIGN_OR_RETURN(Dims product, FixedDimsOf(a.type));
  QTX_ASSIGN_OR_RETURN(const Dims columns, FixedDimsOf(b.type));
  product.back() = columns.back();
  QTX_ASSIGN_OR_RETURN(const Dims to, FixedDimsOf(result));
  QTX_ASSIGN_OR_RETURN(const std::int64_t found, format::ElementCount(to));
  QTX_ASSIGN_OR_RETURN(const std::int64_t expected, format::ElementCount(product));
  if (found != expected) return Invalid("", "a result of other size than the product's");
  TensorType type = WithDims(result, product);
  type.elem_type = ProductType(result);
  StablehloValue* y = builder.Inner(op, std::move(draft), std::move(type));
  QTX_ASSIGN_OR_RETURN(y, Reshaped(builder, op, y, to));
  return builder.Bind(op, result.quantization ? y : CastTo(builder, op, y, result.elem_type));
}

}  // namespace

Result<void> ConvertDotGeneral(StablehloBuilder& builder, const MlirOp& op, const StablehloRow&) {
  QTX_ASSIGN_OR_RETURN(StablehloValue * lhs, builder.Operand(op, 0));
  QTX_ASSIGN_OR_RETURN(StablehloValue * rhs, builder.Operand(op, 1));
  if (op.result_types.size() != 1) return Invalid("", "expected one result");
  const TensorType& result = op.result_types[0];
  if (result.elem_type == ElementType::kBool) return Unsupported("", "on i1");
  QTX_ASSIGN_OR_RETURN(const Dims lhs_dims, FixedDimsOf(lhs->type));
  QTX_ASSIGN_OR_RETURN(const Dims rhs_dims, FixedDimsOf(rhs->type));
  if (op.name == "stablehlo.dot" && (lhs_dims.empty() || rhs_dims.empty()))
    return Unsupported("", "on scalars");
  QTX_ASSIGN_OR_RETURN(const DotDimensions dims, DotDimensionsOf(builder, op, lhs_dims.size()));
  QTX_RETURN_IF_ERROR(CheckDot(builder, op, dims, lhs_dims, rhs_dims));
  lhs = Computed(builder, op, lhs, result);
  rhs = Computed(builder, op, rhs, result);
  const auto lhs_free = FreeAxes(lhs_dims.size(), dims.lhs_batch, dims.lhs_contracting);
  const auto rhs_free = FreeAxes(rhs_dims.size(), dims.rhs_batch, dims.rhs_contracting);
  const bool merges =
      lhs_free.size() != 1 || rhs_free.size() != 1 || dims.lhs_contracting.size() != 1;
  if (merges && (IsAlongAxes(lhs->type) || IsAlongAxes(rhs->type) || IsAlongAxes(result))) {
    const std::string equation = Equation(dims, lhs_dims.size(), rhs_dims.size());
    return builder.Emit(op, {"Einsum",
                             {builder.Use(lhs), builder.Use(rhs)},
                             {Attribute::String("equation", equation)}});
  }
  QTX_ASSIGN_OR_RETURN(StablehloValue * a,
                       Matrix(builder, op, lhs, dims.lhs_batch, lhs_free, dims.lhs_contracting));
  QTX_ASSIGN_OR_RETURN(StablehloValue * b,
                       Matrix(builder, op, rhs, dims.rhs_batch, dims.rhs_contracting, rhs_free));
  graph::Draft draft{"MatMul", {builder.Use(a), builder.Use(b)}, {}};
  if (!merges && ProductType(result) == result.elem_type) return builder.Emit(op, std::move(draft));
  return EmitMerged(builder, op, std::move(draft), *a, *b);
}

}  // namespace qtx::convert
