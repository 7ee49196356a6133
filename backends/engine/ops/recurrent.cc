#include "engine/ops/recurrent.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/ops/gate_sums.h"
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

template <typename T>
std::span<const T> Part(const std::vector<T>& all, std::int64_t i, std::int64_t size) {
  if (all.empty()) return {};
  return std::span(all).subspan(static_cast<std::size_t>(i * size), static_cast<std::size_t>(size));
}

// Writes the elements whose rounding is certain, and marks them; false if one is not.
bool SettleEstimates(std::span<const Estimate> values, NumberWriter& writer,
                     std::vector<bool>& settled) {
  settled.resize(values.size());
  bool all = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    const bool zero = values[i].value == 0 && values[i].error == 0;
    const auto code = zero ? writer.Code(element, Number())
                           : writer.EstimatedCode(element, values[i].value, values[i].error);
    settled[i] = code.has_value();
    if (code.has_value()) writer.PutCode(element, *code);
    all = all && code.has_value();
  }
  return all;
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
  RecurrentStep(const RecurrentPlan& plan, Cell cell, Error bad_length, const Kernels& kernels)
      : plan_(plan), cell_(std::move(cell)), bad_length_(std::move(bad_length)), kernels_(kernels) {
    const auto are = [](std::initializer_list<const Value*> values, auto good) {
      return std::ranges::all_of(values, [&good](const Value* value) {
        return value == nullptr || good(value->tensor.elem_type);
      });
    };
    const RecurrentPlan& p = plan_;
    const auto writable = [](format::ElementType type) {
      return type == format::ElementType::kFloat ||
             (format::IsQuantized(type) && format::IsIntegerStorage(type));
    };
    estimates_ = are({p.x_, p.w_, p.r_, p.b_, p.h_, p.c_, p.p_}, IsRealOutput) &&
                 are({p.y_, p.y_h_, p.y_c_}, writable);
  }

  std::string_view Path() const override { return estimates_ ? "estimates" : kGeneralPath; }
  Result<void> Run() override {
    QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> lengths, Lengths());
    const std::array<Value*, 3> outputs{plan_.y_, plan_.y_h_, plan_.y_c_};
    std::array<std::vector<bool>, 3> settled;
    if (estimates_) {
      MakeGateSums();
      by_gate_sums_ = gate_sums_ != nullptr;
      const bool all = RunEstimated(lengths, cell_.estimated, outputs, settled);
      by_gate_sums_ = false;
      if (all || RunEstimated(lengths, cell_.careful, outputs, settled)) return {};
    }
    for (mpfr_prec_t bits = kFirstBits;; bits = std::min(2 * bits, kMostBits)) {
      const auto states =
          Compute<Enclosed>(lengths, cell_.enclosed, Enclosed(Number(), bits),
                            [bits](const Value* value) { return EnclosedOf(value->tensor, bits); });
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
  bool RunEstimated(const std::vector<std::int64_t>& lengths, const CellFunction<Estimate>& cell,
                    const std::array<Value*, 3>& outputs,
                    std::array<std::vector<bool>, 3>& settled) {
    const auto states = Compute<Estimate>(lengths, cell, {},
                                          [this](const Value* value) { return Estimated(value); });
    bool all = true;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == nullptr) continue;
      NumberWriter writer(outputs[i]->tensor);
      all = SettleEstimates(states[i], writer, settled[i]) && all;
    }
    return all;
  }

  State<Estimate> Estimated(const Value* value) {
    if (!value->constant) return EstimatedOf(value->tensor);
    State<Estimate>& kept = constants_[value];
    if (kept.empty()) kept = EstimatedOf(value->tensor);
    return kept;
  }

  // Of LSTM, once, where its weights do not change.
  void MakeGateSums() {
    const RecurrentPlan& p = plan_;
    if (p.gates_ != 4 || !p.w_->constant || !p.r_->constant || !constants_.empty()) return;
    gate_sums_ = GateSums::Make(kernels_, Estimated(p.w_), Estimated(p.r_),
                                p.gates_ * p.shape_.hidden, p.shape_.input, p.shape_.hidden);
  }

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
  template <typename T, typename Load>
  std::array<State<T>, 3> Compute(const std::vector<std::int64_t>& lengths,
                                  const CellFunction<T>& cell, const T& zero, Load load) const {
    const RecurrentShape& s = plan_.shape_;
    const auto states = static_cast<std::size_t>(s.directions * s.batch * s.hidden);
    const State<T> x = load(plan_.x_);
    const State<T> w = load(plan_.w_);
    const State<T> r = load(plan_.r_);
    const auto all_of = [&](const Value* value) { return value ? load(value) : State<T>(); };
    const State<T> b = all_of(plan_.b_);
    const State<T> p = all_of(plan_.p_);
    const State<T> zeros(states, zero);
    std::array<State<T>, 3> all;
    all[0].assign(states * static_cast<std::size_t>(s.steps), zero);
    all[1] = plan_.h_ != nullptr ? load(plan_.h_) : zeros;
    all[2] = plan_.c_ != nullptr ? load(plan_.c_) : zeros;
    const std::int64_t rows = plan_.gates_ * s.hidden;
    for (std::int64_t d = 0; d < s.directions; ++d) {
      CellInput<T> input{{},
                         Part(w, d, rows * s.input),
                         Part(r, d, rows * s.hidden),
                         Part(b, d, 2 * rows),
                         Part(p, d, 3 * s.hidden),
                         static_cast<std::size_t>(d)};
      for (std::int64_t n = 0; n < s.batch; ++n) {
        RunSequence(x, d, n, lengths[static_cast<std::size_t>(n)], cell, input, all);
      }
    }
    return all;
  }

  template <typename T>
  void RunSequence(const State<T>& x, std::int64_t d, std::int64_t n, std::int64_t length,
                   const CellFunction<T>& cell, CellInput<T>& input,
                   std::array<State<T>, 3>& all) const {
    const RecurrentShape& s = plan_.shape_;
    const auto state = [&](std::size_t which) { return all[which].begin() + StateAt(d, n); };
    State<T> h(state(1), state(1) + s.hidden);
    State<T> c(state(2), state(2) + s.hidden);
    State<T> products;
    const bool backwards = s.reverse || d == 1;
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t t = backwards ? length - 1 - i : i;
      input.x = Part(x, s.batch_first ? n * s.steps + t : t * s.batch + n, s.input);
      if constexpr (std::is_same_v<T, Estimate>) {
        if (by_gate_sums_) {
          gate_sums_->Compute(input.direction, input.x, h, products);
          input.products = products;
        }
      }
      cell(input, h, c);
      std::ranges::copy(h, all[0].begin() + OutputAt(t, d, n));
    }
    input.products = {};
    std::ranges::copy(h, state(1));
    std::ranges::copy(c, state(2));
  }

  RecurrentPlan plan_;
  Cell cell_;
  Error bad_length_;
  bool estimates_;  // all operands are terms, and the outputs have estimated codes
  std::map<const Value*, State<Estimate>> constants_;
  const Kernels& kernels_;
  std::unique_ptr<GateSums> gate_sums_;
  bool by_gate_sums_ = false;
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
      {{"Sigmoid", kSigmoid}, {"Tanh", kTanh}, {"Relu", kRelu}}};
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
  return std::make_unique<RecurrentStep>(*this, std::move(cell), node.Breaks("C4", ""),
                                         node.kernels());
}

}  // namespace qtx::backend::engine
