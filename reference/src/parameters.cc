#include "parameters.h"

#include <cmath>
#include <string>

#include "qtx/format/levels.h"

namespace qtx::reference {
namespace {

Error BadField(std::string field, std::string message) {
  return Error{ErrorCode::kInvalid, "quantization." + std::move(field), std::move(message)};
}

Result<void> CheckCodeBook(format::ElementType type, const format::Quantization& q,
                           bool initializer) {
  if (!initializer) return BadField("code_book", "found one on a value that is no initializer");
  const format::ElementType storage = format::StorageOf(type);
  const bool is_unsigned = storage == format::ElementType::kUint2 ||
                           storage == format::ElementType::kUint4 ||
                           storage == format::ElementType::kUint8;
  if (is_unsigned && q.code_book.size() >> format::BitWidth(storage) == 1) return {};
  return BadField("code_book", "found " + std::to_string(q.code_book.size()) + " values on " +
                                   std::string(format::Name(type)) +
                                   ", expected one for each code of an unsigned integer");
}

}  // namespace

Result<void> CheckParameterValues(format::ElementType type, const format::Quantization& q,
                                  ParameterRole of) {
  // Along an axis of size 0 there are none: quantization.C1.
  if (q.scale.empty() && q.axis.empty()) return BadField("scale", "found no values");
  const bool initializer = of == ParameterRole::kInitializer;
  for (std::size_t i = 0; i < q.scale.size(); ++i) {
    if (!std::isfinite(q.scale[i]) || (!initializer && !(q.scale[i] > 0))) {
      return BadField("scale[" + std::to_string(i) + "]", "found " + std::to_string(q.scale[i]) +
                                                              ", expected a finite number" +
                                                              (initializer ? "" : " above 0"));
    }
  }
  if (!q.code_book.empty()) QTX_RETURN_IF_ERROR(CheckCodeBook(type, q, initializer));
  if (!q.offset.empty() && q.offset.size() != q.scale.size()) {
    return BadField("offset", "found " + std::to_string(q.offset.size()) + " values, expected " +
                                  std::to_string(q.scale.size()));
  }
  if (format::HasBase(q) && q.base_levels[0].value.size() != q.scale.size()) {
    return BadField("base_levels", "found " + std::to_string(q.base_levels[0].value.size()) +
                                       " values, expected " + std::to_string(q.scale.size()));
  }
  if (!format::IsIntegerStorage(format::StorageOf(type))) return {};
  const format::IntegerRange range = format::StoredRange(type, q);
  if (range.min > range.max) {
    return BadField("quant_min", "found " + std::to_string(range.min) + " above quant_max " +
                                     std::to_string(range.max));
  }
  return {};
}

Result<void> CheckParameters(format::ElementType type, const format::Quantization& q,
                             std::span<const std::int64_t> dims, ParameterRole of) {
  QTX_RETURN_IF_ERROR(CheckParameterValues(type, q, of));
  QTX_ASSIGN_OR_RETURN(const format::Dims parameters, format::ParameterDims(q, dims));
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(parameters));
  if (static_cast<std::int64_t>(q.scale.size()) != count) {
    return BadField("scale", "found " + std::to_string(q.scale.size()) + " values, expected " +
                                 std::to_string(count) + " for shape " + format::ToString(dims));
  }
  return {};
}

Result<void> CheckComputable(std::span<const std::int64_t> dims) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(dims));
  if (count <= kMaxComputedElements) return {};
  return Error{ErrorCode::kTooLarge, "",
               "shape " + format::ToString(dims) + " has " + std::to_string(count) +
                   " elements; the reference computes at most 2^28"};
}

}  // namespace qtx::reference
