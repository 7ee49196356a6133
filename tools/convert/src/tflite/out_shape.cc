// Operators that move elements. They keep the grid of their input; a result on another grid is
// converted afterwards, which rounds as the node does.
#include <algorithm>
#include <limits>

#include "errors.h"
#include "qtx/format/attributes.h"
#include "tflite/ops.h"
#include "tflite/rules.h"

namespace qtx::convert {
namespace {

using format::Attribute;
using format::Dims;
using schema::BuiltinOperator;
using Vector = std::vector<std::int64_t>;

// An attribute up to some version, an input since.
Result<Vector> ListOf(const TfliteWriter& writer, const Job& job, const char* attribute,
                      std::size_t input, Vector fallback) {
  if (!job.Input(input).empty()) return writer.Integers(job.Input(input));
  return job.node.IntsOr(attribute, std::move(fallback));
}

Result<Vector> Normal(Vector axes, std::size_t rank) {
  for (std::int64_t& axis : axes) {
    QTX_ASSIGN_OR_RETURN(axis, format::NormalizeAxis(axis, static_cast<std::int64_t>(rank)));
  }
  return axes;
}

Result<Dims> ReshapedDims(const Dims& x, Vector shape, bool allow_zero) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(x));
  std::int64_t known = 1;
  std::int64_t* free = nullptr;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !allow_zero && i < x.size()) shape[i] = x[i];
    if (shape[i] == -1 && free == nullptr) {
      free = &shape[i];
    } else if (shape[i] < 1 || shape[i] > count / known) {
      return Unsupported("shape " + format::ToString(shape) + " of " + format::ToString(x));
    } else {
      known *= shape[i];
    }
  }
  if (free != nullptr) *free = count / known;
  if (count % known != 0 || (free == nullptr && known != count)) {
    return Unsupported("shape " + format::ToString(shape) + " of " + format::ToString(x));
  }
  return shape;
}

Result<Dims> SqueezedDims(const TfliteWriter& writer, const Job& job, const Dims& x) {
  Vector all;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 1) all.push_back(static_cast<std::int64_t>(i));
  }
  QTX_ASSIGN_OR_RETURN(Vector axes, ListOf(writer, job, "axes", 1, all));
  QTX_ASSIGN_OR_RETURN(axes, Normal(axes, x.size()));
  Dims y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::ranges::find(axes, static_cast<std::int64_t>(i)) == axes.end()) y.push_back(x[i]);
  }
  return y;
}

Result<Dims> UnsqueezedDims(const TfliteWriter& writer, const Job& job, const Dims& x) {
  QTX_ASSIGN_OR_RETURN(Vector axes, ListOf(writer, job, "axes", 1, {}));
  QTX_ASSIGN_OR_RETURN(axes, Normal(axes, x.size() + axes.size()));
  std::ranges::sort(axes);
  Dims y = x;
  for (const std::int64_t axis : axes) {
    if (axis > static_cast<std::int64_t>(y.size())) return Unsupported("axes given twice");
    y.insert(y.begin() + axis, 1);
  }
  return y;
}

Result<Dims> FlatDims(const Job& job, const Dims& x) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t count, format::ElementCount(x));
  std::int64_t axis = format::Attributes(job.node).Int("axis");
  if (axis < 0) axis += static_cast<std::int64_t>(x.size());
  if (axis < 0 || axis > static_cast<std::int64_t>(x.size())) return Unsupported("axis");
  std::int64_t rows = 1;
  for (std::int64_t i = 0; i < axis; ++i) rows *= x[static_cast<std::size_t>(i)];
  return Dims{rows, rows == 0 ? 0 : count / rows};
}

Result<Dims> DimsAfter(const TfliteWriter& writer, const Job& job, const Dims& x) {
  const std::string& op_type = job.node.op_type;
  if (op_type == "Flatten") return FlatDims(job, x);
  if (op_type == "Squeeze") return SqueezedDims(writer, job, x);
  if (op_type == "Unsqueeze") return UnsqueezedDims(writer, job, x);
  QTX_ASSIGN_OR_RETURN(Vector shape, writer.Integers(job.Input(1)));
  return ReshapedDims(x, std::move(shape), format::Attributes(job.node).Int("allowzero") != 0);
}

// [N,H,W,C] holds the elements in ONNX's order where one of the two is a single column.
Result<int> UseFlat(TfliteWriter& writer, const std::string& value) {
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.Dims(value));
  const auto nhwc = writer.Find(value, Order::kNhwc);
  const bool same = dims.size() == 4 && SameOrder(Permute(dims, NchwToNhwc()));
  if (nhwc && same && !writer.Find(value, Order::kOnnx)) return *nhwc;
  return writer.Use(value, Order::kOnnx);
}

// Pads along each axis, begins then ends.
Result<Vector> PadsOf(const TfliteWriter& writer, const Job& job, std::size_t rank) {
  QTX_ASSIGN_OR_RETURN(const Vector given, ListOf(writer, job, "pads", 1, {}));
  Vector axes;
  if (!job.Input(3).empty()) {
    QTX_ASSIGN_OR_RETURN(axes, writer.Integers(job.Input(3)));
    QTX_ASSIGN_OR_RETURN(axes, Normal(axes, rank));
  } else {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (given.size() != 2 * axes.size()) return Unsupported("pads " + format::ToString(given));
  Vector pads(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    pads[axis] = given[i];
    pads[axis + rank] = given[axes.size() + i];
  }
  const bool odd = std::ranges::any_of(pads, [](std::int64_t v) { return v < 0 || v > 1 << 16; });
  if (odd) return Unsupported("pads " + format::ToString(pads));
  return pads;
}

Result<bool> IsZero(const TfliteWriter& writer, const std::string& value) {
  if (value.empty()) return true;
  if (!writer.IsConstant(value)) return Unsupported("a value that is not constant");
  QTX_ASSIGN_OR_RETURN(const format::Tensor constant, writer.Constant(value));
  if (constant.elem_type == format::ElementType::kInt64) return false;
  const std::vector<double> stored = format::StoredValues(constant);
  const double offset = constant.quantization ? format::OffsetAt(*constant.quantization, 0) : 0;
  return stored.size() == 1 && stored[0] == offset;
}

Vector InOrder(const Vector& values, Order order) {
  return order == Order::kNhwc ? Permute(values, NchwToNhwc()) : values;
}

// The slice along each axis of x, in ONNX's order.
struct Cut {
  Vector begin, end, step;
  std::int32_t to_edge = 0;  // bits of axes whose end is beyond the first element
  Dims dims;
};

// One axis as ONNX clamps it.
void SetAxis(Cut& cut, std::size_t axis, std::int64_t size, std::array<std::int64_t, 3> given) {
  auto [begin, end, step] = given;
  const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  const auto bounded = [&](std::int64_t at, std::int64_t least) {
    return std::clamp(at < 0 ? std::max(at, -size - 1) + size : at, least, high);
  };
  begin = bounded(begin, 0);
  end = bounded(end, low);
  const std::int64_t distance = step > 0 ? end - begin : begin - end;
  const std::int64_t stride = step > 0 ? step : -step;
  cut.begin[axis] = begin;
  cut.end[axis] = end;
  cut.step[axis] = step;
  cut.dims[axis] = distance <= 0 ? 0 : (distance - 1) / stride + 1;
}

Cut Whole(const Dims& x) { return {Vector(x.size(), 0), x, Vector(x.size(), 1), 0, x}; }

Result<void> EmitCut(TfliteWriter& writer, const std::string& x, const std::string& output,
                     const Cut& cut) {
  const Order order = writer.Common({x});
  Call call{BuiltinOperator::STRIDED_SLICE, {}, {}};
  QTX_ASSIGN_OR_RETURN(const int input, writer.Use(x, order));
  schema::StridedSliceOptionsT options;
  const Vector ends = InOrder(cut.end, order);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] < 0) options.end_mask |= 1 << i;  // TFLite would count -1 from the back
  }
  call.inputs = {input, writer.AddInt32s(output + "/begin", InOrder(cut.begin, order)),
                 writer.AddInt32s(output + "/end", ends),
                 writer.AddInt32s(output + "/strides", InOrder(cut.step, order))};
  call.options.Set(std::move(options));
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, writer.Type(x));
  return writer.Emit(std::move(call), {output, order, cut.dims}, type);
}

Result<void> WriteSplit(TfliteWriter& writer, const Job& job, const Dims& x) {
  QTX_ASSIGN_OR_RETURN(const std::int64_t axis,
                       format::NormalizeAxis(format::Attributes(job.node).Int("axis"),
                                             static_cast<std::int64_t>(x.size())));
  const auto at = static_cast<std::size_t>(axis);
  const auto count = static_cast<std::int64_t>(job.node.outputs.size());
  const std::int64_t part = (x[at] + count - 1) / count;  // the last may be smaller
  Vector parts(job.node.outputs.size(), part);
  parts.back() = x[at] - part * (count - 1);
  QTX_ASSIGN_OR_RETURN(parts, ListOf(writer, job, "split", 1, parts));
  if (parts.size() != job.node.outputs.size()) return Unsupported("split");
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] < 1 || parts[i] > x[at] - begin) return Unsupported("split");
    Cut cut = Whole(x);
    SetAxis(cut, at, x[at], {begin, begin + parts[i], 1});
    begin += parts[i];
    QTX_RETURN_IF_ERROR(EmitCut(writer, job.Input(0), job.node.outputs[i], cut));
  }
  return {};
}

// The indices of a Gather along an axis of `size`. TFLite counts none from the back.
Result<int> UseIndices(TfliteWriter& writer, const Job& job, std::int64_t size) {
  const std::string& name = job.Input(1);
  if (!writer.IsConstant(name)) return writer.Use(name, Order::kOnnx);
  QTX_ASSIGN_OR_RETURN(Vector values, writer.Integers(name));
  if (std::ranges::none_of(values, [](std::int64_t v) { return v < 0; }))
    return writer.Use(name, Order::kOnnx);
  for (std::int64_t& value : values) value += value < 0 ? size : 0;
  QTX_ASSIGN_OR_RETURN(format::Tensor indices, writer.Constant(name));
  format::PackIntegers(values, indices);
  return writer.AddConstant(job.output + "/indices", indices);
}

}  // namespace

Result<void> WriteReshape(TfliteWriter& writer, const Job& job) {
  const std::string& x = job.Input(0);
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.Dims(x));
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, writer.Type(x));
  QTX_ASSIGN_OR_RETURN(const Dims y, DimsAfter(writer, job, dims));
  QTX_ASSIGN_OR_RETURN(const int input, UseFlat(writer, x));
  schema::ReshapeOptionsT options;
  for (const std::int64_t dim : y) options.new_shape.push_back(static_cast<std::int32_t>(dim));
  Call call{BuiltinOperator::RESHAPE, {input, writer.AddInt32s(job.output + "/shape", y)}, {}};
  call.options.Set(std::move(options));
  return writer.Emit(std::move(call), {job.output, Order::kOnnx, y}, type);
}

Result<void> WriteTranspose(TfliteWriter& writer, const Job& job) {
  const std::string& x = job.Input(0);
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.Dims(x));
  Vector perm(dims.size());
  for (std::size_t i = 0; i < perm.size(); ++i) {
    perm[i] = static_cast<std::int64_t>(perm.size() - 1 - i);
  }
  perm = job.node.IntsOr("perm", perm);
  Vector sorted = perm;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (sorted.size() != dims.size() || sorted[i] != static_cast<std::int64_t>(i)) {
      return Unsupported("perm " + format::ToString(perm));
    }
  }
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, writer.Type(x));
  const Dims y = Permute(dims, perm);
  // A transpose between layouts needs no operator if the other layout exists.
  const auto nhwc = writer.Find(x, Order::kNhwc), onnx = writer.Find(x, Order::kOnnx);
  if (perm == NchwToNhwc() && nhwc) {
    return writer.Convert(*nhwc, {job.output, Order::kOnnx, y}, type);
  }
  if (perm == NhwcToNchw() && onnx) {
    return writer.Convert(*onnx, {job.output, Order::kNhwc, y}, type);
  }
  QTX_ASSIGN_OR_RETURN(const int input, writer.Use(x, Order::kOnnx));
  Call call{BuiltinOperator::TRANSPOSE, {input, writer.AddInt32s(job.output + "/perm", perm)}, {}};
  call.options.Set(schema::TransposeOptionsT());
  return writer.Emit(std::move(call), {job.output, Order::kOnnx, y}, type);
}

Result<void> WritePad(TfliteWriter& writer, const Job& job) {
  const std::string& x = job.Input(0);
  const std::string mode = format::Attributes(job.node).String("mode");
  QTX_ASSIGN_OR_RETURN(const bool zero, IsZero(writer, job.Input(2)));
  if ((mode != "constant" && mode != "reflect") || (mode == "constant" && !zero) ||
      format::Attributes(job.node).Float("value") != 0) {
    return Unsupported("mode " + mode + " or a value other than 0");
  }
  QTX_ASSIGN_OR_RETURN(const Dims dims, writer.Dims(x));
  QTX_ASSIGN_OR_RETURN(const Vector pads, PadsOf(writer, job, dims.size()));
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, writer.Type(x));
  QTX_RETURN_IF_ERROR(KernelFor(writer, {x}));
  const Order order = writer.Common({x});
  QTX_ASSIGN_OR_RETURN(const int input, writer.Use(x, order));
  const std::size_t rank = dims.size();
  const Vector begins = InOrder(Vector(pads.begin(), pads.begin() + std::ssize(dims)), order);
  const Vector ends = InOrder(Vector(pads.begin() + std::ssize(dims), pads.end()), order);
  Vector rows;
  Dims y = dims;
  for (std::size_t i = 0; i < rank; ++i) {
    rows.insert(rows.end(), {begins[i], ends[i]});
    y[i] += pads[i] + pads[i + rank];
  }
  const int table =
      writer.AddInt32s(job.output + "/pads", rows, {static_cast<std::int32_t>(rank), 2});
  Call call{
      mode == "reflect" ? BuiltinOperator::MIRROR_PAD : BuiltinOperator::PAD, {input, table}, {}};
  if (mode == "reflect") {
    call.options.Set(schema::MirrorPadOptionsT());
  } else {
    call.options.Set(schema::PadOptionsT());
  }
  return writer.Emit(std::move(call), {job.output, order, y}, type);
}

Result<void> WriteConcat(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(format::TensorType type, writer.Type(job.output));
  const bool declared = writer.graph().TypeOf(job.output) != nullptr;
  if (!declared) {
    QTX_ASSIGN_OR_RETURN(type, writer.Type(job.Input(0)));
    if (type.quantization) type = Float();
  }
  QTX_RETURN_IF_ERROR(KernelFor(writer, {job.output}));
  const Order order = writer.Common(job.node.inputs);
  QTX_ASSIGN_OR_RETURN(Dims y, writer.Dims(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const std::int64_t axis,
                       format::NormalizeAxis(format::Attributes(job.node).Int("axis"),
                                             static_cast<std::int64_t>(y.size())));
  const auto at = static_cast<std::size_t>(axis);
  Call call{BuiltinOperator::CONCATENATION, {}, {}};
  for (std::size_t i = 0; i < job.node.inputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(Dims part, writer.Dims(job.Input(i)));
    QTX_ASSIGN_OR_RETURN(const int input, writer.UseAs(job.Input(i), order, type));
    call.inputs.push_back(input);
    if (part.size() != y.size()) return Unsupported("operands of different ranks");
    if (i == 0) continue;
    y[at] += part[at];
    part[at] = y[at];
    if (part != y) return Unsupported("operands that do not fit");
  }
  schema::ConcatenationOptionsT options;
  options.axis =
      static_cast<std::int32_t>(order == Order::kNhwc ? PermuteAxis(axis, NchwToNhwc()) : axis);
  QTX_ASSIGN_OR_RETURN(options.fused_activation_function, FusedInto(writer, job));
  call.options.Set(std::move(options));
  return writer.Emit(std::move(call), {job.output, order, y}, type);
}

Result<void> WriteSlice(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(const Dims x, writer.Dims(job.Input(0)));
  if (job.node.op_type == "Split") return WriteSplit(writer, job, x);
  QTX_ASSIGN_OR_RETURN(const Vector starts, ListOf(writer, job, "starts", 1, {}));
  QTX_ASSIGN_OR_RETURN(const Vector ends, ListOf(writer, job, "ends", 2, {}));
  Vector axes(starts.size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  QTX_ASSIGN_OR_RETURN(axes, ListOf(writer, job, "axes", 3, axes));
  QTX_ASSIGN_OR_RETURN(axes, Normal(axes, x.size()));
  QTX_ASSIGN_OR_RETURN(const Vector steps,
                       ListOf(writer, job, "steps", 4, Vector(starts.size(), 1)));
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return Unsupported("starts, ends, axes and steps of different sizes");
  }
  Cut cut = Whole(x);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
    if (steps[i] == 0 || steps[i] > kMax || steps[i] < -kMax) return Unsupported("steps");
    SetAxis(cut, axis, x[axis], {starts[i], ends[i], steps[i]});
    if (cut.dims[axis] == 0) return Unsupported("an empty result");
  }
  return EmitCut(writer, job.Input(0), job.output, cut);
}

Result<void> WriteGather(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(const Dims x, writer.Dims(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const Dims indices, writer.Dims(job.Input(1)));
  QTX_ASSIGN_OR_RETURN(const std::int64_t axis,
                       format::NormalizeAxis(format::Attributes(job.node).Int("axis"),
                                             static_cast<std::int64_t>(x.size())));
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, writer.Type(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const int input, writer.Use(job.Input(0), Order::kOnnx));
  QTX_ASSIGN_OR_RETURN(const int index, UseIndices(writer, job, x[static_cast<std::size_t>(axis)]));
  Dims y(x.begin(), x.begin() + axis);
  y.insert(y.end(), indices.begin(), indices.end());
  y.insert(y.end(), x.begin() + axis + 1, x.end());
  Call call{BuiltinOperator::GATHER, {input, index}, {}};
  schema::GatherOptionsT options;
  options.axis = static_cast<std::int32_t>(axis);
  call.options.Set(std::move(options));
  return writer.Emit(std::move(call), {job.output, Order::kOnnx, y}, type);
}

}  // namespace qtx::convert
