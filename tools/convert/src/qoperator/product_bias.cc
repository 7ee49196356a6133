#include "qoperator/product_bias.h"

#include "qoperator/operators.h"

namespace qtx::convert {
namespace {

// A declared name without a producer marks an omitted value.
std::string ProductName(const LiftContext& context, const std::string& y) {
  std::string name = y + "/product";
  const GraphIndex& index = context.index;
  const bool declared_only = index.TypeOf(name) != nullptr && !index.Producer(name) &&
                             !index.IsInput(name) && !index.IsOutput(name) &&
                             index.Uses(name).empty() && index.Initializer(name) == nullptr;
  return declared_only ? name : context.names.Unique(name);
}

}  // namespace

void AddBiasAfter(const LiftContext& context, const std::string& bias, Lift& lift) {
  if (bias.empty()) return;
  format::Node add;
  add.name = lift.node.name.empty() ? "" : lift.node.name + "/Add";
  add.op_type = "Add";
  add.outputs = lift.node.outputs;
  lift.node.outputs = {ProductName(context, add.outputs[0])};
  add.inputs = {lift.node.outputs[0], bias};
  if (lift.node.origin) {
    lift.node.origin->group = add.outputs[0];
    add.origin = lift.node.origin;
  }
  lift.after.push_back(std::move(add));
}

Result<std::optional<Lift>> LiftProductToFloat(const LiftContext& context, const format::Node& node,
                                               Lift product) {
  // The documentation gives A a scale per column, along which the product sums.
  if (product.inputs.at(0).quantization.scale.size() > 1) {
    context.why = "'" + node.inputs[0] + "' has several scales";
    return std::optional<Lift>();
  }
  AddBiasAfter(context, InputOf(node, 6), product);
  return std::optional(std::move(product));
}

}  // namespace qtx::convert
