// Models: reading, checking, converting, comparing and writing them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <iterator>

#include "binding.h"
#include "qtx/convert/convert.h"
#include "qtx/convert/diff.h"
#include "qtx/format/check.h"
#include "qtx/format/inference.h"
#include "qtx/format/limits.h"
#include "qtx/reference/interpreter.h"
#include "stored_io.h"

namespace qtx::python {
namespace {

using convert::Kind;
using convert::Source;
using format::Model;
using format::ValueInfo;

const Kind& KindNamed(const std::string& name) {
  if (const Kind* kind = convert::FindKind(name)) return *kind;
  std::string names;
  for (const Kind& kind : convert::Kinds())
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  throw Failure({ErrorCode::kUsage, "kind", "found '" + name + "', expected one of " + names});
}

Source FromBytes(nb::handle data, const std::string& name) {
  const BorrowedBytes borrowed(data);
  return WithoutGil([&] {
    const auto bytes = borrowed.bytes();
    if (static_cast<std::int64_t>(bytes.size()) >= format::kMaxModelBytes) {
      throw Failure({ErrorCode::kTooLarge, name,
                     "found " + std::to_string(bytes.size()) + " bytes, expected less than 2^31"});
    }
    Source source = convert::FromBytes(
        std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), name);
    if (source.onnx) {
      auto checked = format::CheckExternalData(*source.onnx);
      if (!checked.has_value()) throw Failure(At(name, std::move(checked).error()));
    }
    return source;
  });
}

Source OpenFile(const std::string& path, std::vector<std::string> with) {
  return WithoutGil([&] { return Unwrap(convert::Open(path, std::move(with))); });
}

Source FromModel(const Model& model) {
  Source source;
  source.path = "model";
  source.onnx = model;
  return source;
}

// A conversion with these meets all its losses, of which an error then tells at once.
convert::Options Permissive(convert::Options options) {
  options.all_losses = true;
  return options;
}

void RefuseLosses(const std::vector<convert::LedgerEntry>& ledger, const convert::Options& options,
                  const Source* source) {
  auto refused = convert::RefuseLosses(ledger, options.allow);
  if (refused.has_value()) return;
  Error error = std::move(refused).error();
  throw Failure(source == nullptr ? std::move(error) : At(source->path, std::move(error)));
}

void ExpectLoss(const std::string& name) {
  const auto losses = convert::Losses();
  if (std::ranges::find(losses, name, &convert::Loss::name) != losses.end()) return;
  std::string names;
  for (const convert::Loss& loss : losses)
    names.append(names.empty() ? "" : ", ").append(loss.name);
  throw Failure({ErrorCode::kUsage, "allow", "found '" + name + "', expected some of " + names});
}

nb::tuple Read(const Source& source, const std::string& kind_name,
               const convert::Options& options) {
  convert::Conversion read = WithoutGil([&] {
    const Kind& kind = kind_name.empty() ? *Unwrap(convert::KindOf(source)) : KindNamed(kind_name);
    auto conversion = Unwrap(convert::Read(source, kind, Permissive(options)));
    RefuseLosses(conversion.ledger, options, &source);
    if (kind.name == "tflite") {
      for (const auto& node : Unwrap(reference::FindUnmodelled(conversion.model, "tflite"))) {
        conversion.ledger.push_back(
            {node.where, "arithmetic", convert::LedgerEntry::Fate::kChanged, node.says});
      }
    }
    return conversion;
  });
  const nb::list ledger = LedgerRows(read.ledger);
  return nb::make_tuple(std::move(read.model), ledger);
}

// The model or the file's bytes, and the ledger. Errors are the source's where that breaks a rule.
nb::tuple Write(const Model& model, const std::string& kind_name, const convert::Options& options,
                const Source* source) {
  convert::Export written = WithoutGil([&] {
    const Kind& kind = KindNamed(kind_name);
    if (kind.write == nullptr) {
      throw Failure(
          {ErrorCode::kUnsupported, "kind", "'" + kind_name + "' can be read, not written"});
    }
    auto result = convert::Write(model, kind, Permissive(options));
    if (result.has_value()) {
      RefuseLosses(result->ledger, options, source);
      return *std::move(result);
    }
    Error error = std::move(result).error();
    throw Failure(source == nullptr ? std::move(error)
                                    : At(source->path, convert::BlameSource(*source, error)));
  });
  const nb::list ledger = LedgerRows(written.ledger);
  if (auto* onnx = std::get_if<Model>(&written.content))
    return nb::make_tuple(std::move(*onnx), ledger);
  const std::string bytes = WithoutGil([&] { return Unwrap(convert::BytesOf(written)); });
  return nb::make_tuple(nb::bytes(bytes.data(), bytes.size()), ledger);
}

nb::list Check(const Model& model) {
  const auto findings = WithoutGil([&] { return format::Check(model, ""); });
  nb::list rows;
  for (const format::Finding& finding : findings) {
    rows.append(nb::make_tuple(Text(finding.rule), Text(finding.where), Text(finding.message)));
  }
  return rows;
}

nb::list Diff(const Model& a, const Model& b) {
  const auto differences = WithoutGil([&] { return Unwrap(convert::Diff(a, b)); });
  nb::list rows;
  for (const convert::Difference& difference : differences) {
    rows.append(nb::make_tuple(Text(difference.place), Text(difference.field), Text(difference.a),
                               Text(difference.b)));
  }
  return rows;
}

// Values that are no tensors have a type of nothing. Parameters that cannot be resolved stay as
// they are declared.
std::vector<Value> Values(const format::ModelView& view, const std::vector<ValueInfo>& infos,
                          bool without_constants = false) {
  std::vector<Value> values;
  for (const ValueInfo& info : infos) {
    if (without_constants && view.FindInitializer(info.name) != nullptr) continue;
    Value value{info.name, info.type.value_or(format::TensorType())};
    if (value.type.quantization) {
      auto resolved = format::Resolve(view, *value.type.quantization);
      if (resolved.has_value()) value.type.quantization = *std::move(resolved);
    }
    values.push_back(std::move(value));
  }
  return values;
}

// None for bodies, types and sparse tensors, which have no value in Python.
nb::object AttributeValue(const format::Attribute& attribute, const std::string& folder) {
  using format::AttributeType;
  switch (attribute.type) {
    case AttributeType::kFloat:
      return nb::float_(attribute.f);
    case AttributeType::kInt:
      return nb::int_(attribute.i);
    case AttributeType::kString:
      return Text(attribute.s);
    case AttributeType::kTensor:
      return nb::cast(Unwrap(format::Decode(attribute.t.value_or(format::TensorData()), folder)));
    case AttributeType::kFloats:
      return nb::cast(attribute.floats);
    case AttributeType::kInts:
      return nb::cast(attribute.ints);
    case AttributeType::kStrings:
      return Texts(attribute.strings);
    default:
      return nb::none();
  }
}

nb::list Nodes(const Model& model) {
  nb::list rows;
  for (const format::Node& node : model.graph.nodes) {
    rows.append(nb::make_tuple(Text(node.name), Text(node.op_type), Text(node.domain),
                               Texts(node.inputs), Texts(node.outputs)));
  }
  return rows;
}

// A dict for each node.
nb::list Attributes(const Model& model) {
  nb::list rows;
  for (const format::Node& node : model.graph.nodes) {
    nb::dict row;
    for (const format::Attribute& attribute : node.attributes)
      row[Text(attribute.name)] = AttributeValue(attribute, model.folder);
    rows.append(row);
  }
  return rows;
}

nb::list Initializers(const Model& model) {
  std::vector<format::Tensor> tensors;
  WithoutGil([&] {
    const auto view = format::ModelView::Indexed(model);
    for (const format::TensorData& data : model.graph.initializers)
      tensors.push_back(Unwrap(format::LoadInitializer(view, data.name)));
  });
  nb::list rows;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    rows.append(nb::make_tuple(Text(model.graph.initializers[i].name), std::move(tensors[i])));
  return rows;
}

nb::bytes Serialize(const Model& model) {
  const std::string bytes = WithoutGil([&] { return Unwrap(model.Serialize()); });
  return nb::bytes(bytes.data(), bytes.size());
}

nb::list Kinds() {
  nb::list rows;
  for (const Kind& kind : convert::Kinds()) {
    rows.append(nb::make_tuple(Text(kind.name), Text(kind.what), Text(kind.extension),
                               kind.read != nullptr, kind.write != nullptr));
  }
  return rows;
}

void BindSources(nb::module_& module) {
  nb::class_<convert::Options>(module, "ConvertOptions")
      .def(
          "__init__",
          [](convert::Options* self, std::vector<std::string> allow, std::int64_t opset,
             std::string subgraph, bool unchanged) {
            for (const std::string& name : allow) ExpectLoss(name);
            new (self) convert::Options{.allow = std::move(allow),
                                        .opset = opset,
                                        .subgraph = std::move(subgraph),
                                        .unchanged = unchanged};
          },
          nb::arg("allow"), nb::arg("opset"), nb::arg("subgraph"), nb::arg("unchanged"));
  nb::class_<Source>(module, "Source")
      .def_static("open", OpenFile, nb::arg("path"), nb::arg("companions"))
      .def_static("from_bytes", FromBytes, nb::arg("data"), nb::arg("name"))
      .def_static("from_model", FromModel, nb::arg("model"))
      .def_prop_ro("path", [](const Source& self) { return Text(self.path); })
      .def_prop_ro("is_onnx", [](const Source& self) { return self.onnx.has_value(); })
      .def("onnx", [](const Source& self) { return self.onnx.value(); })
      .def("kind", [](const Source& self) {
        return Text(WithoutGil([&] { return Unwrap(convert::KindOf(self))->name; }));
      });
}

}  // namespace

void BindModels(nb::module_& module) {
  nb::class_<Model>(module, "Model")
      .def_prop_ro("inputs",
                   [](const Model& self) {
                     const auto view = format::ModelView::Indexed(self);
                     return Values(view, self.graph.inputs, true);
                   })
      .def_prop_ro("outputs",
                   [](const Model& self) {
                     return Values(format::ModelView::Indexed(self), self.graph.outputs);
                   })
      .def_prop_ro("values",
                   [](const Model& self) {
                     return Values(format::ModelView::Indexed(self), self.graph.values, true);
                   })
      .def_prop_ro("nodes", Nodes)
      .def_prop_ro("attributes", Attributes)
      .def_prop_ro("opset", [](const Model& self) { return self.OpsetVersion(""); })
      .def_prop_ro("graph_name", [](const Model& self) { return Text(self.graph.name); })
      .def_prop_ro("initializers", Initializers)
      .def("serialize", Serialize)
      .def(
          "save",
          [](const Model& self, const std::string& path) {
            WithoutGil([&] { Unwrap(self.Save(path)); });
          },
          nb::arg("path"));
  BindSources(module);
  module.def("read", Read, nb::arg("source"), nb::arg("kind"), nb::arg("options"));
  module.def("write", Write, nb::arg("model"), nb::arg("kind"), nb::arg("options"),
             nb::arg("source").none());
  module.def("write_file", [](const std::string& path, const nb::bytes& bytes) {
    const std::string_view view(bytes.c_str(), bytes.size());
    WithoutGil([&] { Unwrap(format::WriteFileAtomically(path, view)); });
  });
  module.def("check", Check, nb::arg("model"));
  module.def("diff", Diff, nb::arg("a"), nb::arg("b"));
  module.def("infer", [](const Model& model) {
    return WithoutGil([&] { return format::WithInferredTypes(model); });
  });
  module.def("with_stored_io", [](const Model& lowered, const Model& extended) {
    return WithoutGil([&] { return Unwrap(WithStoredIo(lowered, extended)); });
  });
  module.def("with_outputs", [](const Model& model, const std::vector<std::string>& names) {
    return WithoutGil([&] { return WithOutputs(model, names); });
  });
  module.def("without_qtx_import", [](Model model) {
    std::erase_if(model.opset_imports, [](const format::OpsetImport& import) {
      return import.domain == format::kDomain;
    });
    return model;
  });
  module.def("kinds", Kinds);
}

}  // namespace qtx::python
