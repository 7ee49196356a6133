# qtx_compile_options(TARGET): the warnings and floating-point rules every QTX target is built with.
function(qtx_compile_options target)
  # A designated initialiser leaves the other members at their defaults by intent.
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow
    -Wno-missing-field-initializers -ffp-contract=off)
endfunction()

# qtx_library(NAME SOURCES ... PUBLIC ... PRIVATE ...): the library qtx::NAME. It publishes only its
# include/ folder, so that an include against the direction of dependencies does not compile.
function(qtx_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(qtx_${name} STATIC ${arg_SOURCES})
  add_library(qtx::${name} ALIAS qtx_${name})
  set_target_properties(qtx_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(qtx_${name} PUBLIC cxx_std_20)
  target_include_directories(qtx_${name}
    PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_link_libraries(qtx_${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  qtx_compile_options(qtx_${name})
  install(TARGETS qtx_${name} EXPORT qtxTargets)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/include)
    install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include/ DESTINATION include)
  endif()
endfunction()

# qtx_page(FOLDER HEADER VARIABLE [SOURCE]): FOLDER's page.html, page.css and page.js as the source SOURCE (page.cc)
# of the current binary folder, which defines the string_view VARIABLE that HEADER declares.
function(qtx_page folder header variable)
  set(embed ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake)
  set(base ${PROJECT_SOURCE_DIR}/cmake/page/base)
  set(source page.cc)
  if(ARGC GREATER 3)
    set(source ${ARGV3})
  endif()
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${source}
      -DHEADER=${header} -DVARIABLE=${variable} -P ${embed}
    DEPENDS ${folder}/page.html ${folder}/page.css ${folder}/page.js ${base}.css ${base}.js ${embed}
    VERBATIM)
endfunction()

# qtx_texts(SOURCE HEADER [VARIABLE FILE[+FILE]...]...): the source SOURCE of the current binary folder, which
# includes HEADER and defines each string_view VARIABLE as the text of its files, one after the other. Files are
# relative to the current folder.
function(qtx_texts source header)
  set(embed ${PROJECT_SOURCE_DIR}/cmake/embed_texts.cmake)
  set(rest ${ARGN})
  set(texts)
  set(depends)
  while(rest)
    list(POP_FRONT rest variable files)
    string(REPLACE "+" ";" files "${files}")
    set(paths)
    foreach(file IN LISTS files)
      cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
      list(APPEND paths ${file})
    endforeach()
    list(APPEND depends ${paths})
    list(JOIN paths "+" paths)
    list(APPEND texts "${variable}=${paths}")
  endwhile()
  list(JOIN texts "|" texts)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${source} -DHEADER=${header}
      "-DTEXTS=${texts}" -P ${embed}
    DEPENDS ${depends} ${embed}
    VERBATIM)
endfunction()
