// The text of an NNEF graph: graph.nnef in flat syntax, and graph.quant.
// Source: NNEF-Tools' parser of flat syntax 1.x, which says what is accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/format/result.h"

namespace qtx::convert::nnef {

/// An argument or a result: a literal, the name of a tensor, or a list of these.
struct Value {
  enum class Kind { kName, kNumber, kString, kBool, kArray, kTuple } kind = Kind::kName;
  std::string text;      // of a name or string; a number as it is written
  double number = 0;     // of kNumber; 0 and 1 of kBool
  bool integer = false;  // whether kNumber is written as an integer
  std::int64_t whole = 0;
  std::vector<Value> items;  // of kArray and kTuple
  std::size_t line = 0;

  bool IsList() const { return kind == Kind::kArray || kind == Kind::kTuple; }
};

/// `results = op<type>(arguments);`
struct Invocation {
  std::vector<Value> results;                            // names or arrays of names
  std::string op, type;                                  // `type` is scalar, integer, logical or ""
  std::vector<std::pair<std::string, Value>> arguments;  // positional ones have no name
  std::size_t line = 0;
  std::size_t number = 0;  // among those of the line, from 0: of statements and bodies of fragments

  std::string Place() const { return "line " + std::to_string(line) + ": " + op; }
};

/// A fragment that the file defines.
struct Fragment {
  std::string name;
  std::vector<std::pair<std::string, std::optional<Value>>> parameters;  // with their defaults
  std::vector<std::string> results;
  std::vector<Invocation> body;
  std::string not_flat;  // why there is no body; "" where there is one
};

struct Document {
  std::string version;
  std::vector<std::string> extensions;
  std::vector<Fragment> fragments;
  std::string name;  // of the graph
  std::vector<std::string> inputs, outputs;
  std::vector<Invocation> body;
};

/// Errors: kInvalid at "line N"; kUnsupported for what is not flat syntax; kTooLarge for lists
/// nested more than 16 deep.
Result<Document> ParseGraph(std::string_view text);

/// The entries of graph.quant; `results` holds the name of the tensor.  Errors: as ParseGraph.
Result<std::vector<Invocation>> ParseQuant(std::string_view text);

/// Whether a text begins as a graph does: "version N.N;".
bool LooksLikeGraph(std::string_view text);

}  // namespace qtx::convert::nnef
