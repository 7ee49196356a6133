// A network of oneDNN primitives in the making: memory of each value, and what runs in order.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "dnnl.hpp"
#include "peer/graph.h"

namespace qtx::backend::onednn {

using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

/// Memory in some layout. A value that depends only on constants is computed at once.
struct Data {
  memory mem;
  bool constant = false;
  bool is_input = false;  // of the graph, row-major
  memory::desc desc() const { return mem.get_desc(); }
};

std::optional<memory::data_type> TypeOf(format::ElementType type);
/// Descriptors: row-major, and in the layout that a primitive chooses.
memory::desc Plain(const memory::dims& dims, memory::data_type type);
memory::desc Any(const memory::dims& dims, memory::data_type type);

/// Its functions throw dnnl::error, as oneDNN does.
class Net {
 public:
  Net() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  const dnnl::engine& engine() const { return engine_; }
  /// Adds a step, or executes it when its result is constant. A `border` step only brings the
  /// graph's inputs or outputs into another layout.
  void Add(const dnnl::primitive& primitive, Arguments arguments, bool constant,
           bool border = false);
  Data New(const memory::desc& desc, bool constant = false) const;
  Data NewConstant(const memory::desc& desc, const void* elements) const;

  /// A graph input, in row-major order.
  Data Input(const peer::Value& value);
  /// A value as it is stored.  Errors: kUnsupported for a type oneDNN has not.
  Result<Data> Of(const peer::Value& value);
  /// A value as reals in binary32.  Errors: as above, and for several scales.
  Result<Data> Reals(const peer::Value& value);
  /// `data` in the layout and type of `desc`.
  Data In(const Data& data, const memory::desc& desc);
  /// A graph output in row-major order.
  Data Output(const Data& data, const memory::dims& dims);
  /// `data` in row-major order, with other dims of as many elements.
  Data Reshaped(const Data& data, const memory::dims& dims);

  void Set(const peer::Value& value, Data data) { stored_[&value] = std::move(data); }
  /// Maps reals to the type of `value`.  Errors: kUnsupported for other types than bytes.
  Result<void> SetReals(const peer::Value& value, const Data& reals);

  void Run();
  /// Without the border steps.
  void RunInside();
  /// Frees memory that no step uses, once the last is added.
  void Forget();

 private:
  struct Step {
    dnnl::primitive primitive;
    Arguments arguments;
    bool border = false;
  };
  Data Reorder(const Data& from, const memory::desc& to, const dnnl::primitive_attr& attr,
               bool border = false);

  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Step> steps_;
  std::vector<memory> owners_;  // of buffers that have views of another shape
  std::map<const peer::Value*, Data> stored_, reals_;
};

/// [batch, channels, spatial...]; and dilations as oneDNN counts them: the holes.
memory::dims With(std::int64_t batch, std::int64_t channels, const memory::dims& spatial);
memory::dims LessOne(memory::dims dilations);

inline constexpr float kLargest = std::numeric_limits<float>::max();
/// Appends the clamp of a Relu or Clip to what follows a primitive.
void AppendBounds(const peer::Bounds& bounds, dnnl::post_ops& ops);

/// Whether u8 by s8 products are pairs in 16 bits, as they are without VNNI.
bool Saturates();

/// Adds the primitives of one node.  Errors: kUnsupported naming it and the reason.
Result<void> AddNode(const peer::Reader& node, Net& net);
Result<void> AddConv(const peer::Reader& node, Net& net);
Result<void> AddGemm(const peer::Reader& node, Net& net);
Result<void> AddMatMul(const peer::Reader& node, Net& net);

}  // namespace qtx::backend::onednn
