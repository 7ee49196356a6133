#include "engine/ops/recurrent.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/ops/types.h"

namespace qtx::backend::engine {
namespace {

using format::Dims;

constexpr double kMostProducts = 1 << 26;

// Input `i`; null when absent.
Result<const Value*> Optional(const NodePlan& node, std::size_t i) {
  const Value* none = nullptr;
  if (!node.HasInput(i)) return none;
  QTX_ASSIGN_OR_RETURN(const Value* value, node.Input(i));
  return value;
}

std::span<const Enclosed> Part(const std::vector<Enclosed>& all, std::int64_t i,
                               std::int64_t size) {
  if (all.empty()) return {};
  return std::span(all).subspan(static_cast<std::size_t>(i * size), static_cast<std::size_t>(size));
}

std::vector<Enclosed> AllOf(const Value* value, mpfr_prec_t bits) {
  return value == nullptr ? std::vector<Enclosed>() : EnclosedOf(value->tensor, bits);
}

}  // namespace

Enclosed Dot(std::span<const Enclosed> row, std::span<const Enclosed> vector, Enclosed sum) {
  for (std::size_t i = 0; i < row.size(); ++i) sum = sum + row[i] * vector[i];
  return sum;
}

std::optional<mpq_class> ClipOf(const NodePlan& node) {
  if (!node.HasAttribute("clip")) return std::nullopt;
  return mpq_class(node.Float("clip"));
}

// All elements of the outputs, with more bits until all are certain.
class RecurrentStep : public Step {
 public:
  RecurrentStep(RecurrentPlan plan, Cell cell, Error bad_length)
      : plan_(std::move(plan)), cell_(std::move(cell)), bad_length_(std::move(bad_length)) {}

  Result<void> Run() override {
    QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> lengths, Lengths());
    std::array<std::vector<bool>, 3> settled;
    for (mpfr_prec_t bits = kFirstBits;; bits = std::min(2 * bits, kMostBits)) {
      const std::array<State, 3> states = Compute(lengths, bits);
      const std::array<Value*, 3> outputs{plan_.y_, plan_.y_h_, plan_.y_c_};
      bool all = true;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i] == nullptr) continue;
        NumberWriter writer(outputs[i]->tensor);
        all = Settle(states[i], bits, writer, settled[i]) && all;
      }
      if (all || bits == kMostBits) return {};
    }
  }

 private:
  Result<std::vector<std::int64_t>> Lengths() const {
    const RecurrentShape& s = plan_.shape_;
    if (plan_.lengths_ == nullptr) {
      return std::vector<std::int64_t>(static_cast<std::size_t>(s.batch), s.steps);
    }
    std::vector<std::int64_t> lengths;
    for (const std::int32_t length : plan_.lengths_->tensor.As<std::int32_t>()) {
      if (length < 0 || length > s.steps) {
        Error error = bad_length_;
        error.message = "sequence_lens: " + std::to_string(length);
        return error;
      }
      lengths.push_back(length);
    }
    return lengths;
  }

  std::int64_t StateAt(std::int64_t d, std::int64_t b) const {
    const RecurrentShape& s = plan_.shape_;
    return (s.batch_first ? b * s.directions + d : d * s.batch + b) * s.hidden;
  }
  std::int64_t OutputAt(std::int64_t t, std::int64_t d, std::int64_t b) const {
    const RecurrentShape& s = plan_.shape_;
    return (s.batch_first ? (b * s.steps + t) * s.directions + d
                          : (t * s.directions + d) * s.batch + b) *
           s.hidden;
  }

  // Y, Y_h and Y_c.
  std::array<State, 3> Compute(const std::vector<std::int64_t>& lengths, mpfr_prec_t bits) const {
    const RecurrentShape& s = plan_.shape_;
    const Enclosed zero(Number(), bits);
    const auto states = static_cast<std::size_t>(s.directions * s.batch * s.hidden);
    std::array<State, 3> all;
    all[0].assign(states * static_cast<std::size_t>(s.steps), zero);
    all[1] = plan_.h_ != nullptr ? EnclosedOf(plan_.h_->tensor, bits) : State(states, zero);
    all[2] = plan_.c_ != nullptr ? EnclosedOf(plan_.c_->tensor, bits) : State(states, zero);
    const State x = EnclosedOf(plan_.x_->tensor, bits);
    const State w = EnclosedOf(plan_.w_->tensor, bits);
    const State r = EnclosedOf(plan_.r_->tensor, bits);
    const State b = AllOf(plan_.b_, bits);
    const State p = AllOf(plan_.p_, bits);
    const std::int64_t rows = plan_.gates_ * s.hidden;
    for (std::int64_t d = 0; d < s.directions; ++d) {
      CellInput input{{},
                      Part(w, d, rows * s.input),
                      Part(r, d, rows * s.hidden),
                      Part(b, d, 2 * rows),
                      Part(p, d, 3 * s.hidden),
                      static_cast<std::size_t>(d)};
      for (std::int64_t n = 0; n < s.batch; ++n) {
        RunSequence(x, d, n, lengths[static_cast<std::size_t>(n)], input, all);
      }
    }
    return all;
  }

  void RunSequence(const State& x, std::int64_t d, std::int64_t n, std::int64_t length,
                   CellInput& input, std::array<State, 3>& all) const {
    const RecurrentShape& s = plan_.shape_;
    const auto state = [&](std::size_t which) { return all[which].begin() + StateAt(d, n); };
    State h(state(1), state(1) + s.hidden);
    State c(state(2), state(2) + s.hidden);
    const bool backwards = s.reverse || d == 1;
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t t = backwards ? length - 1 - i : i;
      input.x = Part(x, s.batch_first ? n * s.steps + t : t * s.batch + n, s.input);
      cell_(input, h, c);
      std::ranges::copy(h, all[0].begin() + OutputAt(t, d, n));
    }
    std::ranges::copy(h, state(1));
    std::ranges::copy(c, state(2));
  }

  RecurrentPlan plan_;
  Cell cell_;
  Error bad_length_;
};

Result<RecurrentPlan> RecurrentPlan::Read(const NodePlan& node, std::int64_t gates) {
  RecurrentPlan plan;
  plan.gates_ = gates;
  QTX_ASSIGN_OR_RETURN(plan.x_, node.Input(0));
  QTX_ASSIGN_OR_RETURN(plan.w_, node.Input(1));
  QTX_ASSIGN_OR_RETURN(plan.r_, node.Input(2));
  const Dims& x = plan.x_->tensor.dims;
  const Dims& r = plan.r_->tensor.dims;
  RecurrentShape& s = plan.shape_;
  const std::string direction = node.String("direction");
  s.reverse = direction == "reverse";
  s.directions = direction == "bidirectional" ? 2 : 1;
  s.batch_first = node.Int("layout") == 1;
  s.steps = x[s.batch_first ? 1 : 0];
  s.batch = x[s.batch_first ? 0 : 1];
  s.input = x[2];
  s.hidden = r[2];
  const std::int64_t rows = gates * s.hidden;
  for (const auto& [i, input] :
       {std::pair(std::size_t{3}, &plan.b_), std::pair(std::size_t{4}, &plan.lengths_),
        std::pair(std::size_t{5}, &plan.h_), std::pair(std::size_t{6}, &plan.c_),
        std::pair(std::size_t{7}, &plan.p_)}) {
    QTX_ASSIGN_OR_RETURN(*input, Optional(node, i));
  }
  const double products = static_cast<double>(rows) * static_cast<double>(s.input + s.hidden) *
                          static_cast<double>(s.steps) * static_cast<double>(s.batch) *
                          static_cast<double>(s.directions);
  if (products > kMostProducts) return node.Unsupported("more than 2^26 products");
  return plan;
}

Result<std::vector<Activation>> RecurrentPlan::Activations(const NodePlan& node,
                                                           std::vector<Activation> usual) {
  struct NamedFunction {
    std::string_view name;
    Activation function;
  };
  static constexpr std::array<NamedFunction, 3> kKnown{
      {{"Sigmoid", SigmoidOf}, {"Tanh", TanhOf}, {"Relu", ReluOf}}};
  std::vector<Activation> functions;
  const format::Attribute* attribute = node.node().Find("activations");  // of the right number
  if (attribute == nullptr) {
    for (std::int64_t d = 0; d < shape_.directions; ++d) {
      functions.insert(functions.end(), usual.begin(), usual.end());
    }
    return functions;
  }
  for (const std::string& name : attribute->strings) {
    const auto* found = std::ranges::find(kKnown, name, &NamedFunction::name);
    if (found == kKnown.end()) return node.Unsupported("activation '" + name + "'");
    functions.push_back(found->function);
  }
  return functions;
}

StepResult RecurrentPlan::Make(const NodePlan& node, Cell cell) {
  const RecurrentShape& s = shape_;
  const Dims state =
      s.batch_first ? Dims{s.batch, s.directions, s.hidden} : Dims{s.directions, s.batch, s.hidden};
  const Dims all = s.batch_first ? Dims{s.batch, s.steps, s.directions, s.hidden}
                                 : Dims{s.steps, s.directions, s.batch, s.hidden};
  const std::size_t most = gates_ == 4 ? 3 : 2;
  std::vector<const Value*> outputs;
  for (std::size_t i = 0; i < most; ++i) {
    if (!node.HasOutput(i)) continue;
    QTX_ASSIGN_OR_RETURN(Value * value, node.OutputAt(i, i == 0 ? all : state, x_->tensor));
    (i == 0 ? y_ : i == 1 ? y_h_ : y_c_) = value;
    outputs.push_back(value);
  }
  std::vector<const Value*> inputs;
  for (const Value* input : {x_, w_, r_, b_, h_, c_, p_}) {
    if (input != nullptr) inputs.push_back(input);
  }
  QTX_RETURN_IF_ERROR(CheckTypes(node, inputs, outputs, Plain::kDouble));
  return std::make_unique<RecurrentStep>(*this, std::move(cell), node.Breaks("C4", ""));
}

}  // namespace qtx::backend::engine
