#include "reduce.h"

#include <utility>

namespace qtx::conformance {

bool Search::Try(TestModel candidate) {
  if (exhausted() || tester_.Run(candidate).kind != kind_) return false;
  best_ = std::move(candidate);
  return true;
}

bool ReduceOnce(Search& search) {
  bool changed = DropInputs(search);
  changed |= ReduceShapes(search);
  changed |= ZeroElements(search);
  changed |= SimplifyParameters(search);
  return changed;
}

bool DropInputs(Search& search) {
  bool changed = false;
  for (std::size_t n = 0; n < search.best().nodes.size(); ++n) {
    for (std::size_t i = search.best().nodes[n].inputs.size(); i-- > 1;) {
      TestModel candidate = search.best();
      std::vector<std::string>& inputs = candidate.nodes[n].inputs;
      // Also removes absent inputs before it.
      if (i >= inputs.size() || inputs[i].empty()) continue;
      inputs[i].clear();
      while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
      std::erase_if(candidate.data,
                    [&candidate](const Datum& datum) { return !IsRead(candidate, datum.name); });
      changed |= search.Try(std::move(candidate));
    }
  }
  return changed;
}

}  // namespace qtx::conformance
