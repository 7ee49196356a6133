# qtx_add_backend(NAME [PEER] SOURCES ... LINK ...): the backend NAME, in process and as the server
# `qtx-backend-NAME [OPTIONS]`. SOURCES must define in namespace qtx::backend
#   Result<std::unique_ptr<Backend>> Make_NAME(std::string_view options)
# where `options` is what follows the colon in `--backend NAME:key=value,...` (qtx/backend/options.h). tools/ generates the registry of in-process backends from the names collected
# here. A PEER is somebody else's library: it runs where it is asked for by name only.
function(qtx_add_backend name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PEER" "" "SOURCES;LINK")
  add_library(qtx_backend_${name} STATIC ${arg_SOURCES})
  target_include_directories(qtx_backend_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(qtx_backend_${name} PUBLIC qtx::backend PRIVATE ${arg_LINK})
  qtx_compile_options(qtx_backend_${name})
  set_property(GLOBAL APPEND PROPERTY QTX_BACKENDS ${name})
  if(arg_PEER)
    set_property(GLOBAL APPEND PROPERTY QTX_PEERS ${name})
  endif()

  set(QTX_BACKEND_NAME ${name})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/backend_server.cc.in
    ${CMAKE_CURRENT_BINARY_DIR}/qtx_backend_${name}_server.cc @ONLY)
  add_executable(qtx-backend-${name} ${CMAKE_CURRENT_BINARY_DIR}/qtx_backend_${name}_server.cc)
  target_link_libraries(qtx-backend-${name} PRIVATE qtx_backend_${name} qtx::backend)
  qtx_compile_options(qtx-backend-${name})
  install(TARGETS qtx-backend-${name})
endfunction()
