// The module qtx._core: the C++ libraries for the Python files beside it, which are the public
// interface.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>

#include "binding.h"

namespace qtx::python {
namespace {

constexpr std::array kCodes = {
    std::pair{ErrorCode::kInvalid, std::string_view("invalid")},
    std::pair{ErrorCode::kUnsupported, std::string_view("unsupported")},
    std::pair{ErrorCode::kTooLarge, std::string_view("too_large")},
    std::pair{ErrorCode::kIo, std::string_view("io")},
    std::pair{ErrorCode::kTimeout, std::string_view("timeout")},
    std::pair{ErrorCode::kProtocol, std::string_view("protocol")},
    std::pair{ErrorCode::kInternal, std::string_view("internal")},
    std::pair{ErrorCode::kUnreadable, std::string_view("unreadable")},
    std::pair{ErrorCode::kMemory, std::string_view("memory")},
    std::pair{ErrorCode::kUsage, std::string_view("usage")},
    std::pair{ErrorCode::kSystem, std::string_view("system")},
};

void Raise(const std::exception_ptr& fault, void*) {
  try {
    std::rethrow_exception(fault);
  } catch (const Failure& failure) {
    const Error& error = failure.error();
    const nb::object type = nb::module_::import_("qtx._errors").attr("Error");
    const nb::object made =
        type(Text(error.message), Text(error.where), Text(error.clause), Text(Name(error.code)));
    PyErr_SetObject(type.ptr(), made.ptr());
  }
}

}  // namespace

std::string_view Name(ErrorCode code) {
  return std::ranges::find(kCodes, code, &std::pair<ErrorCode, std::string_view>::first)->second;
}

ErrorCode ErrorCodeOf(std::string_view name) {
  const auto* found =
      std::ranges::find(kCodes, name, &std::pair<ErrorCode, std::string_view>::second);
  return found == kCodes.end() ? ErrorCode::kInternal : found->first;
}

nb::str Text(std::string_view text) {
  PyObject* const made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (made == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

nb::list Texts(const std::vector<std::string>& texts) {
  nb::list list;
  for (const std::string& text : texts) list.append(Text(text));
  return list;
}

BorrowedBytes::BorrowedBytes(nb::handle object) {
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nb::python_error();
}

void BindErrors(nb::module_& module) {
  nb::register_exception_translator(Raise);
  nb::class_<Error>(module, "Answer")
      .def(
          "__init__",
          [](Error* self, const std::string& code, std::string where, std::string message,
             std::string clause) {
            new (self)
                Error{ErrorCodeOf(code), std::move(where), std::move(message), std::move(clause)};
          },
          nb::arg("code"), nb::arg("where"), nb::arg("message"), nb::arg("clause"))
      .doc() = "The error that a backend answers.";
}

}  // namespace qtx::python

NB_MODULE(_core, module) {
  // What an exception or a cache still holds when Python ends is no leak.
  nanobind::set_leak_warnings(false);
  module.attr("SOURCE_FOLDER") = QTX_SOURCE_DIR;
  module.attr("VERSION") = QTX_VERSION;
  qtx::python::BindErrors(module);
  qtx::python::BindTensors(module);
  qtx::python::BindModels(module);
  qtx::python::BindInterpreter(module);
  qtx::python::BindConformance(module);
  qtx::python::BindQuantize(module);
}
