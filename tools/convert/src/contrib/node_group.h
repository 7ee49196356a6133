// The nodes of ai.onnx that stand for one node of ONNX Runtime's or of quantlib's own operators.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/inference.h"
#include "qtx/format/model.h"

namespace qtx::convert {

/// Builds the nodes, in order. Their values and names begin with the group's name and a slash; the
/// results of the former node keep their names.
class NodeGroup {
 public:
  NodeGroup(const format::Node& former, std::string name)
      : former_(former), name_(std::move(name)) {}

  /// Adds a node with one result, whose name it returns.
  std::string Add(std::string_view op_type, std::vector<std::string> inputs,
                  std::vector<format::Attribute> attributes = {});
  /// Adds a node with these results; "" is one that is not used.
  void AddTo(std::vector<std::string> outputs, std::string_view op_type,
             std::vector<std::string> inputs, std::vector<format::Attribute> attributes = {});

  /// Constants, each once: a list of INT64, one INT64, one FLOAT, one DOUBLE.
  std::string Ints(std::vector<std::int64_t> values);
  std::string Int(std::int64_t value);
  std::string Float(float value);
  std::string Double(double value);

  /// Result `i` of the former node, or "".
  std::string Output(std::size_t i) const;
  /// The same, or a new name where it has none.
  std::string OutputOr(std::size_t i, std::string_view role);
  std::string Named(std::string_view role);  // a new name of a value

  /// Whether the former node has result `i`.
  bool Has(std::size_t i) const { return !Output(i).empty(); }

  const std::string& name() const { return name_; }
  std::vector<format::Node>& nodes() { return nodes_; }

 private:
  std::string Constant(const std::string& text, format::Attribute value);

  const format::Node& former_;
  std::string name_;
  std::vector<format::Node> nodes_;
  std::map<std::string, int> counts_;             // of roles
  std::map<std::string, std::string> constants_;  // by their text
};

/// What is known of the values around a node.
struct ContribContext {
  const format::Inference& inference;

  /// The size of a value along an axis, from its end where negative; nullopt where it is not known.
  std::optional<std::int64_t> Size(const std::string& value, std::int64_t axis) const;
  /// nullopt where it is not known.
  std::optional<std::int64_t> Rank(const std::string& value) const;
};

/// Adds what `former` computes to `group`. False, with the reason in `why`, where nodes of ai.onnx
/// do not say it.
using Expand = bool (*)(const ContribContext& context, const format::Node& former, NodeGroup& group,
                        std::string& why);

// Rows by family.
bool ExpandSimplifiedLayerNormalization(const ContribContext&, const format::Node&, NodeGroup&,
                                        std::string&);
bool ExpandSkipSimplifiedLayerNormalization(const ContribContext&, const format::Node&, NodeGroup&,
                                            std::string&);
bool ExpandSkipLayerNormalization(const ContribContext&, const format::Node&, NodeGroup&,
                                  std::string&);
bool ExpandEmbedLayerNormalization(const ContribContext&, const format::Node&, NodeGroup&,
                                   std::string&);
bool ExpandGelu(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandBiasGelu(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandFastGelu(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandQuickGelu(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandRotaryEmbedding(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandMultiHeadAttention(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandAttention(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandGroupQueryAttention(const ContribContext&, const format::Node&, NodeGroup&,
                               std::string&);
bool ExpandDynamicQuantizeLstm(const ContribContext&, const format::Node&, NodeGroup&,
                               std::string&);
bool ExpandQuantLstmCell(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandRequantShift(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandISoftmax(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandItaMax(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandIGelu(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandILayerNorm(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandIRmsNorm(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandINoNorm(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandIHardswish(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandIntegerMean(const ContribContext&, const format::Node&, NodeGroup&, std::string&);
bool ExpandTrueIntegerDiv(const ContribContext&, const format::Node&, NodeGroup&, std::string&);

}  // namespace qtx::convert
