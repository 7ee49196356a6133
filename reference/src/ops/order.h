// The order of a tensor's elements by their exact reals.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/common.h"

namespace qtx::reference {

/// Elements of a tensor as keys that compare exactly. Borrows the tensor.
class Order {
 public:
  /// Input `i`, of numbers, as exact reals; of real operands as binary32 where `domain` computes in
  /// it.  Errors: those of Operand::Make.
  static Result<Order> Make(const Call& call, std::size_t i, Domain domain = Domain::kExact);
  bool IsNan(std::int64_t element) const;
  bool IsZero(std::int64_t element) const;
  /// -1, 0, +1.  REQUIRES: neither is NaN.
  int Compare(std::int64_t a, std::int64_t b) const { return CompareKeys(Key(a), Key(b)); }
  /// Element `a` of this against element `b` of `other`, a tensor of reals or of the same type.
  int Compare(std::int64_t a, const Order& other, std::int64_t b) const {
    return CompareKeys(Key(a), other.Key(b));
  }

 private:
  static int CompareKeys(const Dyadic& a, const Dyadic& b);
  Dyadic Key(std::int64_t element) const;

  std::optional<Operand> operand_;
  bool in_binary32_ = false;
  std::vector<std::int64_t> unsigned_;  // UINT64, less 2^63: that keeps the order and fits
};

}  // namespace qtx::reference
