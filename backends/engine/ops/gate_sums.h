// The products of LSTM's gates in one step, W x and R h, by the kernels of real products.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/kernels.h"
#include "engine/ops/estimate.h"

namespace qtx::backend::engine {

class GateSums {
 public:
  /// Shapes: w [directions, rows, input], r [directions, rows, hidden], row-major. nullptr if one
  /// of their elements is not known exactly.
  static std::unique_ptr<GateSums> Make(const Kernels& kernels, std::span<const Estimate> w,
                                        std::span<const Estimate> r, std::int64_t rows,
                                        std::int64_t input, std::int64_t hidden);
  /// sums[g] = w[direction][g] . x + r[direction][g] . h for g < rows.
  void Compute(std::size_t direction, std::span<const Estimate> x, std::span<const Estimate> h,
               std::vector<Estimate>& sums);

 private:
  // Of one direction: the weights as a panel [input + hidden][width], the magnitudes of r as one of
  // [hidden][width], and the sums of the magnitudes of each row of w and of r.
  struct Panel {
    std::vector<double> weights, magnitudes, of_x, of_h;
  };

  GateSums(const Kernels& kernels, std::int64_t rows, std::int64_t input, std::int64_t hidden);
  void Multiply(const std::vector<double>& panel, std::int64_t taps, std::vector<double>& sums);
  void Append(std::span<const Estimate> w, std::span<const Estimate> r);

  void (*tile_)(const RealTile<double>&);
  std::int64_t rows_, input_, hidden_, width_;
  std::vector<std::int64_t> offsets_;
  std::vector<Panel> panels_;
  std::vector<double> vector_, products_, errors_;  // of one step
};

}  // namespace qtx::backend::engine
