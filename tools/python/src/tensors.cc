// Tensors and declared values. Elements of less than a byte are one to a byte in Python; all others
// are the stored bytes, which Python borrows: an array of a tensor's data keeps the tensor alive.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <tuple>

#include "binding.h"
#include "qtx/backend/protocol.h"

namespace qtx::python {
namespace {

using format::ElementType;
using format::Tensor;
using Array8 = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;

ElementType TypeOf(std::string_view name) {
  const auto type = format::ElementTypeFromName(name);
  if (type && format::BitWidth(*type) > 0) return *type;
  throw Failure({ErrorCode::kUnsupported, "type",
                 "found '" + std::string(name) + "', expected an element type with a bit width"});
}

// The code of a sub-byte element, as its byte in Python: integers sign-extended, a bit as -1 or +1.
std::uint8_t Widened(ElementType storage, unsigned code) {
  if (storage == ElementType::kBipolar1) return code == 0 ? 0xFF : 1;
  const int bits = format::BitWidth(storage);
  const bool is_negative = format::StorageRange(storage).min < 0 &&
                           format::IsIntegerStorage(storage) && (code >> (bits - 1)) != 0;
  return static_cast<std::uint8_t>(is_negative ? code | (0xFFU << bits) : code);
}

// The inverse; throws where the byte is none that Widened gives.
unsigned Narrowed(ElementType storage, std::uint8_t byte) {
  const int bits = format::BitWidth(storage);
  const unsigned code =
      storage == ElementType::kBipolar1 ? (byte == 1 ? 1U : 0U) : byte & ((1U << bits) - 1);
  if (Widened(storage, code) == byte) return code;
  const bool is_signed = format::StorageRange(storage).min < 0;
  throw Failure(
      {ErrorCode::kInvalid, "",
       "found " +
           std::to_string(is_signed ? static_cast<std::int8_t>(byte) : static_cast<int>(byte)) +
           ", no value of " + std::string(format::Name(storage))});
}

std::vector<std::uint8_t> Unpacked(const Tensor& tensor) {
  const ElementType storage = format::StorageOf(tensor.elem_type);
  const auto bits = static_cast<unsigned>(format::BitWidth(storage));
  std::vector<std::uint8_t> values(static_cast<std::size_t>(format::ElementCount(tensor)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = i * bits;
    const auto byte = static_cast<unsigned>(tensor.bytes[at / 8]);
    values[i] = Widened(storage, (byte >> (at % 8)) & ((1U << bits) - 1));
  }
  return values;
}

void Pack(std::span<const std::byte> values, Tensor& tensor) {
  const ElementType storage = format::StorageOf(tensor.elem_type);
  const auto bits = static_cast<unsigned>(format::BitWidth(storage));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = i * bits;
    const unsigned code = Narrowed(storage, static_cast<std::uint8_t>(values[i]));
    tensor.bytes[at / 8] |= static_cast<std::byte>(code << (at % 8));
  }
}

// The tensor of elements as Python has them.
Tensor Make(ElementType type, format::Dims dims, std::optional<format::Quantization> quantization,
            std::span<const std::byte> data) {
  Tensor tensor = Unwrap(format::MakeTensor(type, std::move(dims), std::move(quantization)));
  const bool is_packed = format::BitWidth(type) < 8;
  const auto expected =
      is_packed ? static_cast<std::size_t>(format::ElementCount(tensor)) : tensor.bytes.size();
  if (data.size() != expected) {
    throw Failure({ErrorCode::kInvalid, "",
                   "found " + std::to_string(data.size()) + " bytes, expected " +
                       std::to_string(expected) + " for " + std::string(format::Name(type)) +
                       format::ToString(tensor.dims)});
  }
  if (is_packed) {
    Pack(data, tensor);
  } else if (!data.empty()) {
    std::memcpy(tensor.bytes.data(), data.data(), data.size());
  }
  if (auto checked = backend::CheckTensor(tensor); !checked.has_value()) {
    Error error = std::move(checked).error();
    error.code = ErrorCode::kInvalid;
    throw Failure(std::move(error));
  }
  return tensor;
}

// Scale, offset, axis, block_shape.
using Parameters = std::tuple<std::vector<float>, std::vector<std::int32_t>,
                              std::vector<std::int64_t>, std::vector<std::int64_t>>;

Tensor MakeStored(std::string_view type, format::Dims dims, nb::handle data,
                  Parameters parameters) {
  const BorrowedBytes borrowed(data);
  return WithoutGil([&] {
    const ElementType elem_type = TypeOf(type);
    auto& [scale, offset, axis, block_shape] = parameters;
    std::optional<format::Quantization> quantization;
    if (format::IsQuantized(elem_type) || !scale.empty()) {
      quantization.emplace();
      quantization->scale = std::move(scale);
      quantization->offset = std::move(offset);
      quantization->axis = std::move(axis);
      quantization->block_shape = std::move(block_shape);
    }
    return Make(elem_type, std::move(dims), std::move(quantization), borrowed.bytes());
  });
}

Tensor MakeDeclared(const Value& value, format::Dims dims, nb::handle data) {
  const BorrowedBytes borrowed(data);
  return WithoutGil([&] {
    return Make(value.type.elem_type, std::move(dims), value.type.quantization, borrowed.bytes());
  });
}

// A vector that Python owns.
template <typename T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> Owned(std::vector<T> values) {
  auto holder = std::make_unique<std::vector<T>>(std::move(values));
  if (holder->empty()) holder->reserve(1);  // an array of nothing has an address, too
  T* const data = holder->data();
  const std::size_t size = holder->size();
  const nb::capsule owner(holder.release(), [](void* pointer) noexcept {
    delete static_cast<std::vector<T>*>(pointer);
  });
  return {data, {size}, owner};
}

// The stored bytes: borrowed, or one byte an element of those that have less.
Array8 Data(const nb::handle self) {
  auto& tensor = nb::cast<Tensor&>(self);
  if (format::BitWidth(tensor.elem_type) < 8) {
    return Owned(WithoutGil([&] { return Unpacked(tensor); }));
  }
  if (tensor.bytes.empty()) return Owned(std::vector<std::uint8_t>());
  return {reinterpret_cast<std::uint8_t*>(tensor.bytes.data()), {tensor.bytes.size()}, self};
}

std::vector<double> Reals(const Tensor& tensor) {
  std::vector<double> reals;
  const ElementType storage = format::StorageOf(tensor.elem_type);
  if (storage == ElementType::kInt64 || storage == ElementType::kUint64) {
    throw Failure({ErrorCode::kUnsupported, "", "64-bit integers are not exact as float64"});
  }
  if (storage == ElementType::kComplex64 || storage == ElementType::kComplex128) {
    throw Failure({ErrorCode::kUnsupported, "", "complex numbers are no reals"});
  }
  reals = format::StoredValues(tensor);
  if (!tensor.quantization) return reals;
  const format::Quantization& q = *tensor.quantization;
  const format::ParameterMap parameter(q, tensor.dims);
  for (std::size_t i = 0; i < reals.size(); ++i) {
    const std::int64_t at = parameter(static_cast<std::int64_t>(i));
    const double steps = q.code_book.empty()
                             ? reals[i] - format::OffsetAt(q, at)
                             : double{q.code_book.at(static_cast<std::size_t>(reals[i]))};
    reals[i] = double{format::ScaleAt(q, at)} * steps;
    if (!q.base_levels.empty()) {
      const std::vector<float>& base = q.base_levels[0].value;
      reals[i] += base.size() == 1 ? base[0] : base[static_cast<std::size_t>(at)];
    }
  }
  return reals;
}

nb::object ShapeOf(const std::optional<format::Shape>& shape) {
  if (!shape) return nb::none();
  nb::list dims;
  for (const format::Dimension& dim : *shape) {
    if (dim.value) {
      dims.append(*dim.value);
    } else {
      dims.append(dim.symbol.empty() ? nb::object(nb::none()) : nb::object(Text(dim.symbol)));
    }
  }
  return nb::tuple(dims);
}

// The inclusive range of stored integers; None where the type is not quantized or stores no
// integers.
nb::object RangeOf(const format::TensorType& type) {
  if (!type.quantization || !format::IsQuantized(type.elem_type) ||
      !format::IsIntegerStorage(format::StorageOf(type.elem_type))) {
    return nb::none();
  }
  const format::IntegerRange range = format::StoredRange(type.elem_type, *type.quantization);
  return nb::make_tuple(range.min, range.max);
}

// Parameters of `get(object)`, a quantization or nothing.
template <typename Class, typename Get>
void BindParameters(nb::class_<Class>& bound, Get get) {
  const auto empty_or = [get](const Class& object, auto member) {
    const std::optional<format::Quantization>& q = get(object);
    return q ? (*q).*member : std::decay_t<decltype((*q).*member)>();
  };
  bound
      .def_prop_ro(
          "scale",
          [=](const Class& object) { return empty_or(object, &format::Quantization::scale); })
      .def_prop_ro(
          "offset",
          [=](const Class& object) { return empty_or(object, &format::Quantization::offset); })
      .def_prop_ro(
          "axis",
          [=](const Class& object) { return empty_or(object, &format::Quantization::axis); })
      .def_prop_ro("block_shape", [=](const Class& object) {
        return empty_or(object, &format::Quantization::block_shape);
      });
}

}  // namespace

void BindTensors(nb::module_& module) {
  nb::class_<Tensor> tensor(module, "Tensor");
  tensor
      .def_static("make", MakeStored, nb::arg("type"), nb::arg("dims"), nb::arg("data"),
                  nb::arg("parameters"))
      .def_prop_ro("type", [](const Tensor& self) { return Text(format::Name(self.elem_type)); })
      .def_prop_ro("dims", [](const Tensor& self) { return self.dims; })
      .def_prop_ro("is_quantized",
                   [](const Tensor& self) { return format::IsQuantized(self.elem_type); })
      .def("data", Data)
      .def("reals",
           [](const Tensor& self) { return Owned(WithoutGil([&] { return Reals(self); })); });
  BindParameters(
      tensor, [](const Tensor& self) -> const auto& { return self.quantization; });

  nb::class_<Value> value(module, "Value");
  value.def_prop_ro("name", [](const Value& self) { return Text(self.name); })
      .def_prop_ro("type",
                   [](const Value& self) { return Text(format::Name(self.type.elem_type)); })
      .def_prop_ro("shape", [](const Value& self) { return ShapeOf(self.type.shape); })
      .def_prop_ro("text", [](const Value& self) { return Text(format::ToString(self.type)); })
      .def_prop_ro("range", [](const Value& self) { return RangeOf(self.type); })
      .def("tensor", MakeDeclared, nb::arg("dims"), nb::arg("data"));
  BindParameters(
      value, [](const Value& self) -> const auto& { return self.type.quantization; });

  module.def("storage_of", [](std::string_view type) {
    return Text(format::Name(format::StorageOf(TypeOf(type))));
  });
}

}  // namespace qtx::python
