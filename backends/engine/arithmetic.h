// The arithmetics that one set of kernels computes: what of a node is done otherwise than exactly.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "qtx/format/model.h"

namespace qtx::backend::engine {

class NodePlan;

/// Sections of spec/arithmetic/.
enum class Arithmetic { kExact, kFloat32, kTflite, kTfliteDouble, kTfliteSingle };

/// Their names, `exact` first.
std::span<const std::string_view> ArithmeticNames();
std::optional<Arithmetic> FindArithmetic(std::string_view name);
std::string_view NameOf(Arithmetic arithmetic);

/// TFLite's integer kernels, with one rounding rule or another.
inline bool IsTflite(Arithmetic arithmetic) { return arithmetic >= Arithmetic::kTflite; }

/// True where `node` was made of TFLite's operator `op_type`.
bool ComesFromTflite(const format::Node& node, std::string_view op_type);

/// What the node is computed in when the model is asked for in `asked`: the same, or exact where
/// that is defined as it (tflite.S11, float32.S7, exact.S10); nothing where the engine cannot.
std::optional<Arithmetic> ArithmeticFor(const NodePlan& plan, Arithmetic asked);

}  // namespace qtx::backend::engine
