// The tensors of a formula: types, sizes, parameters and elements, and the writing of an output.
// The types' own rules (which real becomes which element) are formulas, not code.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "qtx/format/levels.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"
#include "qtx/format/tensor_type.h"
#include "qtx/formula/text.h"
#include "value.h"

namespace qtx::formula {

class Operand {
 public:
  /// With its elements. `table` gives the values of the codes that the tensor holds; nullptr for a
  /// type of the format.
  Operand(std::string name, const format::Tensor& tensor, const ElementTable* table = nullptr);
  /// An output, or an input that is not known: without.
  Operand(std::string name, format::ElementType type, std::optional<format::Quantization> q,
          const ElementTable* table = nullptr);

  const std::string& name() const { return name_; }
  /// False of an open shape, one with a dimension that is not known yet. REQUIRED by all that asks
  /// sizes, coordinates or elements.
  bool has_dims() const { return has_dims_; }
  const format::Dims& dims() const { return dims_; }
  void set_dims(format::Dims dims);
  /// Of an output, where the model declares them.
  const std::optional<format::Dims>& declared() const { return declared_; }
  void set_declared(std::optional<format::Dims> dims) { declared_ = std::move(dims); }
  format::ElementType type() const { return type_; }
  /// quantization.S12; of a type that is not quantized its own.
  format::ElementType real_type() const {
    return quantization_ ? format::RealTypeOf(*quantization_) : type_;
  }
  const ElementTable* table() const { return table_; }
  const std::optional<format::Quantization>& quantization() const { return quantization_; }
  std::int64_t size() const { return size_; }
  bool has_elements() const { return has_elements_; }
  bool is_initializer() const { return is_initializer_; }
  void set_initializer() { is_initializer_ = true; }
  /// Of an initializer with levels; borrowed.
  void set_factors(const format::Factors* factors) { factors_ = factors; }
  bool is_quantized() const { return quantization_.has_value(); }
  bool per_tensor() const { return quantization_ && quantization_->axis.empty(); }
  std::int64_t parameters() const;    // how many; 0 when not quantized
  std::int64_t scale_levels() const;  // likewise; 1 where the scale is no product

  /// Row-major index of the element at `coordinates`; nullopt when there is none.
  std::optional<std::int64_t> At(std::span<const std::int64_t> coordinates) const;
  /// The index of the element that broadcasts to `coordinates` of a larger shape.
  std::optional<std::int64_t> Broadcast(std::span<const std::int64_t> coordinates) const;

  /// A number that only equal elements have. REQUIRES for these: has_elements().
  std::int64_t Code(std::int64_t element) const;
  /// Elements in the same of the slots() stand for the same real.
  std::int64_t slots() const { return has_slots_ ? std::int64_t{1} << kMostSlotBits : size_; }
  std::int64_t SlotOf(std::int64_t element) const {
    if (!has_slots_) return element;
    return integers_[static_cast<std::size_t>(element)] & (slots() - 1);
  }
  Value Stored(std::int64_t element) const;
  /// What the scale multiplies, less the offset: the stored value, or that of the code book.
  Value Unscaled(std::int64_t element) const;
  Value Real(std::int64_t element) const;
  bool IsNegative(std::int64_t element) const;  // in binary32; -0 of what has one, too
  /// The index of the parameters of an element. REQUIRES for these: is_quantized().
  std::int64_t Parameter(std::int64_t element) const;
  const Value& Scale(std::int64_t parameter) const;
  std::int64_t Offset(std::int64_t parameter) const;
  mpq_class Base(std::int64_t parameter) const;
  /// As format::Factors has them.
  Value FineScale(std::int64_t parameter) const;
  Value CoarseScale(std::int64_t parameter) const;
  Value FineBase(std::int64_t parameter) const;
  Value CoarseBase(std::int64_t parameter) const;
  /// The bounds of stored values: quant_min and quant_max, or those of the storage.
  std::int64_t Least() const;
  std::int64_t Greatest() const;

 private:
  std::string name_;
  format::ElementType type_;
  const ElementTable* table_;
  format::Dims dims_;
  std::optional<format::Dims> declared_;
  std::optional<format::Quantization> quantization_;
  bool has_dims_ = false;
  std::int64_t size_ = 0;
  static constexpr int kMostSlotBits = 8;  // of a type whose codes have a slot each
  bool has_elements_ = false;
  bool has_slots_ = false;
  bool is_initializer_ = false;
  const format::Factors* factors_ = nullptr;  // without: one level
  std::vector<Value> scales_;
  std::vector<double> floats_;          // one of the two
  std::vector<std::int64_t> integers_;  // also of UINT64, whose values lie above as 2^64 less
};

/// Exactly; also an infinity or NaN.
Value FromDouble(double value);

/// The coordinates of the row-major `element`.
format::Dims CoordinatesOf(std::int64_t element, std::span<const std::int64_t> dims);

/// The elements of an output as they are computed, one after the other.
class TensorWriter {
 public:
  /// Errors: those of MakeTensor.
  static Result<TensorWriter> Make(const Operand& output);

  /// `stored` is the value that the element has in its type.
  /// Errors: kInvalid for one that the type does not have.
  Result<void> Add(const Value& stored);
  format::Tensor Finish() &&;

 private:
  TensorWriter(format::Tensor tensor, const ElementTable* table)
      : tensor_(std::move(tensor)), table_(table) {}
  Result<void> AddCode(const Value& stored);
  Result<void> AddInteger(const Value& stored);
  Result<void> AddFloat(const Number& stored);

  format::Tensor tensor_;
  const ElementTable* table_;
  std::vector<double> floats_;
  std::vector<std::int64_t> integers_;
};

}  // namespace qtx::formula
