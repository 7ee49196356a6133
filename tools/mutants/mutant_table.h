// The mutants that a program was compiled with.
#pragma once

#include "qtx/conformance/mutants.h"

namespace qtx::mutants {

/// None in `qtx`; in `qtx-mutants` those that mutate.py wrote.
conformance::MutatedProgram Compiled();

}  // namespace qtx::mutants
