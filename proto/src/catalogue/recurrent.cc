// LSTM and GRU.
// Source: spec/ops/lstm.md, spec/ops/gru.md.
#include <cmath>
#include <utility>

#include "rules.h"

namespace qtx::format::catalogue {
namespace {

// Inputs in ONNX's order; GRU has those up to kRecurrentH.
enum RecurrentInput : std::size_t {
  kRecurrentX,
  kRecurrentW,
  kRecurrentR,
  kRecurrentB,
  kRecurrentLengths,
  kRecurrentH,
  kRecurrentC,
  kRecurrentP
};

// What the operators differ in.
struct RecurrentForm {
  std::int64_t gates, functions;
};
constexpr RecurrentForm kRecurrentLstm = {4, 3};
constexpr RecurrentForm kRecurrentGru = {3, 2};

const RecurrentForm& RecurrentFormOf(const Application& a) {
  return a.schema.op_type == "LSTM" ? kRecurrentLstm : kRecurrentGru;
}

std::int64_t RecurrentDirections(const Application& a) {
  return a.String("direction") == "bidirectional" ? 2 : 1;
}

bool RecurrentBatchFirst(const Application& a) { return a.Int("layout") == 1; }

// Size `axis` of an input; kUnknownSize where it is not known, or there is no such axis.
std::int64_t RecurrentSize(const Application& a, std::size_t input, std::size_t axis) {
  const Dims* dims = DimsOf(a.Input(input));
  return dims != nullptr && axis < dims->size() ? (*dims)[axis] : kUnknownSize;
}

// The number of units whose `times` rows an input has along axis 1.
std::int64_t RecurrentUnits(const Application& a, std::size_t input, std::int64_t times) {
  const std::int64_t rows = RecurrentSize(a, input, 1);
  return Known(rows) ? rows / times : kUnknownSize;
}

// Sizes by their names in the text.
struct RecurrentSizes {
  std::int64_t steps, batch, directions, input, hidden;
};

// As X, W and R have them.
RecurrentSizes RecurrentSizesOfWeights(const Application& a) {
  const std::int64_t gates = RecurrentFormOf(a).gates;
  const bool batch_first = RecurrentBatchFirst(a);
  const std::int64_t units =
      EitherOf(RecurrentUnits(a, kRecurrentR, gates), RecurrentUnits(a, kRecurrentW, gates));
  return {.steps = RecurrentSize(a, kRecurrentX, batch_first ? 1 : 0),
          .batch = RecurrentSize(a, kRecurrentX, batch_first ? 0 : 1),
          .directions = RecurrentDirections(a),
          .input = EitherOf(RecurrentSize(a, kRecurrentX, 2), RecurrentSize(a, kRecurrentW, 2)),
          .hidden = EitherOf(RecurrentSize(a, kRecurrentR, 2), units)};
}

// As all inputs and `hidden_size` have them.
RecurrentSizes RecurrentSizesOf(const Application& a) {
  RecurrentSizes sizes = RecurrentSizesOfWeights(a);
  sizes.hidden = EitherOf(sizes.hidden, a.node.IntOr("hidden_size", kUnknownSize));
  const std::size_t batch_axis = RecurrentBatchFirst(a) ? 0 : 1;
  sizes.batch = EitherOf(sizes.batch, RecurrentSize(a, kRecurrentLengths, 0));
  for (const std::size_t state : {kRecurrentH, kRecurrentC}) {
    sizes.batch = EitherOf(sizes.batch, RecurrentSize(a, state, batch_axis));
    sizes.hidden = EitherOf(sizes.hidden, RecurrentSize(a, state, 2));
  }
  const std::int64_t biases = 2 * RecurrentFormOf(a).gates;
  sizes.hidden = EitherOf(sizes.hidden, RecurrentUnits(a, kRecurrentB, biases));
  sizes.hidden = EitherOf(sizes.hidden, RecurrentUnits(a, kRecurrentP, 3));
  return sizes;
}

Dims RecurrentState(const Application& a, const RecurrentSizes& sizes) {
  if (RecurrentBatchFirst(a)) return {sizes.batch, sizes.directions, sizes.hidden};
  return {sizes.directions, sizes.batch, sizes.hidden};
}

// An input that is given has these sizes.
Result<void> RecurrentHasShape(const Application& a, std::size_t input, const Dims& expected) {
  const Dims* dims = DimsOf(a.Input(input));
  if (dims == nullptr || !Differ(*dims, expected)) return {};
  return BadInput(a, input, "shape " + ShapeText(*dims), ShapeText(expected));
}

// lstm.C6, gru.C6.
Result<void> RecurrentClip(const Application& a) {
  const Attribute* clip = a.Find("clip");
  if (clip == nullptr || (clip->f > 0 && std::isfinite(clip->f))) return {};
  return BadAttribute("clip", std::to_string(clip->f), "a finite value above 0");
}

// lstm.C2, gru.C2.
Result<void> RecurrentWeights(const Application& a) {
  for (const std::size_t i : {kRecurrentX, kRecurrentW, kRecurrentR}) {
    QTX_RETURN_IF_ERROR(RankIs(i, 3)(a));
  }
  const std::int64_t gates = RecurrentFormOf(a).gates;
  for (const std::size_t i : {kRecurrentW, kRecurrentR}) {
    const std::int64_t rows = RecurrentSize(a, i, 1);
    if (!Known(rows) || rows % gates == 0) continue;
    return BadInput(a, i, std::to_string(rows) + " rows",
                    "as many for each of " + std::to_string(gates) + " gates");
  }
  const RecurrentSizes sizes = RecurrentSizesOfWeights(a);
  if (sizes.hidden == 0) return Refuse(InputPlace(a, kRecurrentR), "has no hidden unit");
  const std::int64_t rows = ProductOf(gates, sizes.hidden);
  QTX_RETURN_IF_ERROR(RecurrentHasShape(a, kRecurrentW, {sizes.directions, rows, sizes.input}));
  return RecurrentHasShape(a, kRecurrentR, {sizes.directions, rows, sizes.hidden});
}

// lstm.C3, gru.C3; there is a hidden unit, so that less than 1 is wrong, too.
Result<void> RecurrentHiddenSize(const Application& a) {
  const Attribute* given = a.Find("hidden_size");
  const std::int64_t hidden = RecurrentSizesOfWeights(a).hidden;
  if (given == nullptr || (given->i >= 1 && !Differ(given->i, hidden))) return {};
  return BadAttribute("hidden_size", std::to_string(given->i),
                      Known(hidden) ? std::to_string(hidden) + ", as R has" : "at least 1");
}

// lstm.C4, gru.C4.
Result<void> RecurrentSequences(const Application& a) {
  QTX_RETURN_IF_ERROR(InputTypes(kRecurrentLengths, {ElementType::kInt32})(a));
  const RecurrentSizes sizes = RecurrentSizesOfWeights(a);
  QTX_RETURN_IF_ERROR(RecurrentHasShape(a, kRecurrentLengths, {sizes.batch}));
  const auto lengths = IntegersOf(a.Input(kRecurrentLengths));
  if (!lengths) return {};
  for (const std::int64_t length : *lengths) {
    if (length >= 0 && (!Known(sizes.steps) || length <= sizes.steps)) continue;
    return BadInput(a, kRecurrentLengths, std::to_string(length),
                    Known(sizes.steps) ? "0 to " + std::to_string(sizes.steps) + ", the steps of X"
                                       : "at least 0");
  }
  return {};
}

// lstm.C5, gru.C5.
Result<void> RecurrentStates(const Application& a) {
  const RecurrentSizes sizes = RecurrentSizesOf(a);
  const std::int64_t biases = ProductOf(2 * RecurrentFormOf(a).gates, sizes.hidden);
  QTX_RETURN_IF_ERROR(RecurrentHasShape(a, kRecurrentB, {sizes.directions, biases}));
  for (const std::size_t i : {kRecurrentH, kRecurrentC}) {
    QTX_RETURN_IF_ERROR(RecurrentHasShape(a, i, RecurrentState(a, sizes)));
  }
  return RecurrentHasShape(a, kRecurrentP, {sizes.directions, ProductOf(3, sizes.hidden)});
}

// lstm.C7, gru.C7, but for the limit of the reference.
Result<void> RecurrentActivations(const Application& a) {
  const Attribute* given = a.Find("activations");
  if (given == nullptr) return {};
  const std::int64_t expected = RecurrentDirections(a) * RecurrentFormOf(a).functions;
  if (static_cast<std::int64_t>(given->strings.size()) == expected) return {};
  return BadAttribute("activations", std::to_string(given->strings.size()) + " names",
                      std::to_string(expected));
}

// Y, and the last states.
Result<std::vector<std::optional<Dims>>> ShapeOfRecurrent(const Application& a) {
  const RecurrentSizes s = RecurrentSizesOf(a);
  const Dims y = RecurrentBatchFirst(a) ? Dims{s.batch, s.steps, s.directions, s.hidden}
                                        : Dims{s.steps, s.directions, s.batch, s.hidden};
  const Dims state = RecurrentState(a, s);
  return std::vector<std::optional<Dims>>{y, state, state};
}

struct RecurrentClauses {
  std::string_view types, weights, hidden, lengths, states, modes, activations, shapes;
};

// C6 before C2: sizes depend on the direction and the layout.
OpSchema RecurrentRow(std::string_view op_type, const RecurrentClauses& clauses,
                      const AttributeRule& flag) {
  return {
      .op_type = op_type,
      .inputs = {{"X"}, {"W"}, {"R"}, {"B", true}, {"sequence_lens", true}, {"initial_h", true}},
      .outputs = {{"Y", true}, {"Y_h", true}},
      .attributes = {{"activation_alpha", AttributeType::kFloats},
                     {"activation_beta", AttributeType::kFloats},
                     {"activations", AttributeType::kStrings},
                     {"clip", AttributeType::kFloat},
                     {"direction", AttributeType::kString, "forward"},
                     {"hidden_size", AttributeType::kInt},
                     flag,
                     {"layout", AttributeType::kInt, std::int64_t{0}, false, 14}},
      .checks = {{clauses.types, RealOrOne({kRecurrentX, kRecurrentW, kRecurrentR, kRecurrentB,
                                            kRecurrentH, kRecurrentC, kRecurrentP},
                                           {0, 1, 2}, {ElementType::kDouble})},
                 {clauses.modes,
                  Both({StringOneOf("direction", {"forward", "reverse", "bidirectional"}),
                        IntWithin("layout", 0, 1), IntWithin(flag.name, 0, 1), RecurrentClip})},
                 {clauses.weights, RecurrentWeights},
                 {clauses.hidden, RecurrentHiddenSize},
                 {clauses.lengths, RecurrentSequences},
                 {clauses.states, RecurrentStates},
                 {clauses.activations, RecurrentActivations}},
      .shape = ShapeOfRecurrent,
      .shape_clause = clauses.shapes};
}

}  // namespace

void AddRecurrent(std::vector<OpSchema>& rows) {
  OpSchema lstm = RecurrentRow(
      "LSTM",
      {"lstm.C1", "lstm.C2", "lstm.C3", "lstm.C4", "lstm.C5", "lstm.C6", "lstm.C7", "lstm.C8"},
      {"input_forget", AttributeType::kInt, std::int64_t{0}});
  lstm.inputs.push_back({"initial_c", true});
  lstm.inputs.push_back({"P", true});
  lstm.outputs.push_back({"Y_c", true});
  rows.push_back(std::move(lstm));
  rows.push_back(RecurrentRow(
      "GRU", {"gru.C1", "gru.C2", "gru.C3", "gru.C4", "gru.C5", "gru.C6", "gru.C7", "gru.C8"},
      {"linear_before_reset", AttributeType::kInt, std::int64_t{0}, false, 3}));
}

}  // namespace qtx::format::catalogue
