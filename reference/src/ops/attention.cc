#include "arithmetic/attention.h"

#include "ops/heads.h"
#include "ops/registry.h"

namespace qtx::reference::ops {
namespace {

// Heads of an earlier call before those of this one, as numbers: [batch, head, length, size].
template <typename Row>
std::vector<typename Row::Number> Numbers(const Heads& past, const std::optional<Operand>& earlier,
                                          const Heads& now, const Operand& current) {
  std::vector<typename Row::Number> numbers;
  const auto add = [&numbers](const Operand& x, std::int64_t first, std::int64_t count) {
    for (std::int64_t d = 0; d < count; ++d) numbers.push_back(Row::From(x, first + d));
  };
  for (std::int64_t b = 0; b < now.batch; ++b) {
    for (std::int64_t h = 0; h < now.count; ++h) {
      for (std::int64_t i = 0; i < past.length; ++i) add(*earlier, past.Row(b, h, i), now.size);
      for (std::int64_t i = 0; i < now.length; ++i) add(current, now.Row(b, h, i), now.size);
    }
  }
  return numbers;
}

// Puts y and the scores, row by row.
template <typename Row>
class Attender {
 public:
  Attender(const Call& call, const Geometry& g, Output* y, std::optional<Output>* scores)
      : call_(&call), g_(g), y_(y), scores_(scores) {}
  Result<void> Run();

 private:
  using Number = typename Row::Number;
  void PutRow(std::int64_t b, std::int64_t h, std::int64_t i);
  void PutScores(std::int64_t first, Row* row);

  const Call* call_;
  Geometry g_;
  Output* y_;
  std::optional<Output>* scores_;
  std::optional<Masks> masks_;
  std::optional<ScoreRule> rule_;
  std::vector<Number> q_, k_, v_;
};

template <typename Row>
Result<void> Attender<Row>::Run() {
  QTX_ASSIGN_OR_RETURN(masks_, Masks::Make(*call_, g_));
  QTX_ASSIGN_OR_RETURN(const Operand q, OperandAt(*call_, 0));
  QTX_ASSIGN_OR_RETURN(const Operand k, OperandAt(*call_, 1));
  QTX_ASSIGN_OR_RETURN(const Operand v, OperandAt(*call_, 2));
  QTX_ASSIGN_OR_RETURN(const auto past_k, OptionalOperandAt(*call_, kPastKey));
  QTX_ASSIGN_OR_RETURN(const auto past_v, OptionalOperandAt(*call_, kPastValue));
  if (g_.q.batch * g_.q.length == 0) return {};  // and keys may be many
  std::optional<float> scale;
  if (call_->node.Find("scale") != nullptr) scale = call_->Float("scale");
  rule_.emplace(scale, g_.q.size, call_->Float("softcap"));
  q_ = Numbers<Row>({}, {}, g_.q, q);
  k_ = Numbers<Row>(g_.past_k, past_k, g_.k, k);
  v_ = Numbers<Row>(g_.past_v, past_v, g_.v, v);
  for (std::int64_t b = 0; b < g_.q.batch; ++b) {
    for (std::int64_t h = 0; h < g_.q.count; ++h) {
      for (std::int64_t i = 0; i < g_.q.length; ++i) PutRow(b, h, i);
    }
  }
  return {};
}

// Source: attention.S2, attention.S3.
template <typename Row>
void Attender<Row>::PutRow(std::int64_t b, std::int64_t h, std::int64_t i) {
  const auto part = [](const std::vector<Number>& all, std::int64_t first, std::int64_t count) {
    return std::span<const Number>(all).subspan(static_cast<std::size_t>(first),
                                                static_cast<std::size_t>(count));
  };
  const std::int64_t total = g_.total();
  const std::int64_t query = (b * g_.q.count + h) * g_.q.length + i;
  const std::int64_t group = b * g_.k.count + h / (g_.q.count / g_.k.count);
  const std::vector<Visibility> visible = masks_->Row(b, h, i);
  Row row(*rule_,
          {part(q_, query * g_.q.size, g_.q.size),
           part(k_, group * total * g_.k.size, total * g_.k.size), visible, masks_->bias()});
  const Number* values = v_.data() + group * total * g_.v.size;
  for (std::int64_t d = 0; d < g_.v.size; ++d) {
    row.Put(g_.Y().Row(b, h, i) + d, {values + d, g_.v.size}, y_);
  }
  if (*scores_) PutScores(query * total, &row);
}

// Source: attention.S9.
template <typename Row>
void Attender<Row>::PutScores(std::int64_t first, Row* row) {
  const std::int64_t mode = call_->Int("qk_matmul_output_mode");
  const auto total = static_cast<std::size_t>(g_.total());
  std::vector<Number> unit(total, Row::Unit(false));
  for (std::size_t j = 0; j < total; ++j) {
    const std::int64_t element = first + static_cast<std::int64_t>(j);
    if (mode < 3) {
      row->PutScore(element, j, static_cast<ScoreStage>(mode), &**scores_);
      continue;
    }
    unit[j] = Row::Unit(true);
    row->Put(element, {unit.data(), 1}, &**scores_);
    unit[j] = Row::Unit(false);
  }
}

// Past rows, then those of this call.  Source: attention.S8.
Result<format::Tensor> Present(const Call& call, std::size_t output, const Geometry& g,
                               const Heads& past, std::size_t past_input, const Heads& now,
                               std::size_t input) {
  const Heads all = g.Present(now);
  QTX_ASSIGN_OR_RETURN(Mover mover, Mover::Of(call, *call.inputs[input], output));
  struct Part {
    Heads heads;
    std::size_t input;
    std::int64_t start;
  };
  for (const Part& part : {Part{past, past_input, 0}, Part{now, input, past.length}}) {
    if (part.heads.length == 0) continue;
    std::vector<std::int64_t> elements, sources;
    for (std::int64_t row = 0; row < all.batch * all.count * part.heads.length; ++row) {
      const std::int64_t i = row % part.heads.length;
      const std::int64_t head = row / part.heads.length % all.count;
      const std::int64_t batch = row / part.heads.length / all.count;
      for (std::int64_t d = 0; d < all.size; ++d) {
        elements.push_back(all.Row(batch, head, part.start + i) + d);
        sources.push_back(part.heads.Row(batch, head, i) + d);
      }
    }
    auto copied = mover.Copy(*call.inputs[part.input], elements, sources);
    if (!copied.has_value()) return At(InputName(call, part.input), std::move(copied).error());
  }
  return mover.Take();
}

// Source: attention.S1 to attention.S10.
Result<std::vector<format::Tensor>> Attention(const Call& call) {
  QTX_ASSIGN_OR_RETURN(const Geometry g, GeometryOf(call));
  QTX_ASSIGN_OR_RETURN(Output y, Output::Of(call));
  std::optional<Output> scores;
  if (call.Wants(kScores)) {
    QTX_ASSIGN_OR_RETURN(scores, Output::Of(call, kScores));
  }
  if (DomainFor(call.arithmetic, y) == Domain::kFloat32) {
    QTX_RETURN_IF_ERROR(Attender<FloatAttention>(call, g, &y, &scores).Run());
  } else {
    QTX_RETURN_IF_ERROR(Attender<ExactAttention>(call, g, &y, &scores).Run());
  }
  std::vector<format::Tensor> results(call.outputs.size());
  results[0] = y.Take();
  if (scores) results[kScores] = scores->Take();
  if (call.Wants(kPresentKey)) {
    QTX_ASSIGN_OR_RETURN(results[kPresentKey],
                         Present(call, kPresentKey, g, g.past_k, kPastKey, g.k, 1));
  }
  if (call.Wants(kPresentValue)) {
    QTX_ASSIGN_OR_RETURN(results[kPresentValue],
                         Present(call, kPresentValue, g, g.past_v, kPastValue, g.v, 2));
  }
  return results;
}

}  // namespace

const Operator kAttention = {.op_type = "Attention", .run_all = Attention};

}  // namespace qtx::reference::ops
