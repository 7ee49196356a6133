// A quantized weight: an initializer of the type that several tensors of the files describe.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/format/bit_field.h"
#include "qtx/format/model.h"
#include "safetensors/container.h"

namespace qtx::convert::safetensors {

inline constexpr std::int64_t kMaxRead = std::int64_t{1} << 30;  // bytes of a tensor that is read

/// Rows of an initializer in another order than those of the module's weight.
struct RowOrder {
  std::string weight;  // the module's weight: the initializer's rows at `places`
  std::string places;  // INT64 initializer in Weight::made
};

/// What a scheme makes of a module's tensors.
struct Weight {
  std::string name;    // of the initializer
  std::string tensor;  // of the files, whose bytes are the initializer's; empty: it is in `made`
  format::ElementType carrier = format::ElementType::kUndefined;  // data_type over those bytes
  format::Dims carrier_dims;
  format::TensorType type;
  std::vector<std::pair<std::string, format::Tensor>> made;  // initializers of what was computed
  std::optional<RowOrder> row_order;
  /// Tensors of the files whose bytes are elements of another type than their dtype.
  std::vector<std::pair<std::string, format::ElementType>> retyped;

  format::Quantization& q() { return *type.quantization; }
};

/// The tensor `stem` + `suffix`.
/// Errors: kUnsupported where there is none, or one of no such dtype.
Result<const Tensor*> Need(const Container& files, const std::string& stem, std::string_view suffix,
                           std::initializer_list<std::string_view> dtypes);

/// The codes of a weight: integers of `bits`, read as unsigned.
struct Codes {
  int bits = 4;
  bool centred = false;     // 2^(bits-1) stands for 0 everywhere: the stored values are signed
  std::int64_t offset = 0;  // else the greatest offset
};
/// The narrowest storage for the codes and their offsets, with its range, and the bias that makes
/// stored values of codes.
struct CodeStorage {
  format::ElementType type = format::ElementType::kUndefined;  // INT2 to UINT16
  std::int64_t bias = 0;
  std::optional<std::int64_t> quant_min, quant_max;
};
CodeStorage StorageFor(const Codes& codes);

/// A weight of shape `dims` over integers, without parameters yet.
Weight IntegerWeight(std::string name, const CodeStorage& storage, const format::Dims& dims);

/// The weight's codes are those of `tensor`, in records.
void SetRecords(const Tensor& tensor, format::Encoding encoding, Weight& weight);
/// The weight's codes are the elements of `tensor`, as the carrier has them.
void SetInPlace(const Tensor& tensor, format::ElementType carrier, Weight& weight);
/// The weight's codes are `codes`, in an initializer of their own; `bias` is added to each.
Result<void> SetOwn(const std::vector<std::uint8_t>& codes, std::int64_t bias, Weight& weight);

/// A field of codes of one span.  Lists: digits of the index in a record, first the fastest.
format::EncodedField CodeField(int bits, std::int64_t bias, std::vector<std::int32_t> count,
                               std::vector<std::int32_t> stride, std::int32_t record_bit = 0);

/// The scales are a tensor of the files; a tensor of U8 holds exponents (E8M0).
/// Errors: kUnsupported for a dtype that no scale may have, and for a factor that is not finite.
Result<void> AddScale(const Tensor& scales, Weight& weight,
                      std::vector<std::int64_t> block_shape = {});
/// All scales are multiplied by `factor`.
void AddScale(float factor, Weight& weight);

/// Offsets in an initializer of their own.
Result<void> SetOffsets(const std::vector<std::int64_t>& offsets, const format::Dims& dims,
                        Weight& weight);

/// Values of `bits`, one behind the other from the lowest bit of the first byte on.
format::BitField DenseBits(int bits);
/// The first `count` values of records that lie one behind the other; the last may be cut off.
/// REQUIRES: the bytes have the bits of so many.
std::vector<std::uint8_t> UnpackBits(std::string_view bytes, const format::BitField& field,
                                     std::int64_t count);

/// The product of all but the last dimension.
std::int64_t RowsOf(const format::Dims& dims);

}  // namespace qtx::convert::safetensors
