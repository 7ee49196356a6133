#include "decoder/parts.h"

#include <array>
#include <utility>

#include "errors.h"

namespace qtx::convert::decoder {

using format::Attribute;
using format::ElementType;
using format::Shape;

Shape ByTokenShape(std::int64_t n) { return {{{}, "tokens"}, {n, ""}}; }
Shape BySequenceShape(std::int64_t n) { return {{{}, "batch"}, {{}, "sequence"}, {n, ""}}; }

Parts::Parts(const Weights& weights) : weights_(weights) {
  for (const auto& [name, weight] : weights) out_.names().Take(weight.value);
}

void Parts::Fail(Error error) {
  if (status_) status_ = std::move(error);
}

std::string Parts::Take(const std::string& weight, const format::Dims& dims) {
  const auto found = weights_.find(weight);
  if (found == weights_.end()) {
    Fail(Invalid("tensor '" + weight + "'", "is missing; the graph needs it"));
    return "";
  }
  taken_.insert(weight);
  if (found->second.dims != dims) {
    Fail(Invalid("tensor '" + weight + "'", "has shape " + format::ToString(found->second.dims) +
                                                ", expected " + format::ToString(dims)));
  }
  return found->second.value;
}

std::int64_t Parts::Rows(std::string_view weight) const {
  const auto found = weights_.find(weight);
  return found == weights_.end() || found->second.dims.empty() ? 0 : found->second.dims[0];
}

std::string Parts::Untaken() const {
  for (const auto& [name, weight] : weights_) {
    if (!taken_.contains(name)) return name;
  }
  return "";
}

std::string Parts::Node(const std::string& name, std::string_view op_type,
                        std::vector<std::string> inputs, Shape shape,
                        std::vector<Attribute> attributes, ElementType type) {
  std::string y = out_.Inner(name, {.elem_type = type, .shape = std::move(shape)});
  out_.Add(name, {std::string(op_type), std::move(inputs), std::move(attributes)}, {y});
  return y;
}

std::string Parts::Linear(const std::string& x, const std::string& stem, std::int64_t outputs,
                          std::int64_t inputs) {
  std::vector<std::string> operands = {x, Take(stem + ".weight", {outputs, inputs})};
  if (Has(stem + ".bias")) operands.push_back(Take(stem + ".bias", {outputs}));
  return Node(stem, "Gemm", std::move(operands), ByTokenShape(outputs),
              {Attribute::Int("transB", 1)});
}

std::string Parts::Norm(const std::string& x, const std::string& weight, std::int64_t width,
                        Shape shape) {
  std::string gain = Take(weight + ".weight", {width});
  if (adds_one_) {
    gain = Node(weight + "/gain", "Add", {gain, Scalar(weight + "/one", 1)}, {{width, ""}});
  }
  return Node(weight, "RMSNormalization", {x, gain}, std::move(shape),
              {Attribute::Int("axis", -1), Attribute::Float("epsilon", epsilon_)});
}

void Parts::SetTokens(const std::string& input_ids) {
  const std::array<std::int64_t, 1> rest = {-1};
  sizes_ = Node("sizes", "Shape", {input_ids}, {{2, ""}}, {}, ElementType::kInt64);
  by_sequence_ = Node("by_sequence", "Concat", {sizes_, out_.AddInts("rest", rest)}, {{3, ""}},
                      {Attribute::Int("axis", 0)}, ElementType::kInt64);
}

std::string Parts::BySequence(const std::string& x, std::int64_t n, const std::string& name) {
  return Node(name.empty() ? x + "/by_sequence" : name, "Reshape", {x, by_sequence_},
              BySequenceShape(n));
}

std::string Parts::ByToken(const std::string& x, std::int64_t n) {
  const std::array<std::int64_t, 2> shape = {-1, n};
  return Node(x + "/by_token", "Reshape", {x, out_.AddInts(x + "/shape", shape)}, ByTokenShape(n));
}

}  // namespace qtx::convert::decoder
