#include "onnx/evaluate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#include "layout.h"
#include "qtx/format/attributes.h"
#include "qtx/format/limits.h"

namespace qtx::convert {
namespace {

using format::Dims;
using format::ElementType;
using format::Node;
using format::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Inputs = std::span<const Tensor* const>;

Tensor Vector(ElementType type, const void* data, std::int64_t count, std::size_t bytes) {
  Tensor tensor{type, {count}, std::nullopt, std::vector<std::byte>(bytes)};
  if (bytes > 0) std::memcpy(tensor.bytes.data(), data, bytes);
  return tensor;
}

Tensor Int64s(std::span<const std::int64_t> values) {
  return Vector(ElementType::kInt64, values.data(), std::ssize(values), values.size_bytes());
}

// False where the tensor would have more bytes, or cannot be.
bool Fits(ElementType type, const Dims& dims, std::int64_t most_bytes) {
  const auto count = format::ElementCount(dims);
  if (!count.has_value()) return false;
  const auto bytes = format::PackedBytes(type, *count);
  return bytes.has_value() && *bytes <= most_bytes;
}

// Source: ONNX, operator Constant.
MaybeTensor ConstantOf(const Node& node) {
  if (const auto* value = node.Find("value"); value != nullptr && value->t) {
    auto tensor = format::Decode(*value->t);
    return tensor.has_value() ? MaybeTensor(*std::move(tensor)) : std::nullopt;
  }
  if (node.attributes.size() != 1) return std::nullopt;
  const format::Attribute& value = node.attributes[0];
  if (value.name == "value_ints") return Int64s(value.ints);
  if (value.name == "value_floats") {
    return Vector(ElementType::kFloat, value.floats.data(), std::ssize(value.floats),
                  value.floats.size() * sizeof(float));
  }
  MaybeTensor scalar;
  if (value.name == "value_int") scalar = Int64s(std::span(&value.i, 1));
  if (value.name == "value_float")
    scalar = Vector(ElementType::kFloat, &value.f, 1, sizeof value.f);
  if (scalar) scalar->dims.clear();
  return scalar;
}

// The integers of an input that states dimensions or axes.
std::optional<Dims> IntegersOf(Inputs inputs, std::size_t i) {
  if (i >= inputs.size() || inputs[i] == nullptr) return std::nullopt;
  const Tensor& tensor = *inputs[i];
  constexpr std::size_t kMost = 64;  // more than the dimensions of any tensor
  if (tensor.elem_type != ElementType::kInt64 || tensor.dims.size() > 1 ||
      tensor.bytes.size() > kMost * sizeof(std::int64_t))
    return std::nullopt;
  return format::UnpackIntegers(tensor);
}

// Axes of an input since opset 13, of an attribute before.
std::optional<Dims> AxesOf(const Node& node, Inputs inputs) {
  if (inputs.size() > 1) return IntegersOf(inputs, 1);
  return node.Find("axes") == nullptr ? std::nullopt : std::optional(node.IntsOr("axes", {}));
}

// Source: ONNX, operator ConstantOfShape.
MaybeTensor Repeated(const Node& node, Inputs inputs, std::int64_t most_bytes) {
  const auto dims = IntegersOf(inputs, 0);
  if (!dims) return std::nullopt;
  Tensor one{ElementType::kFloat, {1}, std::nullopt, std::vector<std::byte>(sizeof(float))};
  if (const auto* value = node.Find("value"); value != nullptr && value->t) {
    if (value->t->dims.size() > 1) return std::nullopt;
    auto given = format::Decode(*value->t);
    if (!given.has_value() || format::ElementCount(*given) != 1) return std::nullopt;
    one = *std::move(given);
  }
  const auto width = static_cast<std::size_t>(format::BitWidth(one.elem_type));
  if (width % 8 != 0 || !Fits(one.elem_type, *dims, most_bytes)) return std::nullopt;
  auto result = format::MakeTensor(one.elem_type, *dims);
  if (!result.has_value()) return std::nullopt;
  for (std::size_t at = 0; at < result->bytes.size(); at += width / 8)
    std::memcpy(result->bytes.data() + at, one.bytes.data(), width / 8);
  return *std::move(result);
}

// Source: ONNX, operator Shape: start and end count from the back where negative, and are clamped.
Tensor ShapeOf(const Node& node, const Tensor& x) {
  const auto rank = std::ssize(x.dims);
  const auto place = [&](std::string_view name, std::int64_t fallback) {
    const std::int64_t at = node.IntOr(name, fallback);
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = place("start", 0), end = place("end", rank);
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(end - start, 0));
  return Int64s(std::span(x.dims).subspan(static_cast<std::size_t>(start), count));
}

// Source: ONNX, operator Reshape: 0 copies a dimension unless allowzero, one -1 takes the rest.
std::optional<Dims> Reshaped(const Node& node, const Tensor& x, Inputs inputs) {
  auto dims = IntegersOf(inputs, 1);
  if (!dims) return std::nullopt;
  std::int64_t known = 1, open = -1;
  for (std::size_t i = 0; i < dims->size(); ++i) {
    std::int64_t& dim = (*dims)[i];
    if (dim == 0 && node.IntOr("allowzero", 0) == 0) {
      if (i >= x.dims.size()) return std::nullopt;
      dim = x.dims[i];
    }
    if (dim == -1) {
      if (open >= 0) return std::nullopt;
      open = static_cast<std::int64_t>(i);
    } else if (dim < 0 || __builtin_mul_overflow(known, dim, &known)) {
      return std::nullopt;
    }
  }
  const std::int64_t count = format::ElementCount(x);
  if (open >= 0) {
    if (known == 0 || count % known != 0) return std::nullopt;
    (*dims)[static_cast<std::size_t>(open)] = count / known;
    known = count;
  }
  return known == count ? dims : std::nullopt;
}

// Source: ONNX, operator Flatten.
std::optional<Dims> Flattened(const Node& node, const Tensor& x) {
  const auto rank = std::ssize(x.dims);
  std::int64_t axis = node.IntOr("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return std::nullopt;
  Dims dims = {1, 1};
  for (std::int64_t i = 0; i < rank; ++i)
    dims[i < axis ? 0 : 1] *= x.dims[static_cast<std::size_t>(i)];
  return dims;
}

// `axes` as a flag for each of `rank` dimensions.
std::optional<std::vector<bool>> Marked(const Dims& axes, std::int64_t rank) {
  std::vector<bool> marked(static_cast<std::size_t>(rank));
  for (std::int64_t axis : axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || marked[static_cast<std::size_t>(axis)]) return std::nullopt;
    marked[static_cast<std::size_t>(axis)] = true;
  }
  return marked;
}

// Source: ONNX, operator Squeeze; without axes it removes each dimension of 1.
std::optional<Dims> Squeezed(const Node& node, const Tensor& x, Inputs inputs) {
  const auto axes = AxesOf(node, inputs);
  if (!axes && (inputs.size() > 1 && inputs[1] != nullptr)) return std::nullopt;
  const auto marked = Marked(axes.value_or(Dims()), std::ssize(x.dims));
  if (!marked) return std::nullopt;
  Dims dims;
  for (std::size_t i = 0; i < x.dims.size(); ++i) {
    const bool gone = axes ? (*marked)[i] : x.dims[i] == 1;
    if (gone && x.dims[i] != 1) return std::nullopt;
    if (!gone) dims.push_back(x.dims[i]);
  }
  return dims;
}

// Source: ONNX, operator Unsqueeze: the axes are those of the result.
std::optional<Dims> Unsqueezed(const Node& node, const Tensor& x, Inputs inputs) {
  const auto axes = AxesOf(node, inputs);
  if (!axes) return std::nullopt;
  const auto marked = Marked(*axes, std::ssize(x.dims) + std::ssize(*axes));
  if (!marked) return std::nullopt;
  Dims dims;
  auto next = x.dims.begin();
  for (const bool inserted : *marked) dims.push_back(inserted ? 1 : *next++);
  return dims;
}

MaybeTensor InShape(const Tensor& x, std::optional<Dims> dims) {
  if (!dims || dims->size() > static_cast<std::size_t>(format::kMaxRank)) return std::nullopt;
  Tensor result = x;
  result.dims = *std::move(dims);
  return result;
}

// Source: ONNX, operator Transpose.
MaybeTensor Transposed(const Node& node, const Tensor& x) {
  Permutation perm = node.IntsOr("perm", {});
  for (auto i = std::ssize(x.dims); node.Find("perm") == nullptr && i-- > 0;) perm.push_back(i);
  const auto marked = Marked(perm, std::ssize(x.dims));
  const bool whole = perm.size() == x.dims.size() && marked &&
                     std::ranges::none_of(perm, [](std::int64_t axis) { return axis < 0; });
  const bool packed = format::BitWidth(x.elem_type) % 8 != 0;
  if (!whole || (packed && !format::IsIntegerStorage(x.elem_type))) return std::nullopt;
  return Permute(x, perm);
}

bool IsReal(ElementType type) {
  return format::IsSmallFloat(type) || type == ElementType::kFloat ||
         type == ElementType::kDouble || type == ElementType::kFloat16 ||
         type == ElementType::kBfloat16;
}

constexpr double kPast = 9007199254740992.0;  // 2^53: each integer below it is a double

// Integers that a double may not hold.
bool IsWide(ElementType type) {
  return type == ElementType::kInt64 || type == ElementType::kUint64;
}

// Stores `values` in `to`; false where one is rounded.
bool StoreExactly(std::span<const double> values, Tensor& to) {
  std::vector<std::int64_t> integers;
  const format::IntegerRange range = format::StorageRange(to.elem_type);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    double stored = 0;
    if (to.elem_type == ElementType::kFloat) {
      to.As<float>()[i] = static_cast<float>(value);
      stored = static_cast<double>(to.As<float>()[i]);
    } else if (to.elem_type == ElementType::kDouble) {
      stored = to.As<double>()[i] = value;
    } else if (format::IsSmallFloat(to.elem_type)) {
      const std::uint32_t code = format::EncodeSmallFloat(to.elem_type, value);
      to.bytes[i] = static_cast<std::byte>(code);
      stored = format::DecodeSmallFloat(to.elem_type, code);
    } else {
      if (!(std::abs(value) < kPast) || value != std::trunc(value)) return false;
      integers.push_back(static_cast<std::int64_t>(value));
      if (integers.back() < range.min || integers.back() > range.max) return false;
      stored = value;
    }
    if (stored != value) return false;
  }
  if (!IsReal(to.elem_type)) format::PackIntegers(integers, to);
  return true;
}

// A Cast that keeps every value. Source: ONNX, operator Cast, of which the rounding from one type
// of reals to another, and what becomes of integers out of range, is left to the runtime.
MaybeTensor Casted(const Node& node, const Tensor& x, std::int64_t most_bytes) {
  const auto to = format::ElementTypeFromCode(format::Attributes(node).Int("to"));
  if (!to || !Fits(*to, x.dims, most_bytes)) return std::nullopt;
  if (x.elem_type == *to) return x;
  const auto known = [](ElementType type) {
    return !format::IsQuantized(type) && !IsWide(type) && format::BitWidth(type) % 8 == 0 &&
           (IsReal(type) || format::IsIntegerStorage(type));
  };
  const bool from_int64 = x.elem_type == ElementType::kInt64;
  const bool to_int64 = *to == ElementType::kInt64;
  if (!(known(x.elem_type) || from_int64) || !(known(*to) || to_int64)) return std::nullopt;
  if (*to == ElementType::kFloat16 || *to == ElementType::kBfloat16) return std::nullopt;
  std::vector<double> values;
  if (from_int64) {
    for (const std::int64_t value : format::UnpackIntegers(x)) {
      values.push_back(static_cast<double>(value));
      if (std::abs(values.back()) >= kPast) return std::nullopt;
    }
  } else {
    values = format::StoredValues(x);
  }
  auto result = format::MakeTensor(*to, x.dims);
  if (!result.has_value() || !StoreExactly(values, *result)) return std::nullopt;
  return *std::move(result);
}

template <typename T>
bool ClipValues(std::span<T> values, std::span<const T> low, std::span<const T> high) {
  for (const auto& bound : {low, high}) {
    if (!bound.empty() && bound[0] != bound[0]) return false;  // NaN
  }
  if (!low.empty() && !high.empty() && low[0] > high[0]) return false;
  for (T& value : values) {
    if (!low.empty() && value < low[0]) value = low[0];
    if (!high.empty() && value > high[0]) value = high[0];
  }
  return true;
}

// Source: ONNX, operator Clip of opset 11 and later: the bounds are inputs.
MaybeTensor Clipped(const Node& node, Inputs inputs) {
  if (!node.attributes.empty()) return std::nullopt;
  Tensor result = *inputs[0];
  std::array<const Tensor*, 2> bounds = {};
  for (std::size_t i = 1; i < std::min<std::size_t>(inputs.size(), 3); ++i) {
    if (inputs[i] == nullptr) continue;
    if (inputs[i]->elem_type != result.elem_type || format::ElementCount(*inputs[i]) != 1)
      return std::nullopt;
    bounds[i - 1] = inputs[i];
  }
  bool done = false;
  if (result.elem_type == ElementType::kFloat) {
    const auto of = [](const Tensor* bound) {
      return bound == nullptr ? std::span<const float>() : bound->As<float>();
    };
    done = ClipValues<float>(result.As<float>(), of(bounds[0]), of(bounds[1]));
  } else if (format::IsIntegerStorage(result.elem_type) &&
             result.elem_type != ElementType::kUint64) {
    const auto of = [](const Tensor* bound) {
      return bound == nullptr ? std::vector<std::int64_t>() : format::UnpackIntegers(*bound);
    };
    std::vector<std::int64_t> values = format::UnpackIntegers(result);
    done = ClipValues<std::int64_t>(values, of(bounds[0]), of(bounds[1]));
    if (done) format::PackIntegers(values, result);
  }
  return done ? MaybeTensor(std::move(result)) : std::nullopt;
}

constexpr std::array<std::string_view, 11> kOperators = {
    "Cast",    "Clip",  "Constant", "ConstantOfShape", "Flatten",  "Identity",
    "Reshape", "Shape", "Squeeze",  "Transpose",       "Unsqueeze"};

}  // namespace

bool CanEvaluate(const Node& node) {
  return format::IsOnnxDomain(node.domain) &&
         std::ranges::binary_search(kOperators, std::string_view(node.op_type));
}

MaybeTensor Evaluate(const Node& node, Inputs inputs, std::int64_t most_bytes) {
  const std::string_view op = node.op_type;
  if (op == "Constant") return ConstantOf(node);
  if (op == "ConstantOfShape") return Repeated(node, inputs, most_bytes);
  if (inputs.empty() || inputs[0] == nullptr) return std::nullopt;
  const Tensor& x = *inputs[0];
  if (op == "Shape") return ShapeOf(node, x);
  if (op == "Cast") return Casted(node, x, most_bytes);
  if (std::ssize(x.bytes) > most_bytes) return std::nullopt;
  if (op == "Reshape") return InShape(x, Reshaped(node, x, inputs));
  if (op == "Flatten") return InShape(x, Flattened(node, x));
  if (op == "Squeeze") return InShape(x, Squeezed(node, x, inputs));
  if (op == "Unsqueeze") return InShape(x, Unsqueezed(node, x, inputs));
  if (op == "Transpose") return Transposed(node, x);
  if (op == "Clip") return Clipped(node, inputs);
  return x;
}

}  // namespace qtx::convert
