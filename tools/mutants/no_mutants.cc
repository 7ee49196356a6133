// For programs of the sources as they are.
#include "mutants/mutant_table.h"

namespace qtx::mutants {

conformance::MutatedProgram Compiled() { return {}; }

}  // namespace qtx::mutants
