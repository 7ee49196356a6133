#include "net.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "kinds.h"

namespace qtx::backend::xnnpack {

using format::ElementType;
using peer::Value;

namespace {

bool IsKnown(const Value& value) { return value.is_float() || value.is_byte(); }

// True if both layouts have the elements in the same order.
bool LayoutsAgree(const Value& value) {
  if (value.rank() < 3 || value.dims()[1] == 1) return true;
  return std::all_of(value.dims().begin() + 2, value.dims().end(), [](auto d) { return d == 1; });
}

}  // namespace

std::size_t WidthOf(const Value& value) { return value.is_float() ? sizeof(float) : 1; }

void Permute(const std::byte* from, const format::Dims& dims, const std::vector<std::int64_t>& perm,
             std::size_t width, std::byte* to) {
  const format::Dims strides = format::RowMajorStrides(dims);
  const std::size_t rank = dims.size();
  std::vector<std::int64_t> at(rank, 0);
  const std::int64_t count =
      std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
  std::int64_t source = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to + static_cast<std::size_t>(i) * width,
                from + static_cast<std::size_t>(source) * width, width);
    for (std::size_t axis = rank; axis-- > 0;) {
      const auto old = static_cast<std::size_t>(perm[axis]);
      source += strides[old];
      if (++at[axis] < dims[old]) break;
      source -= strides[old] * dims[old];
      at[axis] = 0;
    }
  }
}

Result<void> Check(xnn_status status, const std::string& what) {
  if (status == xnn_status_success) return {};
  static const std::map<xnn_status, std::string> kNames = {
      {xnn_status_invalid_parameter, "invalid parameter"},
      {xnn_status_invalid_state, "invalid state"},
      {xnn_status_unsupported_parameter, "unsupported parameter"},
      {xnn_status_unsupported_hardware, "unsupported hardware"},
      {xnn_status_out_of_memory, "out of memory"}};
  const auto name = kNames.find(status);
  return Error{ErrorCode::kUnsupported, what,
               "XNNPACK: " + (name == kNames.end() ? "not initialized" : name->second)};
}

Net::Net(int threads)
    : pool_(threads > 1 ? pthreadpool_create(static_cast<std::size_t>(threads)) : nullptr,
            pthreadpool_destroy) {}

std::byte* Net::NewBuffer(std::size_t bytes) {
  return buffers_.emplace_back(bytes + XNN_EXTRA_BYTES).data();  // kernels read past the end
}

Data Net::New(const Value& value, Layout layout) {
  return {NewBuffer(CountOf(value) * WidthOf(value)), layout};
}

Data Net::NewReals(const Value& value, Layout layout) {
  return {NewBuffer(CountOf(value) * sizeof(float)), layout};
}

Result<Data> Net::Of(const Value& value) {
  if (const auto found = stored_.find(&value); found != stored_.end()) return found->second;
  if (!IsKnown(value) || !value.constant) {
    return Error{ErrorCode::kUnsupported, "value '" + value.name + "'",
                 "of type " + std::string(format::Name(value.type()))};
  }
  const Data data = New(value, Layout::kPlain);
  std::ranges::copy(value.tensor.bytes, data.bytes);
  return stored_[&value] = data;
}

Result<Data> Net::Of(const Value& value, Layout layout) {
  QTX_ASSIGN_OR_RETURN(const Data data, Of(value));
  if (data.layout == layout || LayoutsAgree(value)) return Data{data.bytes, layout};
  const auto key = std::pair(&value, layout);
  if (const auto found = converted_.find(key); found != converted_.end()) return found->second;
  const Data other = New(value, layout);
  // A channel shuffle of g groups of n channels is the transposition of a g x n matrix.
  const auto batch = static_cast<std::size_t>(value.dims()[0]);
  const auto channels = static_cast<std::size_t>(value.dims()[1]);
  const std::size_t all = CountOf(value) / batch;
  const std::size_t rows = layout == Layout::kChannelsLast ? channels : all / channels;
  const bool bytes = WidthOf(value) == 1;
  const auto create = bytes ? xnn_create_channel_shuffle_nc_x8 : xnn_create_channel_shuffle_nc_x32;
  const auto setup = bytes ? xnn_setup_channel_shuffle_nc_x8 : xnn_setup_channel_shuffle_nc_x32;
  const std::string what = "layout of '" + value.name + "'";
  xnn_operator_t op = nullptr;
  QTX_RETURN_IF_ERROR(Check(create(rows, all / rows, all, all, 0, &op), what));
  Operator owned = Own(op);
  QTX_RETURN_IF_ERROR(Check(setup(op, batch, data.bytes, other.bytes, pool()), what));
  Add(std::move(owned), value.is_input || at_outputs_);
  return converted_[key] = other;
}

Result<Data> Net::Reals(const Value& value, Layout layout) {
  if (value.is_float()) return Of(value, layout);
  const auto key = std::pair(&value, layout);
  if (const auto found = reals_.find(key); found != reals_.end()) return found->second;
  QTX_ASSIGN_OR_RETURN(const Data stored, Of(value, layout));
  const std::string what = "value '" + value.name + "'";
  if (!value.per_tensor()) return Error{ErrorCode::kUnsupported, what, "it has several scales"};
  const Data data = NewReals(value, stored.layout);
  const auto count = CountOf(value);
  if (value.type() == ElementType::kInt8Q) {
    QTX_RETURN_IF_ERROR(AddUnary(*this, what, count, stored, data, xnn_create_convert_nc_qs8_f32,
                                 xnn_setup_convert_nc_qs8_f32, 1, value.scale(),
                                 static_cast<std::int8_t>(value.offset())));
  } else {
    QTX_RETURN_IF_ERROR(AddUnary(*this, what, count, stored, data, xnn_create_convert_nc_qu8_f32,
                                 xnn_setup_convert_nc_qu8_f32, 1, value.scale(),
                                 static_cast<std::uint8_t>(value.offset())));
  }
  return reals_[key] = data;
}

Result<void> Net::SetReals(const Value& value, Data reals) {
  Set(value, reals);
  if (value.is_float()) return {};
  const std::string what = "value '" + value.name + "'";
  if (!value.is_byte() || !value.per_tensor()) {
    return Error{ErrorCode::kUnsupported, what, "reals become 8 bits with one scale only"};
  }
  const Data data = New(value, reals.layout);
  const auto count = CountOf(value);
  const auto range = value.range();
  Set(value, data);
  if (value.type() == ElementType::kInt8Q) {
    return AddUnary(*this, what, count, reals, data, xnn_create_convert_nc_f32_qs8,
                    xnn_setup_convert_nc_f32_qs8, 1, value.scale(),
                    static_cast<std::int8_t>(value.offset()), static_cast<std::int8_t>(range.min),
                    static_cast<std::int8_t>(range.max));
  }
  return AddUnary(*this, what, count, reals, data, xnn_create_convert_nc_f32_qu8,
                  xnn_setup_convert_nc_f32_qu8, 1, value.scale(),
                  static_cast<std::uint8_t>(value.offset()), static_cast<std::uint8_t>(range.min),
                  static_cast<std::uint8_t>(range.max));
}

Result<Data> Net::Output(const Value& value) {
  at_outputs_ = true;
  return Of(value, Layout::kPlain);
}

void Net::Add(Operator op, bool border) {
  auto run = [raw = operators_.emplace_back(std::move(op)).get(), pool = pool_.get()] {
    return xnn_run_operator(raw, pool);
  };
  steps_.emplace_back(std::move(run), border);
}

xnn_status Net::Run() const {
  for (const auto& [step, border] : steps_) {
    if (const xnn_status status = step(); status != xnn_status_success) return status;
  }
  return xnn_status_success;
}

xnn_status Net::RunInside() const {
  for (const auto& [step, border] : steps_) {
    if (border) continue;
    if (const xnn_status status = step(); status != xnn_status_success) return status;
  }
  return xnn_status_success;
}

}  // namespace qtx::backend::xnnpack
