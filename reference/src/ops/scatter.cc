#include "ops/scatter.h"

#include <algorithm>
#include <utility>

#include "exact_product.h"
#include "ops/move.h"
#include "ops/order.h"

namespace qtx::reference {
namespace {

// Which element of updates goes to which element of data, sorted by that and then row-major.
struct Update {
  std::int64_t element = 0;
  std::int64_t source = 0;
};
using Updates = std::vector<Update>;

Updates UpdatesOf(const std::vector<std::int64_t>& elements) {
  Updates updates;
  std::int64_t source = 0;
  for (const std::int64_t element : elements) updates.push_back({element, source++});
  std::ranges::sort(updates, {},
                    [](const Update& update) { return std::pair(update.element, update.source); });
  return updates;
}

// True when an update takes the place of what stands there: with `none` always, else when it is
// beyond it or, as in numpy.maximum and minimum, the first NaN.
// Source: scatter_nd.S2, scatter_nd.S4.
class Replaces {
 public:
  static Result<Replaces> Make(const Call& call, const std::string& reduction) {
    Replaces replaces(reduction);
    if (reduction == "none") return replaces;
    QTX_ASSIGN_OR_RETURN(replaces.data_, Order::Make(call, 0));
    QTX_ASSIGN_OR_RETURN(replaces.updates_, Order::Make(call, 2));
    return replaces;
  }
  // `standing` is an element of updates; data's own where it is negative.
  bool operator()(const Update& update, std::int64_t standing) const {
    if (reduction_ == "none") return true;
    const Order& order = standing < 0 ? *data_ : *updates_;
    const std::int64_t at = standing < 0 ? update.element : standing;
    if (order.IsNan(at)) return false;
    if (updates_->IsNan(update.source)) return true;
    const int compared = updates_->Compare(update.source, order, at);
    return reduction_ == "max" ? compared > 0 : compared < 0;
  }

 private:
  explicit Replaces(std::string reduction) : reduction_(std::move(reduction)) {}
  std::string reduction_;
  std::optional<Order> data_, updates_;
};

// What stands in an element of data in the end, where it is no element of updates.
constexpr std::int64_t kOwn = -1;       // data's, beside updates that did not replace it
constexpr std::int64_t kNotNamed = -2;  // data's

// Of max and min with a quantized result.  Source: definitions.S3, scatter_nd.S6.
Result<format::Tensor> TakeExtremes(const Call& call, std::span<const std::int64_t> winners) {
  QTX_ASSIGN_OR_RETURN(const Operand data, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand updates, OperandAt(call, 2));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  Converter moved(call.arithmetic, data, &output, Purpose::kMove);
  Converter of_data(call.arithmetic, data, &output, Purpose::kSelect);
  Converter of_updates(call.arithmetic, updates, &output, Purpose::kSelect);
  for (std::size_t i = 0; i < winners.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    if (winners[i] >= 0) {
      of_updates.Put(element, winners[i]);
    } else {
      (winners[i] == kOwn ? of_data : moved).Put(element, element);
    }
  }
  return output.Take();
}

Result<format::Tensor> Select(const Call& call, const Updates& updates,
                              const std::string& reduction) {
  const format::Tensor& data = *call.inputs[0];
  QTX_ASSIGN_OR_RETURN(const Replaces replaces, Replaces::Make(call, reduction));
  std::vector<std::int64_t> winners(static_cast<std::size_t>(format::ElementCount(data)),
                                    kNotNamed);
  for (const Update& update : updates) {
    std::int64_t& winner = winners[static_cast<std::size_t>(update.element)];
    if (replaces(update, winner)) {
      winner = update.source;
    } else if (winner == kNotNamed) {
      winner = kOwn;
    }
  }
  if (reduction != "none" && call.outputs[0].quantization) return TakeExtremes(call, winners);
  std::vector<std::int64_t> kept;
  std::vector<std::int64_t> replaced;
  std::vector<std::int64_t> sources;
  for (std::size_t i = 0; i < winners.size(); ++i) {
    const auto element = static_cast<std::int64_t>(i);
    (winners[i] < 0 ? kept : replaced).push_back(element);
    if (winners[i] >= 0) sources.push_back(winners[i]);
  }
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Of(call, data));
  QTX_RETURN_IF_ERROR(mover.Copy(data, kept, kept));
  QTX_RETURN_IF_ERROR(mover.Copy(*call.inputs[2], replaced, sources));
  return mover.Take();
}

// data + updates, or data * updates, of one element.  Source: scatter_nd.S3.
Real Reduced(const Operand& data, const Operand& updates, std::span<const Update> at, bool sum) {
  ExactSum total;
  ExactProduct product;
  const auto take = [&](const Dyadic& value) { sum ? total.Add(value) : product.Multiply(value); };
  take(data.exact(at[0].element));
  for (const Update& update : at) take(updates.exact(update.source));
  return sum ? total.Value() : product.Value();
}

// Source: scatter_nd.S5.
float Reduced32(const Operand& data, const Operand& updates, std::span<const Update> at, bool sum) {
  float result = data.binary32(at[0].element);
  for (const Update& update : at) {
    const float value = updates.binary32(update.source);
    result = sum ? result + value : result * value;
  }
  return result;
}

Result<format::Tensor> Accumulate(const Call& call, const Updates& updates, bool sum) {
  QTX_ASSIGN_OR_RETURN(const Operand data, OperandAt(call, 0));
  QTX_ASSIGN_OR_RETURN(const Operand values, OperandAt(call, 2));
  QTX_ASSIGN_OR_RETURN(Output output, Output::Of(call));
  Converter converter(call.arithmetic, data, &output, Purpose::kMove);
  const bool float32 = DomainFor(call.arithmetic, output) == Domain::kFloat32;
  const std::int64_t count = format::ElementCount(data.tensor());
  auto next = updates.begin();
  for (std::int64_t element = 0; element < count; ++element) {
    const auto end = std::find_if(
        next, updates.end(), [element](const Update& update) { return update.element != element; });
    if (!sum && end - next > ExactProduct::kMostFactors) {
      return Error{ErrorCode::kTooLarge, InputName(call, 1),
                   "found " + std::to_string(end - next) + " factors of one element"};
    }
    if (end == next) {
      converter.Put(element, element);
    } else if (float32) {
      output.PutFloat(element, Reduced32(data, values, {next, end}, sum));
    } else {
      output.PutReal(element, Reduced(data, values, {next, end}, sum));
    }
    next = end;
  }
  return output.Take();
}

}  // namespace

Result<format::Tensor> Scattered(const Call& call, const std::vector<std::int64_t>& elements) {
  const std::string reduction = call.String("reduction");
  const Updates updates = UpdatesOf(elements);
  if (reduction == "add" || reduction == "mul") {
    return Accumulate(call, updates, reduction == "add");
  }
  return Select(call, updates, reduction);
}

}  // namespace qtx::reference
