// The order of the reduction steps, and the case made from the result.
#include "qtx/conformance/shrink.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "bisect.h"
#include "case_writer.h"
#include "confirm.h"
#include "place.h"
#include "reduce.h"

namespace qtx::conformance {
namespace {

using format::Tensor;

// MatMul -> mat_mul, QLinearConv -> q_linear_conv, LSTM -> lstm.
std::string Stem(const std::string& op_type) {
  const auto upper = [&op_type](std::size_t i) {
    return i < op_type.size() && std::isupper(static_cast<unsigned char>(op_type[i])) != 0;
  };
  const auto lower = [&op_type](std::size_t i) {
    return i < op_type.size() && std::islower(static_cast<unsigned char>(op_type[i])) != 0;
  };
  std::string stem;
  for (std::size_t i = 0; i < op_type.size(); ++i) {
    const bool begins = i > 0 && upper(i) && (lower(i - 1) || lower(i + 1));
    if (begins) stem += '_';
    stem += static_cast<char>(std::tolower(static_cast<unsigned char>(op_type[i])));
  }
  return stem;
}

// a, b, c, ... without n and y, which YAML 1.1 reads as booleans.
std::string InputName(std::size_t i) {
  constexpr std::string_view kLetters = "abcdefghijklmopqrstuvwxz";
  return i < kLetters.size() ? std::string(1, kLetters[i]) : "in" + std::to_string(i + 1);
}

void Rename(const std::map<std::string, std::string>& names, std::vector<std::string>& values) {
  for (std::string& value : values) {
    if (const auto found = names.find(value); found != names.end()) value = found->second;
  }
}

// Names in real networks are long and not usable as file names.
TestModel WithTidyNames(TestModel test) {
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < test.data.size(); ++i) {
    test.data[i].name = names[test.data[i].name] = InputName(i);
  }
  for (std::size_t i = 0; i < test.outputs.size(); ++i) {
    const std::string name = test.outputs.size() == 1 ? "y" : "y" + std::to_string(i + 1);
    test.outputs[i].name = names[test.outputs[i].name] = name;
  }
  std::size_t between = 0;
  for (format::Node& node : test.nodes) {
    for (const std::string& name : node.outputs) {
      if (!name.empty() && !names.contains(name)) names[name] = "t" + std::to_string(++between);
    }
  }
  for (format::ValueInfo& info : test.values) info.name = names[info.name];
  for (format::Node& node : test.nodes) {
    node.name.clear();
    Rename(names, node.inputs);
    Rename(names, node.outputs);
  }
  return test;
}

CaseValue ValueOf(const std::string& name, const Tensor& tensor) {
  CaseValue value;
  value.name = name;
  value.type.elem_type = tensor.elem_type;
  value.type.shape = format::ToShape(tensor.dims);
  value.type.quantization = tensor.quantization;
  value.data = tensor;
  return value;
}

// True if the model is one node that can be the `op` of a case.
bool IsOperatorCase(const TestModel& test) {
  if (test.nodes.size() != 1) return false;
  const format::Node& node = test.nodes[0];
  std::set<std::string> names;
  for (const std::string& name : node.inputs) {
    if (!name.empty() && !names.insert(name).second) return false;
  }
  return node.outputs.size() == test.outputs.size() && node.unknown_fields.empty();
}

Operator OperatorOf(const TestModel& test) {
  const format::Node& node = test.nodes[0];
  Operator op;
  op.type = node.op_type;
  op.domain = node.domain;
  op.attributes = node.attributes;
  for (const format::OpsetImport& opset : test.opset_imports) {
    if (opset.domain.empty() || opset.domain == "ai.onnx") op.opset = opset.version;
  }
  op.origin = node.origin;
  return op;
}

std::vector<CaseValue> OperatorInputs(const TestModel& test) {
  std::vector<CaseValue> inputs;
  for (const std::string& name : test.nodes[0].inputs) {
    if (name.empty()) {
      inputs.emplace_back();
      inputs.back().name = "absent" + std::to_string(inputs.size());
      inputs.back().absent = true;
      continue;
    }
    const auto datum = std::ranges::find(test.data, name, &Datum::name);
    inputs.push_back(ValueOf(name, datum->tensor));
    inputs.back().initializer = datum->constant;
  }
  return inputs;
}

class Shrinker {
 public:
  Shrinker(const BackendSource& source, const Failure& failure, const ShrinkOptions& options)
      : source_(source), failure_(failure), options_(options) {}

  Result<Shrunk> Run() {
    QTX_ASSIGN_OR_RETURN(DifferentialTester tester, Tester(options_.arithmetic));
    const Verdict whole = tester.Run(failure_.model, failure_.inputs);
    QTX_RETURN_IF_ERROR(ExpectFault(whole, tester.arithmetic()));
    QTX_ASSIGN_OR_RETURN(const Part part, FindFailingPart(tester, failure_.model, failure_.inputs,
                                                          whole.kind, {options_.max_runs / 2}));
    const TestModel test = Reduce(tester, part);
    return Finish(tester, WithTidyNames(test), part);
  }

 private:
  Result<DifferentialTester> Tester(const std::string& arithmetic) const {
    QTX_ASSIGN_OR_RETURN(DifferentialTester tester,
                         DifferentialTester::Make(source_, arithmetic, Tolerance()));
    if (options_.session) tester.AskSessions({SessionKind::kThorough}, /*at_once=*/true);
    return tester;
  }

  Case Tolerance() const {
    Case c;
    c.ulp = failure_.ulp;
    c.close = failure_.close;
    return c;
  }

  Result<void> ExpectFault(const Verdict& verdict, const std::string& arithmetic) const {
    if (IsFault(verdict.kind)) return {};
    std::string message = "backend '" + source_.name + "' ";
    if (verdict.kind == VerdictKind::kPass) message += "passes it in " + arithmetic;
    if (verdict.kind == VerdictKind::kUnsupported)
      message += "does not support it: " + verdict.detail;
    if (verdict.kind == VerdictKind::kInvalid) message = "the checker or the reference refuses it";
    return Error{ErrorCode::kInvalid, failure_.name, message + "; there is nothing to shrink"};
  }

  TestModel Reduce(DifferentialTester& tester, const Part& part) const {
    constexpr int kRounds = 4;
    Search search(tester, part.test, part.verdict.kind, {options_.max_runs});
    tester.set_progress(options_.progress);
    for (int round = 0; round < kRounds && !search.exhausted(); ++round) {
      if (!ReduceOnce(search)) break;
    }
    return search.best();
  }

  // Confirms the failure on a fresh backend.
  Result<Shrunk> Finish(const DifferentialTester& tester, const TestModel& test,
                        const Part& part) const {
    const VerdictKind kind = part.verdict.kind;
    for (const bool as_operator : {true, false}) {
      if (as_operator && (!IsOperatorCase(test) || test.bare_outputs)) continue;
      QTX_ASSIGN_OR_RETURN(DifferentialTester fresh, Tester(tester.arithmetic()));
      const Verdict verdict = fresh.Run(test);
      if (verdict.kind != kind) continue;
      QTX_ASSIGN_OR_RETURN(Shrunk shrunk, ToShrunk(test, verdict, as_operator, fresh));
      shrunk.runs = tester.runs() + fresh.runs();
      if (shrunk.how != Name(kind) || !ToYaml(shrunk.reduced)) continue;
      Explain(fresh, {part.test, part.verdict.got}, {test, verdict.got}, verdict, shrunk);
      return shrunk;
    }
    return Error{ErrorCode::kInvalid, failure_.name,
                 std::string(Name(kind)) +
                     ", but passes on a fresh backend: its answers "
                     "depend on earlier requests"};
  }

  void Explain(DifferentialTester& tester, Wrong first, Wrong smallest, const Verdict& verdict,
               Shrunk& shrunk) const {
    const Budget budget{tester.runs() + options_.max_runs / 2};
    shrunk.place = Locate(source_, tester, {smallest.test, verdict, first.test}, budget).place;
    if (verdict.kind != VerdictKind::kDiffers) return;
    const std::vector<Wrong> wrongs = {std::move(smallest), std::move(first)};
    const auto cause = FindCause(wrongs, tester, {tester.runs() + options_.max_runs / 2});
    if (!cause) return;
    shrunk.candidate = cause->candidate;
    shrunk.cause = cause->says;
  }

  Result<Shrunk> ToShrunk(const TestModel& test, const Verdict& verdict, bool as_operator,
                          DifferentialTester& tester) const {
    Shrunk shrunk;
    shrunk.arithmetic = tester.arithmetic();
    shrunk.op = test.nodes.back().op_type;
    shrunk.nodes = std::ssize(test.nodes);
    shrunk.elements = ElementsOf(test);
    shrunk.model = ToModel(test, verdict.expected);
    shrunk.reduced = CaseOf(test, verdict, as_operator, shrunk);
    if (as_operator) {
      QTX_ASSIGN_OR_RETURN(shrunk.model, BuildModel(shrunk.reduced));
    }
    const std::vector<Tensor> inputs = InputsOf(test);
    const Verdict again = tester.Run(shrunk.model, inputs);
    if (again.expected.size() < test.outputs.size()) {
      return Error{ErrorCode::kInvalid, failure_.name,
                   "the reference refuses it as a case: " + again.detail};
    }
    shrunk.how = Name(again.kind);
    shrunk.detail = again.detail;
    for (const Datum& datum : test.data) {
      if (!datum.constant) shrunk.evidence.inputs.push_back({datum.name, datum.tensor});
    }
    for (std::size_t i = 0; i < test.outputs.size(); ++i) {
      const std::string& name = test.outputs[i].name;
      shrunk.evidence.expected.push_back({name, again.expected[i]});
      if (i < again.got.size()) shrunk.evidence.got.push_back({name, again.got[i]});
    }
    return shrunk;
  }

  Case CaseOf(const TestModel& test, const Verdict& verdict, bool as_operator,
              const Shrunk& shrunk) const {
    Case c;
    c.id = failure_.id;
    c.spec = failure_.spec.empty() ? Stem(shrunk.op) + ".S1" : failure_.spec;
    c.why = "shrunk from " + failure_.name + ", where " + source_.name +
            " went wrong: " + std::string(Name(verdict.kind));
    c.derivation = "the reference's answer in " + shrunk.arithmetic;
    c.arithmetics = {shrunk.arithmetic};
    c.tags = {"shrunk"};
    if (options_.session) c.tags.emplace_back(kSessionTag);
    c.ulp = failure_.ulp;
    c.close = failure_.close;
    if (as_operator) {
      c.op = OperatorOf(test);
      c.inputs = OperatorInputs(test);
    } else {
      c.model = "model.onnx";
      for (const Datum& datum : test.data) {
        if (!datum.constant) c.inputs.push_back(ValueOf(datum.name, datum.tensor));
      }
    }
    for (std::size_t i = 0; i < test.outputs.size(); ++i) {
      c.outputs.push_back(ValueOf(test.outputs[i].name, verdict.expected[i]));
    }
    return c;
  }

  const BackendSource& source_;
  const Failure& failure_;
  const ShrinkOptions& options_;
};

}  // namespace

Result<Failure> ToFailure(const Case& c) {
  if (!c.error.empty()) {
    return Error{ErrorCode::kUnsupported, c.where + ": " + c.id,
                 "must be refused by " + c.error + ": such a case cannot be shrunk"};
  }
  Failure failure;
  QTX_ASSIGN_OR_RETURN(failure.model, BuildModel(c));
  QTX_ASSIGN_OR_RETURN(failure.inputs, BuildInputs(c, failure.model));
  failure.name = c.id;
  failure.id = "shrunk/" + c.id;
  failure.spec = c.spec;
  failure.ulp = c.ulp;
  failure.close = c.close;
  return failure;
}

Result<Shrunk> Shrink(const BackendSource& source, const Failure& failure,
                      const ShrinkOptions& options) {
  return Shrinker(source, failure, options).Run();
}

}  // namespace qtx::conformance
