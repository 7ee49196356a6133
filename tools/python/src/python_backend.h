// A backend that is an object of Python.
#pragma once

#include <string>

#include "binding.h"
#include "qtx/conformance/runner.h"

namespace qtx::python {

/// The backend that `adapter` answers for (class Adapter of qtx/_backends.py): `description()`
/// gives name, version, arithmetics and device; `prepare(model, arithmetic)` gives a prepared model
/// or an Answer; a prepared model's `run(tensors)` gives a list of tensors or an Answer, and its
/// `measure(tensors, repetitions)` a list of seconds or an Answer. It is asked by one thread at a
/// time.
conformance::BackendSource PythonSource(nb::object adapter);

/// Answers the requests that arrive at `in_fd` with `adapter`, until the end of the file.
/// REQUIRES: the GIL is held. Returns the exit status of the process, as backend::Serve.
int ServePython(nb::object adapter, int in_fd, int out_fd);

/// Keeps an object of Python where the GIL is not held.
class Kept {
 public:
  /// REQUIRES: the GIL is held.
  explicit Kept(nb::object object) : object_(std::move(object)) {}
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  ~Kept() {
    const nb::gil_scoped_acquire acquired;
    object_.reset();
  }
  /// REQUIRES: the GIL is held.
  const nb::object& operator*() const { return object_; }

 private:
  nb::object object_;
};

}  // namespace qtx::python
