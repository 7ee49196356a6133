// LSTM and GRU a second time: plain loops over numbers of 400 bits, or over binary32.
#pragma once

#include <algorithm>
#include <array>

#include "unary_textbook.h"

namespace qtx::reference::testing {

// A number of 400 bits: far past any coincidence among the inputs used.
class Number {
 public:
  Number(const mpq_class& value = 0) {  // NOLINT(google-explicit-constructor): a number's value
    mpfr_init2(value_, 400);
    mpfr_set_q(value_, value.get_mpq_t(), MPFR_RNDN);
  }
  Number(const Number& other) : Number() { mpfr_set(value_, other.value_, MPFR_RNDN); }
  Number& operator=(const Number& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  ~Number() { mpfr_clear(value_); }
  mpfr_ptr get() { return value_; }
  mpq_class Exact() const {
    mpq_class exact;
    mpfr_get_q(exact.get_mpq_t(), value_);
    return exact;
  }
  friend Number operator+(Number a, const Number& b) {
    mpfr_add(a.value_, a.value_, b.value_, MPFR_RNDN);
    return a;
  }
  friend Number operator-(Number a, const Number& b) {
    mpfr_sub(a.value_, a.value_, b.value_, MPFR_RNDN);
    return a;
  }
  friend Number operator*(Number a, const Number& b) {
    mpfr_mul(a.value_, a.value_, b.value_, MPFR_RNDN);
    return a;
  }

 private:
  mpfr_t value_;
};

inline void MpfrSigmoid(mpfr_ptr x) {
  mpfr_neg(x, x, MPFR_RNDN);
  mpfr_exp(x, x, MPFR_RNDN);
  mpfr_add_ui(x, x, 1, MPFR_RNDN);
  mpfr_ui_div(x, 1, x, MPFR_RNDN);
}
inline void MpfrTanh(mpfr_ptr x) { mpfr_tanh(x, x, MPFR_RNDN); }
inline void MpfrRelu(mpfr_ptr x) {
  if (mpfr_sgn(x) < 0) mpfr_set_zero(x, 1);
}
inline const MpfrFunction& Named(const std::string& name) {
  static const MpfrFunction sigmoid = MpfrSigmoid, tanh = MpfrTanh, relu = MpfrRelu;
  return name == "Sigmoid" ? sigmoid : name == "Tanh" ? tanh : relu;
}
inline Number Apply(const std::string& name, Number x) {
  Named(name)(x.get());
  return x;
}
inline float Apply(const std::string& name, float x) { return TextbookFloat(Named(name), x); }
inline mpq_class Exact(const Number& x) { return x.Exact(); }
inline mpq_class Exact(float x) { return mpq_class(static_cast<double>(x)); }
inline Number From(const mpq_class& value, const Number&) { return value; }
inline float From(const mpq_class& value, float) { return TextbookFloat(value); }
inline Number Bounded(const Number& x, double limit) {
  return mpq_class(std::clamp(x.Exact(), mpq_class(-limit), mpq_class(limit)));
}
inline float Bounded(float x, double limit) {
  return std::clamp(x, static_cast<float>(-limit), static_cast<float>(limit));
}

// A node with its tensors, in ONNX's order of inputs; -1 marks what is absent.
struct Network {
  bool lstm = true;
  std::int64_t steps = 3, batch = 2, input = 2, hidden = 2;
  std::string direction = "forward";
  bool batch_first = false, flag = false;  // input_forget or linear_before_reset
  double clip = 0;                         // 0: none
  std::vector<std::string> activations;    // empty: by default
  std::array<std::optional<Tensor>, 8> inputs;

  std::int64_t gates() const { return lstm ? 4 : 3; }
  std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

using Results = std::array<std::vector<mpq_class>, 3>;

template <typename T>
class Loops {
 public:
  explicit Loops(const Network& setup) : s_(setup) {
    for (std::size_t i = 0; i < 8; ++i) {
      if (!s_.inputs[i] || i == 4) continue;
      for (const mpq_class& real : TextbookReals(*s_.inputs[i])) in_[i].push_back(From(real, T()));
    }
  }

  Results Run() {
    const std::int64_t nd = s_.directions();
    const std::int64_t states = nd * s_.batch * s_.hidden;
    results_[0].assign(static_cast<std::size_t>(s_.steps * states), 0);
    results_[1].assign(static_cast<std::size_t>(states), 0);
    results_[2] = results_[1];
    for (std::int64_t d = 0; d < nd; ++d) {
      for (std::int64_t b = 0; b < s_.batch; ++b) Sequence(d, b);
    }
    return results_;
  }

 private:
  static std::size_t U(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::int64_t StateIndex(std::int64_t d, std::int64_t b, std::int64_t j) const {
    return s_.batch_first ? (b * s_.directions() + d) * s_.hidden + j
                          : (d * s_.batch + b) * s_.hidden + j;
  }
  void Sequence(std::int64_t d, std::int64_t b) {
    h_.assign(U(s_.hidden), T());
    c_ = h_;
    for (std::int64_t j = 0; j < s_.hidden; ++j) {
      if (!in_[5].empty()) h_[U(j)] = in_[5][U(StateIndex(d, b, j))];
      if (!in_[6].empty()) c_[U(j)] = in_[6][U(StateIndex(d, b, j))];
    }
    const std::int64_t length =
        s_.inputs[4] ? format::UnpackIntegers(*s_.inputs[4])[U(b)] : s_.steps;
    const bool backward = s_.direction == "reverse" || d == 1;
    for (std::int64_t k = 0; k < length; ++k) {
      const std::int64_t t = backward ? length - 1 - k : k;
      s_.lstm ? Lstm(d, b, t) : Gru(d, b, t);
      for (std::int64_t j = 0; j < s_.hidden; ++j) {
        const std::int64_t nd = s_.directions();
        const std::int64_t at = s_.batch_first ? ((b * s_.steps + t) * nd + d) * s_.hidden + j
                                               : ((t * nd + d) * s_.batch + b) * s_.hidden + j;
        results_[0][U(at)] = Exact(h_[U(j)]);
      }
    }
    for (std::int64_t j = 0; j < s_.hidden; ++j) {
      results_[1][U(StateIndex(d, b, j))] = Exact(h_[U(j)]);
      results_[2][U(StateIndex(d, b, j))] = Exact(c_[U(j)]);
    }
  }
  T Inputs(T sum, std::int64_t d, std::int64_t b, std::int64_t t, std::int64_t row) const {
    for (std::int64_t k = 0; k < s_.input; ++k) {
      const std::int64_t x = (s_.batch_first ? b * s_.steps + t : t * s_.batch + b) * s_.input + k;
      const std::int64_t w = (d * s_.gates() * s_.hidden + row) * s_.input + k;
      sum = sum + in_[0][U(x)] * in_[1][U(w)];
    }
    return sum;
  }
  T Recurrent(T sum, std::int64_t d, std::int64_t row, const std::vector<T>& h) const {
    for (std::int64_t k = 0; k < s_.hidden; ++k) {
      sum = sum + h[U(k)] * in_[2][U((d * s_.gates() * s_.hidden + row) * s_.hidden + k)];
    }
    return sum;
  }
  T Bias(T sum, std::int64_t d, std::int64_t half, std::int64_t row) const {
    if (in_[3].empty()) return sum;
    return sum + in_[3][U((2 * d + half) * s_.gates() * s_.hidden + row)];
  }
  T Act(std::int64_t d, std::int64_t k, T x) const {
    static const std::vector<std::string> defaults = {"Sigmoid", "Tanh", "Tanh"};
    if (s_.clip > 0) x = Bounded(x, s_.clip);
    const std::int64_t each = s_.lstm ? 3 : 2;
    return Apply(s_.activations.empty() ? defaults[U(k)] : s_.activations[U(d * each + k)], x);
  }
  void Lstm(std::int64_t d, std::int64_t b, std::int64_t t) {
    const std::int64_t n = s_.hidden;
    std::vector<T> h, c;
    for (std::int64_t j = 0; j < n; ++j) {
      const auto gate = [&](std::int64_t g, std::int64_t k, const T* cell) {
        T sum = Recurrent(Inputs(T(), d, b, t, g * n + j), d, g * n + j, h_);
        if (cell != nullptr && !in_[7].empty()) {
          sum = sum + in_[7][U((3 * d + g) * n + j)] * *cell;
        }
        return Act(d, k, Bias(Bias(sum, d, 0, g * n + j), d, 1, g * n + j));
      };
      const T& old = c_[U(j)];
      const T i = gate(0, 0, &old);
      const T f = s_.flag ? From(1, T()) - i : gate(2, 0, &old);
      const T cell = f * old + i * gate(3, 1, nullptr);
      h.push_back(gate(1, 0, &cell) * Act(d, 2, cell));
      c.push_back(cell);
    }
    h_ = h;
    c_ = c;
  }
  void Gru(std::int64_t d, std::int64_t b, std::int64_t t) {
    const std::int64_t n = s_.hidden;
    const auto gate = [&](std::int64_t row) {
      const T sum = Recurrent(Inputs(T(), d, b, t, row), d, row, h_);
      return Act(d, 0, Bias(Bias(sum, d, 0, row), d, 1, row));
    };
    std::vector<T> next, masked;
    for (std::int64_t j = 0; j < n; ++j) masked.push_back(gate(n + j) * h_[U(j)]);
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t row = 2 * n + j;
      T sum = Inputs(T(), d, b, t, row);
      if (s_.flag) {
        sum = sum + gate(n + j) * Bias(Recurrent(T(), d, row, h_), d, 1, row);
        sum = Bias(sum, d, 0, row);
      } else {
        sum = Bias(Bias(Recurrent(sum, d, row, masked), d, 0, row), d, 1, row);
      }
      const T z = gate(j);
      next.push_back((From(1, T()) - z) * Act(d, 1, sum) + z * h_[U(j)]);
    }
    h_ = next;
  }

  const Network& s_;
  std::array<std::vector<T>, 8> in_;
  std::vector<T> h_, c_;
  Results results_;
};

}  // namespace qtx::reference::testing
