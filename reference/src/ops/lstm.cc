#include "ops/lstm_tflite.h"
#include "ops/recurrent_lane.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

const RecurrentForm& Form() {
  static const RecurrentForm form = {
      4, {Activation::kSigmoid, Activation::kTanh, Activation::kTanh}, /*has_cell=*/true};
  return form;
}

// Gates in the order of the rows of W and R; the peepholes are those of the first three.
enum Gate : std::int64_t { kInput, kOutput, kForget, kCell };
enum Function : std::size_t { kF, kG, kH };

struct Cell {
  bool coupled;

  // Source: lstm.S1, lstm.S3, lstm.S4.
  template <typename Math>
  void Step(const Lane<Math>& lane, RecurrentState<typename Math::Value>* state) const {
    using Value = typename Math::Value;
    const Math& math = lane.math();
    RecurrentState<Value> next;
    for (std::int64_t unit = 0; unit < lane.hidden(); ++unit) {
      const Value& old = state->c[static_cast<std::size_t>(unit)];
      const auto gate = [&](Gate which, const Value& c) {
        Value sum = Weighted(lane, which, unit, state->h);
        lane.AddPeephole(&sum, which, unit, c);
        return lane.Activate(kF, Biased(lane, which, unit, std::move(sum)));
      };
      const Value input = gate(kInput, old);
      const Value forget = coupled ? math.Integer(1) - input : gate(kForget, old);
      const Value candidate =
          lane.Activate(kG, Biased(lane, kCell, unit, Weighted(lane, kCell, unit, state->h)));
      Value c = forget * old;
      math.AddProduct(&c, input, candidate);
      next.h.push_back(gate(kOutput, c) * lane.Activate(kH, c));
      next.c.push_back(std::move(c));
    }
    *state = std::move(next);
  }

 private:
  template <typename Math>
  static typename Math::Value Weighted(const Lane<Math>& lane, Gate gate, std::int64_t unit,
                                       const std::vector<typename Math::Value>& h) {
    typename Math::Value sum = lane.math().Integer(0);
    lane.AddInput(&sum, gate, unit);
    lane.AddRecurrent(&sum, gate, unit, h);
    return sum;
  }
  template <typename Math>
  static typename Math::Value Biased(const Lane<Math>& lane, Gate gate, std::int64_t unit,
                                     typename Math::Value sum) {
    lane.AddBias(&sum, Lane<Math>::kOfW, gate, unit);
    lane.AddBias(&sum, Lane<Math>::kOfR, gate, unit);
    return sum;
  }
};

Result<std::vector<format::Tensor>> Lstm(const Call& call) {
  if (call.arithmetic.kernels == Arithmetic::Kernels::kTflite) {
    QTX_ASSIGN_OR_RETURN(const RecurrentLayer layer, RecurrentLayer::Make(call, Form()));
    QTX_ASSIGN_OR_RETURN(auto stored, RunTfliteLstm(call, layer));
    if (stored) return *std::move(stored);
  }
  return RunRecurrent(call, Form(), Cell{call.Int("input_forget") == 1});
}

}  // namespace

const Operator kLSTM = {.op_type = "LSTM", .run_all = Lstm, .supports = SupportsActivations};

}  // namespace qtx::reference::ops
