// The attributes of a node, with the defaults that the catalogue gives them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"

namespace qtx::format {

struct OpSchema;

/// The newest opset of ai.onnx that the catalogue knows.
std::int64_t NewestOpset();

/// What a node gives as its attributes. One that it does not give has the default of its operator's
/// row in an opset of ai.onnx; without a default it is 0, "" or an empty list. Borrows the node.
class Attributes {
 public:
  explicit Attributes(const Node& node, std::int64_t opset = NewestOpset());
  /// With the defaults of another row than that of the node's operator.
  Attributes(const OpSchema& row, const Node& node, std::int64_t opset)
      : node_(node), opset_(opset), row_(&row) {}

  std::int64_t Int(std::string_view name) const;
  float Float(std::string_view name) const;
  std::string String(std::string_view name) const;
  std::vector<std::int64_t> Ints(std::string_view name) const { return node_.IntsOr(name, {}); }
  bool Has(std::string_view name) const { return node_.Find(name) != nullptr; }
  /// The row of its operator's section in spec/ops/; nullptr where it has none.
  const OpSchema* schema() const;

 private:
  template <typename T>
  T DefaultOf(std::string_view name) const;

  const Node& node_;
  std::int64_t opset_;
  const OpSchema* row_;  // nullptr where the catalogue has none
};

}  // namespace qtx::format
