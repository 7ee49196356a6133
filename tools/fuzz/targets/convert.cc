// Reading each kind of model, and writing it: convert_KIND takes a file of the kind, write_KIND a
// model in the extended form.
#include "qtx/convert/convert.h"

#include <algorithm>
#include <array>
#include <variant>

#include "qtx/convert/diff.h"
#include "qtx/format/annotation.h"
#include "target.h"

namespace qtx::fuzz {
namespace {

using convert::Conversion;
using convert::Export;
using convert::Kind;

const convert::Options& AllowAll() {
  static const convert::Options options = [] {
    convert::Options all;
    for (const convert::Loss& loss : convert::Losses()) all.allow.emplace_back(loss.name);
    all.repack = true;  // bytes in memory are no file to point into
    return all;
  }();
  return options;
}

const Kind& KindOf(std::string_view name) {
  const Kind* const kind = convert::FindKind(name.substr(name.find('_') + 1));
  if (kind == nullptr) Stop("found no kind " + std::string(name));
  return *kind;
}

// What is read keeps the rules, or the error says which one the file breaks: convert::Read checks
// that, and kInternal is its word for a model of its own that does not.
void Read(std::string_view name, const std::string& bytes) {
  static const InputFolder folder;
  static const std::string net = folder.Write("net.onnx", kNet);
  static const Kind& kind = KindOf(name);
  convert::Source source = convert::FromBytes(bytes, "fuzz");
  // Profiles and tables are read beside their model.
  if (kind.takes == convert::Takes::kFiles && kind.write != nullptr) source.with = {net};
  const auto conversion = convert::Read(source, kind, AllowAll());
  if (!Answered(conversion) || kind.name != "gguf") return;
  const auto written = convert::Write(conversion->model, kind, AllowAll());
  if (!written.has_value() || *convert::BytesOf(*written) != bytes)
    Stop("a GGUF file that came back otherwise");
}

std::optional<std::string> FileOf(const Export& written) {
  if (const auto* model = std::get_if<format::Model>(&written.content)) {
    auto bytes = model->Serialize();
    return Answered(bytes) ? std::optional(*std::move(bytes)) : std::nullopt;
  }
  if (std::holds_alternative<std::vector<convert::OutputFile>>(written.content))
    return std::nullopt;
  auto bytes = convert::BytesOf(written);
  return Answered(bytes) ? std::optional(*std::move(bytes)) : std::nullopt;
}

// The lowered form gives back what it was made of, field for field, but for the record of another
// lowering, whose place its own takes.
void CheckComesBack(const format::Model& model, const format::Model& back) {
  if (format::HasLoweringRecord(model.metadata)) return;
  const auto differences = convert::Diff(model, back);
  if (!Answered(differences) || differences->empty()) return;
  const convert::Difference& first = differences->front();
  Stop("came back otherwise: " + first.place + " " + first.field + ": " + first.a + " | " +
       first.b);
}

// The model that a profile or table is read onto: without the parameters and statistics of reals.
// nullopt where there are none of any value: such a table says nothing, which its reader refuses.
std::optional<std::string> ModelBeside(format::Model model) {
  bool is_described = false;
  for (auto* values : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (format::ValueInfo& value : *values) {
      if (!value.type) continue;
      is_described |= value.type->statistics.has_value() ||
                      (value.type->quantization && !value.type->quantization->scale.empty());
      if (format::IsQuantized(value.type->elem_type)) continue;
      value.type->quantization.reset();
      value.type->statistics.reset();
    }
  }
  format::EraseLoweringRecord(model.metadata);
  if (!is_described || !format::RecordStatistics(model).has_value()) return std::nullopt;
  const auto bytes = model.Serialize();
  return bytes.has_value() ? std::optional(*bytes) : std::nullopt;
}

// The rules leave an initializer without a declared type to who reads it.
bool HasBrokenInitializer(const format::Graph& graph) {
  return std::ranges::any_of(graph.initializers, [](const format::TensorData& data) {
    const auto carrier = format::CheckCarrier(data);
    return !carrier.has_value() && carrier.error().code == ErrorCode::kInvalid;
  });
}

// What is written is read again, or refused for what the reader has no counterpart of.
void Write(std::string_view name, const std::string& bytes) {
  static const Kind& kind = KindOf(name);
  static const Kind& extended = *convert::FindKind("qtx");
  static const InputFolder folder;
  const auto model = convert::Read(convert::FromBytes(bytes, "fuzz"), extended, AllowAll());
  if (!Answered(model) || HasBrokenInitializer(model->model.graph)) return;
  const auto written = convert::Write(model->model, kind, AllowAll());
  if (!Answered(written) || kind.read == nullptr) return;
  const auto file = FileOf(*written);
  if (!file) return;
  convert::Source source = convert::FromBytes(*file, "written");
  if (kind.takes == convert::Takes::kFiles) {
    const auto beside = ModelBeside(model->model);
    if (!beside) return;
    source.with = {folder.Write("model.onnx", *beside)};
  }
  const auto back = convert::Read(source, kind, AllowAll());
  if (!Answered(back)) {
    if (back.error().code == ErrorCode::kInvalid)
      Stop("written, then refused: " + back.error().Text());
  } else if (kind.name == "qdq") {
    CheckComesBack(model->model, back->model);
  }
}

constexpr std::array kTargets = {
    Target{"convert_tflite", &Read, Form::kFlatbuffer},
    Target{"convert_gguf", &Read},
    Target{"convert_safetensors", &Read},
    Target{"convert_glow", &Read},
    Target{"convert_paddle", &Read, Form::kProtobuf},
    Target{"convert_ort", &Read},
    Target{"convert_csv", &Read},
    Target{"convert_json", &Read},
    Target{"convert_caffe2", &Read, Form::kProtobuf},
    Target{"convert_stablehlo", &Read},
    Target{"convert_nnef", &Read},
    Target{"convert_qtx", &Read, Form::kProtobuf},
    Target{"convert_qoperator", &Read, Form::kProtobuf},
    Target{"convert_qonnx", &Read, Form::kProtobuf},
    Target{"convert_qdq", &Read, Form::kProtobuf},
    Target{"convert_onnx", &Read, Form::kProtobuf},
    Target{"write_tflite", &Write, Form::kProtobuf},
    Target{"write_gguf", &Write, Form::kProtobuf},
    Target{"write_safetensors", &Write, Form::kProtobuf},
    Target{"write_glow", &Write, Form::kProtobuf},
    Target{"write_tensorrt", &Write, Form::kProtobuf},
    Target{"write_ort", &Write, Form::kProtobuf},
    Target{"write_csv", &Write, Form::kProtobuf},
    Target{"write_json", &Write, Form::kProtobuf},
    Target{"write_stablehlo", &Write, Form::kProtobuf},
    Target{"write_nnef", &Write, Form::kProtobuf},
    Target{"write_qoperator", &Write, Form::kProtobuf},
    Target{"write_qonnx", &Write, Form::kProtobuf},
    Target{"write_qdq", &Write, Form::kProtobuf},
};

}  // namespace

std::span<const Target> Targets() { return kTargets; }

}  // namespace qtx::fuzz
