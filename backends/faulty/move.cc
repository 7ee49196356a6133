#include "move.h"

#include <algorithm>
#include <limits>

#include "qtx/format/levels.h"

namespace qtx::backend::faulty {
namespace {

bool IsReal(const Values& values) {
  return values.quantized || values.type == ElementType::kFloat ||
         values.type == ElementType::kFloat16 || values.type == ElementType::kBfloat16;
}

bool OneScale(const std::optional<format::Quantization>& q) {
  return q && q->axis.empty() && format::HasIntegerForm(*q);
}

// Whether stored values are converted, clamped to the new range, or copied.
enum class Copy { kNo, kClamped, kRaw };
Copy CopyOf(const Call& call, const Values& from, const OutputType& to) {
  const bool quantized = from.quantized && to.quantization.has_value();
  const bool concat = call.node.op_type == "Concat";
  if (quantized && call.Is(concat ? Fault::kConcatCopiesStored : Fault::kRequantizeIgnored)) {
    return Copy::kClamped;
  }
  if (call.node.op_type == "Cast") return Copy::kNo;
  if (!OneScale(from.quantization) || !OneScale(to.quantization)) return Copy::kNo;
  const format::Quantization& x = *from.quantization;
  const format::Quantization& y = *to.quantization;
  const bool same = x.scale[0] == y.scale[0] && format::OffsetAt(x, 0) == format::OffsetAt(y, 0);
  if (!same) return Copy::kNo;
  const bool range = from.type == to.elem_type &&
                     format::StoredRange(from.type, x) == format::StoredRange(to.elem_type, y);
  return range ? Copy::kRaw : Copy::kClamped;
}

template <class N>
void MoveOne(const Call& call, std::size_t i, const Source& source, const OutputType& type,
             Writer<N>& writer) {
  if (source.from == nullptr) {
    if (call.Is(Fault::kPadWithZero) && writer.quantized()) return writer.PutStored(i, 0);
    return writer.Put(i, FromDouble<N>(0));
  }
  const Copy copy = CopyOf(call, *source.from, type);
  if (copy == Copy::kRaw) return writer.PutRaw(i, source.from->stored[source.element]);
  if (copy == Copy::kClamped) return writer.PutStored(i, source.from->stored[source.element]);
  writer.Put(i, source.from->template Real<N>(source.element));
}

template <class N>
Result<Tensor> MovedReals(const Call& call, std::size_t output, Dims dims,
                          const std::vector<Source>& sources) {
  const bool quantizes =
      std::ranges::none_of(sources, [](const Source& s) { return s.from && s.from->quantized; });
  QTX_ASSIGN_OR_RETURN(auto writer,
                       Writer<N>::Make(call, output, std::move(dims),
                                       quantizes ? Step::kQuantize : Step::kRequantize));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    MoveOne<N>(call, i, sources[i], call.outputs[output], writer);
  }
  return writer.Take();
}

Result<Tensor> MovedIntegers(const Call& call, std::size_t output, Dims dims, ElementType type,
                             const std::vector<Source>& sources) {
  const OutputType& to = call.outputs[output];
  const bool fits = (to.elem_type == type || to.elem_type == ElementType::kUndefined) &&
                    (!to.dims || *to.dims == dims);
  if (!fits) return Declined(call, "a result of another plain type or shape");
  std::vector<std::int64_t> values;
  for (const Source& source : sources) {
    values.push_back(source.from == nullptr ? 0 : source.from->stored[source.element]);
  }
  return PlainTensor(type, std::move(dims), values);
}

}  // namespace

std::vector<Source> AllOf(const Values& from) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < from.size(); ++i) sources.push_back({&from, i});
  return sources;
}

Result<Tensor> Moved(const Call& call, std::size_t output, Dims dims,
                     const std::vector<Source>& sources) {
  const auto first =
      std::ranges::find_if(sources, [](const Source& s) { return s.from != nullptr; });
  const bool plain = first != sources.end() && !IsReal(*first->from);
  const bool mixed = std::ranges::any_of(sources, [&](const Source& s) {
    return s.from != nullptr &&
           (IsReal(*s.from) == plain || (plain && s.from->type != first->from->type));
  });
  if (mixed) return Declined(call, "plain and quantized types together");
  // Equal parameters are compared element by element (definitions.S1), which this does not do.
  const OutputType& to = call.outputs[output];
  const bool along_axes = std::ranges::any_of(sources, [&](const Source& s) {
    return s.from != nullptr && s.from->quantized && to.quantization &&
           s.from->type == to.elem_type && !OneScale(s.from->quantization) &&
           !OneScale(to.quantization);
  });
  if (along_axes && call.node.op_type != "Cast") return Declined(call, "parameters along an axis");
  if (plain) return MovedIntegers(call, output, std::move(dims), first->from->type, sources);
  return call.exact ? MovedReals<Exact>(call, output, std::move(dims), sources)
                    : MovedReals<float>(call, output, std::move(dims), sources);
}

namespace {

// The elements of a tensor by coordinates: element (c) of the result is at start + sum c * step.
std::vector<Source> Strided(const Values& from, const Dims& dims, const Dims& steps,
                            std::int64_t start) {
  std::vector<Source> sources;
  for (std::int64_t i = 0; i < Size(dims); ++i) {
    std::int64_t rest = i;
    std::int64_t element = start;
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d])
      element += rest % dims[d] * steps[d];
    sources.push_back({&from, At(element)});
  }
  return sources;
}

Result<Values> DataAt(const Call& call, std::size_t i) {
  if (!call.Has(i)) return Declined(call, "no input " + std::to_string(i));
  return Read(call, *call.inputs[i]);
}

// The source of a coordinate outside of an axis of `size`; -1 is the constant.
std::int64_t PadSource(const std::string& mode, std::int64_t at, std::int64_t size) {
  if (at >= 0 && at < size) return at;
  if (mode == "edge") return std::clamp<std::int64_t>(at, 0, size - 1);
  if (mode == "reflect") return at < 0 ? -at : 2 * (size - 1) - at;
  return -1;
}

}  // namespace

// Source: concat.S1, concat.S2.
Outputs Concat(const Call& call) {
  std::vector<Values> inputs;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(Values values, DataAt(call, i));
    inputs.push_back(std::move(values));
  }
  if (call.node.Find("axis") == nullptr) return Declined(call, "no axis");
  Dims dims = inputs[0].dims;
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, call.Int("axis"), dims.size()));
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    Dims same = inputs[i].dims;
    if (same.size() != dims.size()) return Declined(call, "ranks that differ");
    dims[axis] += std::exchange(same[axis], dims[axis] + same[axis]);
    if (same != dims) return Declined(call, "shapes that differ");
  }
  std::int64_t slice = 1;
  for (std::size_t d = axis + 1; d < dims.size(); ++d) slice *= dims[d];
  std::vector<Source> sources;
  const std::int64_t row = dims[axis] * slice;
  for (std::int64_t o = 0; row > 0 && o < Size(dims) / row; ++o) {
    for (const Values& input : inputs) {
      const std::int64_t length = input.dims[axis] * slice;
      for (std::int64_t i = 0; i < length; ++i) sources.push_back({&input, At(o * length + i)});
    }
  }
  QTX_ASSIGN_OR_RETURN(Tensor y, Moved(call, 0, dims, sources));
  return One(std::move(y));
}

namespace {

// Source: split.S2, split.S3.
Result<Dims> PartsOf(const Call& call, std::int64_t size) {
  const auto count = static_cast<std::int64_t>(call.outputs.size());
  const std::int64_t given = call.node.IntOr("num_outputs", count);
  const bool either = call.Has(1) || call.opset < 18 || call.node.Find("num_outputs") != nullptr;
  if (given != count || !either || (call.Has(1) && call.node.Find("num_outputs") != nullptr)) {
    return Declined(call, "this number of outputs");
  }
  Dims parts(At(count), (size + count - 1) / count);
  parts.back() = size - parts.front() * (count - 1);
  if (call.Has(1)) {
    QTX_ASSIGN_OR_RETURN(parts, IntegersAt(call, 1));
  } else if (call.opset < 18 && size % count != 0) {
    return Declined(call, "parts that do not divide the axis");
  }
  std::int64_t sum = 0;
  for (const std::int64_t part : parts) {
    if (part < 0 || part > size) return Declined(call, "a part of this size");
    sum += part;
  }
  if (sum != size || parts.size() != call.outputs.size()) return Declined(call, "such parts");
  return parts;
}

}  // namespace

Outputs Split(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Values data, DataAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, call.Int("axis"), data.dims.size()));
  QTX_ASSIGN_OR_RETURN(const Dims parts, PartsOf(call, data.dims[axis]));
  const Dims strides = format::RowMajorStrides(data.dims);
  std::vector<Tensor> outputs;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Dims dims = data.dims;
    dims[axis] = parts[i];
    const auto sources = Strided(data, dims, strides, first * strides[axis]);
    QTX_ASSIGN_OR_RETURN(Tensor part, Moved(call, i, dims, sources));
    outputs.push_back(std::move(part));
    first += parts[i];
  }
  return outputs;
}

// Source: pad.S1 to pad.S4.
Outputs Pad(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Values data, DataAt(call, 0));
  const std::size_t rank = data.dims.size();
  const std::string mode = call.String("mode");
  QTX_ASSIGN_OR_RETURN(const Dims pads, IntegersAt(call, 1));
  if (call.Has(3) || pads.size() != 2 * rank ||
      (mode != "constant" && mode != "edge" && mode != "reflect")) {
    return Declined(call, "this mode or these pads");
  }
  Dims dims = data.dims;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t begin = pads[d];
    const std::int64_t end = pads[d + rank];
    const bool fits = begin >= 0 && end >= 0 && begin < (1 << 20) && end < (1 << 20) &&
                      (mode == "constant" || std::max(begin, end) < dims[d]);
    if (!fits) return Declined(call, "negative pads, or pads larger than the axis");
    dims[d] += begin + end;
  }
  QTX_RETURN_IF_ERROR(CheckSize(call, dims));
  std::optional<Values> constant;
  if (call.Has(2)) {
    QTX_ASSIGN_OR_RETURN(constant, DataAt(call, 2));
    const bool alike = data.quantized || data.type == ElementType::kFloat
                           ? constant->quantized || constant->type == ElementType::kFloat
                           : constant->type == data.type;
    if (constant->size() != 1 || !alike) return Declined(call, "this constant_value");
  }
  const Source beyond{constant ? &*constant : nullptr, 0};
  std::vector<Source> sources;
  for (std::int64_t i = 0; i < Size(dims); ++i) {
    std::int64_t rest = i;
    std::int64_t element = 0;
    std::int64_t stride = 1;
    for (std::size_t d = rank; d-- > 0; rest /= dims[d], stride *= data.dims[d]) {
      const std::int64_t at = PadSource(mode, rest % dims[d] - pads[d], data.dims[d]);
      element = at < 0 || element < 0 ? -1 : element + at * stride;
    }
    sources.push_back(element < 0 ? beyond : Source{&data, At(element)});
  }
  QTX_ASSIGN_OR_RETURN(Tensor y, Moved(call, 0, dims, sources));
  return One(std::move(y));
}

// Source: slice.S1 to slice.S3.
Outputs Slice(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Values data, DataAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Dims starts, IntegersAt(call, 1));
  QTX_ASSIGN_OR_RETURN(const Dims ends, IntegersAt(call, 2));
  Dims axes(starts.size());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  if (call.Has(3)) {
    QTX_ASSIGN_OR_RETURN(axes, IntegersAt(call, 3));
  }
  Dims steps(starts.size(), 1);
  if (call.Has(4)) {
    QTX_ASSIGN_OR_RETURN(steps, IntegersAt(call, 4));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return Declined(call, "lists of several sizes");
  }
  Dims dims = data.dims;
  Dims strides = format::RowMajorStrides(data.dims);
  std::vector<bool> listed(dims.size());
  std::int64_t first = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    QTX_ASSIGN_OR_RETURN(const std::size_t d, AxisOf(call, axes[i], dims.size()));
    const std::int64_t size = data.dims[d];
    if (steps[i] == 0 || steps[i] == std::numeric_limits<std::int64_t>::min() || listed[d]) {
      return Declined(call, "a step of 0, or an axis twice");
    }
    listed[d] = true;
    const bool back = steps[i] < 0;
    const std::int64_t low = back ? -1 : 0;
    const std::int64_t high = back ? size - 1 : size;
    const auto place = [&](std::int64_t at) {
      return std::clamp(at < 0 ? at + size : at, low, high);
    };
    const std::int64_t start = std::max<std::int64_t>(place(starts[i]), 0);
    const std::int64_t length = back ? start - place(ends[i]) : place(ends[i]) - start;
    const std::int64_t step = back ? -steps[i] : steps[i];
    dims[d] = length <= 0 || size == 0 ? 0 : 1 + (length - 1) / step;
    first += start * strides[d];
    if (dims[d] > 1) strides[d] *= steps[i];
  }
  QTX_ASSIGN_OR_RETURN(Tensor y, Moved(call, 0, dims, Strided(data, dims, strides, first)));
  return One(std::move(y));
}

// Source: gather.S1, gather.S2.
Outputs Gather(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Values data, DataAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Values indices, DataAt(call, 1));
  if (indices.type != ElementType::kInt64 && indices.type != ElementType::kInt32) {
    return Declined(call, "indices of this type");
  }
  QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, call.Int("axis"), data.dims.size()));
  const auto cut = static_cast<std::ptrdiff_t>(axis);
  Dims dims(data.dims.begin(), data.dims.begin() + cut);
  const std::int64_t outer = Size(dims);
  const std::int64_t slice = Size(Dims(data.dims.begin() + cut + 1, data.dims.end()));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), data.dims.begin() + cut + 1, data.dims.end());
  QTX_RETURN_IF_ERROR(CheckSize(call, dims));
  const std::int64_t size = data.dims[axis];
  std::vector<Source> sources;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t index : indices.stored) {
      if (index < -size || index >= size) return Declined(call, "an index beyond the axis");
      if (index < 0) index += size;
      for (std::int64_t i = 0; i < slice; ++i) {
        sources.push_back({&data, At((o * size + index) * slice + i)});
      }
    }
  }
  QTX_ASSIGN_OR_RETURN(Tensor y, Moved(call, 0, dims, sources));
  return One(std::move(y));
}

// Source: transpose.S1, transpose.S2.
Outputs Transpose(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Values x, DataAt(call, 0));
  Dims reversed;
  for (std::size_t d = x.dims.size(); d-- > 0;) reversed.push_back(static_cast<std::int64_t>(d));
  const Dims perm = call.node.IntsOr("perm", reversed);
  if (!std::ranges::is_permutation(perm, reversed)) return Declined(call, "this perm");
  const Dims strides = format::RowMajorStrides(x.dims);
  Dims dims;
  Dims steps;
  for (const std::int64_t d : perm) {
    dims.push_back(x.dims[At(d)]);
    steps.push_back(strides[At(d)]);
  }
  QTX_ASSIGN_OR_RETURN(Tensor y, Moved(call, 0, dims, Strided(x, dims, steps, 0)));
  return One(std::move(y));
}

namespace {

// Source: reshape.S2.
Result<Dims> ReshapedDims(const Call& call, const Dims& from) {
  QTX_ASSIGN_OR_RETURN(Dims dims, IntegersAt(call, 1));
  const bool zeros = call.Int("allowzero") != 0;
  std::optional<std::size_t> open;
  std::int64_t known = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0 && !zeros) {
      if (d >= from.size()) return Declined(call, "a 0 where data has no axis");
      dims[d] = from[d];
    }
    if (dims[d] < -1 || dims[d] > (1 << 24) || (dims[d] == -1 && open)) {
      return Declined(call, "this shape");
    }
    if (dims[d] == -1) {
      open = d;
    } else {
      known *= dims[d];
    }
  }
  if (open && (known == 0 || Size(from) % known != 0)) return Declined(call, "an open axis");
  if (open) dims[*open] = Size(from) / known;
  return dims;
}

// The axes of Squeeze and Unsqueeze: input 1 from opset 13 on, the attribute before.
Result<std::vector<bool>> AxesOf(const Call& call, std::size_t rank) {
  Dims axes = call.node.IntsOr("axes", {});
  if ((call.opset >= 13) == (call.node.Find("axes") != nullptr) && call.node.Find("axes")) {
    return Declined(call, "attribute 'axes'");
  }
  if (call.Has(1)) {
    QTX_ASSIGN_OR_RETURN(axes, IntegersAt(call, 1));
  }
  std::vector<bool> listed(rank);
  for (const std::int64_t one : axes) {
    QTX_ASSIGN_OR_RETURN(const std::size_t axis, AxisOf(call, one, rank));
    if (listed[axis]) return Declined(call, "an axis twice");
    listed[axis] = true;
  }
  return listed;
}

Result<Dims> SqueezedDims(const Call& call, const Dims& from) {
  QTX_ASSIGN_OR_RETURN(std::vector<bool> listed, AxesOf(call, from.size()));
  const bool all = !call.Has(1) && call.node.Find("axes") == nullptr;
  Dims dims;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (listed[d] && from[d] != 1) return Declined(call, "an axis of another size than 1");
    if (!listed[d] && !(all && from[d] == 1)) dims.push_back(from[d]);
  }
  return dims;
}

Result<Dims> UnsqueezedDims(const Call& call, const Dims& from) {
  std::size_t added = call.node.IntsOr("axes", {}).size();
  if (call.Has(1)) added = At(format::ElementCount(*call.inputs[1]));
  if (added == 0 || added > 8) return Declined(call, "this number of axes");
  QTX_ASSIGN_OR_RETURN(const std::vector<bool> listed, AxesOf(call, from.size() + added));
  Dims dims;
  std::size_t next = 0;
  for (const bool axis : listed) dims.push_back(axis ? 1 : from[next++]);
  return dims;
}

Result<Dims> FlattenedDims(const Call& call, const Dims& from) {
  const auto rank = static_cast<std::int64_t>(from.size());
  std::int64_t axis = call.Int("axis");
  if (axis < -rank || axis > rank) return Declined(call, "this axis");
  if (axis < 0) axis += rank;
  Dims dims = {1, 1};
  for (std::int64_t d = 0; d < rank; ++d) dims[d < axis ? 0 : 1] *= from[At(d)];
  return dims;
}

}  // namespace

Outputs Reshape(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Values data, DataAt(call, 0));
  const std::string& op = call.node.op_type;
  auto* find = op == "Reshape"   ? ReshapedDims
               : op == "Squeeze" ? SqueezedDims
               : op == "Flatten" ? FlattenedDims
                                 : UnsqueezedDims;
  QTX_ASSIGN_OR_RETURN(const Dims dims, find(call, data.dims));
  if (Size(dims) != Size(data.dims)) return Declined(call, "another number of elements");
  QTX_ASSIGN_OR_RETURN(Tensor y, Moved(call, 0, dims, AllOf(data)));
  return One(std::move(y));
}

}  // namespace qtx::backend::faulty
