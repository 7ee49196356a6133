// What is known of the values of a body from its node, and of the outputs of a node from its
// bodies: If, Loop and Scan. Source: ONNX, operators If, Loop, Scan.
#pragma once

#include <span>
#include <vector>

#include "qtx/format/catalogue.h"

namespace qtx::format {

/// Inputs and outputs of the node that go in and come out once in each iteration, or in all.
struct BodyForm {
  std::size_t inputs = 0;  // of the body
  std::size_t before = 0;  // those that are not inputs of the node (Loop: number, condition)
  std::size_t results_before =
      0;                    // outputs of the body that are none of the node (Loop: condition)
  std::size_t carried = 0;  // values that go from one iteration into the next
};
/// The form of a body of the node; nullopt for SequenceMap, for Scan of opset 8, whose values have
/// a batch dimension more, and where the node has too few inputs.
std::optional<BodyForm> FormOfBody(const Application& node);

/// What follows for each of the `count` inputs of a body. A size that may change from one iteration
/// to the next is unknown.
std::vector<ValueFacts> FactsOfBodyInputs(const Application& node, std::size_t count);

/// The outputs of the node gain what follows from those of its bodies.
/// Errors: kInvalid, of graph.C9, for a declared shape that cannot be.
Result<void> AddFactsOfBodies(std::span<const std::vector<ValueFacts>> bodies, Application& node);

}  // namespace qtx::format
