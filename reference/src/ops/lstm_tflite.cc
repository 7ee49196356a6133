#include "ops/lstm_tflite.h"

#include <algorithm>
#include <cmath>

#include "arithmetic/fixed16.h"
#include "arithmetic/kernel_types.h"
#include "arithmetic/tflite_lstm.h"
#include "qtx/format/accumulator.h"
#include "qtx/format/levels.h"

namespace qtx::reference {
namespace {

using format::ElementType;
using format::Quantization;
using std::int64_t;

// Gates in the order of the rows.
enum Gate : std::size_t { kInput, kOutput, kForget, kCell };

bool IsStored(const format::Tensor& tensor, ElementType type) {
  return tensor.elem_type == type && HasOneScale(tensor);
}

// The parameters that decide how a stored value is read.
bool SameMap(const Quantization& a, const Quantization& b) {
  return a.scale == b.scale && format::OffsetAt(a, 0) == format::OffsetAt(b, 0);
}

bool IsOutputOf(const Call& call, std::size_t i, const format::Tensor& state) {
  if (!call.Wants(i)) return true;
  const OutputType& type = call.outputs[i];
  return type.elem_type == state.elem_type && HasOneScale(type) &&
         SameMap(*type.quantization, *state.quantization) &&
         format::StoredRange(type.elem_type, *type.quantization) ==
             format::StoredRange(state.elem_type, *state.quantization);
}

// The scale of each gate's rows of a matrix of 8 bits without offsets; nullopt where the rows of a
// gate have several.
std::optional<std::array<float, TfliteLstm::kGates>> GateScales(const Operand& matrix,
                                                                int64_t gate_size) {
  const format::Tensor& tensor = matrix.tensor();
  const auto is_zero = [](std::int64_t offset) { return offset == 0; };
  if (tensor.elem_type != ElementType::kInt8Q || !matrix.is_integer() ||
      !std::ranges::all_of(tensor.quantization->offset, is_zero)) {
    return {};
  }
  std::array<float, TfliteLstm::kGates> scales{};
  const int64_t count = format::ElementCount(tensor);
  for (int64_t i = 0; i < count; ++i) {
    float& scale = scales[static_cast<std::size_t>(i / gate_size)];
    if (i % gate_size == 0) scale = matrix.scale(i);
    if (matrix.scale(i) != scale) return {};
  }
  return scales;
}

std::optional<int> PowerOfTwo(float scale) {
  int exponent = 0;
  if (std::frexp(scale, &exponent) != 0.5F) return {};
  return exponent - 1;
}

// Stored biases in units of x's products; those of h's products must be 0.
bool IsBias(const RecurrentLayer& layer, const TfliteLstm::Scales& scales) {
  if (!layer.bias) return true;
  if (layer.bias->tensor().elem_type != ElementType::kInt32Q || !layer.bias->is_integer()) {
    return false;
  }
  const int64_t half = layer.gates * layer.hidden;
  for (int64_t i = 0; i < half; ++i) {
    const float w = scales.w[static_cast<std::size_t>(i / layer.hidden)];
    const double unit = static_cast<double>(scales.x) * static_cast<double>(w);
    if (!format::IsUnitOfProducts(layer.bias->scale(i), unit) ||
        layer.bias->stored(half + i) != 0) {
      return false;
    }
  }
  return true;
}

bool IsPlain(const Call& call, const RecurrentLayer& layer) {
  const format::Node& node = call.node;
  const bool is_tflite = StandsFor(node, "UNIDIRECTIONAL_SEQUENCE_LSTM") || StandsFor(node, "LSTM");
  return is_tflite && layer.directions == 1 && !layer.reverse && !layer.clip && !layer.peepholes &&
         node.Find("activations") == nullptr && call.Int("input_forget") == 0 &&
         std::ranges::all_of(layer.lengths, [&](int64_t n) { return n == layer.steps; });
}

std::optional<TfliteLstm> KernelFor(const Call& call, const RecurrentLayer& layer) {
  if (!IsPlain(call, layer) || !layer.initial_h || !layer.initial_c) return {};
  const format::Tensor& x = layer.x.tensor();
  const format::Tensor& h = layer.initial_h->tensor();
  const format::Tensor& c = layer.initial_c->tensor();
  if (!IsStored(x, ElementType::kInt8Q) || !IsStored(h, ElementType::kInt8Q) ||
      !IsStored(c, ElementType::kInt16Q) || format::OffsetAt(*c.quantization, 0) != 0 ||
      !IsOutputOf(call, 0, h) || !IsOutputOf(call, 1, h) || !IsOutputOf(call, 2, c)) {
    return {};
  }
  const auto w = GateScales(layer.w, layer.hidden * layer.input);
  const auto r = GateScales(layer.r, layer.hidden * layer.hidden);
  const auto exponent = PowerOfTwo(c.quantization->scale[0]);
  // tanh takes 0 to 6 integer bits.
  if (!w || !r || !exponent || *exponent < -15 || *exponent > -9) return {};
  const TfliteLstm::Scales scales{.x = x.quantization->scale[0],
                                  .hidden = h.quantization->scale[0],
                                  .w = *w,
                                  .r = *r,
                                  .cell_exponent = *exponent};
  if (!IsBias(layer, scales)) return {};
  return TfliteLstm(scales);
}

using Integers = std::vector<int64_t>;

struct State {
  Integers h, c;  // h without its offset
};

class Sequence {
 public:
  Sequence(const RecurrentLayer& layer, const TfliteLstm& kernel, const Arithmetic& arithmetic)
      : layer_(layer), kernel_(kernel) {
    const format::Tensor& cell = layer.initial_c->tensor();
    const format::IntegerRange range = format::StoredRange(cell.elem_type, *cell.quantization);
    cell_min_ = range.min;
    cell_max_ = range.max;
    const format::Tensor& hidden = layer.initial_h->tensor();
    const format::IntegerRange of_h = format::StoredRange(hidden.elem_type, *hidden.quantization);
    offset_ = format::OffsetAt(*hidden.quantization, 0);
    const bool subtracted = arithmetic.lstm_offset == Arithmetic::LstmOffset::kSubtracted;
    moved_ = subtracted ? -2 * offset_ : 0;
    hidden_min_ = of_h.min - offset_;
    hidden_max_ = of_h.max - offset_;
  }
  State Initial(int64_t first) const {
    State state;
    for (int64_t k = 0; k < layer_.hidden; ++k) {
      state.h.push_back(layer_.initial_h->integer(first + k));
      state.c.push_back(layer_.initial_c->integer(first + k));
    }
    return state;
  }
  void Step(int64_t first, State* state) const {
    State next;
    for (int64_t unit = 0; unit < layer_.hidden; ++unit) {
      const auto gate = [&](std::size_t which) { return Argument(which, unit, first, state->h); };
      const int64_t c = std::clamp(
          kernel_.Cell(Logistic16(gate(kForget)), state->c[static_cast<std::size_t>(unit)],
                       Logistic16(gate(kInput)), Tanh16(gate(kCell), 3)),
          cell_min_, cell_max_);
      next.c.push_back(c);
      next.h.push_back(std::clamp(kernel_.Hidden(Logistic16(gate(kOutput)), c) + moved_,
                                  hidden_min_, hidden_max_));
    }
    *state = std::move(next);
  }
  int64_t hidden_offset() const { return offset_; }

 private:
  std::int16_t Argument(std::size_t gate, int64_t unit, int64_t first, const Integers& h) const {
    const int64_t row = static_cast<int64_t>(gate) * layer_.hidden + unit;
    int64_t of_x = layer_.bias ? layer_.bias->stored(row) : 0;
    for (int64_t k = 0; k < layer_.input; ++k) {
      of_x += layer_.x.integer(first + k) * layer_.w.stored(row * layer_.input + k);
    }
    int64_t of_h = 0;
    for (int64_t k = 0; k < layer_.hidden; ++k) {
      of_h += h[static_cast<std::size_t>(k)] * layer_.r.stored(row * layer_.hidden + k);
    }
    return kernel_.Argument(gate, of_x, of_h);
  }
  const RecurrentLayer& layer_;
  const TfliteLstm& kernel_;
  int64_t cell_min_, cell_max_, hidden_min_, hidden_max_, offset_, moved_;
};

struct Outputs {
  std::vector<std::optional<Output>> all;

  void Put(std::size_t i, int64_t first, const Integers& values, int64_t offset) {
    if (!all[i]) return;
    for (const int64_t value : values) all[i]->PutStored(first++, value + offset);
  }
};

Result<Outputs> MakeOutputs(const Call& call) {
  Outputs outputs;
  outputs.all.resize(3);
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (!call.Wants(i)) continue;
    QTX_ASSIGN_OR_RETURN(outputs.all[i], Output::Of(call, i));
  }
  return outputs;
}

}  // namespace

Result<std::optional<std::vector<format::Tensor>>> RunTfliteLstm(const Call& call,
                                                                 const RecurrentLayer& layer) {
  const std::optional<TfliteLstm> kernel = KernelFor(call, layer);
  if (!kernel) return std::optional<std::vector<format::Tensor>>();
  QTX_ASSIGN_OR_RETURN(Outputs outputs, MakeOutputs(call));
  const Sequence sequence(layer, *kernel, call.arithmetic);
  for (int64_t b = 0; b < layer.batch; ++b) {
    State state = sequence.Initial(layer.StateAt(0, b));
    for (int64_t t = 0; t < layer.steps; ++t) {
      sequence.Step(layer.InputAt(t, b), &state);
      outputs.Put(0, layer.OutputAt(t, 0, b), state.h, sequence.hidden_offset());
    }
    outputs.Put(1, layer.StateAt(0, b), state.h, sequence.hidden_offset());
    outputs.Put(2, layer.StateAt(0, b), state.c, 0);
  }
  std::vector<format::Tensor> tensors;
  for (std::size_t i = 0; i < call.outputs.size(); ++i)
    tensors.push_back(outputs.all[i] ? outputs.all[i]->Take() : format::Tensor());
  return std::optional(std::move(tensors));
}

}  // namespace qtx::reference
