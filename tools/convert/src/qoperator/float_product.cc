#include "qoperator/float_product.h"

#include "qoperator/operators.h"

namespace qtx::convert {
namespace {

using format::ElementType;
using format::Node;

Node Cast(const Node& product, std::string from, std::string to, ElementType type) {
  Node cast;
  cast.name = product.name.empty() ? "" : product.name + "/Cast_" + to.substr(to.rfind('/') + 1);
  cast.op_type = "Cast";
  cast.inputs = {std::move(from)};
  cast.outputs = {std::move(to)};
  cast.attributes = {format::Attribute::Int("to", static_cast<std::int64_t>(type))};
  cast.origin = product.origin;
  return cast;
}

bool IsCastOf(const Node& node, const Node& product, bool to_float) {
  const bool is_float = node.IntOr("to", 0) == static_cast<std::int64_t>(ElementType::kFloat);
  return IsStock(node, "Cast") && node.inputs.size() == 1 && node.outputs.size() == 1 &&
         node.origin && *node.origin == *product.origin && is_float == to_float;
}

// The Cast that gives `value` to its only reader.
const Node* CastTo(const GraphIndex& index, const std::string& value, const Node& product) {
  const auto producer = index.Producer(value);
  if (!producer || !index.OnlyUse(value)) return nullptr;
  const Node& cast = index.node(*producer);
  return IsCastOf(cast, product, true) ? &cast : nullptr;
}

}  // namespace

void ComputeInFloat(const LiftContext& context, ElementType real, Lift& lift) {
  const std::string y = lift.after.empty() ? lift.node.outputs[0] : lift.after.back().outputs[0];
  const auto all = [&lift](const auto& change) {
    change(lift.node);
    for (Node& node : lift.before) change(node);
    for (Node& node : lift.after) change(node);
  };
  all([&y](Node& node) {
    if (node.origin) node.origin->group = y;
  });
  const auto widen = [&](std::string& input, const std::string& name, std::size_t at) {
    const std::string wide = context.names.Unique(name);
    const Node cast = Cast(lift.node, std::exchange(input, wide), wide, ElementType::kFloat);
    lift.before.insert(lift.before.begin() + static_cast<std::ptrdiff_t>(at), cast);
  };
  if (!lift.after.empty()) widen(lift.after[0].inputs[1], y + "/bias", lift.before.size());
  const bool gathers = !lift.before.empty() && lift.before[0].op_type == "Gather";
  std::string a = gathers ? lift.before[0].inputs[0] : lift.node.inputs[0];
  widen(a, y + "/a", 0);
  (gathers ? lift.before[1].inputs[0] : lift.node.inputs[0]) = a;
  const std::string wide = context.names.Unique(y + "/float");
  (lift.after.empty() ? lift.node.outputs[0] : lift.after.back().outputs[0]) = wide;
  lift.after.push_back(Cast(lift.node, wide, y, real));
}

std::optional<FloatProduct> FindFloatProduct(const GraphIndex& index, const Node& product,
                                             const Node* gather, const Node* add) {
  const Node* a = CastTo(index, (gather != nullptr ? gather : &product)->inputs[0], product);
  const auto use = index.OnlyUse((add != nullptr ? add : &product)->outputs[0]);
  if (a == nullptr || !use || !IsCastOf(index.node(use->node), product, false)) return std::nullopt;
  const Node& y = index.node(use->node);
  FloatProduct found{a->inputs[0], y.outputs[0], "", {a, &y}};
  if (add == nullptr) return found;
  const Node* bias = CastTo(index, add->inputs[1], product);
  if (bias == nullptr) return std::nullopt;
  found.bias = bias->inputs[0];
  found.casts.push_back(bias);
  return found;
}

}  // namespace qtx::convert
