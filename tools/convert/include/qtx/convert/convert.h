// Models in and out of the extended form. Every conversion returns a ledger of what became of each
// field.  Converters see the format only.
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

namespace qtx::convert {

struct LedgerEntry {
  std::string value;  // of which value, node or "model"
  std::string field;  // "scale", "min", "layout", ...
  enum class Fate { kKept, kChanged, kDropped } fate = Fate::kKept;
  std::string why;  // empty for kept
};

/// What a form may be unable to hold. Without leave it is an error, with leave a ledger entry.
struct Loss {
  std::string_view name;  // as --allow names it
  std::string_view what;
};
std::span<const Loss> Losses();

struct Options {
  std::vector<std::string> allow;  // names of losses
  std::int64_t opset = 0;          // of ONNX that is written; 0: the smallest that has the types
  std::string subgraph;            // of a TFLite file: name, signature or index; empty: the first
};

/// A file to convert, and what belongs to it.
struct Source {
  std::string path;  // names the file in errors; what it refers to lies beside it; "-" is stdin
  format::FileBytes file;
  std::vector<std::string> with;      // paths of further files: weights, the model of a profile
  std::optional<format::Model> onnx;  // the bytes parsed, where they are an ONNX model

  std::string_view bytes() const { return file.view(); }
};

/// Errors: kIo, kTooLarge.
Result<Source> Open(const std::string& path, std::vector<std::string> with = {});
/// The same of a file's bytes in memory; `path` names them in errors.
Source FromBytes(std::string bytes, const std::string& path);

struct Conversion {
  format::Model model;
  std::vector<LedgerEntry> ledger;
};

/// What is written: an ONNX model, extended or stock, or a file of another form.
struct Export {
  std::variant<format::Model, std::string> content;
  std::vector<LedgerEntry> ledger;
};

/// What a kind's reader takes beside the file: Source::with, Options::subgraph.
enum class Takes { kNothing, kFiles, kSubgraph };

/// A form that models come in.
struct Kind {
  std::string_view name;  // as --from and --to name it
  std::string_view what;
  bool (*matches)(const Source&);  // by content
  /// To the extended form. nullptr: cannot be read. `where` of an error leaves the file to Read.
  Result<Conversion> (*read)(const Source&, const Options&);
  /// From the extended form, which Check has vetted; through Write below, which vets the result.
  /// nullptr: cannot be written.
  Result<Export> (*write)(const format::Model&, const Options&);
  std::string_view extension = ".onnx";  // of files that are written
  Takes takes = Takes::kNothing;
};

/// All kinds, in the order in which their `matches` are asked.
std::span<const Kind> Kinds();
/// nullptr: no kind of that name.
const Kind* FindKind(std::string_view name);
/// Errors: kInvalid when the source is of no kind.
Result<const Kind*> KindOf(const Source& source);

/// The extended form of `source`, checked by every rule of the spec.
/// Errors: those of the kind's reader; kInvalid where the source breaks a rule, kInternal where only
/// the model that the reader made of it does; `where` begins with the path.
Result<Conversion> Read(const Source& source, const Kind& kind, const Options& options = {});

/// `model` in another form. An ONNX model that is written keeps the rules of the spec; one that is
/// stock, those of ONNX and of ONNX Runtime's domain, too.
/// Errors: those of the kind's writer; kInternal where what it wrote breaks a rule; kUnsupported, in
/// a form that is not ONNX, for what ONNX defines and the spec does not.
/// REQUIRES: kind.write.
Result<Export> Write(const format::Model& model, const Kind& kind, const Options& options = {});

/// `error`; but where that is kInternal and `source` breaks a rule itself, what it breaks: kInvalid.
Error BlameSource(const Source& source, Error error);

/// For targets without floating point: gives the output of each Conv, Gemm and MatMul its
/// requantization, one multiplier and shift for each scale of the weights, brings biases to INT32
/// in units of x_scale * w_scale, half to even, and says in the ledger where the worst sum of the
/// actual weights exceeds 32 bits.
/// Errors: kUnsupported (a node over FLOAT values without `--allow float`, scales that one
/// accumulator cannot have), kInvalid (a bias that 32 bits do not hold).
/// Source: spec/format/requantization.md, fixed_point.S1.
Result<Conversion> ToIntegerOnly(const format::Model& model, const Options& options = {});

/// Every UINT8Q value as INT8Q, or the other way: stored integers, offset and range shifted by 128,
/// so that all reals stay.  Errors: those of Decode.  REQUIRES: `to` is INT8Q or UINT8Q.
Result<Conversion> ToEightBits(const format::Model& model, format::ElementType to,
                               const Options& options = {});

/// Stock ONNX to the extended form. Annotated values (elem_type FLOAT with quantization) take their
/// type from the annotation.  Errors: kInvalid, kUnsupported.
Result<Conversion> FromOnnx(const format::Model& model, const Options& options = {});

/// The extended form to stock QDQ ONNX: every quantized value is a FLOAT value of the same name,
/// annotated.  Errors: kUnsupported, naming value and type that the opset cannot say.
Result<Conversion> ToQdq(const format::Model& model, const Options& options = {});

/// A .tflite flatbuffer to the extended form, NCHW inside, the graph's inputs and outputs as TFLite
/// has them.  Errors: kInvalid (not a verified TFLite file), kUnsupported (operator and tensor by
/// name).
Result<Conversion> FromTflite(std::string_view bytes, const Options& options = {});

/// The extended form to a .tflite flatbuffer. A model that came from one, and still is its graph,
/// goes out as it came in; any other is written anew, activations as [N,H,W,C].
/// Errors: kUnsupported for what TFLite's operators and quantization cannot say, naming node or
/// value, and for losses.
Result<Export> ToTflite(const format::Model& model, const Options& options = {});

}  // namespace qtx::convert
