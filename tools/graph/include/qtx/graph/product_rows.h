// Products of rows X with constant weights, and the name of their sums X^T X, by which calibration
// and quantization agree: MatMul, Gemm, and Conv, whose rows are its patches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "qtx/format/model.h"
#include "qtx/format/shape.h"

namespace qtx::graph {

/// A row of MatMul and Gemm is one of X. A row of a Conv is a patch, what a filter of one group is
/// multiplied with: [C / group, kernel...] row-major, zeros where padding is.
struct ProductRows {
  std::string name;         // of the sums: that of X; for a Conv with its window and groups
  std::int64_t size = 0;    // elements of a row
  std::int64_t groups = 1;  // each has sums of its own
};

/// `weights`: the shape of input 1. nullopt for another operator, for a Gemm with transA, for
/// weights of MatMul and Gemm of other than two axes, and for a Conv whose attributes break its
/// rules.
std::optional<ProductRows> RowsOf(const format::Node& node, const format::Dims& weights);

}  // namespace qtx::graph
