#include "lstm_bound.h"

#include <cmath>
#include <cstddef>
#include <span>

namespace qtx::convert::golden {
namespace {

// What an activation may err by in units of its result, as for the operators of error_bound.cc, and
// the rounding of what it is compared with.
constexpr double kActivationUnits = 13;

struct Value {
  double real = 0, error = 0;
};

Value Product(const Value& a, const Value& b) {
  const double real = a.real * b.real;
  const double carried =
      std::abs(a.real) * b.error + std::abs(b.real) * a.error + a.error * b.error;
  return {real, carried + kUnit * (std::abs(real) + carried)};
}

Value Sum(const Value& a, const Value& b) {
  const double real = a.real + b.real, carried = a.error + b.error;
  return {real, carried + kUnit * (std::abs(real) + carried)};
}

// By Taylor's theorem: the slope where z is, and half the greatest second derivative anywhere.
Value Sigmoid(const Value& z) {
  constexpr double kHalfCurvature = 0.0482;  // of 1 / (6 sqrt(3)) / 2 = 0.04811
  const double real = 1 / (1 + std::exp(-z.real));
  const double carried = real * (1 - real) * z.error + kHalfCurvature * z.error * z.error;
  return {real, carried + kActivationUnits * kUnit * real};
}

Value Tanh(const Value& z) {
  constexpr double kHalfCurvature = 0.385;  // of 4 / (3 sqrt(3)) / 2 = 0.38490
  const double real = std::tanh(z.real);
  const double carried = (1 - real * real) * z.error + kHalfCurvature * z.error * z.error;
  return {real, carried + kActivationUnits * kUnit * std::abs(real)};
}

class Layer {
 public:
  Layer(const std::vector<const format::Tensor*>& inputs, double x_error)
      : x_error_(x_error),
        x_(inputs[0]->As<float>()),
        w_(inputs[1]->As<float>()),
        r_(inputs[2]->As<float>()),
        b_(inputs[3]->As<float>()),
        steps(At(*inputs[0], 0)),
        batch(At(*inputs[0], 1)),
        input(At(*inputs[0], 2)),
        hidden(At(*inputs[2], 2)) {}

  // A gate's argument: any order of the sum of products is within gamma_n of their magnitudes.
  Value Argument(std::size_t gate, std::size_t unit, std::size_t x,
                 const std::vector<Value>& h) const {
    const std::size_t row = gate * hidden + unit;
    const auto b = static_cast<double>(b_[row]);
    Value sum{b, 0};
    double magnitude = std::abs(b), carried = 0;
    const auto add = [&](double weight, const Value& value) {
      sum.real += weight * value.real;
      magnitude += std::abs(weight * value.real);
      carried += std::abs(weight) * value.error;
    };
    for (std::size_t k = 0; k < input; ++k) add(w_[row * input + k], {x_[x + k], x_error_});
    for (std::size_t k = 0; k < hidden; ++k) add(r_[row * hidden + k], h[k]);
    const double n = static_cast<double>(input + hidden) + 4;
    sum.error = carried + n * kUnit / (1 - n * kUnit) * (magnitude + carried);
    return sum;
  }

 private:
  static std::size_t At(const format::Tensor& tensor, std::size_t i) {
    return static_cast<std::size_t>(tensor.dims[i]);
  }
  double x_error_;
  std::span<const float> x_, w_, r_, b_;

 public:
  std::size_t steps, batch, input, hidden;
};

enum Gate : std::size_t { kInput, kOutput, kForget, kCell };

void Step(const Layer& layer, std::size_t x, std::vector<Value>* h, std::vector<Value>* c) {
  std::vector<Value> next;
  for (std::size_t unit = 0; unit < layer.hidden; ++unit) {
    const auto argument = [&](Gate gate) { return layer.Argument(gate, unit, x, *h); };
    Value& cell = (*c)[unit];
    cell = Sum(Product(Sigmoid(argument(kForget)), cell),
               Product(Sigmoid(argument(kInput)), Tanh(argument(kCell))));
    next.push_back(Product(Sigmoid(argument(kOutput)), Tanh(cell)));
  }
  *h = std::move(next);
}

std::vector<Value> StateOf(const format::Tensor& state, std::size_t sequence, std::size_t hidden) {
  std::vector<Value> values;
  for (std::size_t k = 0; k < hidden; ++k)
    values.push_back({state.As<float>()[sequence * hidden + k], 0});
  return values;
}

void Put(const std::vector<Value>& values, std::size_t first, std::vector<double>* bounds) {
  for (const Value& value : values) (*bounds)[first++] = value.error;
}

}  // namespace

LstmBounds BoundLstm(const std::vector<const format::Tensor*>& inputs, double x_error) {
  const Layer layer(inputs, x_error);
  LstmBounds bounds;
  bounds.y.resize(layer.steps * layer.batch * layer.hidden);
  bounds.h.resize(layer.batch * layer.hidden);
  bounds.c.resize(layer.batch * layer.hidden);
  for (std::size_t sequence = 0; sequence < layer.batch; ++sequence) {
    std::vector<Value> h = StateOf(*inputs[5], sequence, layer.hidden);
    std::vector<Value> c = StateOf(*inputs[6], sequence, layer.hidden);
    for (std::size_t t = 0; t < layer.steps; ++t) {
      const std::size_t at = t * layer.batch + sequence;
      Step(layer, at * layer.input, &h, &c);
      Put(h, at * layer.hidden, &bounds.y);
    }
    Put(h, sequence * layer.hidden, &bounds.h);
    Put(c, sequence * layer.hidden, &bounds.c);
  }
  return bounds;
}

}  // namespace qtx::convert::golden
