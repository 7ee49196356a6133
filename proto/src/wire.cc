#include "wire.h"

#include "qtx/format/limits.h"
#include "qtx/overlay.pb.h"
#include "qtx/quantization.pb.h"
#include "wire_messages.h"

namespace qtx::format::wire {
namespace {

template <typename Field>
Metadata ReadMetadata(const Field& entries) {
  Metadata metadata;
  for (const auto& entry : entries) metadata.emplace_back(entry.key(), entry.value());
  return metadata;
}

template <typename Field>
void WriteMetadata(const Metadata& metadata, Field* entries) {
  for (const auto& [key, value] : metadata) {
    auto* entry = entries->Add();
    entry->set_key(key);
    entry->set_value(value);
  }
}

// Text fields are written when they say something: absent and empty mean the same in ONNX.
template <typename Message>
void SetText(Message& message, void (Message::*set)(const std::string&), const std::string& text) {
  if (!text.empty()) (message.*set)(text);
}

// `unknown_fields` holds whatever the members of a value do not say, as wire bytes: fields the
// overlay does not name, those it names only to keep their order, and texts that are present but
// empty (RestOf). Restore starts a message with them, so that a file is written back byte for byte.
template <typename Message>
void Restore(const std::string& unknown_fields, Message& out) {
  if (out.ParseFromString(unknown_fields)) return;
  out.Clear();
  *out.mutable_unknown_fields() = unknown_fields;
}

template <typename Message>
std::string WithUnknown(Message rest, const Message& in) {
  *rest.mutable_unknown_fields() = in.unknown_fields();
  return rest.SerializeAsString();
}

std::string RestOf(const overlay::NodeProto& in) {
  overlay::NodeProto rest;
  if (in.has_name() && in.name().empty()) rest.set_name("");
  if (in.has_doc_string() && in.doc_string().empty()) rest.set_doc_string("");
  if (in.has_domain() && in.domain().empty()) rest.set_domain("");
  return WithUnknown(std::move(rest), in);
}

std::string RestOf(const overlay::ValueInfoProto& in) {
  overlay::ValueInfoProto rest;
  if (in.has_doc_string() && in.doc_string().empty()) rest.set_doc_string("");
  if (in.has_type() && in.type().ByteSizeLong() == 0) rest.mutable_type();
  return WithUnknown(std::move(rest), in);
}

std::string RestOf(const overlay::GraphProto& in) {
  overlay::GraphProto rest;
  if (in.has_name() && in.name().empty()) rest.set_name("");
  if (in.has_doc_string() && in.doc_string().empty()) rest.set_doc_string("");
  return WithUnknown(std::move(rest), in);
}

std::string RestOf(const overlay::ModelProto& in) {
  overlay::ModelProto rest;
  if (in.has_producer_name() && in.producer_name().empty()) rest.set_producer_name("");
  if (in.has_producer_version() && in.producer_version().empty()) rest.set_producer_version("");
  if (in.has_domain() && in.domain().empty()) rest.set_domain("");
  if (in.has_doc_string() && in.doc_string().empty()) rest.set_doc_string("");
  if (in.has_model_version() && in.model_version() == 0) rest.set_model_version(0);
  return WithUnknown(std::move(rest), in);
}

std::string RestOf(const overlay::OperatorSetIdProto& in) {
  overlay::OperatorSetIdProto rest;
  if (in.has_domain() && in.domain().empty()) rest.set_domain("");
  return WithUnknown(std::move(rest), in);
}

// Attribute::graphs holds field 11 of an attribute of that type, and field 6 of any other.
bool IsOfGraphs(const overlay::AttributeProto& attribute) {
  return attribute.type() == static_cast<int>(AttributeType::kGraphs);
}

std::string RestOf(overlay::AttributeProto attribute) {
  attribute.clear_name();
  attribute.clear_f();
  attribute.clear_i();
  attribute.clear_s();
  attribute.clear_t();
  attribute.clear_floats();
  attribute.clear_ints();
  attribute.clear_strings();
  IsOfGraphs(attribute) ? attribute.clear_graphs() : attribute.clear_g();
  attribute.clear_type();
  return attribute.SerializeAsString();
}

Result<Graph> ReadGraph(const overlay::GraphProto& in, int depth);
void WriteGraph(const Graph& graph, overlay::GraphProto& out);

// A body at `depth` below the model's graph.
Result<Graph> ReadBody(const std::string& bytes, int depth) {
  if (depth > kMaxGraphDepth) {
    return Error{ErrorCode::kTooLarge, "",
                 "found a graph within more than " + std::to_string(kMaxGraphDepth) +
                     " others, expected at most that many"};
  }
  overlay::GraphProto message;
  if (!message.ParseFromString(bytes))
    return Error{ErrorCode::kInvalid, "", "expected a graph (a serialised GraphProto)"};
  return ReadGraph(message, depth);
}

Result<std::vector<Graph>> ReadBodies(const overlay::AttributeProto& in, int depth) {
  std::vector<Graph> bodies;
  if (IsOfGraphs(in)) {
    for (const std::string& bytes : in.graphs()) {
      QTX_ASSIGN_OR_RETURN(Graph body, ReadBody(bytes, depth + 1));
      bodies.push_back(std::move(body));
    }
  } else if (in.has_g()) {
    QTX_ASSIGN_OR_RETURN(Graph body, ReadBody(in.g(), depth + 1));
    bodies.push_back(std::move(body));
  }
  return bodies;
}

// `depth` is that of the graph that has the node.
Result<Attribute> ReadAttribute(const overlay::AttributeProto& in, int depth) {
  Attribute attribute;
  attribute.name = in.name();
  attribute.type = static_cast<AttributeType>(in.type());
  attribute.f = in.f();
  attribute.i = in.i();
  attribute.s = in.s();
  if (in.has_t()) {
    QTX_ASSIGN_OR_RETURN(attribute.t, ParseTensorData(in.t()));
  }
  attribute.floats = Vector(in.floats());
  attribute.ints = Vector(in.ints());
  attribute.strings = Vector(in.strings());
  QTX_ASSIGN_OR_RETURN(attribute.graphs, ReadBodies(in, depth));
  attribute.unknown_fields = RestOf(in);
  return attribute;
}

overlay::AttributeProto WriteAttribute(const Attribute& attribute) {
  overlay::AttributeProto out;
  Restore(attribute.unknown_fields, out);
  using enum AttributeType;
  out.set_name(attribute.name);
  // Models of IR version 1 have no type; the value then says itself that it is there.
  if (attribute.type == kFloat || attribute.f != 0) out.set_f(attribute.f);
  if (attribute.type == kInt || attribute.i != 0) out.set_i(attribute.i);
  if (attribute.type == kString || !attribute.s.empty()) out.set_s(attribute.s);
  if (attribute.t) out.set_t(attribute.t->wire);
  Assign(attribute.floats, out.mutable_floats());
  Assign(attribute.ints, out.mutable_ints());
  for (const std::string& text : attribute.strings) out.add_strings(text);
  for (const Graph& graph : attribute.graphs) {
    overlay::GraphProto body;
    WriteGraph(graph, body);
    attribute.type == kGraphs ? out.add_graphs(body.SerializeAsString())
                              : out.set_g(body.SerializeAsString());
  }
  if (attribute.type != kUndefined) out.set_type(static_cast<int>(attribute.type));
  return out;
}

Result<Origin> ReadOrigin(const qtx::Origin& in, int depth) {
  Origin origin{.group = in.group(),
                .framework = in.framework(),
                .domain = in.domain(),
                .op_type = in.op_type(),
                .name = in.name(),
                .attributes = {},
                .unknown_fields = in.unknown_fields()};
  for (const std::string& bytes : in.attributes()) {
    overlay::AttributeProto message;
    if (!message.ParseFromString(bytes)) {
      return Error{ErrorCode::kInvalid, "origin.attributes", "expected serialised AttributeProtos"};
    }
    QTX_ASSIGN_OR_RETURN(Attribute attribute, ReadAttribute(message, depth));
    origin.attributes.push_back(std::move(attribute));
  }
  return origin;
}

void WriteOrigin(const Origin& origin, qtx::Origin& out) {
  SetText(out, &qtx::Origin::set_group<const std::string&>, origin.group);
  SetText(out, &qtx::Origin::set_framework<const std::string&>, origin.framework);
  SetText(out, &qtx::Origin::set_domain<const std::string&>, origin.domain);
  SetText(out, &qtx::Origin::set_op_type<const std::string&>, origin.op_type);
  SetText(out, &qtx::Origin::set_name<const std::string&>, origin.name);
  for (const Attribute& attribute : origin.attributes) {
    out.add_attributes(WriteAttribute(attribute).SerializeAsString());
  }
  *out.mutable_unknown_fields() = origin.unknown_fields;
}

Result<Node> ReadNode(const overlay::NodeProto& in, int depth) {
  Node node;
  node.inputs = Vector(in.input());
  node.outputs = Vector(in.output());
  node.name = in.name();
  node.op_type = in.op_type();
  node.doc_string = in.doc_string();
  node.domain = in.domain();
  for (const auto& message : in.attribute()) {
    auto attribute = ReadAttribute(message, depth);
    if (!attribute.has_value()) return At("attribute '" + message.name() + "'", attribute.error());
    node.attributes.push_back(*std::move(attribute));
  }
  if (in.has_origin()) {
    QTX_ASSIGN_OR_RETURN(node.origin, ReadOrigin(in.origin(), depth));
  }
  node.metadata = ReadMetadata(in.metadata_props());
  node.unknown_fields = RestOf(in);
  return node;
}

void WriteNode(const Node& node, overlay::NodeProto& out) {
  Restore(node.unknown_fields, out);
  for (const std::string& input : node.inputs) out.add_input(input);
  for (const std::string& output : node.outputs) out.add_output(output);
  SetText(out, &overlay::NodeProto::set_name<const std::string&>, node.name);
  out.set_op_type(node.op_type);
  for (const Attribute& attribute : node.attributes)
    *out.add_attribute() = WriteAttribute(attribute);
  SetText(out, &overlay::NodeProto::set_doc_string<const std::string&>, node.doc_string);
  SetText(out, &overlay::NodeProto::set_domain<const std::string&>, node.domain);
  WriteMetadata(node.metadata, out.mutable_metadata_props());
  if (node.origin) WriteOrigin(*node.origin, *out.mutable_origin());
}

ValueInfo ReadValueInfo(const overlay::ValueInfoProto& in) {
  ValueInfo value;
  value.name = in.name();
  value.doc_string = in.doc_string();
  if (in.type().has_tensor_type()) value.type = ReadTensorType(in.type().tensor_type());
  value.type_unknown_fields = in.type().unknown_fields();
  value.metadata = ReadMetadata(in.metadata_props());
  value.unknown_fields = RestOf(in);
  return value;
}

void WriteValueInfo(const ValueInfo& value, overlay::ValueInfoProto& out) {
  Restore(value.unknown_fields, out);
  out.set_name(value.name);
  if (value.type) WriteTensorType(*value.type, *out.mutable_type()->mutable_tensor_type());
  if (!value.type_unknown_fields.empty()) {
    *out.mutable_type()->mutable_unknown_fields() = value.type_unknown_fields;
  }
  SetText(out, &overlay::ValueInfoProto::set_doc_string<const std::string&>, value.doc_string);
  WriteMetadata(value.metadata, out.mutable_metadata_props());
}

TensorAnnotation ReadTensorAnnotation(const overlay::TensorAnnotation& in) {
  return {in.tensor_name(), ReadMetadata(in.quant_parameter_tensor_names()), in.unknown_fields()};
}

void WriteTensorAnnotation(const TensorAnnotation& annotation, overlay::TensorAnnotation& out) {
  Restore(annotation.unknown_fields, out);
  SetText(out, &overlay::TensorAnnotation::set_tensor_name<const std::string&>, annotation.tensor);
  WriteMetadata(annotation.parameters, out.mutable_quant_parameter_tensor_names());
}

Result<Graph> ReadGraph(const overlay::GraphProto& in, int depth) {
  Graph graph;
  graph.name = in.name();
  graph.doc_string = in.doc_string();
  for (int i = 0; i < in.node_size(); ++i) {
    auto node = ReadNode(in.node(i), depth);
    if (!node.has_value()) return At("graph.node[" + std::to_string(i) + "]", node.error());
    graph.nodes.push_back(*std::move(node));
  }
  for (int i = 0; i < in.initializer_size(); ++i) {
    auto tensor = ParseTensorData(in.initializer(i));
    if (!tensor.has_value())
      return At("graph.initializer[" + std::to_string(i) + "]", tensor.error());
    graph.initializers.push_back(*std::move(tensor));
  }
  for (const auto& value : in.input()) graph.inputs.push_back(ReadValueInfo(value));
  for (const auto& value : in.output()) graph.outputs.push_back(ReadValueInfo(value));
  for (const auto& value : in.value_info()) graph.values.push_back(ReadValueInfo(value));
  for (const auto& annotation : in.quantization_annotation())
    graph.quantization_annotations.push_back(ReadTensorAnnotation(annotation));
  graph.metadata = ReadMetadata(in.metadata_props());
  graph.unknown_fields = RestOf(in);
  return graph;
}

void WriteGraph(const Graph& graph, overlay::GraphProto& out) {
  Restore(graph.unknown_fields, out);
  for (const Node& node : graph.nodes) WriteNode(node, *out.add_node());
  SetText(out, &overlay::GraphProto::set_name<const std::string&>, graph.name);
  for (const TensorData& tensor : graph.initializers) out.add_initializer(tensor.wire);
  SetText(out, &overlay::GraphProto::set_doc_string<const std::string&>, graph.doc_string);
  for (const ValueInfo& value : graph.inputs) WriteValueInfo(value, *out.add_input());
  for (const ValueInfo& value : graph.outputs) WriteValueInfo(value, *out.add_output());
  for (const ValueInfo& value : graph.values) WriteValueInfo(value, *out.add_value_info());
  for (const TensorAnnotation& annotation : graph.quantization_annotations)
    WriteTensorAnnotation(annotation, *out.add_quantization_annotation());
  WriteMetadata(graph.metadata, out.mutable_metadata_props());
}

}  // namespace

Result<Model> ParseModel(std::string_view bytes) {
  overlay::ModelProto in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error{ErrorCode::kInvalid, "", "expected an ONNX model (a serialised ModelProto)"};
  }
  if (!in.has_graph()) {
    return Error{ErrorCode::kInvalid, "", "expected an ONNX model with a graph, found none"};
  }
  Model model;
  model.ir_version = in.ir_version();
  for (const auto& import : in.opset_import()) {
    model.opset_imports.push_back({import.domain(), import.version(), RestOf(import)});
  }
  model.producer_name = in.producer_name();
  model.producer_version = in.producer_version();
  model.domain = in.domain();
  model.doc_string = in.doc_string();
  model.model_version = in.model_version();
  QTX_ASSIGN_OR_RETURN(model.graph, ReadGraph(in.graph(), 0));
  model.metadata = ReadMetadata(in.metadata_props());
  model.unknown_fields = RestOf(in);
  return model;
}

Result<Node> ParseNode(std::string_view bytes) {
  overlay::NodeProto message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return ReadNode(message, 0);
  return Error{ErrorCode::kInvalid, "", "expected a node (a serialised NodeProto)"};
}

Result<Attribute> ParseAttribute(std::string_view bytes) {
  overlay::AttributeProto message;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return ReadAttribute(message, 0);
  return Error{ErrorCode::kInvalid, "", "expected an attribute (a serialised AttributeProto)"};
}

Result<std::string> SerializeModel(const Model& model) {
  overlay::ModelProto out;
  using overlay::ModelProto;
  Restore(model.unknown_fields, out);
  if (model.ir_version != 0) out.set_ir_version(model.ir_version);
  SetText(out, &ModelProto::set_producer_name<const std::string&>, model.producer_name);
  SetText(out, &ModelProto::set_producer_version<const std::string&>, model.producer_version);
  SetText(out, &ModelProto::set_domain<const std::string&>, model.domain);
  if (model.model_version != 0) out.set_model_version(model.model_version);
  SetText(out, &ModelProto::set_doc_string<const std::string&>, model.doc_string);
  WriteGraph(model.graph, *out.mutable_graph());
  for (const OpsetImport& import : model.opset_imports) {
    overlay::OperatorSetIdProto& message = *out.add_opset_import();
    Restore(import.unknown_fields, message);
    SetText(message, &overlay::OperatorSetIdProto::set_domain<const std::string&>, import.domain);
    message.set_version(import.version);
  }
  WriteMetadata(model.metadata, out.mutable_metadata_props());
  if (out.ByteSizeLong() >= static_cast<std::size_t>(kMaxModelBytes)) {
    return Error{ErrorCode::kTooLarge, "", "expected at most 2 GiB; keep weights as external data"};
  }
  return out.SerializeAsString();
}

}  // namespace qtx::format::wire
