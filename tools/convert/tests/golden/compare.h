// One set of golden data against the reference.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "corpus.h"

namespace qtx::convert::golden {

struct Outcome {
  std::string error;               // "" when the model was converted and run
  std::set<std::string> op_types;  // of the converted model
  std::string missing;             // an operator that the reference has not; nothing was run
  std::int64_t elements = 0, differing = 0;
  // Greatest difference: of integers, in LSB; of FLOAT, over the bound of error_bound.h, or, in a
  // model with quantized values, where there is none, in units of the value.
  double worst = 0;
  bool bounded = false;  // FLOAT values throughout: a difference within the bound is none

  bool good() const {
    return error.empty() && missing.empty() && (differing == 0 || (bounded && worst <= 1));
  }
  std::string Text() const;
};

/// Converts and runs the model: under `tflite`, or under `xnnpack` but for the operators that
/// TFLite's delegate leaves to the builtin kernels.
Outcome Check(const Set& set);

}  // namespace qtx::convert::golden
