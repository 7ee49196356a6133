// Evaluates a compiled formula, element by element.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "program.h"
#include "qtx/formula/computation.h"

namespace qtx::formula {

inline std::size_t Slot(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Coordinates of an element. The usual ones are few, and need no memory of their own.
class Indices {
 public:
  void Add(std::int64_t index) {
    if (size_ < few_.size()) {
      few_[size_] = index;
    } else {
      if (many_.empty()) many_.assign(few_.begin(), few_.end());
      many_.push_back(index);
    }
    ++size_;
  }
  std::size_t size() const { return size_; }
  std::span<const std::int64_t> span() const {
    return many_.empty() ? std::span(few_).first(size_) : std::span<const std::int64_t>(many_);
  }

 private:
  std::array<std::int64_t, 8> few_;
  std::vector<std::int64_t> many_;
  std::size_t size_ = 0;
};

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
    mpfr_prec_t bits = 0;         // precision of the cached value; 0: it is the same in any
    int output = -1;              // for which it holds, where it is of an output
    std::int64_t evaluation = 0;  // likewise, where it varies from element to element
  };
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(std::span<const std::int64_t> key) const;
  };
  struct KeyEqual {
    using is_transparent = void;
    bool operator()(std::span<const std::int64_t> a, std::span<const std::int64_t> b) const {
      return std::ranges::equal(a, b);
    }
  };
  struct Memory {
    // Of a routine that is never called again with the same arguments nothing is remembered.
    static constexpr int kTries = 1 << 12;
    bool pays() const { return found > 0 || tries < kTries; }
    std::unordered_map<std::vector<std::int64_t>, Cache, KeyHash, KeyEqual> values;
    std::int64_t tries = 0, found = 0;
  };
  struct Known {
    std::int64_t evaluation = 0;  // in which it was computed
    Value value;
  };

  /// Calls `evaluate` with more and more bits until they decide.
  template <typename Evaluate>
  auto Decided(const std::string& where, const Evaluate& evaluate) -> decltype(evaluate());

  Error Refuse(const Code& code, std::string message) const;
  static Error TooLong(const Code& code);
  void Begin();
  Result<Value> InType(const Program::Result& result);
  void SetCoordinates(const Program::Result& result, int k);
  Result<void> Step(const Code& code) {
    if (++all_steps_ <= kMaxNodeSteps && ++steps_ <= kMaxSteps) return {};
    return TooManySteps(code);
  }
  Error TooManySteps(const Code& code) const;
  Result<Value> Eval(const Code& code);
  Result<Value> Fresh(const Code& code);
  bool Holds(const Cache& cache, const Code& code) const;
  Cache Keep(const Value& value) const;

  // Elements that depend on their place only by the elements that broadcast to it.
  struct Pointwise {
    bool holds = false;         // of this output
    std::vector<int> operands;  // whose elements are not the same everywhere
    std::unordered_map<std::vector<std::int64_t>, Value, KeyHash, KeyEqual> known;
  };
  bool DependsOnPlace(const Code& code, std::vector<bool>& seen) const;
  Pointwise MakePointwise(const Program::Result& result) const;
  bool MakeKey(const Pointwise& pointwise, std::vector<std::int64_t>& key) const;
  void BeginOutput(const Program::Result& result);
  Result<Value> Compute(const Program::Result& result, int k);

  // Numbers.
  Result<Number> NumberOf(const Code& code);
  /// The number that a value is; `storage` holds it where the value does not.
  Result<const Number*> NumberAt(const Code& code, const Value& value, Number& storage);
  Result<Number> NumberIn(const Code& code, const Value& value);
  Result<Value> Plain(const Code& code, Value value);
  Result<Value> OfTwo(const Code& code);
  Result<Value> Combine(const Code& code, Code::Op op, const Value& a, const Value& b);
  Result<Value> CombineNumbers(const Code& code, Code::Op op, const Value& a, const Value& b);
  Result<Value> Rounded(const Code& code, Value value);
  Result<Value> InRealType(const Code& code, format::ElementType type, Value value);
  Result<Value> Negated(const Code& code);
  Result<long> Integer(const Code& code, const Value& value);
  Result<void> Bounded(const Code& code, const Number& value);

  // Calls.
  Result<Value> Routine(const Code& code);
  Result<Value> Reading(const Code& code);
  /// Calls the routine with the arguments from number `first` on, and takes them away.
  Result<Value> CallRoutine(const Code& code, int index, std::size_t first);
  Result<Value> CallReading(const Code& code, int index, Value argument);
  Result<Value> Fresh(const Code& code, const formula::Routine& routine, std::size_t first);
  Result<std::vector<Value>> Items(const Code& code, std::size_t from);
  Result<void> AddItems(const Code& code, std::size_t from, std::vector<Value>& items);
  static bool MakeKey(std::span<const Value> arguments, std::vector<std::int64_t>& key);
  Result<Value> Apply(const Code& code);
  Result<Value> ApplyToNumbers(const Code& code, std::vector<Value> arguments);
  Result<Value> ApplyToTensor(const Code& code);
  Result<Value> PartOfElement(const Code& code, int operand);
  Result<Value> Codes(const Code& code);
  Result<Value> ApplyToList(const Code& code);
  Result<Value> Choose(const Code& code);
  Result<Value> TypeOf(const Code& code, const Operand& operand) const;

  // Tensors.
  Result<Value> Part(const Code& code);
  /// Without `at`, of the element that broadcasts to that of the result.
  Result<Value> PartAt(const Code& code, int operand, formula::Part part, const Indices* at);
  Result<Value> Parameter(const Code& code, const Operand& operand, formula::Part part,
                          const Indices* at, bool number);
  Result<Value> Read(const Code& code, int operand, std::int64_t element);
  Result<Value> Index(const Code& code);
  Result<void> AddIndices(const Code& code, std::size_t from, Indices& at);
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
  Result<bool> FreshTruth(const Code& code);
  Result<bool> Relation(const Code& code);
  Result<std::optional<int>> Order(const Code& code, const Value& a, const Value& b);
  Result<bool> AreEqual(const Code& code, const Value& a, const Value& b);

  const Program& program_;
  const Scope& scope_;
  Precision precision_;
  std::vector<Cache> caches_;
  std::vector<Memory> memories_;  // of the routines with arguments
  std::size_t remembered_ = 0;
  std::vector<Known> values_;  // of the routines without arguments, at the element
  std::int64_t evaluation_ = 0;
  std::vector<std::vector<std::optional<Value>>> read_;  // of each operand, at Operand::Slot
  std::vector<Value> locals_;
  std::vector<Value> arguments_;    // of the calls that are about to be made
  std::vector<std::int64_t> keys_;  // of the calls that are being made
  std::size_t base_ = 0;            // of the locals of the routine that runs
  int depth_ = 0;
  std::int64_t broadcasts_ = 0;  // elements that were read as those that broadcast to the result
  // The element that is computed.
  int output_ = -1;  // operand; -1: none
  int begun_output_ = -1;
  Pointwise pointwise_;  // of this one
  format::Dims at_;
  std::vector<std::optional<Value>> coordinates_;  // of the slots
  std::int64_t steps_ = 0;                         // for the element
  std::int64_t all_steps_ = 0;                     // for the node
};

}  // namespace qtx::formula
