#include "ops/axes.h"

namespace qtx::reference {

Result<std::optional<std::vector<bool>>> NamedAxes(const Call& call, std::size_t rank) {
  std::vector<std::int64_t> axes = call.node.IntsOr("axes", {});
  if (call.Input(1) != nullptr) {
    QTX_ASSIGN_OR_RETURN(axes, Int64sAt(call, 1));
  } else if (call.node.Find("axes") == nullptr) {
    return std::optional<std::vector<bool>>();
  }
  std::vector<bool> named(rank, false);
  for (const std::int64_t axis : axes) {
    const auto normal = format::NormalizeAxis(axis, static_cast<std::int64_t>(rank));
    if (!normal.has_value()) return At("axes", normal.error());
    const auto i = static_cast<std::size_t>(*normal);
    if (named[i])
      return Error{ErrorCode::kInvalid, "axes", "axis " + std::to_string(axis) + " twice"};
    named[i] = true;
  }
  return std::optional<std::vector<bool>>(std::move(named));
}

}  // namespace qtx::reference
