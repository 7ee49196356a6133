// What Prepare finds out about a graph before anything runs.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/scopes.h"
#include "qtx/reference/op.h"

namespace qtx::reference {

struct Step {
  const format::Node* node = nullptr;  // in the model the plan was made of
  const Operator* op = nullptr;        // nullptr where the node runs bodies
  std::vector<format::Scope> bodies;
  std::vector<OutputType> outputs;                 // one for each name the node gives
  std::vector<const format::ValueInfo*> declared;  // of each output; nullptr where there is none
  std::vector<bool> initializers;                  // which of the node's inputs are such
  std::vector<const format::Factors*> factors;     // of the node's inputs: LoadFactors
  std::vector<std::string> last_uses;              // values no later step or graph output needs
};

struct Plan {
  std::vector<const format::ValueInfo*> inputs;  // of the model, that are not initializers
  std::map<std::string, OutputType> types;       // of every value
  std::map<std::string, format::Tensor> initializers;
  std::map<std::string, format::Factors> factors;  // of some initializers
  std::vector<Step> steps;                         // of all graphs, as the flat form has them
  std::vector<std::vector<std::size_t>> graphs;    // the steps of each scope of the flat form
  std::vector<std::size_t> scope_of;               // of each step
};

/// Borrows the flat form of a model.  REQUIRES: CheckFirst of it.  Errors: kInvalid with the place
/// of the broken rule, kUnsupported for an operator or type that the reference does not have.
Result<Plan> MakePlan(const format::FlatModel& flat);

/// Reads the factors of the weights that ggml's kernels take as super-blocks (ggml.S5), where step
/// i has arithmetics[i].  Errors: kInvalid.
Result<void> LoadFactors(const format::FlatModel& flat,
                         std::span<const Arithmetic* const> arithmetics, Plan* plan);

/// What users call a node: its name or, where it has none, that of its first output.
const std::string& NameToUsers(const format::Node& node);

/// "graph.node[3] 'name'"
std::string NodeName(const format::Model& model, std::size_t i);

}  // namespace qtx::reference
