// One element at a time: Cast, Identity, activations; QuantizeLinear and its kind.
#include <algorithm>
#include <cmath>

#include "linear.h"
#include "move.h"

namespace qtx::backend::faulty {
namespace {

template <class N>
N FunctionOf(Function function, const N& x);
template <>
Exact FunctionOf(Function function, const Exact& x) {
  return IsNan(x) ? x : Evaluate(function, x);
}
template <>
float FunctionOf(Function function, const float& x) {
  return IsNan(x) ? x : ToFloat(Evaluate(function, Exact(static_cast<double>(x))));
}

// What an activation makes of one real.  Source: relu.S1, leaky_relu.S1, clip.S1, sigmoid.S1.
template <class N>
class Activation {
 public:
  static Result<Activation> Make(const Call& call) {
    Activation activation;
    activation.op_ = call.node.op_type;
    if (call.node.op_type == "LeakyRelu") {
      const float alpha = call.Float("alpha");
      if (!std::isfinite(alpha)) return Declined(call, "this alpha");
      activation.alpha_ = FromDouble<N>(static_cast<double>(alpha));
    }
    if (call.node.op_type != "Clip") return activation;
    QTX_RETURN_IF_ERROR(activation.Bound(call, 1, activation.low_));
    QTX_RETURN_IF_ERROR(activation.Bound(call, 2, activation.high_));
    return activation;
  }

  N operator()(const N& x) const {
    const N zero = FromDouble<N>(0);
    if (op_ == "Relu") return x < zero ? zero : x;
    if (op_ == "LeakyRelu") return x < zero ? alpha_ * x : x;
    if (op_ == "Sigmoid") return FunctionOf<N>(Function::kSigmoid, x);
    if (op_ == "Tanh") return FunctionOf<N>(Function::kTanh, x);
    N clipped = low_ && x < *low_ ? *low_ : x;
    return high_ && *high_ < clipped ? *high_ : clipped;
  }

 private:
  Result<void> Bound(const Call& call, std::size_t i, std::optional<N>& bound) {
    if (!call.Has(i)) return {};
    QTX_ASSIGN_OR_RETURN(Values value, RealsAt(call, i));
    if (value.size() != 1 || value.dims.size() > 1) return Declined(call, "bounds of this shape");
    bound = value.Real<N>(0);
    if (call.Is(Fault::kClipBoundsAsStored) && value.quantized) {
      bound = FromInteger<N>(value.stored[0]);
    }
    return {};
  }

  std::string op_;
  N alpha_;
  std::optional<N> low_, high_;
};

// Faults of kernels that work on stored values.
template <class N>
bool PutStoredFault(const Call& call, const Values& x, std::size_t i, Writer<N>& writer) {
  if (!x.quantized || !writer.quantized()) return false;
  if (call.Is(Fault::kReluAtStoredZero) && call.node.op_type == "Relu") {
    writer.Put(i, x.Real<N>(i));
    if (x.stored[i] < 0) writer.PutStored(i, 0);
    return true;
  }
  if (call.Is(Fault::kLeakyReluOnStored) && call.node.op_type == "LeakyRelu" && x.stored[i] < 0) {
    const float slope = call.Float("alpha");
    writer.PutStored(i, Round(slope * static_cast<float>(x.stored[i]), Tie::kEven));
    return true;
  }
  return false;
}

void DistortTable(const Call& call, Values& x) {
  const bool table = call.node.op_type == "Sigmoid" || call.node.op_type == "Tanh";
  if (!table || !x.quantized) return;
  const format::IntegerRange range = format::StorageRange(x.type);
  for (std::int64_t& stored : x.stored) {
    if (call.Is(Fault::kTableOffByOne)) stored = std::min(stored + 1, range.max);
  }
}

template <class N>
Outputs Activate(const Call& call) {
  QTX_ASSIGN_OR_RETURN(Values x, RealsAt(call, 0));
  DistortTable(call, x);
  QTX_ASSIGN_OR_RETURN(auto activation, Activation<N>::Make(call));
  QTX_ASSIGN_OR_RETURN(auto writer, Writer<N>::Make(call, 0, x.dims));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!PutStoredFault(call, x, i, writer)) writer.Put(i, activation(x.Real<N>(i)));
  }
  return One(writer.Take());
}

Outputs CastOrIdentity(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Values x, Read(call, *call.inputs[0]));
  const ElementType to = call.outputs[0].elem_type;
  const bool quantizes = format::IsQuantized(to) && (x.quantized || !x.real.empty());
  const bool dequantizes = to == ElementType::kFloat && (x.quantized || x.type == to);
  const bool cast = call.node.op_type == "Cast";
  if (cast && call.Int("to") != static_cast<std::int64_t>(to)) {
    return Declined(call, "another type than 'to' names");
  }
  const bool copies = !cast && x.type == to && !x.quantized;
  const bool known = x.quantized || x.type == ElementType::kFloat || cast || copies;
  if (!known || !(quantizes || dequantizes || copies) || (cast && call.Int("saturate") != 1)) {
    return Declined(
        call, "from " + std::string(format::Name(x.type)) + " to " + std::string(format::Name(to)));
  }
  QTX_ASSIGN_OR_RETURN(Tensor y, Moved(call, 0, x.dims, AllOf(x)));
  return One(std::move(y));
}

// float16 values quantized by a cast of the quotient, as ONNX Runtime had it.
bool Truncates16(const Call& call, const Values& x) {
  return call.Is(Fault::kFloat16Truncates) && x.type == ElementType::kFloat16;
}

template <class N>
Outputs QuantizeWith(const Call& call, const Values& x, const OutputType& type) {
  Call typed = call;
  typed.outputs = {type};
  if (Truncates16(call, x)) typed.fault = Fault::kQuantizeTruncates;
  QTX_ASSIGN_OR_RETURN(auto writer, Writer<N>::Make(typed, 0, x.dims, Step::kQuantize));
  for (std::size_t i = 0; i < x.size(); ++i) writer.Put(i, x.Real<N>(i));
  return One(AsPlain(writer.Take()));
}

}  // namespace

Outputs Convert(const Call& call) {
  if (call.node.op_type == "Cast" || call.node.op_type == "Identity") return CastOrIdentity(call);
  if (call.node.op_type == "Clip" && call.opset < 11) return Declined(call, "bounds as attributes");
  return call.exact ? Activate<Exact>(call) : Activate<float>(call);
}

// Source: quantize_linear.S1 to .S4.
Outputs QuantizeLinear(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Values x, Read(call, *call.inputs[0]));
  if (x.quantized || x.real.size() != x.size()) {
    return Declined(call, "x of type " + std::string(format::Name(x.type)));
  }
  const std::int64_t dtype = call.Int("output_dtype");
  ElementType storage = call.Has(2) ? call.inputs[2]->elem_type : ElementType::kUint8;
  if (!call.Has(2) && dtype != 0) storage = static_cast<ElementType>(dtype);
  const bool other = dtype != 0 && dtype != static_cast<std::int64_t>(storage);
  if (other || call.outputs[0].elem_type != storage || format::BitWidth(storage) > 16 ||
      call.Int("precision") > 1) {
    return Declined(call, "this type of result");
  }
  QTX_ASSIGN_OR_RETURN(const Layout layout, LayoutOf(call, 1, x.dims));
  QTX_ASSIGN_OR_RETURN(OutputType type, ParametersAt(call, 1, 2, storage, x.dims, layout));
  type.dims = call.outputs[0].dims;
  QTX_ASSIGN_OR_RETURN(auto outputs, call.exact ? QuantizeWith<Exact>(call, x, type)
                                                : QuantizeWith<float>(call, x, type));
  if (call.Is(Fault::kWrongOutputType) && storage == ElementType::kInt8) {
    outputs[0].elem_type = ElementType::kUint8;
  }
  return outputs;
}

// Source: dequantize_linear.S1 to .S4.
Outputs DequantizeLinear(const Call& call) {
  const Tensor& x = *call.inputs[0];
  QTX_ASSIGN_OR_RETURN(const Layout layout, LayoutOf(call, 1, x.dims));
  QTX_ASSIGN_OR_RETURN(const OutputType type,
                       ParametersAt(call, 1, 2, x.elem_type, x.dims, layout));
  if (call.outputs[0].elem_type != ElementType::kFloat || call.Int("output_dtype") > 1 ||
      call.inputs[1]->elem_type != ElementType::kFloat) {
    return Declined(call, "a result other than FLOAT");
  }
  const Tensor typed = AsQuantized(x, type);
  QTX_ASSIGN_OR_RETURN(const Values values, Read(call, typed));
  QTX_ASSIGN_OR_RETURN(Tensor y, Moved(call, 0, x.dims, AllOf(values)));
  return One(std::move(y));
}

namespace {

struct DynamicRange {
  float scale = 1;
  std::int64_t zero_point = 0;
};

// Source: dynamic_quantize_linear.S1 to .S3.
template <class N>
DynamicRange RangeOf(const Call& call, const Values& x) {
  const N zero = FromDouble<N>(0);
  N low = zero;
  N high = zero;
  if (call.Is(Fault::kDynamicRangeWithoutZero) && x.size() > 0) low = high = x.Real<N>(0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const N value = x.Real<N>(i);
    if (value < low) low = value;
    if (high < value) high = value;
  }
  DynamicRange range;
  range.scale = ToFloat(N((high - low) / FromDouble<N>(255)));
  if (range.scale == 0) range.scale = 1;
  const N quotient = (zero - low) / FromDouble<N>(static_cast<double>(range.scale));
  const Tie tie = call.Is(Fault::kDynamicZeroPointTruncated) ? Tie::kTruncate : Tie::kEven;
  range.zero_point = std::clamp<std::int64_t>(Round(quotient, tie), 0, 255);
  return range;
}

}  // namespace

Outputs DynamicQuantizeLinear(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Values x, RealsAt(call, 0));
  const auto finite = [](double value) { return std::isfinite(value); };
  if (x.quantized || !std::ranges::all_of(x.real, finite) || call.outputs.size() != 3) {
    return Declined(call, "x that is not finite");
  }
  const DynamicRange range = call.exact ? RangeOf<Exact>(call, x) : RangeOf<float>(call, x);
  if (!std::isfinite(range.scale)) return Declined(call, "a range beyond binary32");
  OutputType type{.elem_type = ElementType::kUint8Q, .quantization = format::Quantization{}};
  type.quantization->scale = {range.scale};
  type.quantization->offset = {static_cast<std::int32_t>(range.zero_point)};
  QTX_ASSIGN_OR_RETURN(auto outputs, call.exact ? QuantizeWith<Exact>(call, x, type)
                                                : QuantizeWith<float>(call, x, type));
  Tensor scale = *format::MakeTensor(ElementType::kFloat, {});
  scale.As<float>()[0] = range.scale;
  outputs.push_back(std::move(scale));
  outputs.push_back(PlainTensor(ElementType::kUint8, {}, {range.zero_point}));
  return outputs;
}

}  // namespace qtx::backend::faulty
