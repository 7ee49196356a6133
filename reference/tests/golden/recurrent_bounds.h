// Units of u for LSTM and GRU with their default activations and without clip, by a running error
// analysis: bounds d of |computed - exact| in units of u, step by step, from d = 0.
//
// A sum s of n = input + hidden + 5 terms of magnitudes at most S is off by n S, by R d_h (R: the
// greatest sum of magnitudes of a row of the recurrent weights; |h| <= H) and by P d_c. Sigmoid
// changes at most a quarter as fast as s and rounds by a library's exp, a sum and a quotient (10
// units of at most 1); tanh at most as fast, with a library's error (8). A product of factors a, b
// is off by |a| d_b + |b| d_a and |a b| for its rounding. A tenth covers terms in u^2.
#pragma once

#include "tests/golden/bounds.h"

namespace qtx::reference::golden {

double LstmUnits(const NodeRun& run);
double GruUnits(const NodeRun& run);

}  // namespace qtx::reference::golden
