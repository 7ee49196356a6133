// How far an honest floating-point evaluation of an operator may be from the exact result: data,
// with the derivation of each row beside it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/tensor.h"

namespace qtx::reference::golden {

/// One node with the tensors it read and the first one it wrote.
struct NodeRun {
  const format::Node& node;
  std::vector<const format::Tensor*> inputs;  // nullptr: absent
  const format::Tensor& output;
};

using Units = double (*)(const NodeRun&);

/// How deviations of a node's inputs reach its result.
enum class Spread {
  // Monotone in each element of each input, rising or falling: the extremes lie at the corners of
  // the box of inputs where whole inputs are at one end (elementwise operators, data movement,
  // sums, maxima).
  kCorners,
  // A sum of products of one element from each of several inputs: op(|a| + da, |b| + db) minus
  // op(|a|, |b|) bounds the change.
  kProducts,
  kUnknown,
};

/// With u = 2^-p, p the significant bits of the result's type, and `magnitudes` the operator
/// applied to the absolute values of its inputs, an evaluation differs from the exact result y by
/// at most   u * relative * |y| + gamma(terms) * magnitudes + u * absolute,
/// where gamma(n) = n u / (1 - n u) (Higham, Accuracy and Stability of Numerical Algorithms, 3.1).
/// A null function counts as 0. All null: one IEEE operation or none, so every bit must agree.
struct Bound {
  std::string_view op_type;
  Units relative = nullptr;
  Units terms = nullptr;
  Units absolute = nullptr;
  Spread spread = Spread::kCorners;
};

/// The row of an operator; one that is not listed must agree to the bit.
const Bound& BoundOf(std::string_view op_type);
/// All rows, sorted by op_type.
std::span<const Bound> Bounds();

}  // namespace qtx::reference::golden
