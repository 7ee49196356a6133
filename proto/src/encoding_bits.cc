#include "encoding_bits.h"

#include <algorithm>

#include "check_rules.h"

namespace qtx::format::encoding {
namespace {

constexpr std::size_t kMaxDigits = 8;
constexpr std::int32_t kMaxWidth = 32;

}  // namespace

Error Fault(const std::string& clause, const std::string& where, std::string message) {
  return {ErrorCode::kInvalid, where, std::move(message), clause};
}

Error Fault(const std::string& clause, const std::string& where, std::int64_t found,
            const std::string& expected) {
  return Fault(clause, where, FoundExpected(std::to_string(found), expected));
}

// encoding.C9 and C10: takes the run's bits of the record and of its values.
Result<void> RecordBits::Take(const std::string& place, const BitRun& run,
                              std::vector<std::uint32_t>* value_bits) {
  const auto low = static_cast<std::uint32_t>((std::uint64_t{1} << run.width) - 1);
  const std::uint32_t bits = low << run.value_bit;
  const auto record_bits = static_cast<std::int64_t>(taken_.size());
  for (std::int32_t i = 0; i < run.count; ++i) {
    const std::int64_t begin = run.bit + std::int64_t{i} * run.stride;
    const std::string value = "value " + std::to_string(run.first + i);
    if (begin < 0 || begin + run.width > record_bits) {
      return Fault("encoding.C9", place,
                   FoundExpected(value + " in bits from " + std::to_string(begin) + " on",
                                 "bits of a record of " + std::to_string(record_bits)));
    }
    for (std::int64_t bit = begin; bit < begin + run.width; ++bit) {
      if (taken_[static_cast<std::size_t>(bit)]) {
        return Fault("encoding.C9", place,
                     "takes bit " + std::to_string(bit) + " of the record for " + value +
                         ", which another value or another bit of it has");
      }
      taken_[static_cast<std::size_t>(bit)] = true;
    }
    std::uint32_t& given = (*value_bits)[static_cast<std::size_t>(run.first + i)];
    if ((given & bits) != 0) {
      return Fault("encoding.C10", place, "gives bits of " + value + " that another span gives");
    }
    given |= bits;
  }
  return {};
}

// encoding.C8; then each run of the first digit.
Result<void> RecordBits::Add(const std::string& place, const BitSpan& span,
                             std::vector<BitRun>* runs, std::vector<std::uint32_t>* value_bits) {
  if (span.width < 1 || span.width > kMaxWidth || span.value_bit < 0 ||
      span.value_bit > kMaxWidth - span.width) {
    return Fault("encoding.C8", place,
                 FoundExpected("width " + std::to_string(span.width) + " at value_bit " +
                                   std::to_string(span.value_bit),
                               "at least 1 bit, within 32"));
  }
  const auto per_record = std::ssize(*value_bits);
  const std::size_t digits = span.count.size();
  if (digits != span.stride.size() || digits > kMaxDigits) {
    return Fault("encoding.C8", place,
                 FoundExpected(std::to_string(digits) + " counts and " +
                                   std::to_string(span.stride.size()) + " strides",
                               "as many of both, at most " + std::to_string(kMaxDigits)));
  }
  std::int64_t values = 1;
  for (const std::int32_t count : span.count)
    values = count < 1 ? 0 : std::min<std::int64_t>(values * count, kMaxRecordElements + 1);
  if (values < 1 || span.first < 0 || span.first > per_record - values) {
    return Fault("encoding.C8", place,
                 FoundExpected("values from " + std::to_string(span.first) + " on, counted " +
                                   ToString(Dims(span.count.begin(), span.count.end())),
                               "counts of at least 1, and values within the field's " +
                                   std::to_string(per_record)));
  }
  const std::int32_t inner = digits == 0 ? 1 : span.count[0];
  for (std::int64_t at = 0; at < values; at += inner) {
    std::int64_t bit = span.record_bit, rest = at;
    for (std::size_t d = 0; d < digits; ++d) {
      bit += rest % span.count[d] * span.stride[d];
      rest /= span.count[d];
    }
    if (bit < 0 || bit >= std::ssize(taken_)) {
      return Fault("encoding.C9", place, bit,
                   "a bit of a record of " + std::to_string(taken_.size()));
    }
    const BitRun run{.first = static_cast<std::int32_t>(span.first + at),
                     .count = inner,
                     .bit = static_cast<std::int32_t>(bit),
                     .stride = digits == 0 ? 0 : span.stride[0],
                     .width = span.width,
                     .value_bit = span.value_bit};
    QTX_RETURN_IF_ERROR(Take(place, run, value_bits));
    runs->push_back(run);
  }
  return {};
}

}  // namespace qtx::format::encoding
