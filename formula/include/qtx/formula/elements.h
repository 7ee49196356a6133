// The elements of a tensor as texts, and whether two of them are the same value.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "qtx/format/tensor.h"
#include "qtx/formula/text.h"

namespace qtx::formula {

class Operand;

class Elements {
 public:
  explicit Elements(const format::Tensor& tensor, const ElementTable* table = nullptr);
  Elements(Elements&&) noexcept;
  ~Elements();

  std::int64_t size() const;
  /// "-5", "3/2", "nan".
  std::string Stored(std::int64_t element) const;
  /// The exact real that it stands for.
  std::string Real(std::int64_t element) const;
  /// |real|, for an order; infinity for NaN.
  double Magnitude(std::int64_t element) const;
  /// Zeros of either sign are the same, and so are NaNs.
  bool Same(const Elements& other, std::int64_t element) const;
  /// The index of the element that broadcasts to `coordinates` of a larger shape; -1 for none.
  std::int64_t Broadcast(const format::Dims& coordinates) const;

 private:
  std::unique_ptr<Operand> operand_;
};

}  // namespace qtx::formula
