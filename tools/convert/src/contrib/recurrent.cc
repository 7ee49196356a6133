// Recurrent cells that quantize within each step, as a Scan.
//
//   DynamicQuantizeLSTM: x' = quantized(X), once for all steps; at each step, h being its state,
//     gates = (integers(x'_t) W) (scale of x') w_scale + (integers(h') R) (scale of h') r_scale + b
//   QuantLSTMCell: at each step each gate's sum, each activation, each term of the cell, the cell
//     and the state are quantized by a Quant of their own.
//
// Where several threads share a batch, ONNX Runtime quantizes the rows of each by themselves; here
// the batch has one scale, as it has there with one thread.
// Sources: ONNX Runtime 1.32, contrib_ops/cpu/quantization/dynamic_quantize_lstm.cc,
// core/providers/cpu/rnn/uni_directional_lstm.cc; Brevitas 0.13, _QuantLSTMCell of nn/quant_rnn.py.
#include <array>

#include "contrib/node_group.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Node;

std::string In(const Node& node, std::size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : "";
}

format::ValueInfo FloatValue(const std::string& name) {
  format::ValueInfo info;
  info.name = name;
  info.type.emplace();
  info.type->elem_type = format::ElementType::kFloat;
  return info;
}

struct Results {
  std::string last_h, last_c, all_h;
};

// A Scan of one sequence along `axis` with two states. Its body gets them and an element; what it
// makes of them are the next ones, `next_h` all along the sequence, too.
struct ScanForm {
  std::string h, c, x;  // in the body
  std::string next_h, next_c;
  std::int64_t axis = 0;
  bool reversed = false;
};

void AddScan(const ScanForm& form, NodeGroup step, const std::vector<std::string>& inputs,
             const Results& results, NodeGroup& group) {
  const std::string shown = step.Add("Identity", {form.next_h});
  format::Graph body;
  body.name = step.name();
  for (const std::string& name : {form.h, form.c, form.x}) body.inputs.push_back(FloatValue(name));
  for (const std::string& name : {form.next_h, form.next_c, shown})
    body.outputs.push_back(FloatValue(name));
  body.nodes = std::move(step.nodes());
  Attribute attribute;
  attribute.name = "body";
  attribute.type = format::AttributeType::kGraph;
  attribute.graphs.push_back(std::move(body));
  const std::int64_t direction = form.reversed ? 1 : 0;
  group.AddTo({results.last_h, results.last_c, results.all_h}, "Scan", inputs,
              {std::move(attribute), Attribute::Int("num_scan_inputs", 1),
               Attribute::Ints("scan_input_axes", {form.axis}),
               Attribute::Ints("scan_input_directions", {direction}),
               Attribute::Ints("scan_output_axes", {form.axis}),
               Attribute::Ints("scan_output_directions", {direction})});
}

enum LstmInput : std::size_t {
  kX,
  kW,
  kR,
  kB,
  kLengths,
  kInitialH,
  kInitialC,
  kPeepholes,
  kWScale,
  kWZero,
  kRScale,
  kRZero
};

class DynamicLstm {
 public:
  DynamicLstm(const ContribContext& context, const Node& former, NodeGroup& group)
      : former_(former), group_(group), clip_(former.FloatOr("clip", 0)) {
    hidden_ = former.IntOr("hidden_size", context.Size(In(former, kR), 1).value_or(0));
  }

  bool Run(std::string& why) {
    const std::string direction = former_.StringOr("direction", "forward");
    if (!IsTaken(direction, why)) return false;
    x_ = {group_.Named("x_quantized"), group_.Named("x_scale"), group_.Named("x_zero_point")};
    group_.AddTo({x_[0], x_[1], x_[2]}, "DynamicQuantizeLinear", {In(former_, kX)});
    std::vector<Results> found;
    if (direction != "reverse") found.push_back(AddDirection(0, false));
    if (direction != "forward") found.push_back(AddDirection(std::ssize(found), true));
    AddResult(0, 1, found, &Results::all_h);
    AddResult(1, 0, found, &Results::last_h);
    AddResult(2, 0, found, &Results::last_c);
    return true;
  }

 private:
  bool IsTaken(const std::string& direction, std::string& why) const {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (former_.inputs.size() <= kRZero || hidden_ <= 0 || hidden_ > kMost) {
      why = "it lacks inputs, or the size of its state";
    } else if (!In(former_, kLengths).empty()) {
      why = "its sequences have lengths of their own";
    } else if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
      why = "its direction is '" + direction + "'";
    } else if (!HasUsualActivations()) {
      why = "its activations are others than Sigmoid, Tanh and Tanh";
    }
    return why.empty();
  }

  bool HasUsualActivations() const {
    const Attribute* given = former_.Find("activations");
    if (given == nullptr) return true;
    constexpr std::array<std::string_view, 3> kUsual = {"Sigmoid", "Tanh", "Tanh"};
    for (std::size_t i = 0; i < given->strings.size(); ++i) {
      if (given->strings[i] != kUsual[i % 3]) return false;
    }
    return true;
  }

  // Row `d` of a parameter that has one for each direction.
  std::string RowOf(std::size_t input, std::int64_t d) {
    return group_.Add("Gather", {In(former_, input), group_.Int(d)});
  }
  std::string StateOf(std::size_t input, std::int64_t d) {
    if (!In(former_, input).empty()) return RowOf(input, d);
    const std::string batch = group_.Add("Shape", {In(former_, kX)});
    const std::string row = group_.Add("Gather", {batch, group_.Ints({1})});
    return group_.Add("ConstantOfShape", {group_.Add("Concat", {row, group_.Ints({hidden_})},
                                                     {Attribute::Int("axis", 0)})});
  }

  // What `x` makes with integers: their sum of products, in reals.
  static std::string Product(const std::array<std::string, 3>& x, const std::string& weights,
                             const std::string& scale, const std::string& zero_point,
                             NodeGroup& to) {
    const std::string sum = to.Add("MatMulInteger", {x[0], weights, x[2], zero_point});
    const std::string real = to.Add("Cast", {sum}, {Attribute::Int("to", 1)});
    return to.Add("Mul", {real, to.Add("Mul", {x[1], scale})});
  }

  Results AddDirection(std::int64_t d, bool reversed) {
    const std::string of_input =
        Product(x_, RowOf(kW, d), RowOf(kWScale, d), RowOf(kWZero, d), group_);
    const std::array<std::string, 3> recurrent = {RowOf(kR, d), RowOf(kRScale, d),
                                                  RowOf(kRZero, d)};
    const std::string h = StateOf(kInitialH, d), c = StateOf(kInitialC, d);
    AddBiases(d);
    NodeGroup step(former_, group_.Named("step"));
    ScanForm form{step.Named("h"), step.Named("c"), step.Named("x"), {}, {}, 0, reversed};
    AddStep(recurrent, form, step);
    Results results{group_.Named("h"), group_.Named("c"), group_.Named("y")};
    AddScan(form, std::move(step), {h, c, of_input}, results, group_);
    return results;
  }

  void AddBiases(std::int64_t d) {
    bias_.clear();
    peepholes_.clear();
    if (!In(former_, kB).empty()) {
      const std::string first = group_.Named("bias"), second = group_.Named("bias");
      group_.AddTo({first, second}, "Split",
                   {RowOf(kB, d), group_.Ints({4 * hidden_, 4 * hidden_})});
      bias_ = group_.Add("Add", {first, second});
    }
    if (In(former_, kPeepholes).empty()) return;
    peepholes_ = Parts(RowOf(kPeepholes, d), 3, group_);
  }

  std::vector<std::string> Parts(const std::string& value, std::size_t count, NodeGroup& to) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < count; ++i) parts.push_back(to.Named("part"));
    to.AddTo(parts, "Split", {value, group_.Ints(std::vector<std::int64_t>(count, hidden_))},
             {Attribute::Int("axis", -1)});
    return parts;
  }

  void AddStep(const std::array<std::string, 3>& recurrent, ScanForm& form, NodeGroup& step) {
    const std::array<std::string, 3> h = {step.Named("h_quantized"), step.Named("h_scale"),
                                          step.Named("h_zero_point")};
    step.AddTo({h[0], h[1], h[2]}, "DynamicQuantizeLinear", {form.h});
    const std::string of_state = Product(h, recurrent[0], recurrent[1], recurrent[2], step);
    std::string sum = step.Add("Add", {form.x, of_state});
    if (!bias_.empty()) sum = step.Add("Add", {sum, bias_});
    const std::vector<std::string> gates = Parts(sum, 4, step);  // i, o, f, c
    const std::string i = Activation("Sigmoid", Peeping(gates[0], 0, form.c, step), step);
    const std::string f = former_.IntOr("input_forget", 0) != 0
                              ? step.Add("Sub", {group_.Float(1), i})
                              : Activation("Sigmoid", Peeping(gates[2], 2, form.c, step), step);
    const std::string candidate = Activation("Tanh", gates[3], step);
    form.next_c = step.Add("Add", {step.Add("Mul", {f, form.c}), step.Add("Mul", {i, candidate})});
    const std::string o = Activation("Sigmoid", Peeping(gates[1], 1, form.next_c, step), step);
    form.next_h = step.Add("Mul", {o, step.Add("Tanh", {form.next_c})});  // not clipped
  }

  std::string Peeping(const std::string& gate, std::size_t i, const std::string& c,
                      NodeGroup& step) const {
    if (peepholes_.empty()) return gate;
    return step.Add("Add", {gate, step.Add("Mul", {peepholes_[i], c})});
  }
  std::string Activation(std::string_view op_type, std::string value, NodeGroup& step) {
    if (clip_ > 0) value = step.Add("Clip", {value, group_.Float(-clip_), group_.Float(clip_)});
    return step.Add(op_type, {value});
  }

  void AddResult(std::size_t output, std::int64_t axis, const std::vector<Results>& found,
                 std::string Results::*value) {
    if (!group_.Has(output)) return;
    std::vector<std::string> parts;
    if (found.size() == 1) {
      group_.AddTo({group_.Output(output)}, "Unsqueeze", {found[0].*value, group_.Ints({axis})});
      return;
    }
    parts.reserve(found.size());
    for (const Results& one : found)
      parts.push_back(group_.Add("Unsqueeze", {one.*value, group_.Ints({axis})}));
    group_.AddTo({group_.Output(output)}, "Concat", parts, {Attribute::Int("axis", axis)});
  }

  const Node& former_;
  NodeGroup& group_;
  float clip_ = 0;
  std::int64_t hidden_ = 0;
  std::array<std::string, 3> x_;  // integers, scale, zero point
  std::string bias_;              // of the direction
  std::vector<std::string> peepholes_;
};

// Inputs of QuantLSTMCell: x, h, c; weights of x, of h and biases of the four gates; scale, zero
// point and bits of each quantizer.
constexpr std::size_t kGates = 4, kFirstWeight = 3, kFirstQuantizer = kFirstWeight + 3 * kGates;
constexpr std::size_t kInputGate = 0, kForgetGate = 1, kCellGate = 2, kOutputGate = 3;
constexpr std::array<const char*, 11> kQuantizers = {
    "output",    "cell_state",     "input_acc",        "forget_acc",
    "cell_acc",  "output_acc",     "input_sigmoid",    "forget_sigmoid",
    "cell_tanh", "output_sigmoid", "hidden_state_tanh"};
constexpr std::size_t kOutput = 0, kCellState = 1, kFirstSum = 2,
                      kFirstActivation = kFirstSum + kGates, kStateTanh = kFirstActivation + kGates;

class QuantCell {
 public:
  QuantCell(const Node& former, NodeGroup& group)
      : former_(former), group_(group), step_(former, group.Named("step")) {}

  bool Run(std::string& why) {
    if (former_.inputs.size() != kFirstQuantizer + 3 * kQuantizers.size()) {
      why = "found " + std::to_string(former_.inputs.size()) + " inputs, expected 48";
      return false;
    }
    ScanForm form{step_.Named("h"),
                  step_.Named("c"),
                  step_.Named("x"),
                  {},
                  {},
                  former_.IntOr("batch_first", 0) != 0 ? 1 : 0,
                  former_.IntOr("reverse_input", 0) != 0};
    const std::string i = GateOf(kInputGate, form);
    const std::string f = former_.IntOr("cifg", 0) != 0 ? Complement(i) : GateOf(kForgetGate, form);
    const std::string candidate = GateOf(kCellGate, form), o = GateOf(kOutputGate, form);
    const std::string kept = Quantized(step_.Add("Mul", {f, form.c}), kCellState);
    const std::string added = Quantized(step_.Add("Mul", {i, candidate}), kCellState);
    form.next_c = Quantized(step_.Add("Add", {kept, added}), kCellState);
    const std::string bounded = Quantized(step_.Add("Tanh", {form.next_c}), kStateTanh);
    form.next_h = Quantized(step_.Add("Mul", {o, bounded}), kOutput);
    const Results results{group_.OutputOr(1, "h"), group_.OutputOr(2, "c"),
                          group_.OutputOr(0, "y")};
    AddScan(form, std::move(step_), {In(former_, 1), In(former_, 2), In(former_, 0)}, results,
            group_);
    return true;
  }

 private:
  std::string Quantized(const std::string& value, std::size_t quantizer) {
    const std::string name = kQuantizers[quantizer];
    const std::int64_t narrow = former_.IntOr(name + "_narrow_range", 0);  // of output_sigmoid
    std::vector<std::string> inputs = {value};
    for (std::size_t k = 0; k < 3; ++k)
      inputs.push_back(In(former_, kFirstQuantizer + 3 * quantizer + k));
    std::string result = step_.Add(
        "Quant", std::move(inputs),
        {Attribute::Int("narrow", former_.IntOr(name + "_narrow", narrow)),
         Attribute::String("rounding_mode", former_.StringOr(name + "_rounding_mode", "ROUND")),
         Attribute::Int("signed", former_.IntOr(name + "_signed", 1))});
    step_.nodes().back().domain = former_.domain;
    return result;
  }

  std::string GateOf(std::size_t gate, const ScanForm& form) {
    const auto linear = [&](const std::string& value, std::size_t weight) {
      return step_.Add("Gemm", {value, In(former_, weight)}, {Attribute::Int("transB", 1)});
    };
    std::string sum = step_.Add(
        "Add", {linear(form.x, kFirstWeight + gate), linear(form.h, kFirstWeight + kGates + gate)});
    const std::string bias = In(former_, kFirstWeight + 2 * kGates + gate);
    if (!bias.empty()) sum = step_.Add("Add", {sum, bias});
    const std::string gated =
        step_.Add(gate == kCellGate ? "Tanh" : "Sigmoid", {Quantized(sum, kFirstSum + gate)});
    return Quantized(gated, kFirstActivation + gate);
  }

  // 1, quantized as the gate is, less the gate.
  std::string Complement(const std::string& input_gate) {
    const std::string one = Quantized(step_.Float(1), kFirstActivation + kInputGate);
    return step_.Add("Sub", {one, input_gate});
  }

  const Node& former_;
  NodeGroup& group_;
  NodeGroup step_;
};

}  // namespace

bool ExpandDynamicQuantizeLstm(const ContribContext& context, const Node& former, NodeGroup& group,
                               std::string& why) {
  return DynamicLstm(context, former, group).Run(why);
}

bool ExpandQuantLstmCell(const ContribContext&, const Node& former, NodeGroup& group,
                         std::string& why) {
  return QuantCell(former, group).Run(why);
}

}  // namespace qtx::convert
