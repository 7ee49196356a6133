// Sums of X^T X over samples, of the rows X that products multiply with constant weights: what GPTQ
// needs (arXiv:2210.17323). A Conv's rows are its patches. X is rounded to a grid that the
// statistics of an earlier run give, so that sums are integers: exact, whatever the order of
// samples, shards and merges.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::calibrate {

/// Key in metadata_props of a file of sums; its value is the version of that form.
inline constexpr std::string_view kGramKey = "qtx.gram";

/// Element i <= j of X^T X is sums[Index(i, j)] * 4^exponent; X is n * 2^exponent, n the nearest
/// integer, half to even, limited to +-2^23. NaN counts as 0.
struct Gram {
  int exponent = 0;
  std::int64_t size = 0;       // columns of X
  std::vector<__int128> sums;  // upper triangle, row-major; of each group of a Conv

  /// Where the rows come from; a file does not say so.
  struct Rows {
    std::string value;
    std::optional<format::Node> conv;  // whose patches they are; else the value's own rows
    format::Dims kernel = {};          // of `conv`
  };
  Rows rows = {};

  std::int64_t Groups() const;
  /// Whether sums and grid are equal.
  bool operator==(const Gram& other) const {
    return exponent == other.exponent && size == other.size && sums == other.sums;
  }

  /// The sums in binary64, each rounded once, half to even, where it has more than 53 bits.
  std::vector<double> Reals() const;
};
/// By the name of graph::RowsOf (product_rows.h), in the flat form of a model (scopes.h). That
/// begins with the name of the value.
using Grams = std::map<std::string, Gram>;

/// Sums of zero for the rows of each MatMul, Gemm and Conv whose second input is an initializer
/// (graph::RowsOf); the grid is the finest that holds the extremes of the value's statistics.
/// `model` is flat.
/// Errors: kInvalid for a value without statistics; kTooLarge for sums of more than 4 GiB.
Result<Grams> PlanGrams(const format::Model& model);

/// Adds the rows of `tensor`: those of its last dimension, or a Conv's patches of it.
/// Errors: kInvalid for a tensor that has no rows of `gram.size` elements; those of WindowAxes.
Result<void> AddTo(Gram& gram, const format::Tensor& tensor);

/// Sums of zero for the rows of two networks side by side, [X', X], of a node of the flat `model`:
/// twice as many columns, on a grid of half the extremes, since X' passes those of X.
/// Errors: as PlanGrams; kInvalid for a node that has no sums.
Result<Gram> PlanJointGram(const format::Model& model, const format::Node& node);

/// Adds the rows of X', of `changed`, and those of X, of `real`, side by side.
/// Errors: kInvalid for tensors of different shapes; as AddTo.
Result<void> AddTo(Gram& joint, const format::Tensor& changed, const format::Tensor& real);

/// Adds sums over other samples.  Errors: kInvalid for other values, sizes or grids.
Result<void> AddTo(Grams& grams, const Grams& more);

/// A file of sums: a model without nodes, with an INT64 initializer for each Gram, of shape [1 + n,
/// 2]: exponent and size, then the n sums, each as its low and high 64 bits. Its coverage is that
/// of `calibrated`.
Result<format::Model> ToModel(const Grams& grams, const format::Model& calibrated);
bool HasGrams(const format::Model& model);
/// Errors: kInvalid, naming the initializer.
Result<Grams> GramsOf(const format::Model& model);

/// Joins files of sums, as MergeModels joins calibrations.  Errors: as MergeModels, and AddTo.
struct MergedGrams {
  format::Model model;
  std::vector<std::string> missing;  // shards, such as "2/4"
};
Result<MergedGrams> MergeGrams(std::span<const format::Model> models);

}  // namespace qtx::calibrate
