#include "awq_search.h"

#include <algorithm>
#include <cmath>

#include "elementary.h"
#include "weights.h"

namespace qtx::quantize {
namespace {

using format::Tensor;

constexpr int kSteps = 20;          // of alpha; n_grid of the paper's code
constexpr double kLeast = 0x1p-14;  // of the greatest magnitude

// tr D^T H D, D the stored weights of a group over their factors, less the weights.
double ErrorOf(const ScaledProduct& product, const Tensor& stored, std::span<const float> factors,
               std::int64_t group) {
  const std::int64_t count = product.Outputs() / product.groups;
  const auto size = static_cast<std::size_t>(product.gram.size);
  const auto columns = static_cast<std::size_t>(count);
  const auto real = product.weights.As<float>(), found = stored.As<float>();
  std::vector<double> left(size * columns);
  for (std::size_t k = 0; k < size; ++k) {
    const auto row = static_cast<std::int64_t>(k);
    const auto factor =
        static_cast<double>(factors[static_cast<std::size_t>(product.Channel(row, group))]);
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t at = product.At(row, group * count + static_cast<std::int64_t>(c));
      left[k * columns + c] =
          static_cast<double>(found[at]) / factor - static_cast<double>(real[at]);
    }
  }
  const std::size_t triangle = size * (size + 1) / 2;
  const double* h = &product.gram.sums[static_cast<std::size_t>(group) * triangle];
  std::vector<double> pull(columns);
  double error = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const double* const own = &left[i * columns];
    // Twice what lies beside the diagonal.
    for (std::size_t c = 0; c < columns; ++c) pull[c] = *h * own[c];
    ++h;
    for (std::size_t j = i + 1; j < size; ++j, ++h) {
      const double factor = 2 * *h;
      if (factor == 0) continue;
      const double* const other = &left[j * columns];
      for (std::size_t c = 0; c < columns; ++c) pull[c] += factor * other[c];
    }
    for (std::size_t c = 0; c < columns; ++c) error += pull[c] * own[c];
  }
  return error;
}

Result<double> ErrorOf(std::span<const ScaledProduct> products, std::span<const float> factors) {
  double error = 0;
  for (const ScaledProduct& product : products) {
    const Tensor scaled = Scaled(product, factors);
    QTX_ASSIGN_OR_RETURN(const StoredConstant stored,
                         StoreWeights(scaled, product.settings, product.axes, {}));
    const Tensor reals = Dequantized(stored.tensor);
    for (std::int64_t group = 0; group < product.groups; ++group)
      error += ErrorOf(product, reals, factors, group);
  }
  return error;
}

// Roots of sums of squares.
std::vector<double> InputMagnitudes(const ScaledProduct& product) {
  const Gram& gram = product.gram;
  std::vector<double> squares(
      static_cast<std::size_t>(product.groups * (gram.size / product.elements)));
  std::size_t next = 0;
  for (std::int64_t group = 0; group < product.groups; ++group) {
    for (std::int64_t k = 0; k < gram.size; ++k) {
      squares[static_cast<std::size_t>(product.Channel(k, group))] += gram.sums[next];
      next += static_cast<std::size_t>(gram.size - k);
    }
  }
  for (double& square : squares) square = std::sqrt(std::max(square, 0.0));
  return squares;
}

// Adds the magnitudes of one product's weights, each over the greatest that shares its scale.
Result<void> AddMagnitudes(const ScaledProduct& product, std::vector<double>& sums) {
  QTX_ASSIGN_OR_RETURN(const StoredConstant stored,
                       StoreWeights(product.weights, product.settings, product.axes, {}));
  const format::ParameterMap map(*stored.tensor.quantization, product.weights.dims);
  const auto values = product.weights.As<float>();
  std::vector<float> greatest(static_cast<std::size_t>(map.count()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& most = greatest[static_cast<std::size_t>(map(static_cast<std::int64_t>(i)))];
    most = std::max(most, std::abs(values[i]));
  }
  const std::int64_t groups = product.groups, count = product.Outputs() / groups;
  for (std::int64_t output = 0; output < product.Outputs(); ++output) {
    for (std::int64_t k = 0; k < product.gram.size; ++k) {
      const std::size_t at = product.At(k, output);
      const float most = greatest[static_cast<std::size_t>(map(static_cast<std::int64_t>(at)))];
      if (most == 0) continue;
      sums[static_cast<std::size_t>(product.Channel(k, output / count))] +=
          static_cast<double>(std::abs(values[at])) / static_cast<double>(most);
    }
  }
  return {};
}

void Limit(std::vector<double>& magnitudes) {
  const double most = std::ranges::max(magnitudes);
  for (double& magnitude : magnitudes)
    magnitude = most > 0 ? std::max(magnitude / most, kLeast) : 1;
}

std::vector<float> FactorsOf(const std::vector<double>& inputs, const std::vector<double>& weights,
                             double alpha, bool by_weights) {
  std::vector<double> factors(inputs.size(), 1);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (alpha > 0) factors[i] = Power(inputs[i], alpha);
    if (by_weights && alpha < 1) factors[i] /= Power(weights[i], 1 - alpha);
  }
  const auto [least, most] = std::ranges::minmax(factors);
  const double middle = std::sqrt(least * most);
  std::vector<float> result;
  result.reserve(factors.size());
  for (const double factor : factors) result.push_back(static_cast<float>(factor / middle));
  return result;
}

}  // namespace

std::size_t ScaledProduct::At(std::int64_t k, std::int64_t output) const {
  return static_cast<std::size_t>(*axes.reduced == 0 ? k * Outputs() + output
                                                     : output * gram.size + k);
}

Tensor Scaled(const ScaledProduct& product, std::span<const float> factors) {
  Tensor scaled = product.weights;
  const auto values = scaled.As<float>();
  const std::int64_t count = product.Outputs() / product.groups;
  for (std::int64_t output = 0; output < product.Outputs(); ++output) {
    for (std::int64_t k = 0; k < product.gram.size; ++k)
      values[product.At(k, output)] *=
          factors[static_cast<std::size_t>(product.Channel(k, output / count))];
  }
  return scaled;
}

Result<ChannelFactors> SearchFactors(std::span<const ScaledProduct> products) {
  std::vector<double> inputs = InputMagnitudes(products[0]);
  std::vector<double> weights(inputs.size());
  for (const ScaledProduct& product : products)
    QTX_RETURN_IF_ERROR(AddMagnitudes(product, weights));
  Limit(inputs);
  Limit(weights);
  ChannelFactors best{.factors = std::vector<float>(inputs.size(), 1)};
  QTX_ASSIGN_OR_RETURN(const double before, ErrorOf(products, best.factors));
  double least = before;
  for (const bool by_weights : {false, true}) {
    for (int step = by_weights ? 0 : 1; step <= kSteps - (by_weights ? 1 : 0); ++step) {
      const double alpha = static_cast<double>(step) / kSteps;
      std::vector<float> factors = FactorsOf(inputs, weights, alpha, by_weights);
      QTX_ASSIGN_OR_RETURN(const double error, ErrorOf(products, factors));
      if (error >= least) continue;
      least = error;
      best = {std::move(factors), alpha, by_weights, error / before};
    }
  }
  return best;
}

}  // namespace qtx::quantize
