// Mutation testing with mutants: which small faults, planted in the sources of a backend or of the
// reference, the suite notices. tools/mutants makes the mutated sources.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qtx/conformance/case.h"
#include "qtx/conformance/runner.h"
#include "qtx/format/result.h"
#include "qtx/format/text.h"

namespace qtx::conformance {

/// A place in the source and what stands there instead while the mutant is on.
struct Mutant {
  unsigned number = 0;
  int line = 0;
  const char* file = "";  // relative to the root
  const char* rule = "";  // "relation", "saturation": the mutation operator
  const char* original = "";
  const char* mutated = "";     // empty: the statement is skipped
  const char* equivalent = "";  // the proof that no input tells it from the original; may be empty
};

/// What mutated code reads at each mutant.
enum class MutantState : unsigned char {
  kOff,
  kOn,
  kNoted  // off; becomes kOff when the program comes by
};

/// The mutants that are compiled into this program.
struct MutatedProgram {
  std::span<const Mutant> mutants;
  std::span<MutantState> states;  // by number
};

enum class Fate {
  kUnreached,  // no case executes the place
  kSurvived,
  kDeclined,  // survived, but a case that passed is declined: what a backend may always do
  kWrong,     // a case fails
  kCrashed,   // the process ends
  kHung       // a case takes far longer than without the mutant
};
inline bool IsKilled(Fate fate) { return fate >= Fate::kWrong; }

struct MutantResult {
  Mutant mutant;
  Fate fate = Fate::kUnreached;
  std::string killed_by;                // id of the first case that notices; may be empty
  bool killed_by_core = false;          // a case of level `core` notices
  std::vector<std::string> noticed_by;  // ids of all cases that notice, where those were asked for
  std::int64_t reached = 0;  // cases times arithmetics times backends that execute the place
};

struct MutantReport {
  std::string suite;
  std::int64_t cases = 0;
  std::vector<MutantResult> mutants;
  std::vector<std::string> blamed;  // cases that fail without any mutant
  double seconds = 0;

  /// The share of killed mutants among those that are not equivalent.
  double Power() const;
};

struct MutantOptions {
  int jobs = 1;
  const TextAnswers* text_answers = nullptr;
  /// Where no case of level `core` notices a mutant, ask all others, to choose the level by.
  bool all_that_notice = false;
};

/// Runs `cases` against `backends` once to see which mutants each executes, then against each
/// mutant, in a process of its own: cases of level `core` first, until one fails. This process must
/// have no other threads, and should not have run a backend before.
/// Errors: kSystem where no memory is shared or no process started.
Result<MutantReport> MeasureMutants(const std::string& suite, std::span<const Case> cases,
                                    std::span<const BackendSource> backends,
                                    const MutatedProgram& program, std::span<const Mutant> mutants,
                                    const MutantOptions& options);

/// The share of mutants that the suite must kill, but for what a sample owes to chance.
inline constexpr double kMutantPower = 0.6;
inline constexpr double kChanceOfSample = 0.001;

/// True when the suite kills no mutant that is listed as equivalent, blames nobody without a
/// mutant, and kills so many that a suite of kMutantPower would kill as few or fewer, of a sample
/// of that size, with a probability of kChanceOfSample at least.
bool HasPower(const MutantReport& report);

/// A table with one row per file, then the survivors.
format::Printable ToText(const MutantReport& report);

/// The members of a document of tools/cli/schema/power_mutants.schema.json after its provenance.
std::string ToJson(const MutantReport& report);

}  // namespace qtx::conformance
