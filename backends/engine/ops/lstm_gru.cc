// The cells of LSTM and GRU.  Source: spec/ops/lstm.md and gru.md, S1.
#include <optional>
#include <utility>

#include "engine/ops/operators.h"
#include "engine/ops/recurrent.h"

namespace qtx::backend::engine {
namespace {

using Matrix = std::span<const Enclosed>;

struct CellParameters {
  std::vector<Activation> activations;  // of both directions
  std::optional<mpq_class> clip;
  bool option = false;  // input_forget, linear_before_reset
  std::size_t hidden = 0, input = 0;

  Enclosed Activate(std::size_t which, const Enclosed& x) const {
    return activations[which](clip.has_value() ? Clamped(x, *clip) : x);
  }
  Matrix Row(Matrix matrix, std::size_t gate, std::size_t i, std::size_t width) const {
    return matrix.subspan((gate * hidden + i) * width, width);
  }
};

// One minus x.
Enclosed Complement(const Enclosed& x, const Enclosed& one) { return one + -x; }

class LstmCell {
 public:
  explicit LstmCell(CellParameters parameters) : p_(std::move(parameters)) {}

  // Gates in the order i, o, f, c.
  void operator()(const CellInput& in, State& h, State& c) const {
    const State before = h;
    const std::size_t first = 3 * in.direction;
    const mpfr_prec_t bits = c[0].interval().bits();
    const Enclosed one(Number::Of(1), bits);
    for (std::size_t k = 0; k < p_.hidden; ++k) {
      const Enclosed i = p_.Activate(first, Gate(in, before, 0, k, &c[k]));
      const Enclosed f =
          p_.option ? Complement(i, one) : p_.Activate(first, Gate(in, before, 2, k, &c[k]));
      const Enclosed candidate = p_.Activate(first + 1, Gate(in, before, 3, k, nullptr));
      c[k] = f * c[k] + i * candidate;
      const Enclosed o = p_.Activate(first, Gate(in, before, 1, k, &c[k]));
      h[k] = o * p_.Activate(first + 2, c[k]);
    }
  }

 private:
  // `peephole`: the state it sees.
  Enclosed Gate(const CellInput& in, const State& h, std::size_t gate, std::size_t k,
                const Enclosed* peephole) const {
    Enclosed sum(Number(), h[0].interval().bits());
    sum = Dot(p_.Row(in.w, gate, k, p_.input), in.x, std::move(sum));
    sum = Dot(p_.Row(in.r, gate, k, p_.hidden), h, std::move(sum));
    if (!in.p.empty() && peephole != nullptr) {
      sum = sum + in.p[gate * p_.hidden + k] * *peephole;
    }
    if (in.b.empty()) return sum;
    return sum + in.b[gate * p_.hidden + k] + in.b[(4 + gate) * p_.hidden + k];
  }

  CellParameters p_;
};

class GruCell {
 public:
  explicit GruCell(CellParameters parameters) : p_(std::move(parameters)) {}

  // Gates in the order z, r, h.
  void operator()(const CellInput& in, State& h, State&) const {
    const std::size_t first = 2 * in.direction;
    const Enclosed one(Number::Of(1), h[0].interval().bits());
    State reset;
    State z;
    for (std::size_t k = 0; k < p_.hidden; ++k) {
      z.push_back(p_.Activate(first, FromX(in, 0, k) + FromState(in, h, 0, k)));
      reset.push_back(p_.Activate(first, FromX(in, 1, k) + FromState(in, h, 1, k)));
    }
    State seen;
    for (std::size_t k = 0; k < p_.hidden; ++k) seen.push_back(reset[k] * h[k]);
    State next;
    for (std::size_t k = 0; k < p_.hidden; ++k) {
      const Enclosed state =
          p_.option ? reset[k] * FromState(in, h, 2, k) : FromState(in, seen, 2, k);
      const Enclosed candidate = p_.Activate(first + 1, FromX(in, 2, k) + state);
      next.push_back(Complement(z[k], one) * candidate + z[k] * h[k]);
    }
    h = std::move(next);
  }

 private:
  Enclosed FromX(const CellInput& in, std::size_t gate, std::size_t k) const {
    const mpfr_prec_t bits = in.r[0].interval().bits();
    const Enclosed bias = in.b.empty() ? Enclosed(Number(), bits) : in.b[gate * p_.hidden + k];
    return Dot(p_.Row(in.w, gate, k, p_.input), in.x, bias);
  }
  Enclosed FromState(const CellInput& in, const State& h, std::size_t gate, std::size_t k) const {
    const mpfr_prec_t bits = in.r[0].interval().bits();
    const Enclosed bias =
        in.b.empty() ? Enclosed(Number(), bits) : in.b[(3 + gate) * p_.hidden + k];
    return Dot(p_.Row(in.r, gate, k, p_.hidden), h, bias);
  }

  CellParameters p_;
};

Result<CellParameters> ParametersOf(const NodePlan& node, RecurrentPlan& plan, const char* option,
                                    std::vector<Activation> usual) {
  CellParameters parameters;
  QTX_ASSIGN_OR_RETURN(parameters.activations, plan.Activations(node, std::move(usual)));
  parameters.clip = ClipOf(node);
  parameters.option = node.Int(option) == 1;
  parameters.hidden = static_cast<std::size_t>(plan.shape().hidden);
  parameters.input = static_cast<std::size_t>(plan.shape().input);
  return parameters;
}

}  // namespace

StepResult PrepareLstm(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(RecurrentPlan plan, RecurrentPlan::Read(node, 4));
  QTX_ASSIGN_OR_RETURN(CellParameters parameters,
                       ParametersOf(node, plan, "input_forget", {SigmoidOf, TanhOf, TanhOf}));
  return plan.Make(node, LstmCell(std::move(parameters)));
}

StepResult PrepareGru(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(RecurrentPlan plan, RecurrentPlan::Read(node, 3));
  QTX_ASSIGN_OR_RETURN(CellParameters parameters,
                       ParametersOf(node, plan, "linear_before_reset", {SigmoidOf, TanhOf}));
  return plan.Make(node, GruCell(std::move(parameters)));
}

}  // namespace qtx::backend::engine
