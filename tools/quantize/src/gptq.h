// GPTQ: weights are rounded one row after the other, and the rows to come make up for the errors.
// Source: Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained
// Transformers", arXiv:2210.17323, algorithm 1, without its batches, which change no result but by
// rounding. Computed in binary64 in a fixed order, so that the bits do not depend on the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "qtx/format/result.h"
#include "qtx/quantize/quantize.h"

namespace qtx::quantize {

/// H + 0.01 mean(diag H) I as a full matrix, row-major; of zeros alone the mean counts as 1.
/// REQUIRES: one group.  Errors: kInvalid for sums with a diagonal below 0.
Result<std::vector<double>> DampedSums(const Gram& gram);

/// U, upper triangular and row-major in full, with U^T U = (H + 0.01 mean(diag H) I)^-1. A row
/// of zeros is rounded by itself; of zeros alone the mean counts as 1.
/// REQUIRES: one group.
/// Errors: kInvalid for sums that are no Gram matrix: a diagonal below 0, or a pivot not above 0.
Result<std::vector<double>> InverseFactor(const Gram& gram);

/// Changes `weights`, [gram.size, columns] row-major, into those W' with which X W' is as near to Y
/// W as (X^T X + d) W' = (X^T Y + d) W says, d the damping of InverseFactor: Y W is what a product
/// gives in the real network, X its input where what lies before it is quantized.
/// Source: Li et al., "GPTAQ: Efficient Finetuning-Free Quantization for Asymmetric Calibration",
/// arXiv:2504.02692, whose objective it is; here it is solved before the rounding.
/// REQUIRES: one group; gram.cross has gram.size^2 elements.  Errors: those of InverseFactor.
Result<void> Retarget(const Gram& gram, std::vector<double>& weights);

/// The rows by their sums of squares, the greatest first, of equal ones the first: those that
/// matter most are rounded while all others can make up for them (act-order, desc_act). Source:
/// IST-DASLab/gptq, gptq.py, fasterquant.
std::vector<std::size_t> ByDiagonal(const Gram& gram);

/// How the rows of a matrix become stored values.
struct RowRounding {
  /// Called before row `k` is rounded, with the matrix as it is then.
  std::function<Result<void>(std::int64_t k)> begin;
  /// The real that is stored for element (k, column), whose value is `real`.
  std::function<double(std::int64_t k, std::int64_t column, float real)> stored;
  std::vector<std::size_t> order = {};  // in which rows are rounded; empty: as they are
};

/// Changes `weights`, [gram.size, columns] row-major, into the values that each was rounded from:
/// those of row k are final when it has been rounded.
/// REQUIRES: one group; weights.size() is a multiple of gram.size.  Errors: those of InverseFactor
/// and `begin`.
Result<void> RoundRows(const Gram& gram, std::vector<double>& weights, const RowRounding& rounding);

}  // namespace qtx::quantize
