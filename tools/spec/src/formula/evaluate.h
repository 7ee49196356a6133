// Evaluates a compiled formula, element by element.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "formula/compile.h"

namespace qtx::spec {

inline constexpr std::int64_t kMaxSteps = std::int64_t{1} << 20;  // of one element

class Evaluator {
 public:
  /// REQUIRES: both arguments outlive the evaluator.
  Evaluator(const Program& program, const Scope& scope, const std::string& where);

  /// Result `result` of the program at the row-major `element` of its output, in the output's type,
  /// as Operand::Stored.
  /// Errors: kInvalid at "where:line:column" for a division by zero, an index outside its tensor,
  /// an invalid stored value; kTooLarge past kMaxSteps, or if kMaxBits do not decide.
  Result<Number> Element(const Program::Result& result, std::int64_t element);

 private:
  struct Cache {
    std::optional<Number> value;
    mpfr_prec_t bits = 0;  // precision of the cached value
  };

  Error Refuse(const Code& code, std::string message) const;
  Result<Number> InType(const Program::Result& result, std::int64_t element);
  Result<void> Step(const Code& code);
  Result<Number> Eval(const Code& code);
  Result<Number> Fresh(const Code& code);
  Result<Number> OfTwo(const Code& code);
  Result<Number> Routine(const Code& code);
  Result<Number> Part(const Code& code);
  Result<std::int64_t> ElementOf(const Code& code, const Operand& operand);
  Result<Number> Apply(const Code& code);
  Result<Number> Range(const Code& code);
  Result<Number> Fold(const Code& code);
  Result<void> Each(const Code& code, std::size_t index, std::size_t indices, Number& total);
  Result<void> Accumulate(const Code& code, Number& total);
  Result<bool> Truth(const Code& code);
  Result<bool> Relation(const Code& code);
  Result<long> Integer(const Code& code);
  Result<Number> Bounded(const Code& code, Number value) const;

  const Program& program_;
  const Scope& scope_;
  const std::string& where_;
  Precision precision_;
  std::vector<Cache> caches_;
  std::vector<std::optional<Number>> values_;  // of the routines without arguments, at the element
  std::vector<Number> locals_;
  std::size_t base_ = 0;  // of the locals of the routine that runs
  format::Dims coordinates_;
  std::int64_t steps_ = 0;
};

}  // namespace qtx::spec
