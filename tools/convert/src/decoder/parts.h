// Pieces that the graph of a decoder is made of.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/config.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/graph/graph_builder.h"

namespace qtx::convert::decoder {

/// Adds nodes over FLOAT values and weights. Values between nodes have the rows of all tokens:
/// [tokens, n]; those of Attention are [batch, sequence, n].
class Parts {
 public:
  /// Keeps a reference to the weights, whose values' names are taken.
  explicit Parts(const Weights& weights);

  graph::GraphBuilder& out() { return out_; }
  /// The last error of a part; the names that parts return after it mean nothing.
  Result<void> Status() const { return status_; }
  void Fail(Error error);

  bool Has(std::string_view weight) const { return weights_.contains(weight); }
  /// The value that holds `weight`.  Errors: as BuildDecoder's.
  std::string Take(const std::string& weight, const format::Dims& dims);
  /// The size of the first axis of a weight; 0 when it is missing.
  std::int64_t Rows(std::string_view weight) const;
  /// The first weight that nothing took, or empty.
  std::string Untaken() const;

  /// A node of one output, a FLOAT of `shape`, both named after `name`.
  std::string Node(const std::string& name, std::string_view op_type,
                   std::vector<std::string> inputs, format::Shape shape,
                   std::vector<format::Attribute> attributes = {},
                   format::ElementType type = format::ElementType::kFloat);
  std::string Scalar(const std::string& name, float value) {
    return out_.AddConstant(name, graph::FloatTensor(value));
  }

  /// x [tokens, inputs] times the transpose of `stem`.weight, plus `stem`.bias where there is one.
  std::string Linear(const std::string& x, const std::string& stem, std::int64_t outputs,
                     std::int64_t inputs);
  /// Rows of `width` elements scaled to a mean square of 1, times `weight`.
  std::string Norm(const std::string& x, const std::string& weight, std::int64_t width,
                   format::Shape shape);
  /// [tokens, n] to [batch, sequence, n], and back.
  std::string BySequence(const std::string& x, std::int64_t n, const std::string& name = "");
  std::string ByToken(const std::string& x, std::int64_t n);

  /// Sets what the parts depend on.
  void SetNorm(float epsilon, bool adds_one) { epsilon_ = epsilon, adds_one_ = adds_one; }
  /// `input_ids` gives the batch and the length.
  void SetTokens(const std::string& input_ids);
  const std::string& sizes() const { return sizes_; }

 private:
  const Weights& weights_;
  graph::GraphBuilder out_;
  std::set<std::string, std::less<>> taken_;
  Result<void> status_;
  float epsilon_ = 0;
  bool adds_one_ = false;
  std::string sizes_;        // [batch, sequence]
  std::string by_sequence_;  // [batch, sequence, -1]
};

format::Shape ByTokenShape(std::int64_t n);
format::Shape BySequenceShape(std::int64_t n);

}  // namespace qtx::convert::decoder
