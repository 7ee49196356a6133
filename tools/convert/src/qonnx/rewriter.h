// The implementation of rewrite.h: the state of the pass and its steps.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ledger.h"
#include "onnx/graph_index.h"
#include "qonnx/parameters.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::convert {

class QonnxRewriter {
 public:
  QonnxRewriter(const GraphIndex& index, Ledger& ledger)
      : index_(index), ledger_(ledger), model_(index.model()), names_(model_.graph) {}

  Result<format::Model> Run();

 private:
  Result<void> Visit(const format::Node& node);
  Result<void> VisitQuantizer(const format::Node& node);
  Result<void> VisitTrunc(const format::Node& node);
  std::string AddOperand(const format::Node& node, const char* op_type, const std::string& from,
                         float operand);
  Result<void> Fold(const format::Node& node, const format::Tensor& real,
                    const QonnxQuantizer& quantizer);
  void AddPair(const format::Node& node, const QonnxQuantizer& quantizer);
  void AddTyped(const format::Node& node, const QonnxQuantizer& quantizer);
  std::string AddZeroPoint(const std::string& value, const QonnxQuantizer& quantizer);
  std::string AddScale(const std::string& value, const format::Quantization& q);
  format::TensorType TypeFor(const format::Node& node, const QonnxQuantizer& quantizer);
  void Annotate(const format::Node& node, const std::string& stored,
                const QonnxQuantizer& quantizer);
  void Declare(const std::string& name, format::TensorType type);
  const format::TensorType* Annotation(const std::string& value) const;
  format::Node Derived(const format::Node& node, const char* op_type) const;
  void NoteRounding(const format::Node& node, const QonnxQuantizer& quantizer);
  void Apply();
  void DropParameters();

  const GraphIndex& index_;
  Ledger& ledger_;
  format::Model model_;
  std::vector<format::Node> nodes_;
  std::map<std::string, std::size_t> made_;  // ONNX's own nodes in `nodes_`, by what they produce
  graph::Names names_;
  std::set<std::string> parameters_;                 // inputs of quantizers, all but the first
  std::map<std::string, format::TensorType> types_;  // declared here
  std::vector<std::string> order_;                   // of `types_`
  std::map<std::string, std::string> renamed_;
  std::set<std::string> taken_;                       // removed values
  std::map<std::string, format::TensorData> folded_;  // replacements of initializers, by name
};

}  // namespace qtx::convert
