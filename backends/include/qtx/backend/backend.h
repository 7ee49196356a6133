// What a backend is: four requests. In process it is this class; out of process the same four are
// messages of proto/qtx/backend.proto (serve.h turns one into the other).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"

namespace qtx::backend {

struct Description {
  std::string name;                      // "x86"
  std::string version;                   // of the backend
  std::vector<std::string> arithmetics;  // names it conforms to, its default first
  std::string device;                    // what it runs on: "AVX2", "NEON+dotprod (qemu)"
};

inline constexpr int kMaxRepetitions = 1 << 20;  // of one Measure

/// The time that a node took, or a part of its work.
struct NodeTime {
  std::size_t node = 0;  // its index in the graph
  std::string path;      // how it is computed: a kernel's name, "general"
  double seconds = 0;
};

/// A prepared model. Its destructor is Release.
class PreparedModel {
 public:
  virtual ~PreparedModel() = default;
  /// `inputs` in the order of graph.input without initializers, each of the declared type and
  /// shape; the result in the order of graph.output. Errors: kInvalid when inputs do not fit the
  /// model.
  virtual Result<std::vector<format::Tensor>> Run(std::span<const format::Tensor> inputs) = 0;
  /// Wall-clock seconds of each of `repetitions` computations of the same. By default these are
  /// whole calls of Run; a backend may leave out what is not computation, such as copying outputs.
  /// REQUIRES: 1 <= repetitions <= kMaxRepetitions.
  virtual Result<std::vector<double>> Measure(std::span<const format::Tensor> inputs,
                                              int repetitions);
  /// What the nodes took in `repetitions` computations together; a node may be there several times,
  /// or not at all.  Errors: as Run; kUnsupported where a backend does not know.
  /// REQUIRES: as Measure.
  virtual Result<std::vector<NodeTime>> Profile(std::span<const format::Tensor> inputs,
                                                int repetitions);
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual Result<Description> Describe() = 0;
  /// Errors: kUnsupported (with the node and the reason) for what the backend does not do,
  /// kInvalid for a model that breaks the spec.
  virtual Result<std::unique_ptr<PreparedModel>> Prepare(const format::Model& model,
                                                         std::string_view arithmetic) = 0;
  /// True if threads may run different prepared models of this backend at once. No two threads run
  /// one prepared model.
  virtual bool RunsAtOnce() const { return false; }
};

}  // namespace qtx::backend
