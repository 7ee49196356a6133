// The functions of a model's own: operators that it defines as graphs of others. A Model keeps them
// among its unknown fields.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::format {

struct Function {
  std::string domain, name, overload;
  std::vector<std::string> inputs, outputs;
  std::vector<OpsetImport> opset_imports;
  std::vector<Node> nodes;  // attributes that refer to the function's have no value
  std::vector<Attribute> defaults;
  std::size_t bytes = 0;  // of the FunctionProto
};

/// Errors: kInvalid for a function that is no FunctionProto, kTooLarge for bodies too deep in it.
Result<std::vector<Function>> FunctionsOf(const Model& model);

bool Calls(const Node& node, const Function& function);

/// What `call` stands for: the nodes of `function` with the attributes of the call, or their
/// defaults, and each name as `named` has it, in bodies too.
std::vector<Node> NodesOf(const Function& function, const Node& call,
                          const std::function<std::string(const std::string&)>& named);

/// Removes the functions for which `is_unused` holds.
void RemoveFunctions(const std::function<bool(const Function&)>& is_unused, Model& model);

}  // namespace qtx::format
