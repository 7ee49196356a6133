// Restore: what a tool dropped of a model, in whichever form, taken from an older file.
#include <algorithm>
#include <set>

#include "annotate.h"
#include "ledger.h"
#include "qtx/convert/convert.h"
#include "qtx/format/annotation.h"
#include "qtx/format/description.h"
#include "qtx/format/scopes.h"

namespace qtx::convert {
namespace {

using format::Graph;
using format::TensorType;
using format::ValueInfo;

const char* FieldOf(const TensorType& type) {
  if (format::IsQuantized(type.elem_type)) return "quantization";
  return format::IsAnnotated(type) ? "annotation" : "statistics";
}

bool SaysMore(const TensorType& type) {
  const bool says =
      type.elem_type == format::ElementType::kFloat || format::IsQuantized(type.elem_type);
  return says && (type.quantization || type.statistics);
}

// A dim that one of the two leaves open is no difference.
bool AgreeInShape(const TensorType& a, const TensorType& b) {
  if (!a.shape || !b.shape) return true;
  const auto agree = [](const format::Dimension& x, const format::Dimension& y) {
    return !x.value || !y.value || *x.value == *y.value;
  };
  return std::ranges::equal(*a.shape, *b.shape, agree);
}

class Restoring {
 public:
  Restoring(const Graph& from, Graph& to, Ledger& ledger)
      : from_(from), to_(to), names_(ValueNames(to)), ledger_(ledger) {
    for (auto* list : {&to.inputs, &to.outputs, &to.values}) {
      for (ValueInfo& value : *list) declared_.emplace(value.name, &value);
    }
  }

  /// `bodies`: numbers of bodies mean the same in both graphs.
  void Run(bool bodies) {
    std::set<std::string_view> done;
    for (const auto* list : {&from_.inputs, &from_.outputs, &from_.values}) {
      for (const ValueInfo& value : *list) {
        if (!value.type || !SaysMore(*value.type) || !done.insert(value.name).second) continue;
        if (format::IsOfBody(value.name) && !bodies) {
          ledger_.Dropped(value.name, FieldOf(*value.type), "the nodes have changed");
        } else if (!names_.contains(value.name)) {
          ledger_.Dropped(value.name, FieldOf(*value.type), "no value has this name any more");
        } else {
          RestoreValue(value);
        }
      }
    }
    std::ranges::move(added_, std::back_inserter(to_.values));
  }

 private:
  void RestoreValue(const ValueInfo& value) {
    const auto [first, last] = declared_.equal_range(value.name);
    if (first == last) {
      ValueInfo& added = added_.emplace_back();
      added.name = value.name;
      added.type = value.type;
      added.doc_string = value.doc_string;
      ledger_.Changed(value.name, FieldOf(*value.type), "restored");
    }
    for (auto at = first; at != last; ++at) RestoreType(*value.type, *at->second);
  }

  void RestoreType(const TensorType& type, ValueInfo& to) {
    if (to.type && to.type->elem_type != type.elem_type) {
      ledger_.Dropped(to.name, FieldOf(type),
                      "found " + format::ToString(*to.type) + ", expected " +
                          std::string(format::Name(type.elem_type)));
      return;
    }
    if (to.type && !AgreeInShape(type, *to.type)) {
      ledger_.Dropped(to.name, FieldOf(type),
                      "found " + format::ToString(*to.type) + ", expected the shape of " +
                          format::ToString(type));
      return;
    }
    if (!to.type) to.type = TensorType{.elem_type = type.elem_type, .shape = type.shape};
    if (to.type->quantization == type.quantization && to.type->statistics == type.statistics)
      return;
    to.type->quantization = type.quantization;
    to.type->statistics = type.statistics;
    if (!format::IsQuantized(type.elem_type)) {
      format::Undescribe(to);  // doc strings are seldom dropped
      format::Describe(to);
    }
    ledger_.Changed(to.name, FieldOf(type), "restored");
  }

  const Graph& from_;
  Graph& to_;
  const std::set<std::string> names_;
  std::multimap<std::string_view, ValueInfo*> declared_;
  std::vector<ValueInfo> added_;
  Ledger& ledger_;
};

}  // namespace

Result<Conversion> Restore(const format::Model& from, const format::Model& model) {
  const format::FlatModel before(from);
  const format::FlatModel now(model);
  QTX_ASSIGN_OR_RETURN(const format::Digest nodes, format::NodeDigestOf(before.model().graph));
  QTX_ASSIGN_OR_RETURN(const format::Digest nodes_now, format::NodeDigestOf(now.model().graph));
  format::Model flat = now.model();
  Ledger ledger;
  Restoring(before.model().graph, flat.graph, ledger).Run(nodes == nodes_now);
  for (const auto& [key, text] : from.metadata) {
    if (!key.starts_with("qtx.") || format::FindMetadata(flat.metadata, key) != nullptr) continue;
    flat.metadata.emplace_back(key, text);
    ledger.Changed("model", key, "restored");
  }
  QTX_ASSIGN_OR_RETURN(format::Model nested, now.Nest(std::move(flat)));
  QTX_RETURN_IF_ERROR(format::RecordAnnotations(nested));
  QTX_RETURN_IF_ERROR(format::RecordStatistics(nested));
  std::vector<LedgerEntry> entries = ledger.Take();
  for (LedgerEntry& entry : entries) entry.value = before.Readable(entry.value);
  return Conversion{std::move(nested), std::move(entries)};
}

}  // namespace qtx::convert
