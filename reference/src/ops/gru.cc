#include "ops/recurrent_lane.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

const RecurrentForm& Form() {
  static const RecurrentForm form = {
      3, {Activation::kSigmoid, Activation::kTanh}, /*has_cell=*/false};
  return form;
}

// Gates in the order of the rows of W and R.
enum Gate : std::int64_t { kUpdate, kReset, kHidden };
enum Function : std::size_t { kF, kG };

struct Cell {
  bool linear_before_reset;

  // Source: gru.S1, gru.S3, gru.S4.
  template <typename Math>
  void Step(const Lane<Math>& lane, RecurrentState<typename Math::Value>* state) const {
    using Value = typename Math::Value;
    const Math& math = lane.math();
    const std::vector<Value> resets = Gates(lane, kReset, state->h);
    const std::vector<Value> updates = Gates(lane, kUpdate, state->h);
    std::vector<Value> reset_h;  // what R of the hidden gate is applied to
    for (std::size_t k = 0; k < resets.size(); ++k) {
      reset_h.push_back(linear_before_reset ? state->h[k] : resets[k] * state->h[k]);
    }
    std::vector<Value> next;
    for (std::size_t k = 0; k < resets.size(); ++k) {
      const Value candidate = Candidate(lane, static_cast<std::int64_t>(k), resets[k], reset_h);
      Value h = (math.Integer(1) - updates[k]) * candidate;
      math.AddProduct(&h, updates[k], state->h[k]);
      next.push_back(std::move(h));
    }
    state->h = std::move(next);
  }

 private:
  template <typename Math>
  static std::vector<typename Math::Value> Gates(const Lane<Math>& lane, Gate gate,
                                                 const std::vector<typename Math::Value>& h) {
    std::vector<typename Math::Value> values;
    for (std::int64_t unit = 0; unit < lane.hidden(); ++unit) {
      typename Math::Value sum = lane.math().Integer(0);
      lane.AddInput(&sum, gate, unit);
      lane.AddRecurrent(&sum, gate, unit, h);
      lane.AddBias(&sum, Lane<Math>::kOfW, gate, unit);
      lane.AddBias(&sum, Lane<Math>::kOfR, gate, unit);
      values.push_back(lane.Activate(kF, std::move(sum)));
    }
    return values;
  }
  template <typename Math>
  typename Math::Value Candidate(const Lane<Math>& lane, std::int64_t unit,
                                 const typename Math::Value& reset,
                                 const std::vector<typename Math::Value>& h) const {
    using Value = typename Math::Value;
    Value sum = lane.math().Integer(0);
    lane.AddInput(&sum, kHidden, unit);
    if (linear_before_reset) {
      Value linear = lane.math().Integer(0);
      lane.AddRecurrent(&linear, kHidden, unit, h);
      lane.AddBias(&linear, Lane<Math>::kOfR, kHidden, unit);
      lane.math().AddProduct(&sum, reset, linear);
      lane.AddBias(&sum, Lane<Math>::kOfW, kHidden, unit);
    } else {
      lane.AddRecurrent(&sum, kHidden, unit, h);
      lane.AddBias(&sum, Lane<Math>::kOfW, kHidden, unit);
      lane.AddBias(&sum, Lane<Math>::kOfR, kHidden, unit);
    }
    return lane.Activate(kG, std::move(sum));
  }
};

Result<std::vector<format::Tensor>> Gru(const Call& call) {
  return RunRecurrent(call, Form(), Cell{call.Int("linear_before_reset") == 1});
}

}  // namespace

const Operator kGRU = {.op_type = "GRU", .run_all = Gru, .supports = SupportsActivations};

}  // namespace qtx::reference::ops
