// A record is `IR;NODES;INITIALIZERS;VALUES;LOST`: the original's ir_version; for each list of the
// graph an edit of the moved list, such as `=12-1+2=3` (keep 12, leave out 1, take the next 2 of
// the lost, keep 3); and the lost items as the lists of a graph, a serialised ModelProto in base64.
// Lists and names are those of flat forms.
#include "opset/revert.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base64.h"
#include "errors.h"
#include "opset/opset.h"
#include "qtx/format/check.h"
#include "qtx/format/scopes.h"

namespace qtx::convert {
namespace {

std::string_view KeyOf(const format::Node& node) {
  return node.outputs.empty() ? std::string_view(node.name) : std::string_view(node.outputs[0]);
}
std::string_view KeyOf(const format::TensorData& data) { return data.name; }
std::string_view KeyOf(const format::ValueInfo& value) { return value.name; }

// An edit as text, in which adjacent steps of one kind are one.
class Edit {
 public:
  void Add(char kind, std::size_t count) {
    if (count == 0) return;
    if (kind != kind_) Flush();
    kind_ = kind;
    count_ += count;
  }
  std::string Text() {
    Flush();
    return std::move(text_);
  }

 private:
  void Flush() {
    if (count_ > 0) text_ += kind_ + std::to_string(count_);
    count_ = 0;
  }
  char kind_ = '=';
  std::size_t count_ = 0;
  std::string text_;
};

// The edit that makes `original` of `moved`. Items of `original` that it does not keep are `lost`.
template <typename Item>
std::string EditOf(const std::vector<Item>& original, const std::vector<Item>& moved,
                   std::vector<Item>& lost) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < moved.size(); ++i) places.emplace(KeyOf(moved[i]), i);
  Edit edit;
  std::size_t next = 0;
  for (const Item& item : original) {
    const auto place = places.find(KeyOf(item));
    if (place != places.end() && place->second >= next && moved[place->second] == item) {
      edit.Add('-', place->second - next);
      edit.Add('=', 1);
      next = place->second + 1;
    } else {
      edit.Add('+', 1);
      lost.push_back(item);
    }
  }
  edit.Add('-', moved.size() - next);
  return edit.Text();
}

Error Disagrees(const std::string& what) { return Invalid("qtx.opset", what); }

// The number at the beginning of `text`, which then begins after it.
std::optional<std::size_t> TakeNumber(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

template <typename Item>
Result<std::vector<Item>> Edited(std::string_view edit, const std::vector<Item>& moved,
                                 const std::vector<Item>& lost) {
  std::vector<Item> items;
  std::size_t next = 0, next_lost = 0;
  while (!edit.empty()) {
    const char kind = edit[0];
    edit.remove_prefix(1);
    const auto count = TakeNumber(edit);
    const std::size_t left = kind == '+' ? lost.size() - next_lost : moved.size() - next;
    if (!count || *count > left || (kind != '=' && kind != '-' && kind != '+'))
      return Disagrees("found an edit of other lists than the model's");
    const auto& source = kind == '+' ? lost : moved;
    std::size_t& from = kind == '+' ? next_lost : next;
    const auto begin = source.begin() + static_cast<std::ptrdiff_t>(from);
    if (kind != '-') items.insert(items.end(), begin, begin + static_cast<std::ptrdiff_t>(*count));
    from += *count;
  }
  if (next != moved.size() || next_lost != lost.size())
    return Disagrees("found an edit of shorter lists than the model's");
  return items;
}

std::string_view TakeField(std::string_view& record) {
  const std::size_t end = std::min(record.find(';'), record.size());
  const std::string_view field = record.substr(0, end);
  record.remove_prefix(std::min(end + 1, record.size()));
  return field;
}

Result<void> Apply(std::string_view record, format::Model& model) {
  std::string_view version = TakeField(record);
  const auto ir_version = TakeNumber(version);
  if (!ir_version || !version.empty()) return Disagrees("expected an ir_version first");
  const std::string_view nodes = TakeField(record);
  const std::string_view initializers = TakeField(record);
  const std::string_view values = TakeField(record);
  QTX_ASSIGN_OR_RETURN(const std::string bytes, FromBase64(record));
  QTX_ASSIGN_OR_RETURN(const format::Model lost, format::Model::Parse(bytes, "qtx.opset"));
  format::Graph& graph = model.graph;
  QTX_ASSIGN_OR_RETURN(graph.nodes, Edited(nodes, graph.nodes, lost.graph.nodes));
  QTX_ASSIGN_OR_RETURN(graph.initializers,
                       Edited(initializers, graph.initializers, lost.graph.initializers));
  QTX_ASSIGN_OR_RETURN(graph.values, Edited(values, graph.values, lost.graph.values));
  model.ir_version = static_cast<std::int64_t>(*ir_version);
  return {};
}

}  // namespace

Result<std::optional<std::string>> OpsetRecord(const format::Model& original,
                                               const format::Model& moved) {
  if (original.graph == moved.graph) return std::optional<std::string>();
  format::Model lost;
  lost.ir_version = original.ir_version;  // a model without any field is none
  const format::FlatModel flat_original(original), flat_moved(moved);
  const format::Graph &from = flat_moved.model().graph, &to = flat_original.model().graph;
  std::string record = std::to_string(original.ir_version) + ";";
  record += EditOf(to.nodes, from.nodes, lost.graph.nodes) + ";";
  record += EditOf(to.initializers, from.initializers, lost.graph.initializers) + ";";
  record += EditOf(to.values, from.values, lost.graph.values) + ";";
  QTX_ASSIGN_OR_RETURN(const std::string bytes, lost.Serialize());
  return std::optional(record + ToBase64(bytes));
}

Result<format::Model> FromOpsetRecord(const format::Model& moved, std::string_view record,
                                      std::int64_t opset) {
  const format::FlatModel flat(moved);
  format::Model original = flat.model();
  QTX_RETURN_IF_ERROR(Apply(record, original));
  QTX_ASSIGN_OR_RETURN(original, flat.Nest(std::move(original)));
  Ledger ledger;
  QTX_ASSIGN_OR_RETURN(const format::Model again, ToOpset(original, opset, ledger));
  if (again.graph != moved.graph)
    return Disagrees("found other nodes than those that it stands for");
  const auto findings = format::Check(original, "");
  if (!findings.empty()) return Invalid(findings[0].where, findings[0].message);
  return original;
}

}  // namespace qtx::convert
