// Types for each node that meet an error or a size.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "qtx/quantize/quantize.h"
#include "qtx/quantize/report.h"

namespace qtx::quantize {

/// One of both.
struct Target {
  std::optional<double> sqnr_db;      // of each output, at least
  std::optional<std::int64_t> bytes;  // of the model's file, at most
};
/// "30dB", "1.5MB", "800kB", "123456B"; kB, MB and GB are powers of 1000.
/// Errors: kInvalid, with the expected forms.
Result<Target> ParseTarget(std::string_view text);

/// The errors of a quantized model on samples.
using Judge = std::function<Result<QuantizationReport>(const Quantized&)>;

struct Found {
  Quantized quantized;  // with an entry of the ledger for each node that differs from `options`
  QuantizationReport report;  // of `judge`; for a size without samples
  std::int64_t bytes = 0;
  std::size_t wide = 0, real = 0, narrow = 0;  // nodes of INT16, of FLOAT, of weights of 4 bits
  std::size_t tried = 0;                       // models
};

/// For an error: the nodes that add most noise, as few as do, get INT16 activations and weights of
/// 8 bits at least; where that is not enough for all of them, FLOAT. For a size: the weights that
/// lose least get INT4 in blocks of 32, as few as do. The order is that of what each node adds with
/// `options` alone; what is returned has been measured.
/// Errors: those of Quantize and `judge`; kInvalid for a target that no choice meets, which says
/// what the last one has.
Result<Found> QuantizeTo(const Target& target, const format::Model& model, const Options& options,
                         const Judge& judge);

}  // namespace qtx::quantize
