#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "plan.h"

namespace qtx::quantize {
namespace {

using format::Node;

// A value that gets parameters.
struct Member {
  std::string name;
  const Settings* settings = nullptr;  // of its producer, else of the first node that reads it
  bool is_moved = false;               // produced by a node whose outputs share parameters
  std::vector<std::string> constants;  // of which alone that node takes its values
  std::optional<Range> fixed;
};

// Values that share parameters: disjoint sets, each under its first member.
class Groups {
 public:
  Groups(const GraphIndex& index, const std::vector<NodePlan>& plans) : index_(index) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (plans[i].mode == Mode::kQuantized) Add(index.node(i), plans[i]);
    }
  }

  const std::vector<Member>& members() const { return members_; }
  std::size_t FirstOf(std::size_t i) {
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }

 private:
  std::size_t Find(const std::string& name, const Settings& settings) {
    const auto [at, is_new] = ids_.emplace(name, members_.size());
    if (is_new) {
      members_.push_back({name, &settings});
      parents_.push_back(at->second);
    }
    return at->second;
  }

  void Join(std::size_t a, std::size_t b) {
    a = FirstOf(a);
    b = FirstOf(b);
    const auto [low, high] = std::minmax(a, b);
    parents_[high] = low;
  }

  void Add(const Node& node, const NodePlan& plan) {
    const bool shared = plan.row->output == OperatorRow::Output::kShared;
    std::optional<std::size_t> first;
    const auto join = [&](std::size_t id) {
      if (shared && first) Join(*first, id);
      first = first.value_or(id);
    };
    std::vector<std::string> constants;
    bool computed = false;
    for (const std::size_t input : DataInputs(index_, node, *plan.row)) {
      if (index_.IsFloatConstant(node.inputs[input])) {
        constants.push_back(node.inputs[input]);
      } else {
        computed = true;
        join(Find(node.inputs[input], plan.settings));
      }
    }
    for (const std::string& output : DataOutputs(node)) {
      if (output.empty()) continue;
      const std::size_t id = Find(output, plan.settings);
      members_[id].settings = &plan.settings;
      // Where constants are among what is moved, the measured result says how far they matter.
      members_[id].is_moved = shared && constants.empty();
      if (shared && !computed) members_[id].constants = constants;
      if (plan.row->output == OperatorRow::Output::kFixed) members_[id].fixed = plan.row->fixed;
      join(id);
    }
  }

  const GraphIndex& index_;
  std::map<std::string, std::size_t> ids_;
  std::vector<Member> members_;
  std::vector<std::size_t> parents_;
};

std::string PlaceOfValue(const std::string& name) { return "value '" + name + "'"; }

void Include(const ChosenRange& more, std::optional<ChosenRange>& all) {
  if (!all) {
    all = more;
    return;
  }
  all->range.min = std::min(all->range.min, more.range.min);
  all->range.max = std::max(all->range.max, more.range.max);
}

class ValuePlanner {
 public:
  ValuePlanner(const GraphIndex& index, const std::vector<NodePlan>& plans, const Clamps& clamps)
      : index_(index), clamps_(clamps), groups_(index, plans) {}

  Result<ValuePlans> Run() {
    const auto& members = groups_.members();
    std::map<std::size_t, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < members.size(); ++i) groups[groups_.FirstOf(i)].push_back(i);
    ValuePlans plans;
    for (const auto& [first, ids] : groups) {
      auto shared = PlanGroup(members[first], ids);
      if (!shared.has_value()) return At(PlaceOfValue(members[first].name), shared.error());
      for (const std::size_t id : ids) plans.emplace(members[id].name, Limited(id, *shared));
    }
    return plans;
  }

 private:
  Result<ValuePlan> PlanGroup(const Member& first, const std::vector<std::size_t>& ids) const;
  Result<ChosenRange> GroupRange(const Member& first, const std::vector<std::size_t>& ids) const;
  Result<void> IncludeMember(const Member& member, const Settings& settings,
                             std::optional<ChosenRange>& all) const;
  const format::Statistics* StatisticsOf(const Member& member) const;
  ValuePlan Limited(std::size_t id, ValuePlan plan) const;

  const GraphIndex& index_;
  const Clamps& clamps_;
  Groups groups_;
};

const format::Statistics* ValuePlanner::StatisticsOf(const Member& member) const {
  const format::TensorType* type = index_.TypeOf(member.name);
  return type != nullptr && type->statistics ? &*type->statistics : nullptr;
}

Result<void> ValuePlanner::IncludeMember(const Member& member, const Settings& settings,
                                         std::optional<ChosenRange>& all) const {
  if (member.fixed) {
    Include({*member.fixed, {}}, all);
    return {};
  }
  // Rows of a table that no sample has asked for count as well.
  for (const std::string& name : member.constants) {
    QTX_ASSIGN_OR_RETURN(const format::Tensor table, LoadInitializer(index_, name));
    auto extremes = RangeOf(table.As<float>(), {RangeMethod{}}, settings.activations.type);
    if (!extremes.has_value()) return At(PlaceOfInitializer(name), extremes.error());
    Include(*extremes, all);
  }
  const format::Statistics* statistics = StatisticsOf(member);
  if (statistics == nullptr || !member.constants.empty()) return {};
  auto range = RangeOf(*statistics, settings.activation_range, settings.activations.type);
  if (!range.has_value()) return At(PlaceOfValue(member.name), range.error());
  if (const auto clamp = clamps_.find(member.name); clamp != clamps_.end()) {
    range->range.min = std::clamp(range->range.min, clamp->second.min, clamp->second.max);
    range->range.max = std::clamp(range->range.max, clamp->second.min, clamp->second.max);
  }
  Include(*range, all);
  return {};
}

// Of what goes into the group: the rest only moves. Where one of those has no statistics, of all
// that have some.
Result<ChosenRange> ValuePlanner::GroupRange(const Member& first,
                                             const std::vector<std::size_t>& ids) const {
  const auto& members = groups_.members();
  const bool known = std::ranges::all_of(ids, [&](std::size_t id) {
    const Member& member = members[id];
    return member.is_moved || member.fixed || !member.constants.empty() ||
           StatisticsOf(member) != nullptr;
  });
  std::optional<ChosenRange> all;
  for (const std::size_t id : ids) {
    if (known && members[id].is_moved) continue;
    QTX_RETURN_IF_ERROR(IncludeMember(members[id], *first.settings, all));
  }
  if (all) return *all;
  return Error{ErrorCode::kInvalid, "", "found no statistics (qtx calibrate writes them)"};
}

Result<ValuePlan> ValuePlanner::PlanGroup(const Member& first,
                                          const std::vector<std::size_t>& ids) const {
  const auto& members = groups_.members();
  ValuePlan plan{.spec = first.settings->activations.type};
  const bool fixed = std::ranges::all_of(ids, [&](std::size_t id) {
    return members[id].is_moved || (members[id].fixed && members[id].fixed == first.fixed);
  });
  if (fixed && first.fixed) {
    QTX_ASSIGN_OR_RETURN(plan.parameters, FixedParameters(*first.fixed, plan.spec));
  } else {
    QTX_ASSIGN_OR_RETURN(plan.chosen, GroupRange(first, ids));
    QTX_ASSIGN_OR_RETURN(plan.parameters, ChooseParameters(plan.chosen->range, plan.spec));
  }
  plan.quantization = ToQuantization(plan.parameters, plan.spec);
  return plan;
}

// The limits of a value's own clamp, where they are narrower than its stored range.
ValuePlan ValuePlanner::Limited(std::size_t id, ValuePlan plan) const {
  const auto clamp = clamps_.find(groups_.members()[id].name);
  if (clamp == clamps_.end()) return plan;
  const format::IntegerRange stored = StoredRange(plan.spec);
  const std::int64_t low = StoredOf(clamp->second.min, plan.parameters, stored);
  const std::int64_t high = StoredOf(clamp->second.max, plan.parameters, stored);
  if (low > stored.min) plan.quantization.quant_min = low;
  if (high < stored.max) plan.quantization.quant_max = high;
  return plan;
}

}  // namespace

Result<ValuePlans> PlanValues(const GraphIndex& index, const std::vector<NodePlan>& plans,
                              const Clamps& clamps) {
  return ValuePlanner(index, plans, clamps).Run();
}

}  // namespace qtx::quantize
