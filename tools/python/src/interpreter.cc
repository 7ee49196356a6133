// The reference interpreter.
#include "qtx/reference/interpreter.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>

#include "binding.h"
#include "qtx/convert/convert.h"
#include "qtx/reference/arithmetic.h"
#include "qtx/reference/profile.h"

namespace qtx::python {
namespace {

using format::Tensor;

// A prepared model. Threads of Python may share it: one runs at a time.
class Session {
 public:
  Session(const format::Model& model, const std::string& arithmetic,
          const std::map<std::string, std::string>& by_node)
      : interpreter_(Prepared(model, arithmetic, {by_node.begin(), by_node.end()})) {}

  using Named = std::vector<std::pair<std::string, Tensor>>;

  /// The outputs, and with `observed` every value that a node gives.
  std::vector<Tensor> Run(const std::vector<Tensor>& inputs, Named* observed) {
    const std::scoped_lock lock(mutex_);
    interpreter_.set_observer({});
    if (observed != nullptr) {
      interpreter_.set_observer([observed](const std::string& name, const Tensor& tensor) {
        observed->emplace_back(name, tensor);
      });
    }
    return Unwrap(interpreter_.Run(inputs));
  }

 private:
  static reference::Interpreter Prepared(const format::Model& model, const std::string& arithmetic,
                                         const reference::Interpreter::NodeArithmetics& by_node) {
    const auto moved = convert::InDefinedForms(model);
    return Unwrap(
        reference::Interpreter::Prepare(moved ? moved->model : model, arithmetic, by_node));
  }

  std::mutex mutex_;
  reference::Interpreter interpreter_;
};

nb::list NamedValues(Session::Named&& named) {
  nb::list rows;
  for (auto& [name, tensor] : named) rows.append(nb::make_tuple(Text(name), std::move(tensor)));
  return rows;
}

// The outputs, and rows of (name, tensor) of the values between.
nb::tuple RunSession(Session& session, const std::vector<Tensor>& inputs, bool intermediates) {
  Session::Named named;
  std::vector<Tensor> outputs =
      WithoutGil([&] { return session.Run(inputs, intermediates ? &named : nullptr); });
  nb::list list;
  for (Tensor& output : outputs) list.append(std::move(output));
  return nb::make_tuple(list, NamedValues(std::move(named)));
}

nb::list Arithmetics() {
  nb::list names;
  for (const auto& row : reference::Arithmetics()) names.append(Text(row.name));
  for (const auto& alias : reference::Aliases()) names.append(Text(alias.name));
  return names;
}

nb::list Profiles() {
  nb::list names;
  for (const auto& profile : reference::Profiles()) names.append(Text(profile.name));
  return names;
}

// Arithmetics by node, and (node, why) of those that the profile does not know.
nb::tuple Assigned(const format::Model& model, const std::string& name) {
  const reference::Assignment assignment =
      WithoutGil([&] { return reference::Assign(*Unwrap(reference::FindProfile(name)), model); });
  nb::dict by_node;
  for (const auto& [node, arithmetic] : assignment.by_node) by_node[Text(node)] = Text(arithmetic);
  nb::list unknown;
  for (const auto& node : assignment.unknown) {
    unknown.append(nb::make_tuple(Text(node.where), Text(node.says)));
  }
  return nb::make_tuple(by_node, unknown);
}

}  // namespace

void BindInterpreter(nb::module_& module) {
  nb::class_<Session>(module, "Session")
      .def(
          "__init__",
          [](Session* self, const format::Model& model, const std::string& arithmetic,
             const std::map<std::string, std::string>& by_node) {
            WithoutGil([&] { new (self) Session(model, arithmetic, by_node); });
          },
          nb::arg("model"), nb::arg("arithmetic"), nb::arg("by_node"))
      .def("run", RunSession, nb::arg("inputs"), nb::arg("intermediates"));
  module.def("arithmetics", Arithmetics);
  module.def("profiles", Profiles);
  module.def("assigned", Assigned, nb::arg("model"), nb::arg("profile"));
}

}  // namespace qtx::python
