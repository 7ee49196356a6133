// A network of XNNPACK operators in the making: buffers of each value, and what runs in order.
#pragma once

#include <xnnpack.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "peer/graph.h"

namespace qtx::backend::xnnpack {

/// Elements in row-major order of the dims, or with the channels (axis 1) moved to the end, as
/// XNNPACK has them.
enum class Layout { kPlain, kChannelsLast };

struct Data {
  std::byte* bytes = nullptr;
  Layout layout = Layout::kPlain;
};

/// Bytes of an element of the types there are: FLOAT, INT8Q, UINT8Q.
std::size_t WidthOf(const peer::Value& value);
/// Copies elements so that axis i of the result is axis perm[i] of `from`.
void Permute(const std::byte* from, const format::Dims& dims, const std::vector<std::int64_t>& perm,
             std::size_t width, std::byte* to);

/// Owns an operator of the library.
using Operator = std::unique_ptr<xnn_operator, xnn_status (*)(xnn_operator_t)>;
inline Operator Own(xnn_operator_t op) { return {op, xnn_delete_operator}; }

class Net {
 public:
  explicit Net(int threads);

  pthreadpool_t pool() const { return pool_.get(); }
  std::byte* NewBuffer(std::size_t bytes);
  Data New(const peer::Value& value, Layout layout);

  /// A value as it is stored, in the layout it has or the one that is asked for.
  /// Errors: kUnsupported for other types than FLOAT, INT8Q, UINT8Q.
  Result<Data> Of(const peer::Value& value);
  Result<Data> Of(const peer::Value& value, Layout layout);
  /// A value as reals in binary32.  Errors: as above, and for several scales.
  Result<Data> Reals(const peer::Value& value, Layout layout);
  /// A buffer for the reals of a value to be computed, and their conversion to its type.
  Data NewReals(const peer::Value& value, Layout layout);
  Result<void> SetReals(const peer::Value& value, Data reals);

  void Set(const peer::Value& value, Data data) { stored_[&value] = data; }
  void Add(std::function<xnn_status()> step) { steps_.push_back({std::move(step), false}); }
  /// A `border` step only brings the graph's inputs or outputs into another layout.
  void Add(Operator op, bool border = false);
  /// A graph output in row-major order.
  Result<Data> Output(const peer::Value& value);
  xnn_status Run() const;
  /// Without the border steps.
  xnn_status RunInside() const;

 private:
  std::unique_ptr<pthreadpool, void (*)(pthreadpool_t)> pool_;
  std::deque<std::vector<std::byte>> buffers_;
  std::deque<Operator> operators_;
  std::vector<std::pair<std::function<xnn_status()>, bool>> steps_;  // and whether a border
  bool at_outputs_ = false;
  std::map<const peer::Value*, Data> stored_;
  std::map<std::pair<const peer::Value*, Layout>, Data> converted_, reals_;
};

/// An element-wise operator without strides: `arguments` stand between strides and flags of create.
/// Errors: kUnsupported with the library's status.
template <typename In, typename Out, typename... Parameters, typename... Arguments>
Result<void> AddUnary(Net& net, const std::string& what, std::size_t count, Data in, Data out,
                      xnn_status (*create)(std::size_t, std::size_t, std::size_t, Parameters...),
                      xnn_status (*setup)(xnn_operator_t, std::size_t, const In*, Out*,
                                          pthreadpool_t),
                      std::size_t rows, Arguments... arguments);

/// Success, or kUnsupported naming `what` and the status.
Result<void> Check(xnn_status status, const std::string& what);

/// Adds the operators of one node.  Errors: kUnsupported naming it and the reason.
Result<void> AddNode(const peer::Reader& node, Net& net);
Result<void> AddConv(const peer::Reader& node, Net& net);
Result<void> AddGemm(const peer::Reader& node, Net& net);
Result<void> AddMatMul(const peer::Reader& node, Net& net);
Result<void> AddPool(const peer::Reader& node, Net& net);

template <typename In, typename Out, typename... Parameters, typename... Arguments>
Result<void> AddUnary(Net& net, const std::string& what, std::size_t count, Data in, Data out,
                      xnn_status (*create)(std::size_t, std::size_t, std::size_t, Parameters...),
                      xnn_status (*setup)(xnn_operator_t, std::size_t, const In*, Out*,
                                          pthreadpool_t),
                      std::size_t rows, Arguments... arguments) {
  const std::size_t channels = count / rows;
  xnn_operator_t op = nullptr;
  QTX_RETURN_IF_ERROR(Check(create(channels, channels, channels, arguments..., 0U, &op), what));
  Operator owned = Own(op);
  QTX_RETURN_IF_ERROR(Check(setup(op, rows, reinterpret_cast<const In*>(in.bytes),
                                  reinterpret_cast<Out*>(out.bytes), net.pool()),
                            what));
  net.Add(std::move(owned));
  return {};
}

}  // namespace qtx::backend::xnnpack
