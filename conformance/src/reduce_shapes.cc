#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "reduce.h"

namespace qtx::conformance {
namespace {

using format::Dims;
using format::ElementType;
using Kept = std::vector<std::int64_t>;  // indices of what the axis then has

// A place in a model that depends on the size of an axis.
struct SizePlace {
  enum class Kind {
    kAxis,       // axis `at` of datum `owner`
    kOutput,     // the parameters of output `owner`, per axis
    kBetween,    // those of values[owner]
    kAttribute,  // attribute `at` of node `owner`; `element` of its integers
    kDatum,      // element `at` of datum `owner`, an INT64 constant
  } kind;
  std::size_t owner = 0;
  std::size_t at = 0;
  std::size_t element = 0;
};

struct Cut {
  SizePlace place;
  Kept kept;
};

// The number of per-axis parameters without blocks, which is the size of the axis.
std::optional<std::int64_t> ParameterCount(const format::ValueInfo& info) {
  if (!info.type || !info.type->quantization) return std::nullopt;
  const format::Quantization& q = *info.type->quantization;
  const bool blocked = std::ranges::any_of(q.block_shape, [](auto block) { return block != 1; });
  if (q.axis.size() != 1 || blocked) return std::nullopt;
  return std::ssize(q.scale);
}

bool IsControl(const Datum& datum) {
  return datum.constant && datum.tensor.elem_type == ElementType::kInt64;
}

template <typename Visit>
void VisitPlaces(const TestModel& test, const Visit& visit) {
  for (std::size_t i = 0; i < test.data.size(); ++i) {
    const format::Tensor& tensor = test.data[i].tensor;
    for (std::size_t k = 0; k < tensor.dims.size(); ++k) {
      visit(SizePlace{SizePlace::Kind::kAxis, i, k}, tensor.dims[k]);
    }
    if (!IsControl(test.data[i])) continue;
    for (std::size_t k = 0; k < tensor.As<std::int64_t>().size(); ++k) {
      visit(SizePlace{SizePlace::Kind::kDatum, i, k}, tensor.As<std::int64_t>()[k]);
    }
  }
  for (std::size_t i = 0; i < test.outputs.size(); ++i) {
    if (const auto count = ParameterCount(test.outputs[i])) {
      visit(SizePlace{SizePlace::Kind::kOutput, i}, *count);
    }
  }
  for (std::size_t i = 0; i < test.values.size(); ++i) {
    if (const auto count = ParameterCount(test.values[i])) {
      visit(SizePlace{SizePlace::Kind::kBetween, i}, *count);
    }
  }
  for (std::size_t i = 0; i < test.nodes.size(); ++i) {
    for (std::size_t k = 0; k < test.nodes[i].attributes.size(); ++k) {
      const format::Attribute& attribute = test.nodes[i].attributes[k];
      if (attribute.type == format::AttributeType::kInt) {
        visit(SizePlace{SizePlace::Kind::kAttribute, i, k}, attribute.i);
      }
      for (std::size_t e = 0; e < attribute.ints.size(); ++e) {
        visit(SizePlace{SizePlace::Kind::kAttribute, i, k, e}, attribute.ints[e]);
      }
    }
  }
}

bool CutAxis(Datum& datum, std::size_t axis, const Kept& kept) {
  format::Tensor& tensor = datum.tensor;
  if (tensor.quantization) {
    auto q = PickParameters(*tensor.quantization, tensor.dims, axis, kept);
    if (!q) return false;
    tensor.quantization = *std::move(q);
  }
  Dims dims = tensor.dims;
  const std::int64_t size = dims[axis];
  const std::int64_t inner = format::RowMajorStrides(dims)[axis];
  if (size * inner == 0) return false;  // another axis is empty
  const std::int64_t outer = format::ElementCount(tensor) / (size * inner);
  dims[axis] = std::ssize(kept);
  std::vector<std::int64_t> indices;
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t k : kept) {
      for (std::int64_t i = 0; i < inner; ++i) indices.push_back((o * size + k) * inner + i);
    }
  }
  tensor = Pick(tensor, indices, dims);
  return true;
}

bool CutParameters(format::ValueInfo& info, const Kept& kept) {
  auto q = PickParameters(*info.type->quantization,
                          Dims(static_cast<std::size_t>(info.type->quantization->axis[0]) + 1,
                               std::ssize(info.type->quantization->scale)),
                          static_cast<std::size_t>(info.type->quantization->axis[0]), kept);
  if (!q) return false;
  info.type->quantization = *std::move(q);
  return true;
}

bool Apply(const Cut& cut, TestModel& test) {
  const SizePlace& place = cut.place;
  const std::int64_t size = std::ssize(cut.kept);
  switch (place.kind) {
    case SizePlace::Kind::kAxis:
      return CutAxis(test.data[place.owner], place.at, cut.kept);
    case SizePlace::Kind::kOutput:
      return CutParameters(test.outputs[place.owner], cut.kept);
    case SizePlace::Kind::kBetween:
      return CutParameters(test.values[place.owner], cut.kept);
    case SizePlace::Kind::kDatum:
      test.data[place.owner].tensor.As<std::int64_t>()[place.at] = size;
      return true;
    case SizePlace::Kind::kAttribute:
      break;
  }
  format::Attribute& attribute = test.nodes[place.owner].attributes[place.at];
  if (attribute.type == format::AttributeType::kInt) {
    attribute.i = size;
  } else {
    attribute.ints[place.element] = size;
  }
  return true;
}

std::optional<TestModel> WithCuts(const TestModel& test, const std::vector<Cut>& cuts) {
  TestModel cut = test;
  for (const Cut& one : cuts) {
    if (!Apply(one, cut)) return std::nullopt;
  }
  return cut;
}

// Sets of cuts that include the first, smallest sets first.
std::vector<std::vector<Cut>> SetsOf(const std::vector<Cut>& cuts) {
  constexpr std::size_t kMaxOthers = 7;
  const std::size_t others = std::min(cuts.size() - 1, kMaxOthers);
  std::vector<std::uint32_t> masks(std::size_t{1} << others);
  std::iota(masks.begin(), masks.end(), 0U);
  std::ranges::stable_sort(masks, {}, [](std::uint32_t mask) { return std::popcount(mask); });
  std::vector<std::vector<Cut>> sets;
  for (const std::uint32_t mask : masks) {
    std::vector<Cut> set = {cuts[0]};
    for (std::size_t i = 0; i < others; ++i) {
      if ((mask >> i & 1) != 0) set.push_back(cuts[i + 1]);
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

Kept AllOf(std::int64_t size) {
  Kept kept(static_cast<std::size_t>(size));
  std::iota(kept.begin(), kept.end(), std::int64_t{0});
  return kept;
}

Kept Without(std::int64_t size, std::int64_t first, std::int64_t count) {
  Kept kept = AllOf(size);
  kept.erase(kept.begin() + first, kept.begin() + first + count);
  return kept;
}

void KeepEverywhere(std::vector<Cut>& cuts, const Kept& kept) {
  for (Cut& cut : cuts) cut.kept = kept;
}

// Removes ever smaller chunks of the axis: delta debugging (Zeller, Hildebrandt 2002).
bool ShortenAxis(Search& search, std::vector<Cut> cuts, std::int64_t size) {
  bool changed = false;
  for (std::int64_t chunk = size - size / 2; chunk > 0;
       chunk = chunk == 1 ? 0 : chunk - chunk / 2) {
    for (std::int64_t first = 0; first < size && size > 1 && !search.exhausted();) {
      const std::int64_t count = std::min({chunk, size - first, size - 1});
      KeepEverywhere(cuts, Without(size, first, count));
      auto candidate = WithCuts(search.best(), cuts);
      if (candidate && search.Try(*std::move(candidate))) {
        size -= count;
        changed = true;
      } else {
        first += count;
      }
    }
  }
  return changed;
}

// Places of one size, the given one first.
std::vector<Cut> SameSize(const TestModel& test, const SizePlace& seed, std::int64_t size,
                          const Kept& kept) {
  std::vector<Cut> cuts = {{seed, kept}};
  VisitPlaces(test, [&](const SizePlace& place, std::int64_t other) {
    const bool itself =
        place.kind == SizePlace::Kind::kAxis && place.owner == seed.owner && place.at == seed.at;
    if (other == size && !itself) cuts.push_back({place, kept});
  });
  return cuts;
}

// A size of 1 may broadcast.
bool KeepFirst(Search& search, std::vector<Cut> cuts) {
  KeepEverywhere(cuts, {0});
  auto candidate = WithCuts(search.best(), cuts);
  return candidate && search.Accepts(*candidate) && search.Try(*std::move(candidate));
}

bool ShortenPlace(Search& search, const SizePlace& seed, std::int64_t size) {
  const auto sets = SetsOf(SameSize(search.best(), seed, size, Without(size, size - 1, 1)));
  for (const std::vector<Cut>& set : sets) {
    if (search.exhausted()) return false;
    if (KeepFirst(search, set)) return true;
    const auto candidate = WithCuts(search.best(), set);
    if (!candidate || !search.Accepts(*candidate)) continue;
    if (ShortenAxis(search, set, size)) return true;
  }
  return false;
}

// Keeps one group of attribute `group`: divides every axis that spans all groups.
bool KeepOneGroup(Search& search, const SizePlace& attribute, std::int64_t groups) {
  std::vector<Cut> cuts = {{attribute, {0}}};
  VisitPlaces(search.best(), [&](const SizePlace& place, std::int64_t size) {
    if (size % groups != 0 || size < groups || size > kMaxCaseElements ||
        place.kind == SizePlace::Kind::kAttribute)
      return;
    cuts.push_back({place, AllOf(size / groups)});
  });
  const auto sets = SetsOf(cuts);
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::vector<Cut> set : sets) {
      for (Cut& cut : set) {
        if (cut.place.kind == SizePlace::Kind::kAttribute) continue;
        const std::int64_t share = std::ssize(cut.kept);
        for (std::int64_t& index : cut.kept) index += group * share;
      }
      auto candidate = WithCuts(search.best(), set);
      if (!candidate || !search.Accepts(*candidate)) continue;
      if (search.Try(*std::move(candidate))) return true;
      break;
    }
  }
  return false;
}

bool KeepOneGroup(Search& search) {
  std::vector<std::pair<SizePlace, std::int64_t>> found;
  const TestModel& test = search.best();
  VisitPlaces(test, [&](const SizePlace& place, std::int64_t size) {
    if (place.kind != SizePlace::Kind::kAttribute || size < 2) return;
    if (test.nodes[place.owner].attributes[place.at].name == "group") {
      found.emplace_back(place, size);
    }
  });
  bool changed = false;
  for (const auto& [place, groups] : found) changed |= KeepOneGroup(search, place, groups);
  return changed;
}

}  // namespace

std::vector<Sized> Resize(const DifferentialTester& tester, const TestModel& test,
                          std::size_t datum, std::size_t axis,
                          const std::set<std::int64_t>& sizes) {
  const std::int64_t before = test.data[datum].tensor.dims[axis];
  std::vector<Sized> resized;
  if (before < 1) return resized;
  const auto repeated = [before](std::int64_t size) {
    Kept kept = AllOf(size);
    for (std::int64_t& index : kept) index %= before;
    return kept;
  };
  for (std::vector<Cut>& set : SetsOf(
           SameSize(test, {SizePlace::Kind::kAxis, datum, axis}, before, repeated(before + 1)))) {
    const auto longer = WithCuts(test, set);
    if (!longer || !tester.Accepts(*longer)) continue;
    for (const std::int64_t size : sizes) {
      KeepEverywhere(set, repeated(size));
      auto other = WithCuts(test, set);
      if (other && tester.Accepts(*other)) resized.push_back({size, *std::move(other)});
    }
    break;
  }
  return resized;
}

bool ReduceShapes(Search& search) {
  bool changed = KeepOneGroup(search);
  for (std::size_t i = 0; i < search.best().data.size(); ++i) {
    for (std::size_t k = 0; k < search.best().data[i].tensor.dims.size(); ++k) {
      const std::int64_t size = search.best().data[i].tensor.dims[k];
      if (size < 2 || search.exhausted()) continue;
      if (ShortenPlace(search, {SizePlace::Kind::kAxis, i, k}, size)) changed = true;
    }
  }
  return changed;
}

}  // namespace qtx::conformance
