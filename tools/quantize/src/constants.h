// Replaces initializers by stored integers.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "initializers.h"
#include "ledger.h"
#include "plan.h"
#include "qtx/graph/graph_builder.h"
#include "weights.h"

namespace qtx::quantize {

class Constants {
 public:
  /// Changes `model`; `index` is that of the original.
  Constants(format::Model& model, const GraphIndex& index, graph::Names& names, Quantized& result,
            Ledger& ledger, const Options& options)
      : model_(model),
        index_(index),
        names_(names),
        result_(result),
        ledger_(ledger),
        options_(options) {
    if (options.measure_sums) changed_ = result.real;
  }

  /// Quantizes the node's weights, bias and constant operands. `node` is the model's, `plan` its
  /// plan.  Errors: those of weights.h, naming the initializer.
  Result<void> Store(format::Node& node, const NodePlan& plan, const ValuePlans& values);

  /// Adds the new initializers to the model and removes unread ones.
  void Finish();

 private:
  void Correct(const format::Node& node, const format::Tensor& real, const format::Tensor& stored,
               format::Tensor* bias);
  Result<void> StoreProduct(format::Node& node, const NodePlan& plan, const ValuePlans& values);
  Result<bool> BiasFits(const format::Node& node, const NodePlan& plan, const ValuePlans& values,
                        const WeightAxes& axes) const;
  Result<void> StoreOperand(format::Node& node, std::size_t input, const NodePlan& plan,
                            const ValuePlans& values);
  Result<const Gram*> GramFor(const format::Node& node, const NodePlan& plan,
                              const format::Dims& dims, const WeightAxes& axes);
  void Change(const std::string& name, const format::Tensor& real);
  void MoveScales(const std::string& name, const format::Dims& dims, format::Quantization& q);
  std::string Replace(const std::string& name, format::Tensor tensor,
                      std::vector<ChosenRange> ranges, const std::string& why);

  format::Model& model_;
  const GraphIndex& index_;
  graph::Names& names_;
  Quantized& result_;
  Ledger& ledger_;
  const Options& options_;
  format::Model changed_;      // the float model with the reals of what is stored
  std::string measured_name_;  // of graph::RowsOf, that of measured_
  Gram measured_;
  std::map<std::string, format::Tensor> stored_;  // by new name
  std::map<std::string, BlockScales> levels_;     // of those whose scales have levels
  std::map<std::pair<std::string, std::string>, std::string>
      names_of_;  // (old name, type) -> new name
};

}  // namespace qtx::quantize
