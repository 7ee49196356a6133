// Where, Expand, Tile, GatherND, TopK, CumSum, Sum, LpNormalization, Shape and nodes of no meaning.
#include <algorithm>

#include "errors.h"
#include "qtx/format/attributes.h"
#include "tflite/custom.h"
#include "tflite/rules.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using schema::BuiltinOperator;

format::TensorType PlainType(ElementType elem_type) {
  format::TensorType type;
  type.elem_type = elem_type;
  return type;
}

// The dimensions to which those of `dims` broadcast.
Result<Dims> BroadcastOf(const std::vector<Dims>& all) {
  Dims y;
  for (const Dims& dims : all) {
    if (dims.size() > y.size()) y.insert(y.begin(), dims.size() - y.size(), 1);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      std::int64_t& size = y[y.size() - dims.size() + i];
      if (size != dims[i] && size != 1 && dims[i] != 1)
        return Unsupported("", "shapes that do not broadcast");
      if (size == 1) size = dims[i];
    }
  }
  return y;
}

// Emits `call`, which moves elements of x, the input before those that it has.
Result<void> EmitMoved(TfliteWriter& writer, const Job& job, Call call, const Dims& y) {
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, writer.Type(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const int x, writer.Use(job.Input(0), Order::kOnnx));
  call.inputs.insert(call.inputs.begin(), x);
  return writer.Emit(std::move(call), {job.output, Order::kOnnx, y}, type);
}

}  // namespace

Result<void> WriteWhere(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(format::TensorType type, writer.Type(job.output));
  if (writer.graph().TypeOf(job.output) == nullptr) {
    QTX_ASSIGN_OR_RETURN(type, writer.Type(job.Input(1)));
    if (type.quantization) type = Float();
  }
  QTX_RETURN_IF_ERROR(KernelFor(writer, {job.output}));
  Call call{BuiltinOperator::SELECT_V2, {}, {}};
  std::vector<Dims> all;
  for (const std::size_t i : {0U, 1U, 2U}) {
    QTX_ASSIGN_OR_RETURN(const int index, i == 0 ? writer.Use(job.Input(i), Order::kOnnx)
                                                 : writer.UseAs(job.Input(i), Order::kOnnx, type));
    call.inputs.push_back(index);
    QTX_ASSIGN_OR_RETURN(Dims dims, writer.Dims(job.Input(i)));
    all.push_back(std::move(dims));
  }
  QTX_ASSIGN_OR_RETURN(const Dims y, BroadcastOf(all));
  call.options.Set(schema::SelectV2OptionsT());
  return writer.Emit(std::move(call), {job.output, Order::kOnnx, y}, type);
}

Result<void> WriteExpand(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(const Dims x, writer.Dims(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> shape, writer.Integers(job.Input(1)));
  QTX_ASSIGN_OR_RETURN(const Dims y, BroadcastOf({x, shape}));
  Call call{BuiltinOperator::BROADCAST_TO, {writer.AddInt32s(job.output + "/shape", y)}, {}};
  call.options.Set(schema::BroadcastToOptionsT());
  return EmitMoved(writer, job, std::move(call), y);
}

Result<void> WriteTile(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(Dims y, writer.Dims(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> repeats, writer.Integers(job.Input(1)));
  if (repeats.size() != y.size()) return Unsupported("", "repeats of another rank");
  for (std::size_t i = 0; i < y.size(); ++i) y[i] *= repeats[i];
  Call call{BuiltinOperator::TILE, {writer.AddInt32s(job.output + "/repeats", repeats)}, {}};
  call.options.Set(schema::TileOptionsT());
  return EmitMoved(writer, job, std::move(call), y);
}

Result<void> WriteGatherNd(TfliteWriter& writer, const Job& job) {
  if (format::Attributes(job.node).Int("batch_dims") != 0) return Unsupported("", "batch_dims");
  QTX_ASSIGN_OR_RETURN(const Dims x, writer.Dims(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const Dims indices, writer.Dims(job.Input(1)));
  const std::int64_t named = indices.empty() ? 0 : indices.back();
  if (named < 1 || named > std::ssize(x)) return Unsupported("", "tuples of another rank");
  if (writer.IsConstant(job.Input(1))) {
    QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> values, writer.Integers(job.Input(1)));
    if (std::ranges::any_of(values, [](std::int64_t v) { return v < 0; }))
      return Unsupported("", "negative indices");
  }
  Dims y(indices.begin(), indices.end() - 1);
  y.insert(y.end(), x.begin() + named, x.end());
  QTX_ASSIGN_OR_RETURN(const int tuples, writer.Use(job.Input(1), Order::kOnnx));
  Call call{BuiltinOperator::GATHER_ND, {tuples}, {}};
  call.options.Set(schema::GatherNdOptionsT());
  return EmitMoved(writer, job, std::move(call), y);
}

Result<void> WriteTopK(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(Dims y, writer.Dims(job.Input(0)));
  const format::Attributes attributes(job.node);
  const std::int64_t axis = attributes.Int("axis");
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> k, writer.Integers(job.Input(1)));
  if (y.empty() || (axis != -1 && axis != std::ssize(y) - 1) || attributes.Int("largest") == 0 ||
      k.size() != 1) {
    return Unsupported("", "the least ones, or an axis other than the last");
  }
  y.back() = k[0];
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, writer.Type(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const int x, writer.Use(job.Input(0), Order::kOnnx));
  Call call{BuiltinOperator::TOPK_V2, {x, writer.AddInt32s(job.output + "/k", k, {1})}, {}};
  call.options.Set(schema::TopKV2OptionsT());
  std::vector<int> outputs;
  std::vector<format::TensorType> types = {type, PlainType(ElementType::kInt32)};
  for (format::TensorType& kernel : types) {
    kernel.shape = format::ToShape(y);
    kernel.statistics.reset();
    QTX_ASSIGN_OR_RETURN(const int index, writer.AddTensor(job.output + "/kernel", kernel));
    outputs.push_back(index);
  }
  writer.Append(std::move(call), outputs);
  for (std::size_t i = 0; i < job.node.outputs.size() && i < outputs.size(); ++i) {
    if (job.node.outputs[i].empty()) continue;
    QTX_RETURN_IF_ERROR(
        writer.Convert(outputs[i], {job.node.outputs[i], Order::kOnnx, y}, types[i]));
  }
  return {};
}

Result<void> WriteCumSum(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(const format::TensorType x, writer.Type(job.Input(0)));
  if (x.quantization) return Unsupported("", "of quantized values; LiteRT sums plain numbers");
  QTX_ASSIGN_OR_RETURN(const std::vector<std::int64_t> axes, writer.Integers(job.Input(1)));
  if (axes.size() != 1) return Unsupported("", "expected one axis");
  schema::CumsumOptionsT options;
  options.exclusive = format::Attributes(job.node).Int("exclusive") != 0;
  options.reverse = format::Attributes(job.node).Int("reverse") != 0;
  Call call{BuiltinOperator::CUMSUM, {writer.AddInt32s(job.output + "/axis", axes, {1})}, {}};
  call.options.Set(std::move(options));
  QTX_ASSIGN_OR_RETURN(const Dims y, writer.Dims(job.Input(0)));
  return EmitMoved(writer, job, std::move(call), y);
}

// L2_NORMALIZATION in FLOAT, and integers through it: their kernel gives one grid alone.
Result<void> WriteLpNormalization(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(const Dims y, writer.Dims(job.Input(0)));
  const format::Attributes attributes(job.node);
  const std::int64_t axis = attributes.Int("axis");
  if (attributes.Int("p") != 2 || y.empty() || (axis != -1 && axis != std::ssize(y) - 1))
    return Unsupported("", "p other than 2, or an axis other than the last");
  QTX_ASSIGN_OR_RETURN(const int x, writer.UseAs(job.Input(0), Order::kOnnx, Float()));
  Call call{BuiltinOperator::L2_NORMALIZATION, {x}, {}};
  call.options.Set(schema::L2NormOptionsT());
  return writer.Emit(std::move(call), {job.output, Order::kOnnx, y}, Float());
}

Result<void> WriteSum(TfliteWriter& writer, const Job& job) {
  QTX_ASSIGN_OR_RETURN(const Dims y, writer.Dims(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const format::TensorType type, writer.Type(job.Input(0)));
  Call call{BuiltinOperator::ADD_N, {}, {}};
  for (const std::string& input : job.node.inputs) {
    QTX_ASSIGN_OR_RETURN(const format::TensorType own, writer.Type(input));
    QTX_ASSIGN_OR_RETURN(const Dims dims, writer.Dims(input));
    if (dims != y || own.quantization || own.elem_type != type.elem_type)
      return Unsupported("", "quantized operands, or of several shapes or types");
    QTX_ASSIGN_OR_RETURN(const int index, writer.Use(input, Order::kOnnx));
    call.inputs.push_back(index);
  }
  call.options.Set(schema::AddNOptionsT());
  return writer.Emit(std::move(call), {job.output, Order::kOnnx, y}, type);
}

Result<void> WriteShape(TfliteWriter& writer, const Job& job) {
  if (job.node.Find("start") != nullptr || job.node.Find("end") != nullptr)
    return Unsupported("", "a part of the shape");
  QTX_ASSIGN_OR_RETURN(const Dims x, writer.Dims(job.Input(0)));
  QTX_ASSIGN_OR_RETURN(const int input, writer.Use(job.Input(0), Order::kOnnx));
  Call call{BuiltinOperator::SHAPE, {input}, {}};
  schema::ShapeOptionsT options;
  options.out_type = schema::TensorType::INT64;
  call.options.Set(std::move(options));
  return writer.Emit(std::move(call), {job.output, Order::kOnnx, {std::ssize(x)}},
                     PlainType(ElementType::kInt64));
}

Result<void> WriteCustom(TfliteWriter& writer, const Job& job) {
  Call call{BuiltinOperator::CUSTOM, {}, {}};
  call.custom_code = job.node.op_type;
  if (const format::Attribute* options = job.node.Find(kCustomOptions))
    call.custom_options.assign(options->s.begin(), options->s.end());
  for (const std::string& input : job.node.inputs) {
    int index = -1;
    if (!input.empty()) {
      QTX_ASSIGN_OR_RETURN(index, writer.Use(input, Order::kOnnx));
    }
    call.inputs.push_back(index);
  }
  std::vector<int> outputs;
  for (const std::string& output : job.node.outputs) {
    const format::TensorType* type = writer.graph().TypeOf(output);
    const auto dims =
        type == nullptr || !type->shape ? std::nullopt : format::FixedDims(*type->shape);
    if (!dims) return Unsupported(Quoted(output), "of unknown type or shape");
    QTX_ASSIGN_OR_RETURN(const format::TensorType written, writer.Type(output));
    QTX_ASSIGN_OR_RETURN(const int index, writer.Define({output, Order::kOnnx, *dims}, written));
    outputs.push_back(index);
  }
  writer.Append(std::move(call), std::move(outputs));
  return {};
}

}  // namespace qtx::convert
