// Writes nodes of the extended form as operators on integers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ledger.h"
#include "qoperator/float_product.h"
#include "qoperator/forms.h"
#include "qoperator/lift.h"
#include "qoperator/operators.h"

namespace qtx::convert {

struct FormContext {
  const GraphIndex& index;  // of the extended form
  const QuantizedTypes& types;
  graph::Names& names;
  format::Model& model;  // the output
  Ledger& ledger;
};

class FormWriter {
 public:
  explicit FormWriter(FormContext context) : context_(context) {}

  /// Determines the form of every node.  Errors: kUnsupported, naming the node.
  Result<void> Choose();
  /// False when `node` has no form.  Errors: kUnsupported.
  Result<bool> Write(const format::Node& node);
  /// True for a node that is merged into its product: the Add of a bias, an order, a Cast.
  bool IsAbsorbed(const format::Node& node) const { return absorbed_.contains(&node); }
  bool Writes(std::size_t node) const { return forms_.contains(&context_.index.node(node)); }
  /// True when a form, or a node that moves elements, reads the integers of `value`.
  bool ReadsIntegers(const std::string& value) const;

  /// Names of the initializers that are scale and zero point of `value`; INT32 has only the first.
  const std::vector<std::string>& ParametersOf(const std::string& value);
  /// Adds the initializers named so far; call after all nodes.
  void AddInitializers();

  bool IsPacked(const std::string& value) const { return packed_.contains(value); }
  /// Declares the packed weights.
  void DeclarePacked(format::ValueInfo& info) const;

 private:
  Result<void> WriteLayout(const format::Node& node, const Form& form);
  Result<void> WriteIntegerProduct(const format::Node& node, const Form& form);
  Result<void> WriteNBits(const format::Node& node, const Form& form);
  Result<bool> WriteBnb4(const format::Node& node, const Form& form);
  Result<bool> WriteGatherBlocks(const format::Node& node, const Form& form);
  format::Node Started(const format::Node& node, const Form& form) const;
  void Finished(format::Node written);
  Result<void> ChooseAround(const format::Node& node, const Form& form);
  const format::Node* BiasOf(const format::Node& product) const;
  Result<const format::Node*> OrderOf(const format::Node& product) const;
  std::string AddInitializer(const std::string& name, const format::Tensor& tensor);

  FormContext context_;
  std::map<const format::Node*, Form> forms_;
  std::map<const format::Node*, const format::Node*> biases_;  // product, its Add
  std::map<const format::Node*, const format::Node*> orders_;  // product, the Gather before it
  std::map<const format::Node*, FloatProduct> floats_;         // product, what is around it
  std::set<const format::Node*> absorbed_;
  std::map<std::string, std::vector<std::string>> parameters_;
  // Weights of MatMulNBits and GatherBlockQuantized, as they are stored.
  std::map<std::string, std::pair<format::ElementType, format::Dims>> packed_;
  std::vector<format::TensorData> added_;
  std::set<std::string> unread_;  // initializers of absorbed nodes
};

}  // namespace qtx::convert
