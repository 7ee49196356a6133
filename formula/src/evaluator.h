// Evaluates a compiled formula, element by element.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "program.h"

namespace qtx::formula {

inline std::size_t Slot(std::int64_t i) { return static_cast<std::size_t>(i); }

inline constexpr std::size_t kMostOfList = std::size_t{1} << 16;

class Evaluator {
 public:
  /// REQUIRES: both arguments outlive the evaluator.
  Evaluator(const Program& program, const Scope& scope);

  /// The stored value of the row-major `element` of tensor `k` of an output; k is 0 unless the
  /// output is variadic.
  /// Errors: kInvalid at "file:line:column" for a division by zero, an index outside its tensor, a
  /// value of another kind than expected; kTooLarge past kMaxSteps, or if kMaxBits do not decide.
  Result<Value> Element(std::size_t output, int k, std::int64_t element);
  /// A condition of the node.
  Result<bool> Condition(int routine);
  /// The sizes of tensor `k` of an output.
  Result<format::Dims> Shape(std::size_t output, int k);

 private:
  struct Cache {
    std::optional<Value> value;
    mpfr_prec_t bits = 0;  // precision of the cached value; 0: it is the same in any
  };
  struct KeyHash {
    std::size_t operator()(const std::vector<std::int64_t>& key) const;
  };
  using Memory = std::unordered_map<std::vector<std::int64_t>, Cache, KeyHash>;

  /// Calls `evaluate` with more and more bits until they decide.
  template <typename Evaluate>
  auto Decided(const std::string& where, const Evaluate& evaluate) -> decltype(evaluate());

  Error Refuse(const Code& code, std::string message) const;
  static Error TooLong(const Code& code);
  void Begin();
  Result<Value> InType(const Program::Result& result);
  void SetCoordinates(const Program::Result& result, int k);
  Result<void> Step(const Code& code);
  Result<Value> Eval(const Code& code);
  Result<Value> Fresh(const Code& code);
  bool Holds(const Cache& cache) const;
  Cache Keep(const Value& value) const;

  // Numbers.
  Result<Number> NumberOf(const Code& code);
  Result<Number> NumberIn(const Code& code, const Value& value);
  Result<Value> Plain(const Code& code, Value value);
  Result<Value> OfTwo(const Code& code);
  Result<Value> Combine(const Code& code, Code::Op op, const Value& a, const Value& b);
  Result<Value> CombineNumbers(const Code& code, Code::Op op, const Value& a, const Value& b);
  Result<Value> Rounded(const Code& code, Value value);
  Result<Value> Negated(const Code& code);
  Result<long> Integer(const Code& code, const Value& value);
  Result<Number> Bounded(const Code& code, Number value);

  // Calls.
  Result<Value> Routine(const Code& code);
  Result<Value> Reading(const Code& code);
  Result<Value> CallRoutine(const Code& code, int index, std::vector<Value> arguments);
  Result<std::vector<Value>> Items(const Code& code, std::size_t from);
  static bool MakeKey(std::span<const Value> arguments, std::vector<std::int64_t>& key);
  Result<Value> Apply(const Code& code);
  Result<Value> ApplyToNumbers(const Code& code, std::vector<Value> arguments);
  Result<Value> ApplyToTensor(const Code& code);
  Result<Value> PartOfElement(const Code& code, int operand);
  Result<Value> ApplyToList(const Code& code);
  Result<Value> Choose(const Code& code);
  Result<Value> TypeOf(const Code& code, const Operand& operand) const;

  // Tensors.
  Result<Value> Part(const Code& code);
  Result<Value> PartAt(const Code& code, int operand, formula::Part part,
                       std::optional<format::Dims> at);
  Result<Value> Parameter(const Code& code, const Operand& operand, formula::Part part,
                          const std::optional<format::Dims>& at, bool number);
  Result<Value> Read(const Code& code, int operand, std::int64_t element);
  Result<Value> Index(const Code& code);
  Result<format::Dims> IndicesOf(const Code& code, std::size_t from);
  Result<int> TensorOf(const Code& code, const Value& value);
  Error Open(const Code& code, const Operand& operand) const;
  Result<std::int64_t> BroadcastElement(const Code& code, const Operand& operand);
  const Operand& OperandAt(int operand) const {
    return scope_.operands()[static_cast<std::size_t>(operand)];
  }

  // Ranges and conditions.
  Result<Value> Range(const Code& code);
  Result<Value> Fold(const Code& code);
  Result<bool> Each(const Code& code, std::size_t index, std::size_t indices, Value& total,
                    std::vector<Value>& list);
  Result<bool> EachCoordinates(const Code& code, std::size_t index, std::size_t indices,
                               Value& total, std::vector<Value>& list, const Value& sizes);
  Result<bool> Accumulate(const Code& code, Value& total, std::vector<Value>& list);
  Result<bool> Truth(const Code& code);
  Result<bool> Relation(const Code& code);
  Result<std::optional<int>> Order(const Code& code, const Value& a, const Value& b);
  Result<bool> AreEqual(const Code& code, const Value& a, const Value& b);

  const Program& program_;
  const Scope& scope_;
  Precision precision_;
  std::vector<Cache> caches_;
  std::vector<Memory> memories_;  // of the routines with arguments
  std::size_t remembered_ = 0;
  std::vector<std::optional<Value>> values_;  // of the routines without arguments, at the element
  std::vector<std::vector<std::optional<Value>>> read_;  // elements of each operand
  std::vector<Value> locals_;
  std::size_t base_ = 0;  // of the locals of the routine that runs
  int depth_ = 0;
  std::int64_t broadcasts_ = 0;  // elements that were read as those that broadcast to the result
  // The element that is computed.
  int output_ = -1;  // operand; -1: none
  format::Dims at_;
  std::vector<std::optional<Value>> coordinates_;  // of the slots
  std::int64_t steps_ = 0;                         // for the element
  std::int64_t all_steps_ = 0;                     // for the node
};

}  // namespace qtx::formula
