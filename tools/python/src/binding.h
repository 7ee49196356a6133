// What the files of the extension share: errors as Python exceptions, bytes that are borrowed, and
// a Bind function for each.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qtx/format/model.h"
#include "qtx/format/result.h"
#include "qtx/format/tensor.h"
#include "qtx/format/tensor_type.h"

namespace qtx::python {

namespace nb = nanobind;

/// An Error on its way to Python, where it is a qtx.Error.
class Failure : public std::exception {
 public:
  explicit Failure(Error error) : error_(std::move(error)), text_(error_.Text()) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
  std::string text_;
};

template <typename T>
T Unwrap(Result<T> result) {
  if (!result.has_value()) throw Failure(std::move(result).error());
  return *std::move(result);
}
inline void Unwrap(Result<void> result) {
  if (!result.has_value()) throw Failure(std::move(result).error());
}

/// "invalid": the code of an error as qtx.Error has it.
std::string_view Name(ErrorCode code);
/// Its inverse; kInternal for other names.
ErrorCode ErrorCodeOf(std::string_view name);

/// The bytes of a contiguous buffer (bytes, memoryview, array), borrowed until the end of the
/// object. Made and ended with the GIL held, which reading does not need.
class BorrowedBytes {
 public:
  /// Throws nb::python_error (TypeError, BufferError) for what gives no contiguous buffer.
  explicit BorrowedBytes(nb::handle object);
  BorrowedBytes(const BorrowedBytes&) = delete;
  BorrowedBytes& operator=(const BorrowedBytes&) = delete;
  ~BorrowedBytes() { PyBuffer_Release(&buffer_); }
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_ = {};
};

/// A declared value: its parameters are inline.
struct Value {
  std::string name;
  format::TensorType type;
};

/// Calls work() while other threads of Python run.
template <typename Work>
auto WithoutGil(Work work) {
  const nb::gil_scoped_release released;
  return work();
}

/// Names and messages may come from a hostile file: bytes that are no UTF-8 are shown as \\xNN.
nb::str Text(std::string_view text);
nb::list Texts(const std::vector<std::string>& texts);

/// Rows of (value, field, fate, why).
template <typename Entry>
nb::list LedgerRows(const std::vector<Entry>& ledger) {
  constexpr const char* kFates[] = {"kept", "changed", "dropped"};
  nb::list rows;
  for (const Entry& entry : ledger) {
    rows.append(nb::make_tuple(Text(entry.value), Text(entry.field),
                               kFates[static_cast<std::size_t>(entry.fate)], Text(entry.why)));
  }
  return rows;
}

void BindErrors(nb::module_& module);
void BindTensors(nb::module_& module);
void BindModels(nb::module_& module);
void BindInterpreter(nb::module_& module);
void BindConformance(nb::module_& module);
void BindQuantize(nb::module_& module);

}  // namespace qtx::python
