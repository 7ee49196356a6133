// The kinds of models: one row each.
#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "caffe2/import.h"
#include "encodings.h"
#include "gguf/gguf.h"
#include "glow/glow.h"
#include "levels.h"
#include "nnef/gzip.h"
#include "nnef/nnef.h"
#include "onnx/detect.h"
#include "opset/opset.h"
#include "ort/ort.h"
#include "paddle/import.h"
#include "qonnx/dialect.h"
#include "qonnx/export.h"
#include "qoperator/operators.h"
#include "qoperator/write.h"
#include "qtx/convert/convert.h"
#include "qtx/format/annotation.h"
#include "qtx/format/check.h"
#include "qtx/format/check_unread.h"
#include "qtx/format/levels.h"
#include "qtx/format/limits.h"
#include "qtx/format/onnx_operators.h"
#include "qtx/format/scopes.h"
#include "safetensors/safetensors.h"
#include "stablehlo/export.h"
#include "stablehlo/import.h"
#include "table/table.h"
#include "tensorrt/cache.h"
#include "tflite/file.h"

namespace qtx::convert {
namespace {

bool MatchesNothing(const Source&) { return false; }

bool IsTflite(const Source& source) { return LooksLikeTflite(source.bytes()); }

Result<Conversion> ReadTflite(const Source& source, const Options& options) {
  return FromTflite(source.bytes(), options);
}

Result<format::Model> OnnxOf(const Source& source) {
  if (source.onnx) return *source.onnx;
  auto model = format::Model::Load(source.file, source.path);
  if (model.has_value()) return model;
  // Read adds the file's name.
  std::string place =
      model.error().where.substr(std::min(source.path.size() + 2, model.error().where.size()));
  return Error{model.error().code, std::move(place), model.error().message};
}

// What of the spec an ONNX model breaks first: `who` says whose model it is.
std::optional<Error> BrokenRule(const format::Model& model, ErrorCode code, const char* who,
                                bool reads_records = true) {
  const std::vector<format::Finding> findings =
      reads_records ? format::Check(model, "") : format::CheckWithoutRecords(model, "");
  if (findings.empty()) return std::nullopt;
  const format::Finding& first = findings.front();
  return Error{code, first.where, std::string(who) + " breaks a rule: " + first.message,
               first.rule};
}

// Check looks at initializers whose type is declared; readers declare those that are quantized.
std::optional<Error> BrokenInitializer(const format::Model& model) {
  const auto& initializers = model.graph.initializers;
  for (std::size_t i = 0; i < initializers.size(); ++i) {
    const auto carrier = format::CheckCarrier(initializers[i], model.folder);
    const bool has_type = initializers[i].data_type != format::ElementType::kUndefined;
    if (carrier.has_value() || (has_type && carrier.error().code != ErrorCode::kInvalid)) continue;
    return Error{ErrorCode::kInvalid, "graph.initializer[" + std::to_string(i) + "]",
                 "the input breaks a rule: " + carrier.error().Text(), "element_types.C4"};
  }
  return std::nullopt;
}

// No shape is inferred through a quantizer of QONNX, which has its operand's: Identity says so.
format::Model WithoutQuantizers(format::Model model) {
  for (format::Node& node : model.graph.nodes) {
    if (!IsQonnxQuantizer(node) || node.inputs.empty()) continue;
    node.op_type = "Identity";
    node.domain.clear();
    node.inputs.resize(1);
    node.attributes.clear();
  }
  return model;
}

// The model with reals in the place of quantized values, as one of stock ONNX.
format::Model OfReals(format::Model model) {
  std::erase_if(model.opset_imports,
                [](const auto& import) { return import.domain == format::kDomain; });
  for (auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (format::ValueInfo& value : *list) {
      if (!value.type || !format::IsQuantized(value.type->elem_type)) continue;
      value.type->elem_type = format::RealTypeOf(*value.type);
      value.type->quantization.reset();
    }
  }
  return model;
}

// Where a node of `model` has types or leaves out outputs as the text allows, but stock ONNX does
// not: what stock ONNX finds in both models.
std::optional<std::string> AllowedByTheTextAlone(const format::Model& extended,
                                                 const Error& broken) {
  const format::Model model = OfReals(extended);
  for (const format::Finding& finding : format::Check(model, "")) {
    if (finding.rule == broken.clause && broken.message.ends_with(finding.message))
      return finding.message;
  }
  return std::nullopt;
}

// What a model in stock ONNX breaks: kUnsupported for types that the operator has in the newest
// opset, but not in this one, and for what the text alone allows; else the writer is at fault.
std::optional<Error> BrokenByWriter(const format::Model& model, const format::Model& written) {
  auto broken = BrokenRule(written, ErrorCode::kInternal, "internal: the model written");
  if (!broken || (broken->clause != "graph.C7" && broken->clause != "graph.C5")) return broken;
  format::Model newest = written;
  for (format::OpsetImport& opset : newest.opset_imports) {
    if (opset.domain.empty()) opset.version = format::catalogue::kNewestOpset;
  }
  const auto still = BrokenRule(newest, ErrorCode::kInternal, "internal: the model written");
  if (still && still->where == broken->where) {
    const auto allowed = AllowedByTheTextAlone(model, *broken);
    if (!allowed) return broken;
    return Error{ErrorCode::kUnsupported, broken->where, "stock ONNX: " + *allowed, broken->clause};
  }
  return Error{ErrorCode::kUnsupported, broken->where,
               "stock ONNX allows this in a newer opset than " +
                   std::to_string(format::OnnxOpset(written)) + ", which --opset asks for",
               broken->clause};
}

// The text defines nodes of opset 13 and later, and those of older ones that have the same form.
constexpr std::int64_t kOldestDefined = 13;

bool HasUndefinedForm(const format::Model& model) {
  return format::OnnxOpset(model) < kOldestDefined &&
         !format::Inference(format::FlatModel(model), format::Rules::kOfTheText)
              .undefined()
              .empty();
}

// What quantized values go through in an older form moves to a newer one first.
Result<Conversion> ReadOnnx(const Source& source, const Options& options) {
  QTX_ASSIGN_OR_RETURN(const format::Model model, OnnxOf(source));
  auto conversion = FromOnnx(model, options);
  if (!conversion.has_value() || format::OnnxOpset(model) >= kOldestDefined) return conversion;
  const bool broken = BrokenRule(conversion->model, ErrorCode::kInvalid, "").has_value();
  if (!broken && !HasUndefinedForm(conversion->model)) return conversion;
  Ledger ledger(options);
  const auto raised = ToOpset(model, kOldestDefined, ledger);
  if (!raised.has_value() && !broken) return conversion;
  if (!raised.has_value()) return raised.error();
  conversion = FromOnnx(*raised, options);
  if (!conversion.has_value()) return conversion;
  std::vector<LedgerEntry> entries = ledger.Take();
  std::ranges::move(conversion->ledger, std::back_inserter(entries));
  conversion->ledger = std::move(entries);
  return conversion;
}

Result<Conversion> ReadAsItIs(const Source& source, const Options&) {
  QTX_ASSIGN_OR_RETURN(format::Model model, OnnxOf(source));
  return Conversion{std::move(model), {}};
}

Result<Conversion> ReadFloat(const Source& source, const Options& options) {
  QTX_ASSIGN_OR_RETURN(format::Model model, OnnxOf(source));
  auto moved = InDefinedForms(model, options);
  return moved ? *std::move(moved) : Conversion{std::move(model), {}};
}

Result<Export> WriteAsItIs(const format::Model& model, const Options& options) {
  if (options.opset == 0) return Export{model, {}};
  Ledger ledger(options);
  QTX_ASSIGN_OR_RETURN(format::Model moved, ToOpset(model, options.opset, ledger));
  return Export{std::move(moved), ledger.Take()};
}

Result<Export> Stock(Result<Conversion> written) {
  if (!written.has_value()) return std::move(written).error();
  Export result;
  result.content = std::move(written->model);
  result.ledger = std::move(written->ledger);
  return result;
}

Result<Export> WriteQdq(const format::Model& model, const Options& options) {
  return Stock(ToQdq(model, options));
}

Result<Export> WriteQOperator(const format::Model& model, const Options& options) {
  return Stock(ToQOperator(model, options));
}

void Prepend(std::vector<LedgerEntry> entries, std::vector<LedgerEntry>& to) {
  std::ranges::move(to, std::back_inserter(entries));
  to = std::move(entries);
}

// For forms without encodings and levels: reads the records and multiplies levels out, then calls
// `write`. `own_forms`: the writer says itself which bases, code books and signs of scales it
// holds.
template <Result<Export> (*write)(const format::Model&, const Options&), bool own_forms = false>
Result<Export> Flat(const format::Model& model, const Options& options) {
  if (format::HasEncoding(model)) {
    Ledger ledger(options);
    QTX_ASSIGN_OR_RETURN(const format::Model decoded, Decoded(model, ledger, options.data));
    auto written = Flat<write, own_forms>(decoded, options);
    if (written.has_value()) Prepend(ledger.Take(), written->ledger);
    return written;
  }
  if (!own_forms) QTX_RETURN_IF_ERROR(CheckIntegerForms(model));
  if (!format::HasLevels(model)) return write(model, options);
  Ledger ledger(options);
  QTX_ASSIGN_OR_RETURN(const format::Model flat, WithoutLevels(model, ledger, own_forms));
  auto written = write(flat, options);
  if (written.has_value()) Prepend(ledger.Take(), written->ledger);
  return written;
}

// For forms whose quantized values stand for FLOAT alone: refuses others, naming the first.
template <Result<Export> (*write)(const format::Model&, const Options&)>
Result<Export> OfFloats(const format::Model& model, const Options& options) {
  for (const auto* list : {&model.graph.inputs, &model.graph.outputs, &model.graph.values}) {
    for (const format::ValueInfo& value : *list) {
      if (!value.type || !format::IsQuantized(value.type->elem_type)) continue;
      const format::ElementType real = format::RealTypeOf(*value.type);
      if (!format::IsHalf(real)) continue;
      return Error{ErrorCode::kUnsupported, "value '" + value.name + "'",
                   "reals of " + std::string(format::Name(real)) + ": the target has FLOAT alone"};
    }
  }
  return write(model, options);
}

constexpr std::array kKinds = {
    Kind{"tflite", "TensorFlow Lite flatbuffer", IsTflite, ReadTflite, OfFloats<Flat<ToTflite>>,
         ".tflite", Takes::kSubgraph},
    Kind{"gguf", "GGUF, the tensors and metadata of a llama.cpp model", LooksLikeGguf, ReadGguf,
         WriteGguf, ".gguf"},
    Kind{"safetensors", "safetensors, with config.json and shards beside it", LooksLikeSafetensors,
         ReadSafetensors, WriteSafetensors, ".safetensors"},
    Kind{"glow", "quantization profile of Glow, beside its model", LooksLikeGlowProfile, ReadGlow,
         Flat<WriteGlow>, ".yaml", Takes::kFiles},
    Kind{"paddle",
         "PaddlePaddle program, beside its parameters",
         IsPaddle,
         ReadPaddle,
         nullptr,
         {},
         Takes::kFiles},
    Kind{"tensorrt", "calibration cache of TensorRT", MatchesNothing, nullptr, Flat<WriteTensorrt>,
         ".cache"},
    Kind{"ort", "calibration data of ONNX Runtime, beside its model", LooksLikeOrtCalibration,
         ReadOrtCalibration, Flat<WriteOrtCalibration>, ".json", Takes::kFiles},
    Kind{"csv", "table of values, beside their model", LooksLikeCsvTable, ReadCsvTable,
         Flat<WriteCsvTable>, ".csv", Takes::kFiles},
    Kind{"json", "table of values, beside their model", LooksLikeJsonTable, ReadJsonTable,
         Flat<WriteJsonTable>, ".json", Takes::kFiles},
    Kind{"caffe2",
         "Caffe2 predict net, init net beside it",
         IsCaffe2,
         ReadCaffe2,
         nullptr,
         {},
         Takes::kFiles},
    Kind{"stablehlo", "StableHLO program in MLIR's text", LooksLikeStablehlo, ReadStablehlo,
         Flat<ToStablehlo>, ".mlir", Takes::kSubgraph},
    Kind{"nnef",
         "NNEF: graph.nnef with graph.quant and tensor binaries beside it, or a tar of them, also "
         "by gzip",
         IsNnef, ReadNnef, OfFloats<Flat<WriteNnef>>, ".nnef.tar"},
    Kind{"qtx", "the extended form", IsExtended, ReadAsItIs, WriteAsItIs},
    Kind{"qoperator",
         "stock ONNX with operators on integers: QLinearConv, MatMulInteger, com.microsoft",
         HasQOperator, ReadOnnx, Flat<WriteQOperator, true>},
    Kind{"qonnx", "QONNX: Quant and BipolarQuant nodes, Brevitas' and FINN's spelling too", IsQonnx,
         ReadOnnx, OfFloats<Flat<ToQonnx>>},
    Kind{"qdq", "stock ONNX with QuantizeLinear and DequantizeLinear", HasQuantizer, ReadOnnx,
         WriteQdq},
    Kind{"onnx", "ONNX without quantization", IsOnnx, ReadFloat, nullptr},
};

constexpr std::array kLosses = {
    Loss{"cell_clip", "the clip of an LSTM's cell state of FLOAT"},
    Loss{"documentation", "doc strings, metadata and names of what computes nothing"},
    Loss{"float", "that every node computes over integers, where only those are wanted"},
    Loss{"graph", "nodes, in a form that has tensors only"},
    Loss{"origin", "what a node was in the framework it came from"},
    Loss{"parameters", "scales and offsets that the form has no place for"},
    Loss{"range",
         "that min and max are the extremes seen: a range that another tool chose takes their "
         "place"},
    Loss{"scheme", "the scheme, and the fixed-point form of a requantization"},
    Loss{"statistics", "min, max, mean, std, counts and histograms"},
    Loss{"unmatched", "what a table says of names that are no value of the model"},
};

// Whether only a reader can have broken the rule in a model that it made of a file of another
// format: such a file says nothing of the operators, inputs and attributes that ONNX has.
bool IsOfReader(std::string_view rule) {
  return rule == "graph.C4" || rule == "graph.C5" || rule == "graph.C6";
}

// Stock ONNX need not declare the rank of a value whose parameters name axes.
constexpr std::string_view kShapeOfAxes = "shape.C3";

// A profile or table makes no nodes: they are those of the model beside it.
bool IsTable(const Kind& kind) { return kind.takes == Takes::kFiles && kind.write != nullptr; }

bool IsOfOnnx(const Kind& kind) {
  return kind.read == ReadOnnx || kind.read == ReadAsItIs || kind.read == ReadFloat;
}

// A loss of statistics is told, and is no reason not to read the rest. What a table or a model of
// another format brought is recorded.
Result<void> SettleStatistics(const Source& source, Conversion& conversion) {
  format::Model& model = conversion.model;
  const auto checked = format::CheckStatisticsDigest(format::FlatModel(model).model());
  if (!checked.has_value()) {
    conversion.ledger.push_back(
        {"model", "statistics", LedgerEntry::Fate::kDropped, checked.error().message});
  }
  const bool brought = !source.onnx || !source.with.empty();
  return brought || !checked.has_value() ? format::RecordStatistics(model) : Result<void>();
}

// No kind begins with zeros, which devices and holes give without end.
Result<void> CheckBeginning(std::string_view head) {
  constexpr std::size_t kZeros = 4096;
  if (head.size() < kZeros || head.find_first_not_of('\0') < kZeros) return {};
  return Error{ErrorCode::kInvalid, "", "found zeros, expected a model"};
}

Result<void> ExpectLarge(std::string_view head) {
  const Source source{.path = {}, .file = format::FileBytes(std::string(head))};
  if (LooksLikeGguf(source) || LooksLikeSafetensors(source)) return {};
  return Error{ErrorCode::kInvalid, "", "expected GGUF or safetensors"};
}

// A record of lowering that the file does not bear out says nothing: it is read as any other file.
Result<Conversion> ReadWithoutRecord(const Source& source, const Kind& kind, const Options& options,
                                     const Error& broken) {
  Source bare = FromBytes({}, source.path);
  bare.onnx = source.onnx;
  format::EraseLoweringRecord(bare.onnx->metadata);
  auto conversion = Read(bare, kind, options);
  if (!conversion.has_value()) return conversion;
  conversion->ledger.insert(conversion->ledger.begin(),
                            {"model", "record of lowering", LedgerEntry::Fate::kDropped,
                             broken.where + ": " + broken.message});
  return conversion;
}

Source FromFile(format::FileBytes file, const std::string& path) {
  Source source{.path = path, .file = std::move(file)};
  if (IsTflite(source) || LooksLikeGguf(source) || LooksLikeSafetensors(source)) return source;
  auto model = format::Model::Load(source.file, path);
  if (model.has_value() && !(model->graph.nodes.empty() && model->opset_imports.empty()))
    source.onnx = *std::move(model);
  return source;
}

}  // namespace

std::optional<Conversion> InDefinedForms(const format::Model& model, const Options& options) {
  if (!HasUndefinedForm(model)) return std::nullopt;
  Ledger ledger(options);
  auto raised = ToOpset(model, kOldestDefined, ledger);
  if (!raised.has_value()) return std::nullopt;
  return Conversion{*std::move(raised), ledger.Take()};
}

std::span<const Kind> Kinds() { return kKinds; }
std::span<const Loss> Losses() { return kLosses; }

Result<void> RefuseLosses(std::span<const LedgerEntry> ledger,
                          std::span<const std::string> allowed) {
  std::vector<std::string_view> told;
  Error error{ErrorCode::kUnsupported, "", ""};
  std::string options;
  for (const LedgerEntry& entry : ledger) {
    if (entry.loss.empty() || std::ranges::find(allowed, entry.loss) != allowed.end() ||
        std::ranges::find(told, entry.loss) != told.end()) {
      continue;
    }
    const std::string where = entry.value + ": " + entry.field;
    if (told.empty()) {
      error.where = where;
      error.message = entry.why;
    } else {
      error.message += "; " + where + ": " + entry.why;
    }
    options += " --allow " + std::string(entry.loss);
    told.push_back(entry.loss);
  }
  if (told.empty()) return {};
  error.message += ";" + options + " goes without";
  return error;
}

const Kind* FindKind(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &Kind::name);
  return found == kKinds.end() ? nullptr : found;
}

Result<const Kind*> KindOf(const Source& source) {
  const auto* found =
      std::ranges::find_if(kKinds, [&](const Kind& kind) { return kind.matches(source); });
  if (found != kKinds.end()) return found;
  // What is ONNX past a limit is not read, and so of no kind.
  const auto model = format::Model::Load(source.file, source.path);
  if (!model.has_value() && model.error().code == ErrorCode::kTooLarge) return model.error();
  std::string names;
  for (const Kind& kind : kKinds) {
    if (kind.read == nullptr) continue;
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  }
  return Error{ErrorCode::kInvalid, source.path,
               source.bytes().empty() ? "empty; expected a model" : "none of the kinds " + names};
}

Source FromBytes(std::string bytes, const std::string& path) {
  return FromFile(format::FileBytes(std::move(bytes)), path);
}

Result<format::FileBytes> OpenBytes(const std::string& path) {
  auto file = format::FileBytes::Open(path, format::kMaxModelBytes - 1, CheckBeginning);
  if (file.has_value()) {
    auto tar = TarOfGzip(file->view());
    if (!tar.has_value()) return At(path, std::move(tar).error());
    if (*tar) return format::FileBytes(**std::move(tar));
  }
  if (file.has_value() || file.error().code != ErrorCode::kTooLarge || path == "-") return file;
  auto large = format::FileBytes::Open(path, std::numeric_limits<std::int64_t>::max(), ExpectLarge);
  return large.has_value() ? std::move(large) : std::move(file);
}

std::string FileOfFolder(const std::string& path) {
  std::error_code code;
  if (!std::filesystem::is_directory(path, code)) return path;
  const auto graph = NnefOfFolder(path);
  return graph ? *graph : SafetensorsOfFolder(path).value_or(path);
}

Result<Source> Open(const std::string& given, std::vector<std::string> with) {
  const std::string path = FileOfFolder(given);
  QTX_ASSIGN_OR_RETURN(format::FileBytes file, OpenBytes(path));
  Source source = FromFile(std::move(file), path);
  source.with = std::move(with);
  if (source.onnx) {
    const auto checked = format::CheckExternalData(*source.onnx);
    if (!checked.has_value()) return At(path, checked.error());
  }
  return source;
}

Result<std::string> BytesOf(const Export& written) {
  if (const auto* bytes = std::get_if<std::string>(&written.content)) return *bytes;
  if (std::holds_alternative<std::vector<OutputFile>>(written.content)) {
    return Error{ErrorCode::kUnsupported, "kind",
                 "the model is one of several files; 'qtx convert' writes it to a folder"};
  }
  std::string all;
  for (const format::Piece& piece : std::get<std::vector<format::Piece>>(written.content)) {
    const auto* range = std::get_if<format::FileRange>(&piece);
    if (range == nullptr) {
      all += std::get<std::string>(piece);
      continue;
    }
    const std::size_t begin = all.size();
    all.resize(begin + static_cast<std::size_t>(range->size));
    QTX_RETURN_IF_ERROR(
        format::ReadRange(*range, 0, std::as_writable_bytes(std::span(all)).subspan(begin)));
  }
  return all;
}

Result<Conversion> Read(const Source& source, const Kind& kind, const Options& options) {
  if (kind.read == nullptr) {
    return Error{ErrorCode::kUnsupported, source.path,
                 std::string(kind.name) + " can be written, not read"};
  }
  if (!source.with.empty() && kind.takes != Takes::kFiles) {
    return Error{ErrorCode::kInvalid, source.path,
                 "found further files, " + std::string(kind.name) + " takes none"};
  }
  if (!options.subgraph.empty() && kind.takes != Takes::kSubgraph) {
    return Error{ErrorCode::kInvalid, source.path,
                 "found subgraph '" + options.subgraph + "', " + std::string(kind.name) +
                     " has no choice of one"};
  }
  if (!source.onnx && IsOfOnnx(kind)) {  // it begins like a file of another kind
    Source parsed = FromBytes({}, source.path);
    auto model = OnnxOf(source);
    if (!model.has_value()) return At(source.path, model.error());
    parsed.onnx = *std::move(model);
    return Read(parsed, kind, options);
  }
  auto conversion = kind.read(source, options);
  if (!conversion.has_value()) return At(source.path, conversion.error());
  QTX_RETURN_IF_ERROR(SettleStatistics(source, *conversion));
  // Nothing that breaks the spec goes on to a writer or a backend that trusts the spec.
  // ReadGguf has looked at all factors, of which there may be gigabytes.
  const bool reads_records = !options.copies && kind.read != ReadGguf;
  auto broken = BrokenRule(conversion->model, ErrorCode::kInternal, "internal: the model read",
                           reads_records);
  if (!broken) return conversion;
  const auto blamed = [&](ErrorCode code, const char* who) {
    return *BrokenRule(conversion->model, code, who, reads_records);
  };
  if (source.onnx && kind.read == ReadOnnx && format::HasLoweringRecord(source.onnx->metadata))
    return ReadWithoutRecord(source, kind, options, blamed(broken->code, "what it restores"));
  if (!source.onnx && (IsTable(kind) || !IsOfReader(broken->clause)))
    broken = blamed(ErrorCode::kInvalid, "the model read");
  if (source.onnx && broken->clause == kShapeOfAxes)
    broken = blamed(ErrorCode::kUnsupported, "the model read, whose file does not declare it,");
  return At(source.path, BlameSource(source, *std::move(broken)));
}

Result<Export> Write(const format::Model& model, const Kind& kind, const Options& options) {
  auto written = kind.write(model, options);
  if (!written.has_value()) return written;
  auto* onnx = std::get_if<format::Model>(&written->content);
  if (onnx == nullptr) {
    const bool of_tensors = kind.write == WriteGguf || kind.write == WriteSafetensors;
    if (of_tensors) return written;  // nodes play no part
    auto defined = format::CheckFirst(model);
    const bool undefined = !defined.has_value() && defined.error().code == ErrorCode::kUnsupported;
    return undefined ? Result<Export>(std::move(defined).error()) : std::move(written);
  }
  if (options.unchanged && options.opset == 0 && kind.write == WriteAsItIs)
    return written;  // Read has checked it
  if (kind.write != WriteAsItIs && format::HasLoweringRecord(model.metadata)) {
    written->ledger.push_back({"model", "record of lowering", LedgerEntry::Fate::kChanged,
                               "the record of this lowering takes its place"});
  }
  if (format::FindMetadata(onnx->metadata, format::kStatisticsKey) != nullptr)
    QTX_RETURN_IF_ERROR(format::RecordStatistics(*onnx));
  auto broken = BrokenByWriter(model, *onnx);
  return broken ? Result<Export>(*std::move(broken)) : std::move(written);
}

Error BlameSource(const Source& source, Error error) {
  if (error.code != ErrorCode::kInternal || !source.onnx) return error;
  auto broken = BrokenRule(*source.onnx, ErrorCode::kInvalid, "the input");
  if (!broken) broken = BrokenInitializer(*source.onnx);
  if (!broken && IsQonnx(source))
    broken = BrokenRule(WithoutQuantizers(*source.onnx), ErrorCode::kInvalid, "the input");
  return broken ? *std::move(broken) : error;
}

}  // namespace qtx::convert
