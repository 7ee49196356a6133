// The arithmetics of the engine, and in which of them a node is computed.
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

/// True for TFLite's arithmetics, which differ in their rounding.
inline bool IsTflite(Arithmetic arithmetic) { return arithmetic >= Arithmetic::kTflite; }

/// True if `node` was converted from TFLite's operator `op_type`.
bool ComesFromTflite(const format::Node& node, std::string_view op_type);

/// The arithmetic in which to compute the node of a model prepared for `asked`: `asked`, or exact
/// if `asked` is defined as exact for this node (tflite.S11, float32.S7, exact.S10). nullopt if the
/// engine does not compute the node in `asked`.
std::optional<Arithmetic> ArithmeticFor(const NodePlan& plan, Arithmetic asked);

}  // namespace qtx::backend::engine
