// A conformance case: its types, the parser of case files, and the model and inputs that a case
// runs.
// Source: spec/conformance_cases.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"
#include "qtx/format/tensor_type.h"

namespace qtx::conformance {

// Bounds on hostile case files, checked before anything is allocated.
inline constexpr std::int64_t kMaxCaseFileBytes = std::int64_t{4} << 20;
inline constexpr std::int64_t kMaxYamlNodes = std::int64_t{1} << 20;  // of one file
inline constexpr int kMaxYamlDepth = 16;
inline constexpr std::int64_t kMaxExpansion = 10'000;                    // cases of one matrix
inline constexpr std::int64_t kMaxCaseElements = std::int64_t{1} << 24;  // of one value

/// Levels, choices of cases by what they cost. Source: spec/conformance_cases.md.
inline constexpr std::array<std::string_view, 5> kLevels = {"core", "vision", "transformer",
                                                            "subbyte", "scaled-float"};

/// How the elements of an input are generated if the case does not list them.
/// Source: spec/conformance_cases.md, which defines each to the bit.
enum class GeneratorKind {
  kUniform,
  kNormal,
  kBoundary,
  kTies,
  kSaturate,
  kSaturatingPairs,
  kSparse,
  kExtreme,
  kRamp,
  kOneHot,
  kZero
};
struct Generator {
  GeneratorKind kind = GeneratorKind::kUniform;
  std::uint64_t seed = 0;
  std::int64_t axis = -1;  // along which the pairs of kSaturatingPairs lie; negative from the end
};

/// The tag of a case whose literal data another project published.
inline constexpr std::string_view kPublishedTag = "published";

/// The tag of a case whose session is thorough.
inline constexpr std::string_view kSessionTag = "session";

/// One typed value of a case. At most one of `data`, `generator` and `file` is set.
struct CaseValue {
  std::string name;
  bool absent = false;       // an omitted optional operator input (`b: none`)
  bool initializer = false;  // a constant of the model rather than an input
  format::TensorType type;   // elem_type kUndefined: that of the model (model cases)
  std::optional<format::Tensor> data;
  std::optional<Generator> generator;
  std::string file;                 // .npy, .pb or .csv, relative to the suite's folder
  std::optional<std::int64_t> row;  // which value of a file that holds several
};

/// A further permitted result of one output, and the clause or hardware effect that permits it.
struct Alternative {
  std::string output;
  format::Tensor data;
  std::string because;
};

/// Tolerance for float outputs that others computed: |got - expected| <= absolute + relative *
/// |expected|, both at least 0 (numpy.allclose). A NaN is close to a NaN, an infinity to itself.
struct Closeness {
  double relative = 0;
  double absolute = 0;
  std::string because;
};

/// Reads a model file. The tools supply a loader that converts other kinds of models.
using ModelLoader = std::function<Result<format::Model>(const std::string&)>;

/// The operator of an operator case.
struct Operator {
  std::string type;
  std::string domain;
  std::int64_t opset = 17;
  std::vector<format::Attribute> attributes;
  std::optional<format::Origin> origin;  // its framework, op_type and attributes
};

/// A node of a case with several: its operator, and the names of the values that it reads and
/// writes.
struct CaseNode {
  Operator op;
  std::vector<std::string> inputs;  // empty text: left out
  std::vector<std::string> outputs;
};

/// The expected outputs of a case, or the clause by which it must be refused.
struct Expectation {
  std::vector<CaseValue> outputs;
  std::string error;
};

struct Case {
  std::string id;    // "add/tie_with_odd_offset[type=int8q]"; the first component is the stem
  std::string spec;  // the clause, "add.S2"
  std::string why;
  std::string derivation;
  std::string where;  // "add/ties.yaml:12"
  std::string level = "core";
  std::vector<std::string> tags;
  std::vector<std::string> arithmetics = {"exact"};

  std::optional<Operator> op;           // either this
  std::vector<CaseNode> nodes;          // or several nodes
  std::vector<CaseValue> values;        // and the types of what lies between them, without data
  std::string model;                    // or a model file, relative to the suite's folder
  std::string test_data;                // or a folder of ONNX test data, until it is expanded
  std::vector<CaseValue> inputs;        // in the order of the operator's inputs
  std::vector<CaseValue> initializers;  // further constants, e.g. what scale_tensor names
  std::vector<CaseValue> outputs;       // without data: the reference computes them
  std::vector<Alternative> alternatives;
  std::string error;  // the clause by which the case must be refused; empty: it must run
  // In an example of a proposal, the expectation under the current spec; `outputs` and `error` hold
  // with the proposal's feature on.
  std::optional<Expectation> before;
  std::optional<std::int64_t> ulp;  // tolerance of float outputs; nullopt is exact
  std::optional<Closeness> close;   // tolerance instead of `ulp`, for third-party data only
  // The data come from an arithmetic that rounds intermediate results: they must be within a bound
  // of the exact result, and in `exact` that one passes too.
  bool or_exact = false;
  // Values whose element type an overlay adds, and its name: "x" -> "NF4Q".
  std::map<std::string, std::string, std::less<>> added_types;

  std::string folder;         // the suite's, where `model` and `file` are looked up
  ModelLoader load;           // reads `model`; empty: Model::Load
  std::int64_t position = 0;  // among the cases that were loaded of its suite
};

/// All cases of a YAML text of one or more documents, matrices expanded, in the order of the text.
/// Errors: kInvalid at "where:line: key" for YAML that is malformed or uses anchors, an unknown or
/// missing key, a value out of its type's range; kTooLarge past the bounds above.
/// `first_line` is the line of `yaml`'s first line in its file.
Result<std::vector<Case>> ParseCases(std::string_view yaml, const std::string& where,
                                     int first_line = 1);

/// The cases of a formula block of the spec: without id, why and derivation, with inputs that may
/// lack data and outputs that must. Their ids are "formula" plus the suffix of a matrix.
/// Errors: as ParseCases.
Result<std::vector<Case>> ParseFormulaCases(std::string_view yaml, const std::string& where,
                                            int first_line = 1);

/// The model that a case runs: the file it names, or its node or nodes in the extended form (opset
/// imports op.opset and qtx 1) with values of the case's types. An output without shape is declared
/// without one; an error case without outputs gets `y` with the first input's type. Errors: those
/// of Model::Load; kInvalid for a path outside the folder and for malformed files.
Result<format::Model> BuildModel(const Case& c);

/// The inputs to run that model with, in the order of graph.input without initializers.
/// Errors: kInvalid when the case gives a value that the model lacks, or the reverse; those of
/// ParseNpy.
Result<std::vector<format::Tensor>> BuildInputs(const Case& c, const format::Model& model);

}  // namespace qtx::conformance
