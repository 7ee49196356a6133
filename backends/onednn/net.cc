#include "net.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace qtx::backend::onednn {

using format::ElementType;
using peer::Value;

std::optional<memory::data_type> TypeOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
      return memory::data_type::f32;
    case ElementType::kInt8Q:
      return memory::data_type::s8;
    case ElementType::kUint8Q:
      return memory::data_type::u8;
    case ElementType::kInt32Q:
      return memory::data_type::s32;
    default:
      return std::nullopt;
  }
}

memory::desc Plain(const memory::dims& dims, memory::data_type type) {
  if (dims.empty()) return Plain({1}, type);  // oneDNN has no rank 0
  memory::dims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {dims, type, strides};
}

memory::desc Any(const memory::dims& dims, memory::data_type type) {
  return {dims, type, memory::format_tag::any};
}

void AppendBounds(const peer::Bounds& bounds, dnnl::post_ops& ops) {
  if (!bounds.any()) return;
  if (bounds.low == 0 && !std::isfinite(bounds.high)) {
    ops.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
  } else {
    ops.append_eltwise(1, dnnl::algorithm::eltwise_clip, std::max(bounds.low, -kLargest),
                       std::min(bounds.high, kLargest));
  }
}

memory::dims With(std::int64_t batch, std::int64_t channels, const memory::dims& spatial) {
  memory::dims dims = {batch, channels};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

memory::dims LessOne(memory::dims dilations) {  // oneDNN counts the holes
  for (auto& d : dilations) --d;
  return dilations;
}

bool Saturates() {
  constexpr int kVnni = 0x40, kAvx2Vnni = 0x400;  // bits of dnnl_cpu_isa_t
  const int isa = static_cast<int>(dnnl::get_effective_cpu_isa());
  return isa != 0 && (isa & (kVnni | kAvx2Vnni)) == 0;
}

void Net::Add(const dnnl::primitive& primitive, Arguments arguments, bool constant, bool border) {
  if (!constant) {
    steps_.push_back({primitive, std::move(arguments), border});
    return;
  }
  primitive.execute(stream_, arguments);
  stream_.wait();
}

Data Net::New(const memory::desc& desc, bool constant) const {
  return {memory(desc, engine_), constant};
}

Data Net::NewConstant(const memory::desc& desc, const void* elements) const {
  Data data = New(desc, true);
  std::memcpy(data.mem.get_data_handle(), elements, desc.get_size());
  return data;
}

Data Net::Input(const Value& value) {
  Data data = New(Plain(value.dims(), *TypeOf(value.type())));
  data.is_input = true;
  Set(value, data);
  return data;
}

Result<Data> Net::Of(const Value& value) {
  if (const auto found = stored_.find(&value); found != stored_.end()) return found->second;
  const auto type = TypeOf(value.type());
  if (!type || !value.constant) {
    return Error{ErrorCode::kUnsupported, "value '" + value.name + "'",
                 "of type " + std::string(format::Name(value.type()))};
  }
  Data data = NewConstant(Plain(value.dims(), *type), value.tensor.bytes.data());
  Set(value, data);
  return data;
}

Result<Data> Net::Reals(const Value& value) {
  if (value.is_float()) return Of(value);
  if (const auto found = reals_.find(&value); found != reals_.end()) return found->second;
  const memory::desc plain = Plain(value.dims(), memory::data_type::f32);
  if (value.constant && TypeOf(value.type())) {
    return reals_[&value] = NewConstant(plain, value.Reals().data());
  }
  QTX_ASSIGN_OR_RETURN(const Data stored, Of(value));
  if (!value.per_tensor()) {
    return Error{ErrorCode::kUnsupported, "value '" + value.name + "'", "it has several scales"};
  }
  dnnl::primitive_attr attr;
  attr.set_output_scales(0, {value.scale()});
  attr.set_zero_points(DNNL_ARG_SRC, 0, {value.offset()});
  memory::desc desc = stored.desc();  // the same layout with elements of four bytes
  desc.data.data_type = dnnl_f32;
  return reals_[&value] = Reorder(stored, desc, attr);
}

Data Net::Reorder(const Data& from, const memory::desc& to, const dnnl::primitive_attr& attr,
                  bool border) {
  const dnnl::reorder::primitive_desc pd(engine_, from.desc(), engine_, to, attr);
  Data result = New(to, from.constant);
  Add(dnnl::reorder(pd), {{DNNL_ARG_FROM, from.mem}, {DNNL_ARG_TO, result.mem}}, from.constant,
      border);
  return result;
}

Data Net::In(const Data& data, const memory::desc& desc) {
  return data.desc() == desc ? data : Reorder(data, desc, {}, data.is_input);
}

Data Net::Output(const Data& data, const memory::dims& dims) {
  const memory::desc plain = Plain(dims, data.desc().data_type());
  return data.desc() == plain ? data : Reorder(data, plain, {}, true);
}

Data Net::Reshaped(const Data& data, const memory::dims& dims) {
  const memory::desc desc = data.desc();
  const Data plain = In(data, Plain(desc.dims(), desc.data_type()));
  owners_.push_back(plain.mem);
  return {memory(Plain(dims, desc.data_type()), engine_, plain.mem.get_data_handle()),
          data.constant};
}

Result<void> Net::SetReals(const Value& value, const Data& reals) {
  if (value.is_float()) {
    Set(value, reals);
    return {};
  }
  if (!value.is_byte() || !value.per_tensor() ||
      value.range() != format::StorageRange(value.type())) {
    return Error{ErrorCode::kUnsupported, "value '" + value.name + "'",
                 "reals are quantized to 8 bits with one scale and the whole range only"};
  }
  dnnl::primitive_attr attr;
  attr.set_output_scales(0, {1.0F / value.scale()});
  attr.set_zero_points(DNNL_ARG_DST, 0, {value.offset()});
  memory::desc desc = reals.desc();
  desc.data.data_type = memory::convert_to_c(*TypeOf(value.type()));
  Set(value, Reorder(reals, desc, attr));
  return {};
}

void Net::Forget() {
  stored_.clear();
  reals_.clear();
}

void Net::Run() {
  for (const Step& step : steps_) step.primitive.execute(stream_, step.arguments);
  stream_.wait();
}

void Net::RunInside() {
  for (const Step& step : steps_) {
    if (!step.border) step.primitive.execute(stream_, step.arguments);
  }
  stream_.wait();
}

}  // namespace qtx::backend::onednn
