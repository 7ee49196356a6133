#include "propagation.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/format/limits.h"
#include "rules.h"

namespace qtx::format::catalogue {
namespace {

using Elements = std::vector<std::int64_t>;

// The elements of a tensor, row-major, beside their shape.
struct KnownTensor {
  Dims dims;
  Elements elements;
};

constexpr TypeSet kPropagated = {ElementType::kInt64, ElementType::kInt32, ElementType::kBool};

std::optional<KnownTensor> ElementsOf(const ValueFacts& value) {
  const Tensor* tensor = value.constant;
  if (tensor == nullptr || !kPropagated.Has(tensor->elem_type)) return std::nullopt;
  if (!value.dims || Differ(*value.dims, tensor->dims)) return std::nullopt;
  if (ElementCount(*tensor) > kMostPropagated) return std::nullopt;
  return KnownTensor{tensor->dims, UnpackIntegers(*tensor)};
}

// The place in a tensor of shape `from` of each element of `to`; nullopt where it does not
// broadcast to that.  REQUIRES: `to` has at most kMostPropagated elements, and one at least.
std::optional<std::vector<std::size_t>> BroadcastPlaces(const Dims& from, const Dims& to) {
  if (from.size() > to.size()) return std::nullopt;
  std::vector<std::size_t> strides(to.size(), 0);
  std::size_t stride = 1;
  for (std::size_t i = 0; i < from.size(); ++i) {  // counts axes from the last
    const std::int64_t size = from[from.size() - 1 - i];
    if (size != 1 && size != to[to.size() - 1 - i]) return std::nullopt;
    if (size != 1) strides[to.size() - 1 - i] = stride;
    stride *= static_cast<std::size_t>(size);
  }
  std::vector<std::size_t> places = {0};
  for (std::size_t axis = 0; axis < to.size(); ++axis) {
    std::vector<std::size_t> next;
    for (const std::size_t place : places) {
      for (std::int64_t k = 0; k < to[axis]; ++k) {
        next.push_back(place + static_cast<std::size_t>(k) * strides[axis]);
      }
    }
    places = std::move(next);
  }
  return places;
}

// The elements, each as often as it is in `dims`.
std::optional<Elements> Spread(const ValueFacts& value, const Dims& dims) {
  const auto x = ElementsOf(value);
  if (!x) return std::nullopt;
  const auto places = BroadcastPlaces(x->dims, dims);
  if (!places) return std::nullopt;
  Elements result;
  for (const std::size_t place : *places) result.push_back(x->elements[place]);
  return result;
}

// Of elements ------------------------------------------------------------------------------------

// nullopt where the result is past int64, or is not defined.
using TwoOperands = std::optional<std::int64_t> (*)(std::int64_t, std::int64_t);

std::optional<std::int64_t> Plus(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
std::optional<std::int64_t> Minus(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
std::optional<std::int64_t> Times(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
// Toward zero: div.S2.
std::optional<std::int64_t> Quotient(std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
  return a / b;
}
// Of signs that are equal: where they are not, `fmod` decides.
std::optional<std::int64_t> Remainder(std::int64_t a, std::int64_t b) {
  if (b <= 0 || a < 0) return std::nullopt;
  return a % b;
}

struct NamedOperation {
  std::string_view op_type;
  TwoOperands operation;
};

constexpr NamedOperation kOperations[] = {
    {"Add", Plus},
    {"Sub", Minus},
    {"Mul", Times},
    {"Div", Quotient},
    {"Mod", Remainder},
    {"Max", [](std::int64_t a, std::int64_t b) { return std::optional(std::max(a, b)); }},
    {"Min", [](std::int64_t a, std::int64_t b) { return std::optional(std::min(a, b)); }},
    {"And", [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a & b); }},
    {"Or", [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a | b); }},
    {"Equal", [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a == b); }},
    {"Less", [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a < b); }},
    {"Greater", [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a > b); }},
    {"LessOrEqual",
     [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a <= b); }},
    {"GreaterOrEqual",
     [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a >= b); }},
};

// Of all inputs, from the first on.
std::optional<Elements> Combined(const Application& a, const Dims& dims, TwoOperands operation) {
  std::optional<Elements> result;
  for (const ValueFacts& input : a.inputs) {
    auto elements = Spread(input, dims);
    if (!elements) return std::nullopt;
    for (std::size_t i = 0; result && i < elements->size(); ++i) {
      const auto combined = operation((*result)[i], (*elements)[i]);
      if (!combined) return std::nullopt;
      (*elements)[i] = *combined;
    }
    result = std::move(elements);
  }
  return result;
}

std::optional<Elements> Chosen(const Application& a, const Dims& dims) {
  const auto condition = Spread(a.Input(0), dims), y = Spread(a.Input(2), dims);
  auto result = Spread(a.Input(1), dims);
  if (!condition || !result || !y) return std::nullopt;
  for (std::size_t i = 0; i < result->size(); ++i) {
    if ((*condition)[i] == 0) (*result)[i] = (*y)[i];
  }
  return result;
}

std::optional<Elements> OfOne(const Application& a, std::string_view op_type) {
  auto x = ElementsOf(a.Input(0));
  if (!x) return std::nullopt;
  for (std::int64_t& element : x->elements) {
    if (op_type == "Not") {
      element = element == 0 ? 1 : 0;
    } else if (op_type == "Neg" || (op_type == "Abs" && element < 0)) {
      if (element == INT64_MIN) return std::nullopt;
      element = -element;
    } else if (op_type == "Cast" && a.Output(0).type == ElementType::kBool) {
      element = element != 0 ? 1 : 0;
    }
  }
  return std::move(x->elements);
}

// Of places --------------------------------------------------------------------------------------

// [blocks, length along the axis, elements of one place].
struct AxisBlocks {
  std::size_t blocks = 1, length = 1, inner = 1;
};

AxisBlocks BlocksOf(const Dims& dims, std::size_t axis) {
  AxisBlocks blocks;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    (i < axis    ? blocks.blocks
     : i == axis ? blocks.length
                 : blocks.inner) *= static_cast<std::size_t>(dims[i]);
  }
  return blocks;
}

// The elements at these places of an axis, in this order.
KnownTensor Picked(const KnownTensor& x, std::size_t axis, const std::vector<std::size_t>& places) {
  const AxisBlocks from = BlocksOf(x.dims, axis);
  KnownTensor result{x.dims, {}};
  result.dims[axis] = static_cast<std::int64_t>(places.size());
  for (std::size_t block = 0; block < from.blocks; ++block) {
    for (const std::size_t place : places) {
      const auto first = static_cast<std::ptrdiff_t>((block * from.length + place) * from.inner);
      const auto at = x.elements.begin() + first;
      result.elements.insert(result.elements.end(), at,
                             at + static_cast<std::ptrdiff_t>(from.inner));
    }
  }
  return result;
}

std::optional<Elements> Gathered(const Application& a) {
  const auto x = ElementsOf(a.Input(0)), indices = ElementsOf(a.Input(1));
  if (!x || !indices || x->dims.empty()) return std::nullopt;
  const std::size_t axis = AxisOf(a.Int("axis"), x->dims.size());
  std::vector<std::size_t> places;
  for (const std::int64_t index : indices->elements) {
    const std::int64_t place = index < 0 ? index + x->dims[axis] : index;
    if (place < 0 || place >= x->dims[axis]) return std::nullopt;
    places.push_back(static_cast<std::size_t>(place));
  }
  const AxisBlocks from = BlocksOf(x->dims, axis);
  if (from.blocks * from.inner * places.size() > kMostPropagated) return std::nullopt;
  return Picked(*x, axis, places).elements;
}

// starts, ends, axes, steps: slice.S1.
std::optional<Elements> Sliced(const Application& a) {
  auto x = ElementsOf(a.Input(0));
  const auto starts = ElementsOf(a.Input(1)), ends = ElementsOf(a.Input(2));
  const auto axes = ElementsOf(a.Input(3)), steps = ElementsOf(a.Input(4));
  if (!x || !starts || !ends || (a.Input(3).given && !axes) || (a.Input(4).given && !steps)) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < starts->elements.size(); ++i) {
    const std::size_t axis = axes ? AxisOf(axes->elements[i], x->dims.size()) : i;
    const std::int64_t size = x->dims[axis], step = steps ? steps->elements[i] : 1;
    if (step == 0) return std::nullopt;
    const bool back = step < 0;
    const auto clamped = [&](std::int64_t place) {
      if (place < 0) place += size;
      return back ? std::clamp<std::int64_t>(place, -1, size - 1)
                  : std::clamp<std::int64_t>(place, 0, size);
    };
    const std::int64_t end = clamped(ends->elements[i]);
    std::vector<std::size_t> places;
    // A step past the axis takes one element at most, and adding it could overflow.
    for (std::int64_t at = clamped(starts->elements[i]); back ? at > end : at < end; at += step) {
      if (at >= 0 && at < size) places.push_back(static_cast<std::size_t>(at));
      if (step > size || step < -size) break;
    }
    *x = Picked(*x, axis, places);
  }
  return std::move(x->elements);
}

std::optional<Elements> Transposed(const Application& a) {
  const auto x = ElementsOf(a.Input(0));
  if (!x) return std::nullopt;
  const std::size_t rank = x->dims.size();
  Dims perm = a.node.IntsOr("perm", {});
  for (std::size_t axis = rank; a.Find("perm") == nullptr && axis-- > 0;)
    perm.push_back(static_cast<std::int64_t>(axis));
  if (perm.size() != rank) return std::nullopt;
  Dims steps(rank, 1);  // in x
  for (std::size_t axis = rank; axis-- > 1;) steps[axis - 1] = steps[axis] * x->dims[axis];
  Elements result;
  Dims position(rank, 0);  // in y
  std::int64_t from = 0;
  while (result.size() < x->elements.size()) {
    result.push_back(x->elements[static_cast<std::size_t>(from)]);
    for (std::size_t axis = rank; axis-- > 0;) {
      const auto of_x = static_cast<std::size_t>(perm[axis]);
      from += steps[of_x];
      if (++position[axis] < x->dims[of_x]) break;
      from -= steps[of_x] * x->dims[of_x];
      position[axis] = 0;
    }
  }
  return result;
}

std::optional<Elements> Joined(const Application& a, const Dims& dims) {
  std::vector<KnownTensor> parts;
  for (const ValueFacts& input : a.inputs) {
    auto part = ElementsOf(input);
    if (!part || part->dims.empty()) return std::nullopt;
    if (!part->elements.empty()) parts.push_back(*std::move(part));
    if (parts.size() > kMostPropagated) return std::nullopt;
  }
  const std::size_t axis = AxisOf(a.Int("axis"), dims.size());
  Elements result;
  for (std::size_t block = 0; block < BlocksOf(dims, axis).blocks; ++block) {
    for (const KnownTensor& part : parts) {
      const AxisBlocks of = BlocksOf(part.dims, axis);
      const auto count = static_cast<std::ptrdiff_t>(of.length * of.inner);
      const auto first = part.elements.begin() + static_cast<std::ptrdiff_t>(block) * count;
      result.insert(result.end(), first, first + count);
    }
  }
  return result;
}

// Of sizes ---------------------------------------------------------------------------------------

std::optional<Elements> SizesOf(const Application& a, std::size_t count) {
  const Dims* dims = DimsOf(a.Input(0));
  if (dims == nullptr) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(dims->size());
  std::int64_t first = a.Int("start");
  if (first < 0) first += rank;
  first = std::clamp<std::int64_t>(first, 0, rank);
  if (static_cast<std::size_t>(rank - first) < count) return std::nullopt;
  const auto at = dims->begin() + static_cast<std::ptrdiff_t>(first);
  Elements result(at, at + static_cast<std::ptrdiff_t>(count));
  return AllKnown(result) ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<Elements> SizeOf(const Application& a) {
  const Dims* dims = DimsOf(a.Input(0));
  const std::int64_t count = dims == nullptr ? kUnknownSize : CountOf(*dims);
  return Known(count) ? std::optional(Elements{count}) : std::nullopt;
}

std::optional<Elements> Ranged(const Application& a, std::size_t count) {
  const auto start = ElementsOf(a.Input(0)), delta = ElementsOf(a.Input(2));
  if (!start || !delta || start->elements.size() != 1 || delta->elements.size() != 1) {
    return std::nullopt;
  }
  Elements result;
  std::optional<std::int64_t> next = start->elements[0];
  while (result.size() < count) {
    if (!next) return std::nullopt;
    result.push_back(*next);
    next = Plus(*next, delta->elements[0]);
  }
  return result;
}

std::optional<Elements> Filled(const Application& a, std::size_t count, const std::string& folder) {
  const Attribute* value = a.Find("value");
  if (value == nullptr || !value->t) return std::nullopt;
  const auto elements = ElementCount(value->t->dims);
  if (!elements.has_value() || *elements != 1) return std::nullopt;
  const auto tensor = Decode(*value->t, folder);
  if (!tensor.has_value() || !kPropagated.Has(tensor->elem_type)) {
    return std::nullopt;
  }
  return Elements(count, UnpackIntegers(*tensor).front());
}

std::optional<Elements> ElementsFor(const Application& a, const Dims& dims, std::size_t count,
                                    const std::string& folder) {
  const std::string_view op = a.node.op_type;
  for (const NamedOperation& named : kOperations) {
    if (named.op_type == op) return Combined(a, dims, named.operation);
  }
  for (const std::string_view one :
       {"Abs", "Cast", "Flatten", "Identity", "Neg", "Not", "Reshape", "Squeeze", "Unsqueeze"}) {
    if (one == op) return OfOne(a, op);
  }
  if (op == "Where") return Chosen(a, dims);
  if (op == "Gather") return Gathered(a);
  if (op == "Slice" && a.opset >= 10) return Sliced(a);
  if (op == "Transpose") return Transposed(a);
  if (op == "Concat") return Joined(a, dims);
  if (op == "Expand") return Spread(a.Input(0), dims);
  if (op == "Shape") return SizesOf(a, count);
  if (op == "Size") return SizeOf(a);
  if (op == "Range") return Ranged(a, count);
  if (op == "ConstantOfShape") return Filled(a, count, folder);
  return std::nullopt;
}

}  // namespace

std::optional<Tensor> PropagateElements(const Application& a, const std::string& folder) {
  const ValueFacts& y = a.Output(0);
  if (!y.given || !kPropagated.Has(y.type) || !y.dims || !AllKnown(*y.dims)) return std::nullopt;
  const std::int64_t count = CountOf(*y.dims);
  if (!Known(count) || count > kMostPropagated || y.dims->size() > kMaxRank) return std::nullopt;
  auto elements = std::optional<Elements>(std::in_place);
  if (count > 0) elements = ElementsFor(a, *y.dims, static_cast<std::size_t>(count), folder);
  if (!elements || static_cast<std::int64_t>(elements->size()) != count) return std::nullopt;
  const auto [least, most] = StorageRange(y.type);
  for (const std::int64_t element : *elements) {
    if (element < least || element > most) return std::nullopt;
  }
  auto tensor = MakeTensor(y.type, *y.dims);
  if (!tensor.has_value()) return std::nullopt;
  PackIntegers(*elements, *tensor);
  return *std::move(tensor);
}

}  // namespace qtx::format::catalogue
