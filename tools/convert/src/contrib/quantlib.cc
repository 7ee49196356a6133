// Operators of integer networks as quantlib exports them and Deeploy reads them: integers in
// tensors of FLOAT. Their steps are nodes on DOUBLE, in which every integer of them is exact.
// Source: pulp-platform/quantlib, algorithms/pact/pact_ops.py, forward of each operator's function.
#include <cmath>

#include "contrib/node_group.h"
#include "qtx/format/tensor.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::ElementType;
using format::Node;

// An attribute that is a number or a tensor of one.
std::optional<double> NumberOf(const Node& node, std::string_view name) {
  const Attribute* attribute = node.Find(name);
  if (attribute == nullptr) return std::nullopt;
  if (attribute->type == format::AttributeType::kInt) return static_cast<double>(attribute->i);
  if (attribute->type == format::AttributeType::kFloat) return attribute->f;
  if (!attribute->t) return std::nullopt;
  const auto tensor = format::Decode(*attribute->t);
  if (!tensor.has_value()) return std::nullopt;
  if (tensor->elem_type == ElementType::kFloat && tensor->As<float>().size() == 1)
    return tensor->As<float>()[0];
  if (tensor->elem_type == ElementType::kDouble && tensor->As<double>().size() == 1)
    return tensor->As<double>()[0];
  if (tensor->elem_type == ElementType::kInt64 && tensor->As<std::int64_t>().size() == 1)
    return static_cast<double>(tensor->As<std::int64_t>()[0]);
  return std::nullopt;
}

// Nodes on DOUBLE, and the numbers that the former node gives them.
class Steps {
 public:
  Steps(const ContribContext& context, const Node& former, NodeGroup& group, std::string& why)
      : context_(context), former_(former), group_(group), why_(why) {}

  /// The attribute of the first name that is there; 0, and Fails, where none is a finite number.
  double Number(std::string_view name, std::string_view other = "") {
    auto number = NumberOf(former_, name);
    if (!number && !other.empty()) number = NumberOf(former_, other);
    if (number && std::isfinite(*number)) return *number;
    Refuse("its " + std::string(name) + " is no number");
    return 0;
  }
  double Positive(std::string_view name, std::string_view other = "") {
    const double number = Number(name, other);
    if (!failed_ && number <= 0) Refuse("its " + std::string(name) + " is not positive");
    return number;
  }
  void Refuse(std::string reason) {
    if (!failed_) why_ = std::move(reason);
    failed_ = true;
  }

  std::string Input(std::size_t i) {
    if (i >= former_.inputs.size() || former_.inputs[i].empty()) {
      Refuse("it has no input " + std::to_string(i));
      return "";
    }
    return group_.Add("Cast", {former_.inputs[i]}, {To(ElementType::kDouble)});
  }
  // Input `i`, whose values lie along axis 1 of the first input, which it may name by its axis 0:
  // Deeploy's kernels take the shape for a count, and no RequantShift changes that of its input.
  std::string PerChannel(std::size_t i) {
    const std::string value = Input(i);
    const auto rank = context_.Rank(former_.inputs[0]);
    if (failed_ || !rank || *rank < 2 || context_.Rank(former_.inputs[i]) != rank) return value;
    const auto size = context_.Size(former_.inputs[i], 0);
    const auto batch = context_.Size(former_.inputs[0], 0);
    if (!size || !batch || *size == 1 || *size == *batch ||
        size != context_.Size(former_.inputs[0], 1))
      return value;
    std::vector<std::int64_t> shape(static_cast<std::size_t>(*rank), 1);
    shape[1] = *size;
    return group_.Add("Reshape", {value, group_.Ints(std::move(shape))});
  }
  std::string Of(std::string_view op_type, const std::string& a) {
    return group_.Add(op_type, {a});
  }
  std::string Of(std::string_view op_type, const std::string& a, const std::string& b) {
    return group_.Add(op_type, {a, b});
  }
  std::string Of(std::string_view op_type, const std::string& a, double b) {
    return group_.Add(op_type, {a, group_.Double(b)});
  }
  std::string Last(std::string_view reduction, const std::string& a) {
    return group_.Add(reduction, {a, group_.Ints({-1})});
  }
  std::string Clip(const std::string& a, double low, double high) {
    return group_.Add("Clip", {a, group_.Double(low), group_.Double(high)});
  }
  // floor(a / b + 1/2)
  std::string Rounded(const std::string& a, double b) {
    return Of("Floor", Of("Add", Of("Div", a, b), 0.5));
  }
  // Toward zero.
  std::string Truncated(const std::string& a) {
    return Of("Mul", Of("Sign", a), Of("Floor", Of("Abs", a)));
  }
  // floor(sqrt(floor(mean of a^2) + 1)) along the last axis.
  std::string RootMeanSquare(const std::string& a) {
    const std::string mean = Of("Floor", Last("ReduceMean", Of("Mul", a, a)));
    return Of("Floor", Of("Sqrt", Of("Add", mean, 1)));
  }
  // From floor(-levels / 2) on, as the norms have it: one less than `levels` where these are odd.
  std::string Signed(const std::string& a, double levels) {
    return Clip(a, std::floor(-levels / 2), std::floor(levels / 2) - 1);
  }
  // The result, in its declared type, or else in that of the first input.
  bool Give(const std::string& a) {
    if (failed_) return false;
    const format::ValueFacts* facts = context_.inference.Find(group_.Output(0));
    if (facts != nullptr && facts->type != ElementType::kUndefined) {
      group_.AddTo({group_.Output(0)}, "Cast", {a}, {To(facts->type)});
    } else {
      group_.AddTo({group_.Output(0)}, "CastLike", {a, former_.inputs[0]});
    }
    return true;
  }

 private:
  static Attribute To(ElementType type) {
    return Attribute::Int("to", static_cast<std::int64_t>(type));
  }

  const ContribContext& context_;
  const Node& former_;
  NodeGroup& group_;
  std::string& why_;
  bool failed_ = false;
};

}  // namespace

// clip(floor((x * mul + add) / div + 1/2)): quantlib's first form, which Deeploy's data have; a
// later one leaves the half out and has it in add. With c = round(levels / 2 + 0.001), signed
// results are from -c to c - 1: of an odd number of levels one more than there are.
bool ExpandRequantShift(const ContribContext& context, const Node& former, NodeGroup& group,
                        std::string& why) {
  Steps s(context, former, group, why);
  const double div = s.Positive("div"), levels = s.Positive("n_levels_out", "n_levels");
  const double is_signed = s.Number("signed");
  const std::string sum = s.Of("Add", s.Of("Mul", s.Input(0), s.PerChannel(1)), s.PerChannel(2));
  const std::string shifted = s.Rounded(sum, div);
  if (is_signed == 0) return s.Give(s.Clip(shifted, 0, levels - 1));
  const double half = std::nearbyint(levels / 2 + 0.001);
  return s.Give(s.Clip(shifted, -half, half - 1));
}

// I-BERT's exponential: of 2^-z * exp(p), a polynomial of p in (-log2, 0].
bool ExpandISoftmax(const ContribContext& context, const Node& former, NodeGroup& group,
                    std::string& why) {
  Steps s(context, former, group, why);
  const double log2 = s.Positive("log2"), levels = s.Positive("n_levels");
  const double a = s.Number("coeffA"), b = s.Number("coeffB"), c = s.Number("coeffC");
  const std::string x = s.Input(0);
  const std::string below = s.Of("Sub", s.Last("ReduceMax", x), x);
  const std::string z = s.Of("Floor", s.Of("Div", below, log2));
  const std::string p = s.Of("Sub", s.Of("Mul", z, log2), below);
  const std::string from = s.Of("Add", p, b);
  const std::string square = s.Of("Mul", s.Of("Mul", from, from), a);
  const std::string power = group.Add("Pow", {group.Double(2), z});
  const std::string y = s.Of("Floor", s.Of("Div", s.Of("Add", square, c), power));
  const std::string share =
      s.Of("Floor", s.Of("Div", s.Of("Mul", y, levels - 1), s.Last("ReduceSum", y)));
  return s.Give(s.Clip(share, 0, levels - 1));
}

// Powers of two in the place of the exponential: the softmax of the ITA accelerator.
bool ExpandItaMax(const ContribContext& context, const Node& former, NodeGroup& group,
                  std::string& why) {
  constexpr double kEpsilon = 0x1p-23;  // torch.finfo(float32).eps
  Steps s(context, former, group, why);
  const double levels = s.Positive("n_levels");
  const std::string x = s.Input(0);
  const std::string below = s.Of("Sub", s.Last("ReduceMax", x), x);
  const std::string scaled = s.Of("Mul", below, std::log2(levels) / levels);
  const std::string shift = s.Of("Floor", s.Of("Add", scaled, 0.5 + kEpsilon));
  const std::string power = group.Add("Pow", {group.Double(2), shift});
  const std::string terms = group.Add("Div", {group.Double(levels), power});
  const std::string sum = s.Of("Floor", s.Last("ReduceSum", terms));
  const std::string inverse =
      s.Of("Floor", group.Add("Div", {group.Double(levels * (levels - 1)), sum}));
  return s.Give(s.Of("Floor", s.Of("Div", inverse, power)));
}

// x floor((one + L) / 2), L = sign(x) (one - (min(|x|, -b) + b)^2).
bool ExpandIGelu(const ContribContext& context, const Node& former, NodeGroup& group,
                 std::string& why) {
  Steps s(context, former, group, why);
  const double b = s.Number("b"), one = s.Number("one");
  const std::string x = s.Input(0);
  const std::string from = s.Of("Add", s.Of("Min", s.Of("Abs", x), -b), b);
  const std::string square = s.Of("Mul", from, from);
  const std::string erf =
      s.Of("Mul", s.Of("Sign", x), group.Add("Sub", {group.Double(one), square}));
  const std::string half = s.Of("Floor", s.Of("Mul", s.Of("Add", erf, one), 0.5));
  return s.Give(s.Of("Mul", x, half));
}

bool ExpandILayerNorm(const ContribContext& context, const Node& former, NodeGroup& group,
                      std::string& why) {
  Steps s(context, former, group, why);
  const double d = s.Positive("D"), levels = s.Positive("n_levels");
  const std::string x = s.Input(0);
  const std::string centred = s.Of("Sub", x, s.Truncated(s.Last("ReduceMean", x)));
  const std::string scaled = s.Of("Mul", centred, s.Input(1));
  const std::string quotient = s.Truncated(s.Of("Div", scaled, s.RootMeanSquare(centred)));
  const std::string sum = s.Of("Add", quotient, s.Input(2));
  return s.Give(s.Signed(s.Of("Floor", s.Of("Div", sum, d)), levels));
}

bool ExpandIRmsNorm(const ContribContext& context, const Node& former, NodeGroup& group,
                    std::string& why) {
  Steps s(context, former, group, why);
  const double d = s.Positive("D"), levels = s.Positive("n_levels");
  const std::string x = s.Input(0);
  const std::string divisor = s.Of("Mul", s.RootMeanSquare(x), d);
  const std::string quotient = s.Of("Div", s.Of("Mul", x, s.Input(1)), divisor);
  return s.Give(s.Signed(s.Of("Floor", quotient), levels));
}

// Scale and bias by element, without a mean.
bool ExpandINoNorm(const ContribContext& context, const Node& former, NodeGroup& group,
                   std::string& why) {
  Steps s(context, former, group, why);
  const double d = s.Positive("D"), mul = s.Number("mul"), levels = s.Positive("n_levels");
  const std::string sum = s.Of("Add", s.Of("Mul", s.Input(0), s.Input(1)), s.Input(2));
  return s.Give(s.Signed(s.Of("Floor", s.Of("Div", s.Of("Mul", sum, mul), d)), levels));
}

bool ExpandIHardswish(const ContribContext& context, const Node& former, NodeGroup& group,
                      std::string& why) {
  Steps s(context, former, group, why);
  const double three = s.Number("three"), six = s.Number("six"), sixth = s.Number("one_over_six");
  const std::string x = s.Input(0);
  const std::string gate = s.Of("Mul", s.Clip(s.Of("Add", x, three), 0, six), sixth);
  return s.Give(s.Of("Mul", x, gate));
}

bool ExpandIntegerMean(const ContribContext& context, const Node& former, NodeGroup& group,
                       std::string& why) {
  Steps s(context, former, group, why);
  const std::vector<std::int64_t> axes = former.IntsOr("axes", {});
  if (axes.empty()) s.Refuse("it has no axes");
  const std::string mean = group.Add("ReduceMean", {s.Input(0), group.Ints(axes)},
                                     {Attribute::Int("keepdims", former.IntOr("keepdims", 1))});
  return s.Give(s.Rounded(mean, 1));
}

// floor(x Delta eta / (y eta + eps)); y is a constant. quantlib adds a half, of which Deeploy's
// data have nothing.
bool ExpandTrueIntegerDiv(const ContribContext& context, const Node& former, NodeGroup& group,
                          std::string& why) {
  Steps s(context, former, group, why);
  const double delta = s.Number("Delta"), eps = s.Number("eps"), eta = s.Number("eta");
  const double divisor = s.Number("y") * eta + eps;
  if (divisor == 0) s.Refuse("it divides by 0");
  return s.Give(s.Of("Floor", s.Of("Div", s.Of("Mul", s.Input(0), delta * eta), divisor)));
}

}  // namespace qtx::convert
