// Random generation of nodes for fuzzing: sizes, types, parameters, data, attributes. The row of
// the operator in the catalogue says which of them a node may have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generator.h"
#include "qtx/format/catalogue.h"
#include "test_model.h"

namespace qtx::conformance {

/// A node under construction, with its constants and new inputs.
struct NodeDraft {
  format::Node node;  // an output that the node leaves out is ""
  std::vector<Datum> data;
};

/// Choices shared by all nodes of a model.
struct ModelTraits {
  std::int64_t opset = 13;
  bool bytes_only = false;   // of real types, INT8Q and UINT8Q alone, which most backends have
  std::int64_t room = 2048;  // elements of one tensor
  bool odd_scales = false;   // scales of all of binary32, subnormal ones among them
};

/// The type of an output: one that the row fixes, or any real type.
struct OutputChoice {
  bool is_free = false;
  format::TensorType fixed;  // without shape
};

/// Makes one node. `known` are the outputs of earlier nodes. Every choice is drawn again while the
/// row refuses the node for it: what is not chosen yet is unknown to the row's rules.
class Maker {
 public:
  Maker(Random& random, const ModelTraits& traits, const format::OpSchema& schema,
        const std::vector<Datum>& known, std::size_t number);

  /// Makes the node by the operator's recipe (fuzz_operators.cc), and by the row alone what the
  /// recipe leaves open. False if the row refuses what was drawn.
  bool Make();
  /// The type of output `i` of the node that was made; nullopt if none was found.
  std::optional<OutputChoice> ChoiceOf(std::size_t i) const;
  const NodeDraft& draft() const { return draft_; }
  /// A value that the draft or an earlier node gives; nullptr when there is none.
  const Datum* Find(std::string_view name) const;

  // Chances.
  bool Chance(std::uint64_t percent) { return random_.Below(100) < percent; }
  std::int64_t Between(std::int64_t low, std::int64_t high);
  /// A size of at most `room`: 1, odd, or near the width of a vector register; where the model has
  /// room, near the block of a kernel.
  std::int64_t Size(std::int64_t room);
  format::Dims Shape(std::int64_t lowest_rank, std::int64_t highest_rank);
  /// `dims` with some sizes 1 and some leading ones left out.
  format::Dims BroadcastTo(const format::Dims& dims);

  // Inputs: each function adds one to the node and returns its sizes.
  /// An output of an earlier node if one fits, else a new input.
  format::Dims Value(std::int64_t lowest_rank, std::int64_t highest_rank);
  /// A new input of that shape; `axis` is used if parameters are per axis.
  format::Dims New(const format::Dims& dims, std::optional<std::int64_t> axis, bool constant);
  /// A bias quantized for inputs `x` and `w` as usual, or none; w has its output channels along
  /// `axis`.
  void Bias(std::size_t x, std::size_t w, std::int64_t axis, std::int64_t channels);
  void Int64s(const std::vector<std::int64_t>& values);
  /// Constants of type FLOAT, above 0 and mostly below 2 * `factor`.
  void Scales(const format::Dims& dims, float factor);
  void Absent() { Offer(std::string()); }
  /// How many there will be in all.
  void Inputs(std::size_t count);
  void Outputs(std::size_t count);

  // Attributes; one that the operator does not have in the opset is left out.
  bool Has(std::string_view name) const;
  void Int(std::string name, std::int64_t value);
  void String(std::string name, std::string value);

  /// A type for an output with exact values `reals`, usually one that clamps a few of them.
  format::TensorType ResultType(const format::Tensor& reals);

 private:
  // What the row says of the draft.
  format::Application Asked() const;
  std::string Refusal() const;  // "" for none
  bool IsRefusedAnew() const;
  // Each adds an input or attribute unless the row refuses the node for it; `keep` false only asks.
  bool Offer(std::string name, bool keep = true);
  bool Offer(format::Tensor tensor, bool constant, bool keep = true);
  bool Offer(format::Attribute attribute);
  bool Fits(format::ElementType type, const format::Dims& dims);

  // Draws by the row alone (fuzz_row.cc).
  void NameOutputs();
  void AddInput(std::size_t i);
  void AddAttributes(std::uint64_t percent);   // of those that the draft does not miss
  bool IsMissed(std::string_view name) const;  // the refusal names it
  std::optional<format::Attribute> DrawAttribute(const format::AttributeRule& rule);
  std::int64_t DrawInt(const format::AttributeRule& rule);
  format::Tensor DrawTensor(format::ElementType type);
  format::Dims DimsLikeOthers();
  format::Dims DimsOfOther();
  std::vector<std::int64_t> Integers();
  std::vector<std::int64_t> Factors(std::int64_t count);

  format::ElementType DrawReal();
  format::ElementType DrawType(int tries);
  float Scale();
  void Narrow(format::ElementType type, format::Quantization& q);
  std::int32_t Offset(format::ElementType type);
  format::Quantization Parameters(format::ElementType type, const format::Dims& dims,
                                  std::optional<std::int64_t> axis);
  format::Tensor Fill(format::ElementType type, const format::Dims& dims,
                      std::optional<format::Quantization> q);
  format::Tensor Filled(format::ElementType type, const format::Dims& dims,
                        std::optional<std::int64_t> axis);

  Random& random_;
  ModelTraits traits_;
  const format::OpSchema& schema_;
  const std::vector<Datum>& known_;
  std::string number_;
  NodeDraft draft_;
  std::size_t next_ = 0;  // the input to draw
  std::string refusal_;   // of the draft so far
};

/// The shapes of an operator's inputs, where those that the row accepts are too rare among random
/// ones; nullptr for the other operators.
using FuzzRecipe = void (*)(Maker& maker);
FuzzRecipe FindFuzzRecipe(std::string_view op_type);

/// The rows whose op_type matches the glob `operators`.
std::vector<const format::OpSchema*> FuzzedOperators(const std::string& operators);

/// Nodes that were drawn for models, and those of them that could not be used.
struct DraftCounts {
  std::int64_t drafts = 0;
  std::int64_t refused = 0;     // by the row
  std::int64_t unanswered = 0;  // by the reference
};

/// Model `number` of the sequence for `seed`: 1 to 6 nodes with op_types that match `operators`,
/// accepted by the checker and the reference in `arithmetic`. nullopt if no attempt was accepted.
std::optional<TestModel> RandomModel(std::uint64_t seed, std::int64_t number,
                                     const std::string& arithmetic, const std::string& operators,
                                     DraftCounts* counts = nullptr);

}  // namespace qtx::conformance
