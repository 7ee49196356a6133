// The cells of LSTM and GRU.  Source: spec/ops/lstm.md and gru.md, S1.
#include <optional>
#include <utility>

#include "engine/ops/operators.h"
#include "engine/ops/recurrent.h"

namespace qtx::backend::engine {
namespace {

template <typename T>
using Matrix = std::span<const T>;

struct CellParameters {
  std::vector<Activation> activations;  // of both directions
  std::optional<mpq_class> clip;
  bool option = false;  // input_forget, linear_before_reset
  std::size_t hidden = 0, input = 0;

  template <typename T>
  T Activate(std::size_t which, const T& x) const {
    return activations[which](clip.has_value() ? Clamped(x, *clip) : x);
  }
  template <typename T>
  Matrix<T> Row(Matrix<T> matrix, std::size_t gate, std::size_t i, std::size_t width) const {
    return matrix.subspan((gate * hidden + i) * width, width);
  }
};

// One minus x.
template <typename T>
T Complement(const T& x) {
  return Constant(1, x) + -x;
}

class LstmCell {
 public:
  explicit LstmCell(CellParameters parameters) : p_(std::move(parameters)) {}

  // Gates in the order i, o, f, c.
  template <typename T>
  void operator()(const CellInput<T>& in, State<T>& h, State<T>& c) const {
    const State<T> before = h;
    const std::size_t first = 3 * in.direction;
    for (std::size_t k = 0; k < p_.hidden; ++k) {
      const T i = p_.Activate(first, Gate(in, before, 0, k, &c[k]));
      const T f = p_.option ? Complement(i) : p_.Activate(first, Gate(in, before, 2, k, &c[k]));
      const T candidate = p_.Activate(first + 1, Gate<T>(in, before, 3, k, nullptr));
      c[k] = f * c[k] + i * candidate;
      const T o = p_.Activate(first, Gate(in, before, 1, k, &c[k]));
      h[k] = o * p_.Activate(first + 2, c[k]);
    }
  }

 private:
  // `peephole`: the state it sees.
  template <typename T>
  T Gate(const CellInput<T>& in, const State<T>& h, std::size_t gate, std::size_t k,
         const T* peephole) const {
    T sum = Constant(0, h[0]);
    if (in.products.empty()) {
      sum = Dot(p_.Row(in.w, gate, k, p_.input), in.x, std::move(sum));
      sum = Dot(p_.Row(in.r, gate, k, p_.hidden), std::span<const T>(h), std::move(sum));
    } else {
      sum = in.products[gate * p_.hidden + k];
    }
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
  template <typename T>
  void operator()(const CellInput<T>& in, State<T>& h, State<T>&) const {
    const std::size_t first = 2 * in.direction;
    State<T> reset;
    State<T> z;
    for (std::size_t k = 0; k < p_.hidden; ++k) {
      z.push_back(p_.Activate(first, FromX(in, 0, k) + FromState(in, h, 0, k)));
      reset.push_back(p_.Activate(first, FromX(in, 1, k) + FromState(in, h, 1, k)));
    }
    State<T> seen;
    for (std::size_t k = 0; k < p_.hidden; ++k) seen.push_back(reset[k] * h[k]);
    State<T> next;
    for (std::size_t k = 0; k < p_.hidden; ++k) {
      const T state = p_.option ? reset[k] * FromState(in, h, 2, k) : FromState(in, seen, 2, k);
      const T candidate = p_.Activate(first + 1, FromX(in, 2, k) + state);
      next.push_back(Complement(z[k]) * candidate + z[k] * h[k]);
    }
    h = std::move(next);
  }

 private:
  template <typename T>
  T FromX(const CellInput<T>& in, std::size_t gate, std::size_t k) const {
    const T bias = in.b.empty() ? Constant(0, in.r[0]) : in.b[gate * p_.hidden + k];
    return Dot(p_.Row(in.w, gate, k, p_.input), in.x, bias);
  }
  template <typename T>
  T FromState(const CellInput<T>& in, const State<T>& h, std::size_t gate, std::size_t k) const {
    const T bias = in.b.empty() ? Constant(0, in.r[0]) : in.b[(3 + gate) * p_.hidden + k];
    return Dot(p_.Row(in.r, gate, k, p_.hidden), std::span<const T>(h), bias);
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

// A cell of type C for each kind of number.
template <typename C>
Cell CellOf(CellParameters parameters) {
  const C cell(parameters);
  for (Activation& activation : parameters.activations) activation.estimated = activation.careful;
  return {cell, cell, C(std::move(parameters))};
}

}  // namespace

StepResult PrepareLstm(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(RecurrentPlan plan, RecurrentPlan::Read(node, 4));
  QTX_ASSIGN_OR_RETURN(CellParameters parameters,
                       ParametersOf(node, plan, "input_forget", {kSigmoid, kTanh, kTanh}));
  return plan.Make(node, CellOf<LstmCell>(std::move(parameters)));
}

StepResult PrepareGru(const NodePlan& node) {
  QTX_ASSIGN_OR_RETURN(RecurrentPlan plan, RecurrentPlan::Read(node, 3));
  QTX_ASSIGN_OR_RETURN(CellParameters parameters,
                       ParametersOf(node, plan, "linear_before_reset", {kSigmoid, kTanh}));
  return plan.Make(node, CellOf<GruCell>(std::move(parameters)));
}

}  // namespace qtx::backend::engine
