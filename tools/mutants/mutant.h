// The switch of a mutant, which mutate.py writes into the copies of the sources. Included before
// all else by the compiler's command line.
#pragma once

namespace qtx::conformance {
enum class MutantState : unsigned char;  // of qtx/conformance/mutants.h
}

/// By number; 0 is off.
extern qtx::conformance::MutantState qtx_mutant_states[];

/// Whether a mutant whose state is not 0 is on; notes that the program came by where that is asked.
bool qtx_mutant_is_on(unsigned number);

/// Whether mutant `number` is on; never while the compiler computes a constant. Each file has its
/// own copy, since files are compiled for several instruction sets.
[[gnu::always_inline]] static constexpr inline bool qtx_mutant(unsigned number) {
  if (__builtin_is_constant_evaluated()) return false;
  return __builtin_expect(static_cast<unsigned char>(qtx_mutant_states[number]) != 0, 0) &&
         qtx_mutant_is_on(number);
}
