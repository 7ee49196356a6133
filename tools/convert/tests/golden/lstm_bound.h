// How far an LSTM computed in binary32 may be from the exact one.
#pragma once

#include <vector>

#include "qtx/format/tensor.h"

namespace qtx::convert::golden {

constexpr double kUnit =
    0x1p-24;  // what rounding to binary32 may change a value by, relative to it

struct LstmBounds {
  std::vector<double> y, h, c;  // element by element of Y, Y_h and Y_c
};

/// Of a forward layer of FLOAT tensors with default activations and no peepholes: X, W, R, B,
/// sequence_lens (absent), initial_h and initial_c. The recurrence in doubles, with a bound of each
/// value's error beside it; each element of X is within `x_error`.
/// REQUIRES: shapes are those of LSTM.
LstmBounds BoundLstm(const std::vector<const format::Tensor*>& inputs, double x_error);

}  // namespace qtx::convert::golden
