# qtx_peer_test(NAME): the adapter NAME on a network.
function(qtx_peer_test name)
  qtx_test(${name}_test SOURCES ${PROJECT_SOURCE_DIR}/backends/peer/tests/network_test.cc
    LINK qtx_backend_${name} qtx::peer)
  if(TARGET ${name}_test)
    target_compile_definitions(${name}_test PRIVATE QTX_MAKE=Make_${name})
  endif()
endfunction()

# qtx_peer_suite(TEST BACKEND LIST FILTER...): what the backend fails of the cases the filters choose is what
# LIST says. In release builds: the libraries are not ours to run under sanitizers.
function(qtx_peer_suite test backend list)
  if(NOT QTX_BUILD_TESTS OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    return()
  endif()
  set(filters)
  foreach(filter IN LISTS ARGN)
    list(APPEND filters --filter ${filter})
  endforeach()
  add_test(NAME ${test} COMMAND qtx validate --backend ${backend} ${filters}
    --expected-failures ${CMAKE_CURRENT_SOURCE_DIR}/${list})
  set_tests_properties(${test} PROPERTIES TIMEOUT 600)
endfunction()
