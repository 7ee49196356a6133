// Converters to and from the extended form. Every conversion returns a ledger that says what became
// of each field.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "qtx/format/file.h"
#include "qtx/format/model.h"
#include "qtx/format/result.h"

namespace qtx::format {
class DataFile;
}

namespace qtx::convert {

struct LedgerEntry {
  std::string value;  // name of a value or node, or "model"
  std::string field;  // "scale", "min", "layout", ...
  enum class Fate { kKept, kChanged, kDropped } fate = Fate::kKept;
  std::string why;             // empty for kept
  std::string_view loss = {};  // of a dropped field: which of Losses() it is, if any
};

/// Something that a target may be unable to express: an error, or a ledger entry if --allow permits
/// it.
struct Loss {
  std::string_view name;  // as --allow names it
  std::string_view what;
};
std::span<const Loss> Losses();

/// Errors: kUnsupported where `ledger` holds losses that are not among `allowed`: the first of
/// each, by value, field and reason, and the options that permit them.
Result<void> RefuseLosses(std::span<const LedgerEntry> ledger,
                          std::span<const std::string> allowed);

/// The oldest opset of ai.onnx that is written; the newest is format::NewestOpset().
inline constexpr std::int64_t kOldestOpset = 7;

struct Options {
  std::vector<std::string> allow;  // names of permitted losses
  bool all_losses = false;         // others end no conversion, so that RefuseLosses can tell of all
  std::int64_t opset = 0;          // of the ONNX written; 0: its own, or one that has the types
  std::string subgraph;    // subgraph of a TFLite file: name, signature or index; empty: the first;
                           // function of a StableHLO program: name or index; empty: main, or the
                           // only public one
  bool unchanged = false;  // the model to write is as Read gave it
  bool copies = false;     // what is written copies the records of encoded initializers, unread
  bool repack = false;     // of a GGUF file: ordinary tensors, none that points into the file
  bool weights_only = false;         // of a GGUF file: no graph, also of a known architecture
  format::DataFile* data = nullptr;  // for large tensors that are made; nullptr: in the model
};

/// A file to convert, with its companion files.
struct Source {
  std::string path;  // names the file in errors; files it refers to lie beside it; "-" is stdin
  format::FileBytes file;
  std::vector<std::string> with;      // paths of further files: weights, the model of a profile
  std::optional<format::Model> onnx;  // the parsed bytes, if they are an ONNX model

  std::string_view bytes() const { return file.view(); }
};

/// The bytes of a model of any kind; only the kinds that lie in the file untouched may be larger
/// than protobuf's limit.  Errors: those of FileBytes::Open.
Result<format::FileBytes> OpenBytes(const std::string& path);
/// The file that a folder stands for: its graph.nnef, or else its safetensors; any other path is
/// itself.
std::string FileOfFolder(const std::string& path);
/// Of a folder, the file that it stands for.
/// Errors: those of OpenBytes, and of CheckExternalData for an ONNX model.
Result<Source> Open(const std::string& path, std::vector<std::string> with = {});
/// A source from bytes in memory; `path` names them in errors.
Source FromBytes(std::string bytes, const std::string& path);

struct Conversion {
  format::Model model;
  std::vector<LedgerEntry> ledger;
};

/// One of several files that are one model.
struct OutputFile {
  std::string name;  // in the folder of the output
  std::vector<format::Piece> pieces;
};

/// The output of a conversion: an ONNX model (extended or stock) or the bytes of another kind, of
/// which some may still lie in files, or of which there are several files.
struct Export {
  std::variant<format::Model, std::string, std::vector<format::Piece>, std::vector<OutputFile>>
      content;
  std::vector<LedgerEntry> ledger;
};

/// What is written, in one piece.  REQUIRES: it is no model.
/// Errors: those of ReadRange; kUnsupported for several files.
Result<std::string> BytesOf(const Export& written);

/// What else a kind's reader uses: nothing, Source::with or Options::subgraph.
enum class Takes { kNothing, kFiles, kSubgraph };

/// A kind of model files.
struct Kind {
  std::string_view name;  // as --from and --to name it
  std::string_view what;
  bool (*matches)(const Source&);  // recognizes the kind by its content
  /// Converts to the extended form; nullptr: cannot be read. Read adds the file to `where` of
  /// errors.
  Result<Conversion> (*read)(const Source&, const Options&);
  /// Converts from the extended form, already vetted by Check; Write below vets the result.
  /// nullptr: cannot be written.
  Result<Export> (*write)(const format::Model&, const Options&);
  std::string_view extension = ".onnx";  // of written files
  Takes takes = Takes::kNothing;
};

/// All kinds, in the order in which `matches` is tried.
std::span<const Kind> Kinds();
/// nullptr for an unknown name.
const Kind* FindKind(std::string_view name);
/// The kind of a source.  Errors: kInvalid if no kind matches.
Result<const Kind*> KindOf(const Source& source);

/// The extended form of `source`, checked by every rule of the spec.
/// Errors: those of the kind's reader; kInvalid where the source breaks a rule, kInternal where
/// only the model that the reader made of it does; `where` begins with the path.
Result<Conversion> Read(const Source& source, const Kind& kind, const Options& options = {});

/// `model` in another form. An ONNX model that is written keeps the rules of the spec; one that is
/// stock, those of ONNX and of ONNX Runtime's domain, too.
/// Errors: those of the kind's writer; kInternal where what it wrote breaks a rule; kUnsupported,
/// in a form that is not ONNX, for what ONNX defines and the spec does not. REQUIRES: kind.write.
Result<Export> Write(const format::Model& model, const Kind& kind, const Options& options = {});

/// `model` with what a tool dropped of it: the parameters, annotations and statistics that values
/// of those names and element types have in `from`, an older file, the entries of metadata_props
/// that begin with "qtx.", and the digests of what there is then. The ledger names each value that
/// got something back, and each that did not, with the reason.  Errors: kTooLarge.
Result<Conversion> Restore(const format::Model& from, const format::Model& model);

/// `error`; but where that is kInternal and `source` breaks a rule itself, what it breaks:
/// kInvalid.
Error BlameSource(const Source& source, Error error);

/// For targets without floating point: adds to the output of each Conv, Gemm and MatMul a
/// requantization (a multiplier and shift for each scale of the weights) and converts biases to
/// INT32 in units of x_scale * w_scale, rounded half to even. The ledger says where the worst-case
/// sum over the actual weights exceeds 32 bits.
/// Errors: kUnsupported (a node over FLOAT values without `--allow float`, scales that do not
/// permit a single accumulator), kInvalid (a bias that overflows 32 bits).
/// Source: spec/format/requantization.md, fixed_point.S1.
Result<Conversion> ToIntegerOnly(const format::Model& model, const Options& options = {});

/// Converts every UINT8Q value to INT8Q or the reverse, shifting stored integers, offset and range
/// by 128, so that the reals are unchanged.  Errors: those of Decode.  REQUIRES: `to` is INT8Q or
/// UINT8Q.
Result<Conversion> ToEightBits(const format::Model& model, format::ElementType to,
                               const Options& options = {});

/// Converts stock ONNX to the extended form. Annotated values (elem_type FLOAT with quantization)
/// take their type from the annotation.  Errors: kInvalid, kUnsupported.
Result<Conversion> FromOnnx(const format::Model& model, const Options& options = {});

/// `model` in opset 13, where a node has an older form than the text defines, such as a Pad of
/// opset
/// 10. nullopt where none has, or where something has no form there.
std::optional<Conversion> InDefinedForms(const format::Model& model, const Options& options = {});

/// Converts the extended form to stock QDQ ONNX: every quantized value becomes an annotated FLOAT
/// value of the same name.  Errors: kUnsupported for a type that the opset lacks, naming value and
/// type.
Result<Conversion> ToQdq(const format::Model& model, const Options& options = {});

/// Converts a .tflite flatbuffer to the extended form: NCHW inside, graph inputs and outputs in
/// TFLite's layout.  Errors: kInvalid (not a verified TFLite file), kUnsupported (operator and
/// tensor by name).
Result<Conversion> FromTflite(std::string_view bytes, const Options& options = {});

/// Converts the extended form to a .tflite flatbuffer. An unchanged model that came from TFLite is
/// written as it was read; others are written from the graph, activations as [N,H,W,C].
/// Errors: kUnsupported for what TFLite cannot express, naming node or value, and for losses.
Result<Export> ToTflite(const format::Model& model, const Options& options = {});

}  // namespace qtx::convert
