# qtx_test(NAME SOURCES ... LINK ... [LABEL label]): one GoogleTest program, run whole by ctest. Private headers of the
# module under test (src/) are visible to it.
function(qtx_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "SOURCES;LINK")
  if(NOT QTX_BUILD_TESTS OR NOT arg_SOURCES)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LINK} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE QTX_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # What a test calls is optimised; its own code, and GoogleTest's templates in it, need not be.
  qtx_compile_options(${name} TEST)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 900)
  if(arg_LABEL)
    set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL})
  endif()
endfunction()

# qtx_browser_test(NAME SCRIPT ARGUMENT...): pages in headless Chromium, by a script of tests/browser; skipped where there is
# none. Not with sanitizers, which see nothing of a page.
function(qtx_browser_test name script)
  if(NOT QTX_BUILD_TESTS OR CMAKE_BUILD_TYPE STREQUAL "Asan")
    return()
  endif()
  find_program(QTX_PYTHON python3 HINTS /usr/bin REQUIRED)
  add_test(NAME ${name} COMMAND ${QTX_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/tests/browser/${script} ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
endfunction()

# qtx_onnx_python(VARIABLE): the Python that has onnx from PyPI, where backends/install onnxruntime put it, else Debian's.
function(qtx_onnx_python variable)
  set(python ${PROJECT_SOURCE_DIR}/backends/onnxruntime/venv/bin/python)
  if(NOT EXISTS ${python})
    find_program(QTX_PYTHON python3 HINTS /usr/bin REQUIRED)
    set(python ${QTX_PYTHON})
  endif()
  set(${variable} ${python} PARENT_SCOPE)
endfunction()

# qtx_stands_alone(NAME TARGET NAMESPACE...): a test NAME_stands_alone that the target, an oracle, holds no symbol of these
# namespaces of qtx, so that it cannot share their faults.
function(qtx_stands_alone name target)
  if(NOT QTX_BUILD_TESTS)
    return()
  endif()
  string(JOIN "|" namespaces ${ARGN})
  add_test(NAME ${name}_stands_alone COMMAND sh -c
    "symbols=$(nm -C $<TARGET_FILE:${target}>) && ! echo \"$symbols\" | grep -m1 -E 'qtx::(${namespaces})::'")
  set_tests_properties(${name}_stands_alone PROPERTIES LABELS spec)
endfunction()
