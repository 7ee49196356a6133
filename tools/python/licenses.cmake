# Copies to FOLDER the licences, as Debian has them, of the libraries that FILES (a program and a module) are linked with, but for
# those of the system, which a wheel does not hold.
list(GET FILES 0 program)
list(GET FILES 1 module)
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${program} MODULES ${module}
  RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES "^lib(c|m|gcc_s|stdc[+][+])[.]so" "^ld-linux")
foreach(library IN LISTS libraries)
  file(REAL_PATH ${library} library)
  cmake_path(GET library FILENAME name)
  execute_process(COMMAND dpkg-query -S */${name} OUTPUT_VARIABLE owner ERROR_QUIET)
  string(REGEX MATCH "^[^:,]+" package "${owner}")
  if(package AND EXISTS /usr/share/doc/${package}/copyright)
    file(COPY_FILE /usr/share/doc/${package}/copyright ${FOLDER}/${package}.txt)
  else()
    message(FATAL_ERROR "${name}: no package with its licence")
  endif()
endforeach()
