// Random models, node by node: each is run by the reference before the next is made.
#include <algorithm>
#include <utility>

#include "differential_tester.h"
#include "fuzz_maker.h"
#include "qtx/conformance/suite.h"

namespace qtx::conformance {
namespace {

using format::Tensor;
using format::ValueInfo;

constexpr int kMaxTries = 60;  // for one node

class ProgramMaker {
 public:
  ProgramMaker(Random& random, const std::string& arithmetic, const std::string& operators)
      : random_(random), arithmetic_(arithmetic) {
    traits_.opset = 13 + static_cast<std::int64_t>(random_.Below(9));
    traits_.bytes_only = random_.Below(3) != 0;
    for (const FuzzedOperator& op : FuzzedOperators()) {
      if (op.since <= traits_.opset && GlobMatches(operators, op.op_type)) choice_.push_back(&op);
    }
    program_.opset_imports = {{"", traits_.opset, {}},
                              {std::string(format::kDomain), format::kVersion, {}}};
  }

  std::optional<TestModel> Make() {
    if (choice_.empty()) return std::nullopt;
    const std::uint64_t nodes = random_.Below(2) == 0 ? 1 : 1 + random_.Below(6);
    for (std::uint64_t n = 0; n < nodes; ++n) {
      for (int tries = 0; tries < kMaxTries && !AddNode(); ++tries) continue;
    }
    Declare();
    const bool accepted =
        !program_.nodes.empty() &&
        ReferenceAnswer(ToModel(program_), InputsOf(program_), arithmetic_).has_value();
    if (!accepted) return std::nullopt;
    return std::move(program_);
  }

 private:
  bool AddNode() {
    const FuzzedOperator& op = *choice_[random_.Below(choice_.size())];
    const std::size_t number = program_.nodes.size() + 1;
    Maker maker(random_, traits_, known_, number);
    op.make(maker);
    NodeDraft draft = maker.Take();
    draft.node.op_type = op.op_type;
    for (std::size_t i = 0; i < draft.outputs; ++i) {
      draft.node.outputs.push_back("t" + std::to_string(number) + "_" + std::to_string(i));
    }
    const auto infos = OutputTypes(draft, maker);
    if (!infos) return false;
    auto results = Run(draft, *infos, arithmetic_);
    if (!results) return false;
    Accept(std::move(draft), *infos, *std::move(results));
    return true;
  }

  // A model of the node alone, with known inputs.
  std::optional<std::vector<Tensor>> Run(const NodeDraft& draft,
                                         const std::vector<ValueInfo>& infos,
                                         const std::string& arithmetic) const {
    TestModel one;
    one.opset_imports = program_.opset_imports;
    one.nodes = {draft.node};
    one.outputs = infos;
    one.data = draft.data;
    for (const Datum& known : known_) {
      if (std::ranges::find(draft.node.inputs, known.name) != draft.node.inputs.end()) {
        one.data.push_back(known);
      }
    }
    return ReferenceAnswer(ToModel(one), InputsOf(one), arithmetic);
  }

  const Tensor* InputOf(const NodeDraft& draft, std::size_t i) const {
    for (const auto* data : {&draft.data, &known_}) {
      const auto found = std::ranges::find(*data, draft.node.inputs[i], &Datum::name);
      if (found != data->end()) return &found->tensor;
    }
    return nullptr;
  }

  std::optional<std::vector<ValueInfo>> OutputTypes(const NodeDraft& draft, Maker& maker) const {
    std::vector<ValueInfo> infos(draft.outputs);
    for (std::size_t i = 0; i < infos.size(); ++i) {
      infos[i].name = draft.node.outputs[i];
      infos[i].type.emplace();
      infos[i].type->elem_type = draft.result.value_or(format::ElementType::kFloat);
    }
    if (draft.result) return infos;
    const Tensor* x = InputOf(draft, 0);
    if (x == nullptr) return std::nullopt;
    const bool real =
        format::IsQuantized(x->elem_type) || x->elem_type == format::ElementType::kFloat;
    if (draft.moves && (!real || maker.Chance(60))) {
      for (ValueInfo& info : infos) {
        info.type->elem_type = x->elem_type;
        info.type->quantization = x->quantization;
      }
      return infos;
    }
    const auto reals = Run(draft, infos, "exact");
    if (!reals) return std::nullopt;
    for (std::size_t i = 0; i < infos.size(); ++i) infos[i].type = maker.ResultType((*reals)[i]);
    return infos;
  }

  void Accept(NodeDraft draft, const std::vector<ValueInfo>& infos, std::vector<Tensor> results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      types_.push_back(infos[i]);
      known_.push_back({infos[i].name, std::move(results[i]), false});
    }
    for (Datum& datum : draft.data) {
      if (!datum.constant) known_.push_back(datum);
      program_.data.push_back(std::move(datum));
    }
    program_.nodes.push_back(std::move(draft.node));
  }

  // Unread values become outputs.
  void Declare() {
    for (const ValueInfo& info : types_) {
      const bool read = std::ranges::any_of(program_.nodes, [&info](const format::Node& node) {
        return std::ranges::find(node.inputs, info.name) != node.inputs.end();
      });
      (read ? program_.values : program_.outputs).push_back(info);
    }
  }

  Random& random_;
  std::string arithmetic_;
  ModelTraits traits_;
  std::vector<const FuzzedOperator*> choice_;
  TestModel program_;
  std::vector<ValueInfo> types_;  // of the nodes' outputs
  std::vector<Datum> known_;      // inputs and node outputs, with tensors
};

}  // namespace

std::optional<TestModel> RandomModel(std::uint64_t seed, std::int64_t number,
                                     const std::string& arithmetic, const std::string& operators) {
  Random start(seed);
  Random random(start.Next() + static_cast<std::uint64_t>(number) * 0xD1342543DE82EF95U);
  return ProgramMaker(random, arithmetic, operators).Make();
}

}  // namespace qtx::conformance
