// Random models, node by node: each is run by the reference before the next is made.
#include <algorithm>
#include <utility>

#include "differential_tester.h"
#include "fuzz_maker.h"
#include "qtx/conformance/suite.h"
#include "qtx/format/attributes.h"
#include "qtx/format/onnx_operators.h"

namespace qtx::conformance {
namespace {

using format::Tensor;
using format::ValueInfo;

constexpr int kMaxDrafts = 60;             // for one node
constexpr std::int64_t kOldestOpset = 13;  // of the text
constexpr std::string_view kMicrosoft = "com.microsoft";

// The first opset of the text that has the operator.
std::int64_t OldestOpset(const format::OpSchema& row) {
  if (!row.domain.empty()) return kOldestOpset;
  const auto onnx = format::catalogue::OnnxOperators();
  const auto first =
      std::ranges::find(onnx, row.op_type, &format::catalogue::OnnxOperator::op_type);
  return first == onnx.end() ? kOldestOpset : std::max<std::int64_t>(first->since, kOldestOpset);
}

bool HasAxis(const format::TensorType& type) {
  return type.quantization && !type.quantization->axis.empty();
}

class ProgramMaker {
 public:
  ProgramMaker(Random& random, const std::string& arithmetic, const std::string& operators,
               DraftCounts& counts)
      : random_(random), arithmetic_(arithmetic), counts_(counts) {
    const auto rows = FuzzedOperators(operators);
    std::int64_t oldest = format::NewestOpset();
    for (const format::OpSchema* row : rows) oldest = std::min(oldest, OldestOpset(*row));
    const auto span = static_cast<std::uint64_t>(format::NewestOpset() - oldest + 1);
    traits_.opset = oldest + static_cast<std::int64_t>(random_.Below(span));
    traits_.bytes_only = random_.Below(3) != 0;
    traits_.odd_scales = random_.Below(8) == 0;
    // Exact arithmetic takes long over many elements.
    const std::uint64_t size = random_.Below(32);
    if (size <= 2) traits_.room = size == 0 ? 12'000 : 4096;
    std::ranges::copy_if(rows, std::back_inserter(choice_), [this](const format::OpSchema* row) {
      return OldestOpset(*row) <= traits_.opset;
    });
    program_.opset_imports = {{"", traits_.opset, {}},
                              {std::string(format::kDomain), format::kVersion, {}},
                              {std::string(kMicrosoft), 1, {}}};
  }

  std::optional<TestModel> Make() {
    if (choice_.empty()) return std::nullopt;
    const std::uint64_t nodes = random_.Below(2) == 0 ? 1 : 1 + random_.Below(6);
    for (std::uint64_t n = 0; n < nodes; ++n) {
      for (int tries = 0; tries < kMaxDrafts && !AddNode(); ++tries) continue;
    }
    Declare();
    if (program_.nodes.empty()) return std::nullopt;
    for (const bool open : {random_.Below(5) == 0, false}) {
      program_.open_shapes = open;
      if (ReferenceAnswer(ToModel(program_), InputsOf(program_), arithmetic_)) {
        return std::move(program_);
      }
    }
    return std::nullopt;
  }

 private:
  bool AddNode() {
    const format::OpSchema& row = *choice_[random_.Below(choice_.size())];
    Maker maker(random_, traits_, row, known_, program_.nodes.size() + 1);
    ++counts_.drafts;
    if (!maker.Make()) {
      ++counts_.refused;
      return false;
    }
    const auto infos = OutputTypes(maker);
    auto results = infos ? Run(maker.draft(), *infos, arithmetic_) : std::nullopt;
    if (!results) {
      ++counts_.unanswered;
      return false;
    }
    Accept(maker.draft(), *infos, *std::move(results));
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

  // Often the type of input 0, as operators that only move elements keep it.
  std::optional<std::vector<ValueInfo>> OutputTypes(Maker& maker) const {
    const format::Node& node = maker.draft().node;
    std::vector<ValueInfo> infos;
    std::vector<bool> is_free;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      auto choice = maker.ChoiceOf(i);
      if (!choice) return std::nullopt;
      ValueInfo& info = infos.emplace_back();
      info.name = node.outputs[i];
      info.type = std::move(choice->fixed);
      is_free.push_back(choice->is_free);
      if (choice->is_free) info.type->elem_type = format::ElementType::kFloat;
    }
    if (std::ranges::find(is_free, true) == is_free.end()) return infos;
    const Datum* x = node.inputs.empty() ? nullptr : maker.Find(node.inputs[0]);
    const bool keeps = x != nullptr && x->tensor.quantization && maker.Chance(25);
    const auto reals = Run(maker.draft(), infos, "exact");
    if (!reals) return std::nullopt;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      if (!is_free[i]) continue;
      format::TensorType& type = *infos[i].type;
      type = keeps ? format::TensorType{x->tensor.elem_type, {}, x->tensor.quantization}
                   : maker.ResultType((*reals)[i]);
      // shape.C1 asks for a rank.
      if (HasAxis(type)) type.shape.emplace((*reals)[i].dims.size());
    }
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
  DraftCounts& counts_;
  std::vector<const format::OpSchema*> choice_;
  TestModel program_;
  std::vector<ValueInfo> types_;  // of the nodes' outputs
  std::vector<Datum> known_;      // inputs and node outputs, with tensors
};

}  // namespace

std::vector<const format::OpSchema*> FuzzedOperators(const std::string& operators) {
  std::vector<const format::OpSchema*> rows;
  for (const format::OpSchema& row : format::Sections()) {
    if (GlobMatches(operators, row.op_type)) rows.push_back(&row);
  }
  return rows;
}

std::optional<TestModel> RandomModel(std::uint64_t seed, std::int64_t number,
                                     const std::string& arithmetic, const std::string& operators,
                                     DraftCounts* counts) {
  Random start(seed);
  Random random(start.Next() + static_cast<std::uint64_t>(number) * 0xD1342543DE82EF95U);
  DraftCounts own;
  return ProgramMaker(random, arithmetic, operators, counts == nullptr ? own : *counts).Make();
}

}  // namespace qtx::conformance
