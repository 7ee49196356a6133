// Operators that give the elements of a tensor in another shape, or a constant or a shape itself.
// Source: spec/ops/, the sections that the rows name.
#include <algorithm>

#include "rules.h"

namespace qtx::format::catalogue {
namespace {

using ReshapedShapes = std::vector<std::optional<Dims>>;

constexpr TypeSet kReshapeInt64 = {ElementType::kInt64};

// Constant ----------------------------------------------------------------------------------------

// The type of the node's one attribute; kUndefined where there is no such attribute.
ElementType ConstantType(const Application& a, std::size_t) {
  if (a.node.attributes.size() != 1) return ElementType::kUndefined;
  const Attribute& value = a.node.attributes.front();
  if (value.t) return value.t->data_type;
  switch (value.type) {
    case AttributeType::kFloat:
    case AttributeType::kFloats:
      return ElementType::kFloat;
    case AttributeType::kInt:
    case AttributeType::kInts:
      return ElementType::kInt64;
    default:
      return ElementType::kUndefined;
  }
}

// constant.C1.
Result<void> ConstantHasOneValue(const Application& a) {
  const std::size_t count = a.node.attributes.size();
  if (count == 1) return {};
  return Refuse("attributes", "found " + std::to_string(count) + ", expected one value");
}

// constant.C2.
Result<void> ConstantTypes(const Application& a) {
  const ElementType value = ConstantType(a, 0);
  const ElementType y = a.Output(0).type;
  if (value == ElementType::kUndefined || y == ElementType::kUndefined) return {};
  if (StorageOf(y) == value) return {};
  return BadOutput(
      a, 0, "type " + std::string(Name(y)),
      std::string(Name(value)) + ", as the attribute has, or the quantized type over it");
}

// constant.S1.
Result<ReshapedShapes> ConstantShape(const Application& a) {
  const Attribute& value = a.node.attributes.front();
  const auto list = [](const auto& values) {
    return ReshapedShapes{Dims{static_cast<std::int64_t>(values.size())}};
  };
  if (value.t) {
    return ReshapedShapes{AllKnown(value.t->dims) ? std::optional(value.t->dims) : std::nullopt};
  }
  switch (value.type) {
    case AttributeType::kFloat:
    case AttributeType::kInt:
      return ReshapedShapes{Dims()};
    case AttributeType::kFloats:
      return list(value.floats);
    case AttributeType::kInts:
      return list(value.ints);
    default:
      return ReshapedShapes{std::nullopt};
  }
}

// Flatten -----------------------------------------------------------------------------------------

// flatten.S1, flatten.S2.
Result<ReshapedShapes> FlattenShape(const Application& a) {
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr) return ReshapedShapes{DimsOfRank(2)};
  const std::size_t axis = AxisOf(a.Int("axis"), x->size());
  const auto sizes = std::span(*x);
  return ReshapedShapes{Dims{CountOf(sizes.first(axis)), CountOf(sizes.subspan(axis))}};
}

// Reshape -----------------------------------------------------------------------------------------

ListArgument ReshapeList(const Application& a) { return ListOf(a, 1, "shape"); }

// reshape.C6.
Result<void> ReshapeHasShape(const Application& a) {
  const bool attribute = a.Find("shape") != nullptr;
  if (attribute && a.opset >= 5) {
    return Refuse("attribute 'shape'",
                  "opset " + std::to_string(a.opset) + " has an input in its place, since 5");
  }
  if (attribute && a.Input(1).given) {
    return Refuse("attribute 'shape'", "found an input shape too, expected one of the two");
  }
  if (attribute || a.Input(1).given) return {};
  return Refuse(InputPlace(a, 1), "is required");
}

// reshape.C2.
Result<void> ReshapeValues(const Application& a) {
  QTX_RETURN_IF_ERROR(IsList(1, kReshapeInt64)(a));
  const ListArgument shape = ReshapeList(a);
  if (!shape.values) return {};
  for (const std::int64_t value : *shape.values) {
    if (value >= -1) continue;
    return Refuse(shape.place, "found " + std::to_string(value) + ", expected at least -1");
  }
  const auto open = std::ranges::count(*shape.values, -1);
  if (open <= 1) return {};
  return Refuse(shape.place,
                "found " + std::to_string(open) + " values of -1, expected at most one");
}

bool ReshapeCopies(const Application& a, std::int64_t value) {
  return value == 0 && a.Int("allowzero") == 0;
}

// reshape.C4.
Result<void> ReshapeZeros(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  const ListArgument shape = ReshapeList(a);
  if (data == nullptr || !shape.values) return {};
  for (std::size_t i = data->size(); i < shape.values->size(); ++i) {
    if (!ReshapeCopies(a, (*shape.values)[i])) continue;
    return Refuse(shape.place, "found 0 at position " + std::to_string(i) +
                                   ", expected a dimension of data there, whose shape is " +
                                   ShapeText(*data));
  }
  return {};
}

// A shape as reshape.S2 reads it.
struct ReshapePlan {
  Dims y;                           // kUnknownSize in the place of -1
  std::optional<std::size_t> open;  // the position of -1
  Dims copied;                      // sizes of y that are data's at the same position
  Dims stated;                      // other sizes of y
  std::optional<Dims> left;         // sizes of data that are not copied
};

// REQUIRES: reshape.C2, reshape.C4.
ReshapePlan ReshapePlanOf(const Application& a, const std::vector<std::int64_t>& shape) {
  const Dims* data = DimsOf(a.Input(0));
  ReshapePlan plan;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t size = shape[i];
    if (ReshapeCopies(a, size)) {
      size = data != nullptr ? (*data)[i] : kUnknownSize;
      plan.copied.push_back(size);
    } else if (size == -1) {
      plan.open = i;
      size = kUnknownSize;
    } else {
      plan.stated.push_back(size);
    }
    plan.y.push_back(size);
  }
  if (data == nullptr) return plan;
  plan.left.emplace();
  for (std::size_t i = 0; i < data->size(); ++i) {
    if (i >= shape.size() || !ReshapeCopies(a, shape[i])) plan.left->push_back((*data)[i]);
  }
  return plan;
}

// reshape.C3 where the values of shape are not known, but y is declared.
Result<void> ReshapeDeclaredCount(const Application& a) {
  const Dims* data = DimsOf(a.Input(0));
  const Dims* y = DimsOf(a.Output(0));
  if (data == nullptr || y == nullptr || !Differ(CountOf(*data), CountOf(*y))) return {};
  return BadOutput(a, 0, "shape " + ShapeText(*y),
                   "as many elements as data of shape " + ShapeText(*data));
}

// reshape.C3. Sizes that are copied are factors of both sides, and no rest makes up for one of 0.
Result<void> ReshapeCount(const Application& a) {
  const ListArgument shape = ReshapeList(a);
  if (!shape.values) return ReshapeDeclaredCount(a);
  const ReshapePlan plan = ReshapePlanOf(a, *shape.values);
  const std::int64_t copied = CountOf(plan.copied);
  const std::int64_t stated = CountOf(plan.stated);
  const std::string found = "found " + ToString(*shape.values);
  if (plan.open && (copied == 0 || stated == 0)) {
    return Refuse(shape.place, found + ", expected no size of 0 beside -1");
  }
  const std::int64_t left = plan.left ? CountOf(*plan.left) : kUnknownSize;
  if (!Known(left)) return {};
  // A product that is not known is past int64: no data has as many elements.
  const bool divides = left == 0 || (Known(stated) && stated != 0 && left % stated == 0);
  const bool fits = plan.open ? divides : left == stated || !Known(copied) || copied == 0;
  if (fits) return {};
  return Refuse(shape.place, found + ", expected as many elements as data of shape " +
                                 ShapeText(*a.Input(0).dims));
}

// The size in the place of -1: what is `left` of data over what is `stated`.
std::int64_t ReshapeRest(const Dims& left, std::int64_t stated) {
  if (!Known(stated) || stated == 0) return kUnknownSize;
  Dims known, others;
  for (const std::int64_t size : left) (Known(size) ? known : others).push_back(size);
  const std::int64_t count = CountOf(known);
  if (!Known(count)) return kUnknownSize;
  if (others.empty() || count == 0) return count / stated;
  return others.size() == 1 && count == stated ? others.front() : kUnknownSize;
}

// reshape.S2; without the values of shape their number is y's rank.
Result<ReshapedShapes> ReshapeShape(const Application& a) {
  const ListArgument shape = ReshapeList(a);
  const Dims* data = DimsOf(a.Input(0));
  if (!shape.values) {
    if (shape.length == 1 && data != nullptr) return ReshapedShapes{Dims{CountOf(*data)}};
    return ReshapedShapes{DimsOfRank(shape.length)};
  }
  ReshapePlan plan = ReshapePlanOf(a, *shape.values);
  if (plan.open && plan.left) plan.y[*plan.open] = ReshapeRest(*plan.left, CountOf(plan.stated));
  return ReshapedShapes{std::move(plan.y)};
}

// Shape -------------------------------------------------------------------------------------------

// op_shape.S1.
Result<ReshapedShapes> ShapeShape(const Application& a) {
  const std::int64_t rank = RankOf(a.Input(0));
  if (!Known(rank)) return ReshapedShapes{DimsOfRank(1)};
  const auto clamp = [rank](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  const std::int64_t start = clamp(a.Int("start"));
  const std::int64_t end = a.Find("end") != nullptr ? clamp(a.Int("end")) : rank;
  return ReshapedShapes{Dims{std::max<std::int64_t>(end - start, 0)}};
}

// Squeeze and Unsqueeze ---------------------------------------------------------------------------

ListArgument SqueezeList(const Application& a) { return ListOf(a, 1, "axes"); }

// squeeze.C1, unsqueeze.C1.
ClauseRule SqueezeTypes() {
  const auto list = [](const Application& a) {
    return RankOf(a.Input(1)) == 0 ? Result<void>() : RankIs(1, 1)(a);
  };
  return Both({InputSince(1, 13), OutputsFollowInput(), InputTypes(1, kReshapeInt64), list});
}

// squeeze.C2.
Result<void> SqueezeAxes(const Application& a) {
  const ListArgument axes = SqueezeList(a);
  const Dims* x = DimsOf(a.Input(0));
  QTX_RETURN_IF_ERROR(CheckAxes(axes, RankOf(a.Input(0))));
  if (!axes.values || x == nullptr) return {};
  for (const std::int64_t axis : *axes.values) {
    const std::int64_t size = (*x)[AxisOf(axis, x->size())];
    if (!Differ(size, 1)) continue;
    return Refuse(axes.place, "found axis " + std::to_string(axis) + " of size " +
                                  std::to_string(size) + ", expected one of size 1");
  }
  return {};
}

// squeeze.S1.
Result<ReshapedShapes> SqueezeShape(const Application& a) {
  const ListArgument axes = SqueezeList(a);
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr || (!axes.given && !AllKnown(*x))) return ReshapedShapes{std::nullopt};
  if (axes.given && !axes.values) {
    return ReshapedShapes{Known(axes.length) ? DimsOfRank(RankOf(a.Input(0)) - axes.length)
                                             : std::nullopt};
  }
  std::vector<bool> removed(x->size());
  for (std::size_t i = 0; i < x->size() && !axes.given; ++i) removed[i] = (*x)[i] == 1;
  for (const std::int64_t axis : axes.values.value_or(Dims()))
    removed[AxisOf(axis, x->size())] = true;
  Dims y;
  for (std::size_t i = 0; i < x->size(); ++i) {
    if (!removed[i]) y.push_back((*x)[i]);
  }
  return ReshapedShapes{std::move(y)};
}

// The rank of y, kUnknownSize where it is not known.
std::int64_t UnsqueezeRank(const Application& a) {
  const std::int64_t rank = RankOf(a.Input(0));
  const std::int64_t added = SqueezeList(a).length;
  return Known(rank) && Known(added) ? SumOf(rank, added) : kUnknownSize;
}

// unsqueeze.C2.
Result<void> UnsqueezeAxes(const Application& a) {
  const ListArgument axes = SqueezeList(a);
  if (!axes.given) return Refuse(InputPlace(a, 1), "is required");
  return CheckAxes(axes, UnsqueezeRank(a));
}

// unsqueeze.S1.
Result<ReshapedShapes> UnsqueezeShape(const Application& a) {
  const ListArgument axes = SqueezeList(a);
  const Dims* x = DimsOf(a.Input(0));
  if (x == nullptr || !axes.values) return ReshapedShapes{DimsOfRank(UnsqueezeRank(a))};
  std::vector<bool> added(x->size() + axes.values->size());
  for (const std::int64_t axis : *axes.values) added[AxisOf(axis, added.size())] = true;
  Dims y;
  auto next = x->begin();
  for (const bool is_new : added) y.push_back(is_new ? 1 : *next++);
  return ReshapedShapes{std::move(y)};
}

// Rows --------------------------------------------------------------------------------------------

OpSchema ConstantRow() {
  return {.op_type = "Constant",
          .inputs = {},
          .outputs = {{"y"}},
          .attributes = {{"value", AttributeType::kTensor},
                         {.name = "value_float", .type = AttributeType::kFloat, .since = 12},
                         {.name = "value_floats", .type = AttributeType::kFloats, .since = 12},
                         {.name = "value_int", .type = AttributeType::kInt, .since = 12},
                         {.name = "value_ints", .type = AttributeType::kInts, .since = 12}},
          .checks = {{"constant.C1", ConstantHasOneValue}, {"constant.C2", ConstantTypes}},
          .shape = ConstantShape,
          .shape_clause = "constant.C3",
          .type = ConstantType};
}

OpSchema ReshapeRow() {
  return {.op_type = "Reshape",
          .inputs = {{"data"}, {"shape", true}},
          .outputs = {{"y"}},
          .attributes = {{"allowzero", AttributeType::kInt, std::int64_t{0}, false, 14},
                         {"shape", AttributeType::kInts}},
          .checks = {{"reshape.C1", OutputsFollowInput()},
                     {"reshape.C6", ReshapeHasShape},
                     {"reshape.C2", ReshapeValues},
                     {"reshape.C4", ReshapeZeros},
                     {"reshape.C3", ReshapeCount}},
          .shape = ReshapeShape,
          .shape_clause = "reshape.C5",
          .copies_elements = true};
}

}  // namespace

void AddReshaping(std::vector<OpSchema>& rows) {
  const AttributeRule axes{.name = "axes", .type = AttributeType::kInts, .until = 12};
  rows.push_back(ConstantRow());
  rows.push_back({.op_type = "Flatten",
                  .inputs = {{"x"}},
                  .outputs = {{"y"}},
                  .attributes = {{"axis", AttributeType::kInt, std::int64_t{1}}},
                  .checks = {{"flatten.C1", OutputsFollowInput()},
                             {"flatten.C2", AxisInRange("axis", 0, true)}},
                  .shape = FlattenShape,
                  .shape_clause = "flatten.C3",
                  .copies_elements = true});
  rows.push_back(ReshapeRow());
  rows.push_back({.op_type = "Shape",
                  .inputs = {{"x"}},
                  .outputs = {{"y"}},
                  .attributes = {{.name = "end", .type = AttributeType::kInt, .since = 15},
                                 {"start", AttributeType::kInt, std::int64_t{0}, false, 15}},
                  .checks = {{"op_shape.C1", OutputTypes(0, kReshapeInt64)}},
                  .shape = ShapeShape,
                  .shape_clause = "op_shape.C2",
                  .type = Int64Type});
  rows.push_back({.op_type = "Squeeze",
                  .inputs = {{"x"}, {"axes", true}},
                  .outputs = {{"y"}},
                  .attributes = {axes},
                  .checks = {{"squeeze.C1", SqueezeTypes()}, {"squeeze.C2", SqueezeAxes}},
                  .shape = SqueezeShape,
                  .shape_clause = "squeeze.C3",
                  .copies_elements = true});
  rows.push_back({.op_type = "Unsqueeze",
                  .inputs = {{"x"}, {"axes", true}},
                  .outputs = {{"y"}},
                  .attributes = {axes},
                  .checks = {{"unsqueeze.C1", SqueezeTypes()}, {"unsqueeze.C2", UnsqueezeAxes}},
                  .shape = UnsqueezeShape,
                  .shape_clause = "unsqueeze.C3",
                  .copies_elements = true});
}

}  // namespace qtx::format::catalogue
