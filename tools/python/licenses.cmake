# Copies to FOLDER the licences, as Debian has them, of the libraries that FILES (a program and a module) are linked with, but for
# those of the system, which a wheel does not hold. SYSROOT, if not empty, is a folder of tools/scripts/arm_sysroot with the libraries.
list(GET FILES 0 program)
list(GET FILES 1 module)
if(SYSROOT)
  set(folders DIRECTORIES ${SYSROOT}/usr/lib/aarch64-linux-gnu)
endif()
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${program} MODULES ${module}
  RESOLVED_DEPENDENCIES_VAR libraries UNRESOLVED_DEPENDENCIES_VAR missing
  PRE_EXCLUDE_REGEXES "^lib(c|m|gcc_s|stdc[+][+])[.]so" "^ld-linux" ${folders})

# Sets `package` to the one that has the library `name`.
function(find_package_of name)
  if(SYSROOT)
    execute_process(COMMAND grep -rlE "/${name}$" . WORKING_DIRECTORY ${SYSROOT}/.files OUTPUT_VARIABLE owner)
  else()
    execute_process(COMMAND dpkg-query -S */${name} OUTPUT_VARIABLE owner ERROR_QUIET)
  endif()
  string(REGEX MATCH "[a-z0-9][^:,\n]+" package "${owner}")
  set(package ${package} PARENT_SCOPE)
endfunction()

foreach(library IN LISTS libraries)
  file(REAL_PATH ${library} library)
  cmake_path(GET library FILENAME name)
  find_package_of(${name})
  if(package AND EXISTS ${SYSROOT}/usr/share/doc/${package}/copyright)
    file(COPY_FILE ${SYSROOT}/usr/share/doc/${package}/copyright ${FOLDER}/${package}.txt)
  else()
    message(FATAL_ERROR "${name}: no package with its licence")
  endif()
endforeach()
