// LSTM and GRU, step by step.
#include <array>
#include <cstdint>

#include "tflite/expander.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;

constexpr std::int64_t kMostSteps = 256;

struct Recurrence {
  bool gated = false;  // GRU
  bool linear_before_reset = false;
  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 0, gates = 0;
  bool first_reversed = false;
  std::vector<double> w, r, b;  // [directions, gates * hidden, inputs], [.., hidden], [2 * ..]
};

// The weights of one direction as constants for products of rows from the left.
struct Direction {
  std::string w;                       // [inputs, gates * hidden]
  std::string b;                       // [gates * hidden]: all biases that are added to X W
  std::vector<std::string> r, r_bias;  // of each gate: [hidden, hidden], [hidden]
};

bool HasDefaultActivations(const Expander& e) {
  const auto* given = e.node().Find("activations");
  if (given == nullptr) return true;
  for (std::size_t i = 0; i < given->strings.size(); ++i) {
    const std::size_t of_one = e.node().op_type == "GRU" ? 2 : 3;
    if (given->strings[i] != (i % of_one == 0 ? "Sigmoid" : "Tanh")) return false;
  }
  return true;
}

// All sequences have all steps.
bool AreWhole(const Expander& e, std::int64_t steps) {
  const std::string lengths = e.Input(4);
  if (lengths.empty()) return true;
  if (e.view().FindInitializer(lengths) == nullptr) return false;
  const auto tensor = format::LoadInitializer(e.view(), lengths);
  return tensor.has_value() &&
         std::ranges::all_of(format::UnpackIntegers(*tensor),
                             [&](std::int64_t length) { return length == steps; });
}

std::optional<Recurrence> RecurrenceOf(const Expander& e) {
  Recurrence rnn;
  rnn.gated = e.node().op_type == "GRU";
  rnn.gates = rnn.gated ? 3 : 4;
  const format::Attributes attributes = e.attributes();
  rnn.linear_before_reset = rnn.gated && attributes.Int("linear_before_reset") != 0;
  const std::string direction = attributes.String("direction");
  rnn.first_reversed = direction == "reverse";
  rnn.directions = direction == "bidirectional" ? 2 : 1;
  const auto x = e.DimsOf(e.Input(0)), w = e.DimsOf(e.Input(1));
  auto w_values = e.Constant(e.Input(1)), r_values = e.Constant(e.Input(2));
  if (!x || x->size() != 3 || !w || w->size() != 3 || !w_values || !r_values) return std::nullopt;
  rnn.steps = (*x)[0];
  rnn.batch = (*x)[1];
  rnn.inputs = (*x)[2];
  rnn.hidden = (*w)[1] / rnn.gates;
  rnn.w = *std::move(w_values);
  rnn.r = *std::move(r_values);
  const auto rows = static_cast<std::size_t>(rnn.directions * rnn.gates * rnn.hidden);
  rnn.b.assign(2 * rows, 0);
  if (!e.Input(3).empty()) {
    auto b = e.Constant(e.Input(3));
    if (!b) return std::nullopt;
    rnn.b = *std::move(b);
  }
  const bool fits = rnn.w.size() == rows * static_cast<std::size_t>(rnn.inputs) &&
                    rnn.r.size() == rows * static_cast<std::size_t>(rnn.hidden) &&
                    rnn.b.size() == 2 * rows;
  const bool plain = e.node().Find("clip") == nullptr && e.Input(7).empty() &&
                     attributes.Int("layout") == 0 &&
                     (rnn.gated || attributes.Int("input_forget") == 0) &&
                     HasDefaultActivations(e) && AreWhole(e, rnn.steps);
  const bool small = rnn.steps > 0 && rnn.steps <= kMostSteps && rnn.batch > 0 && rnn.hidden > 0;
  return fits && plain && small ? std::optional(std::move(rnn)) : std::nullopt;
}

// Rows [first, first + count) of a matrix with `columns`, transposed.
std::vector<double> RowsTransposed(const std::vector<double>& matrix, std::int64_t first,
                                   std::int64_t count, std::int64_t columns) {
  std::vector<double> result;
  for (std::int64_t column = 0; column < columns; ++column) {
    for (std::int64_t row = first; row < first + count; ++row)
      result.push_back(matrix[static_cast<std::size_t>(row * columns + column)]);
  }
  return result;
}

// A GRU that resets a linear product keeps that product's bias apart.
bool KeepsBias(const Recurrence& rnn, std::int64_t gate) {
  return rnn.linear_before_reset && gate == 2;
}

Direction DirectionOf(Expander& e, const Recurrence& rnn, std::int64_t direction) {
  const std::int64_t rows = rnn.gates * rnn.hidden, first = direction * rows;
  Direction result;
  result.w = e.Floats(RowsTransposed(rnn.w, first, rows, rnn.inputs), {rnn.inputs, rows});
  const auto bias = [&](std::int64_t row) {
    return rnn.b[static_cast<std::size_t>(2 * first + row)];
  };
  std::vector<double> sums;
  for (std::int64_t row = 0; row < rows; ++row)
    sums.push_back(bias(row) + (KeepsBias(rnn, row / rnn.hidden) ? 0 : bias(rows + row)));
  result.b = e.Floats(sums, {rows});
  for (std::int64_t gate = 0; gate < rnn.gates; ++gate) {
    const std::int64_t at = gate * rnn.hidden;
    result.r.push_back(e.Floats(RowsTransposed(rnn.r, first + at, rnn.hidden, rnn.hidden),
                                {rnn.hidden, rnn.hidden}));
    std::vector<double> own;
    for (std::int64_t i = 0; i < rnn.hidden && KeepsBias(rnn, gate); ++i)
      own.push_back(bias(rows + at + i));
    result.r_bias.push_back(own.empty() ? "" : e.Floats(own, {rnn.hidden}));
  }
  return result;
}

std::string Cut(Expander& e, const std::string& x, std::int64_t begin, std::int64_t end,
                std::int64_t axis) {
  return e.Op("Slice", {x, e.Integers({begin}), e.Integers({end}), e.Integers({axis})});
}

struct State {
  std::string h, c;  // [batch, hidden]
};

// What a gate gives: its part of X W + b, and the product of h with its weights, activated.
std::string Gate(Expander& e, const std::string& x, const std::string& h, const std::string& r,
                 const char* activation) {
  return e.Op(activation, {e.Op("Add", {x, e.Op("MatMul", {h, r})})});
}

// Source: ONNX, GRU: gates z, r, h.
State GruStep(Expander& e, const Recurrence& rnn, const Direction& weights,
              const std::vector<std::string>& x, const State& state) {
  const std::string& h = state.h;
  const std::string z = Gate(e, x[0], h, weights.r[0], "Sigmoid");
  const std::string r = Gate(e, x[1], h, weights.r[1], "Sigmoid");
  std::string product;
  if (rnn.linear_before_reset) {
    const std::string linear = e.Op("MatMul", {h, weights.r[2]});
    product = e.Op("Mul", {r, e.Op("Add", {linear, weights.r_bias[2]})});
  } else {
    product = e.Op("MatMul", {e.Op("Mul", {r, h}), weights.r[2]});
  }
  const std::string candidate = e.Op("Tanh", {e.Op("Add", {x[2], product})});
  const std::string rest = e.Op("Sub", {e.Number(1), z});
  return {e.Op("Add", {e.Op("Mul", {rest, candidate}), e.Op("Mul", {z, h})}), ""};
}

// Source: ONNX, LSTM: gates i, o, f, c.
State LstmStep(Expander& e, const Direction& weights, const std::vector<std::string>& x,
               const State& state) {
  const std::string i = Gate(e, x[0], state.h, weights.r[0], "Sigmoid");
  const std::string f = Gate(e, x[2], state.h, weights.r[2], "Sigmoid");
  const std::string candidate = Gate(e, x[3], state.h, weights.r[3], "Tanh");
  const std::string c = e.Op("Add", {e.Op("Mul", {f, state.c}), e.Op("Mul", {i, candidate})});
  const std::string o = Gate(e, x[1], state.h, weights.r[1], "Sigmoid");
  return {e.Op("Mul", {o, e.Op("Tanh", {c})}), c};
}

std::string Initial(Expander& e, const Recurrence& rnn, std::size_t input, std::int64_t direction) {
  const Dims dims = {rnn.batch, rnn.hidden};
  if (e.Input(input).empty()) {
    const auto count = static_cast<std::size_t>(rnn.batch * rnn.hidden);
    return e.Floats(std::vector<double>(count, 0), dims);
  }
  const std::string own = Cut(e, e.Real(e.Input(input)), direction, direction + 1, 0);
  return e.Op("Reshape", {own, e.Integers(dims)});
}

struct Run {
  std::vector<std::string> h;  // of each step, in the order of x
  State last;
};

Run RunOf(Expander& e, const Recurrence& rnn, const std::string& x, std::int64_t direction) {
  const Direction weights = DirectionOf(e, rnn, direction);
  const std::string all = e.Op("Add", {e.Op("MatMul", {x, weights.w}), weights.b});
  Run run;
  run.h.resize(static_cast<std::size_t>(rnn.steps));
  run.last.h = Initial(e, rnn, 5, direction);
  if (!rnn.gated) run.last.c = Initial(e, rnn, 6, direction);
  const bool reversed = rnn.first_reversed || direction == 1;
  for (std::int64_t i = 0; i < rnn.steps; ++i) {
    const std::int64_t at = reversed ? rnn.steps - 1 - i : i;
    const std::string step = e.Op(
        "Reshape", {Cut(e, all, at, at + 1, 0), e.Integers({rnn.batch, rnn.gates * rnn.hidden})});
    std::vector<std::string> parts;
    for (std::int64_t gate = 0; gate < rnn.gates; ++gate)
      parts.push_back(Cut(e, step, gate * rnn.hidden, (gate + 1) * rnn.hidden, 1));
    run.last = rnn.gated ? GruStep(e, rnn, weights, parts, run.last)
                         : LstmStep(e, weights, parts, run.last);
    run.h[static_cast<std::size_t>(at)] = run.last.h;
  }
  return run;
}

// The values of all directions, each reshaped to `dims`, as an output of the node.
void Give(Expander& e, std::size_t output, const std::vector<std::string>& values, const Dims& dims,
          std::int64_t axis) {
  if (output >= e.node().outputs.size() || e.node().outputs[output].empty()) return;
  std::vector<std::string> parts = values;
  for (std::string& part : parts) part = e.Op("Reshape", {part, e.Integers(dims)});
  if (parts.size() == 1) {
    e.Last("Identity", parts, {}, output);
  } else {
    e.Last("Concat", parts, {Attribute::Int("axis", axis)}, output);
  }
}

}  // namespace

bool Unroll(Expander& e) {
  const auto rnn = RecurrenceOf(e);
  if (!rnn) return false;
  const std::string x = e.Real(e.Input(0));
  std::array<std::vector<std::string>, 3> results;  // Y, Y_h, Y_c
  for (std::int64_t direction = 0; direction < rnn->directions; ++direction) {
    const Run run = RunOf(e, *rnn, x, direction);
    results[0].push_back(run.h.size() == 1 ? run.h[0]
                                           : e.Op("Concat", run.h, {Attribute::Int("axis", 0)}));
    results[1].push_back(run.last.h);
    results[2].push_back(run.last.c);
  }
  Give(e, 0, results[0], {rnn->steps, 1, rnn->batch, rnn->hidden}, 1);
  Give(e, 1, results[1], {1, rnn->batch, rnn->hidden}, 0);
  if (!rnn->gated) Give(e, 2, results[2], {1, rnn->batch, rnn->hidden}, 0);
  return true;
}

}  // namespace qtx::convert
