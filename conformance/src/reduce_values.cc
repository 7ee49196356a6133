#include <algorithm>
#include <cmath>
#include <utility>

#include "reduce.h"

namespace qtx::conformance {
namespace {

using format::ElementType;
using format::Tensor;

struct Element {
  std::size_t datum;
  std::int64_t index;
};

constexpr std::size_t kFew = 32;  // below this, elements are tried one by one

bool HasIntegers(const Tensor& tensor) {
  return format::IsIntegerStorage(tensor.elem_type) || tensor.elem_type == ElementType::kBool ||
         tensor.elem_type == ElementType::kInt64;
}

// True for data that may become zero: not shapes, not indices.
bool CanBeZero(const Datum& datum) {
  const ElementType storage = format::StorageOf(datum.tensor.elem_type);
  return storage != ElementType::kBipolar1 && storage != ElementType::kInt64 &&
         storage != ElementType::kUint64 && format::BitWidth(storage) > 0;
}

// Every element as a number: the value of a float, else the stored integer.
std::vector<double> NumbersOf(const Tensor& tensor) {
  if (!HasIntegers(tensor)) return format::StoredValues(tensor);
  const std::vector<std::int64_t> values = format::UnpackIntegers(tensor);
  return {values.begin(), values.end()};
}

// The stored value of real zero, at one element.
double ZeroAt(const Tensor& tensor, std::int64_t index) {
  if (!tensor.quantization || !HasIntegers(tensor)) return 0;
  const format::ParameterMap map(*tensor.quantization, tensor.dims);
  const auto range = format::StoredRange(tensor.elem_type, *tensor.quantization);
  return static_cast<double>(std::clamp<std::int64_t>(
      format::OffsetAt(*tensor.quantization, map(index)), range.min, range.max));
}

void StoreNumber(Tensor& tensor, std::int64_t index, double value) {
  if (HasIntegers(tensor)) {
    std::vector<std::int64_t> values = format::UnpackIntegers(tensor);
    values[static_cast<std::size_t>(index)] = static_cast<std::int64_t>(value);
    format::PackIntegers(values, tensor);
  } else if (tensor.elem_type == ElementType::kFloat) {
    tensor.As<float>()[static_cast<std::size_t>(index)] = static_cast<float>(value);
  } else if (value == 0) {  // small floats and doubles, whose code of zero is 0
    ClearElement(tensor, index);
  }
}

// The elements that are not zero yet.
std::vector<Element> NonZero(const TestModel& test) {
  std::vector<Element> elements;
  for (std::size_t d = 0; d < test.data.size(); ++d) {
    if (!CanBeZero(test.data[d])) continue;
    const Tensor& tensor = test.data[d].tensor;
    const std::vector<double> numbers = NumbersOf(tensor);
    for (std::int64_t i = 0; i < std::ssize(numbers); ++i) {
      if (numbers[static_cast<std::size_t>(i)] != ZeroAt(tensor, i)) elements.push_back({d, i});
    }
  }
  return elements;
}

// Sets many elements while unpacking the tensor only once.
TestModel WithZeros(const TestModel& test, std::vector<Element>::const_iterator first,
                    std::vector<Element>::const_iterator last) {
  TestModel zeroed = test;
  for (std::size_t d = 0; d < zeroed.data.size(); ++d) {
    Tensor& tensor = zeroed.data[d].tensor;
    std::vector<std::int64_t> integers;
    for (auto element = first; element != last; ++element) {
      if (element->datum != d) continue;
      if (!HasIntegers(tensor)) {
        ClearElement(tensor, element->index);
        continue;
      }
      if (integers.empty()) integers = format::UnpackIntegers(tensor);
      integers[static_cast<std::size_t>(element->index)] =
          static_cast<std::int64_t>(ZeroAt(tensor, element->index));
    }
    if (!integers.empty()) format::PackIntegers(integers, tensor);
  }
  return zeroed;
}

// Delta debugging over the elements (Zeller, Hildebrandt 2002).
bool ZeroMany(Search& search) {
  std::vector<Element> elements = NonZero(search.best());
  bool changed = false;
  for (std::size_t chunk = elements.size(); chunk > 0; chunk = chunk == 1 ? 0 : (chunk + 1) / 2) {
    for (std::size_t first = 0; first < elements.size() && !search.exhausted();) {
      const auto begin = elements.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end =
          begin + static_cast<std::ptrdiff_t>(std::min(chunk, elements.size() - first));
      if (search.Try(WithZeros(search.best(), begin, end))) {
        elements.erase(begin, end);
        changed = true;
      } else {
        first += chunk;
      }
    }
  }
  return changed;
}

// Moves a value towards zero: to one unit from it, else halfway between what fails and what does
// not, until these are neighbours.
bool Lessen(Search& search, const Element& element) {
  const Tensor& tensor = search.best().data[element.datum].tensor;
  if (!HasIntegers(tensor) && tensor.elem_type != ElementType::kFloat) return false;
  const double zero = ZeroAt(tensor, element.index);
  double distance = NumbersOf(tensor)[static_cast<std::size_t>(element.index)] - zero;
  if (!(std::abs(distance) <= 0x1p40)) return false;
  bool changed = false;
  double right = 0;
  for (double nearer = std::copysign(1.0, distance); !search.exhausted();
       nearer = std::trunc((right + distance) / 2)) {
    const bool smaller = std::abs(nearer) < std::abs(distance);
    if (!smaller || nearer == right) break;
    TestModel candidate = search.best();
    StoreNumber(candidate.data[element.datum].tensor, element.index, zero + nearer);
    const bool fails = search.Try(std::move(candidate));
    (fails ? distance : right) = nearer;
    changed |= fails;
  }
  return changed;
}

}  // namespace

bool ZeroElements(Search& search) {
  bool changed = ZeroMany(search);
  const std::vector<Element> left = NonZero(search.best());
  if (left.size() > kFew) return changed;
  for (const Element& element : left) changed |= Lessen(search, element);
  return changed;
}

}  // namespace qtx::conformance
