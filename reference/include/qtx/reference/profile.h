// Deployment profiles: the arithmetic that a system, as it is deployed, gives each node. Data, as
// the arithmetics are.
// Source: spec/profiles.md.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/reference/interpreter.h"

namespace qtx::reference {

/// Nodes of these kernels, and of x of these types, have this arithmetic.
struct ProfileRule {
  std::string_view kernels;  // names between blanks; "*": all
  std::string_view types;    // of the first real input: names of element types, "*": all
  // kNoOffset: input 1 has none.  kToByte: the output is INT8Q or
  // UINT8Q.  kQuantizedWeights: input 1 is of a quantized type.  kNoOrigin: the node has no origin
  // of the framework.  kEighths: it has one, x and y one type, and xnnpack.C3 takes their scales.
  // kDynamic: xnnpack.S9 takes the weights.  kHybrid: tflite_float64.S7 does.  kSums: xnnpack.C2
  // takes the scales.  kDropsAxes: a Reshape of the same origin takes its result.
  enum class When {
    kAlways,
    kNoOffset,
    kToByte,
    kQuantizedWeights,
    kNoOrigin,
    kEighths,
    kDynamic,
    kSums,
    kHybrid,
    kDropsAxes
  } when = When::kAlways;
  std::string_view arithmetic;  // empty: no arithmetic describes this kernel
};

/// The first rule that holds decides; a node without one has no known kernel.
struct Profile {
  std::string_view name;
  std::string_view system;
  bool tflite = false;  // kernels are TFLite's operators, else ONNX's
  std::span<const ProfileRule> rules;
};

std::span<const Profile> Profiles();
/// Errors: kInvalid, listing the names there are.
Result<const Profile*> FindProfile(std::string_view name);

/// What the first rule of `profile` gives a node of `model`, by its origin and declared types; ""
/// where the profile knows no kernel.
std::string_view ArithmeticOf(const Profile& profile, const format::Model& model,
                              const format::Node& node);

/// A profile applied to a model. Nodes of bodies are computed as `exact`.
struct Assignment {
  Interpreter::NodeArithmetics by_node;
  std::vector<Unmodelled> unknown;  // nodes computed as `exact`: the profile knows no kernel
};
Assignment Assign(const Profile& profile, const format::Model& model);

}  // namespace qtx::reference
