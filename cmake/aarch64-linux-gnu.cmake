# Cross build for 64-bit Arm on Debian: g++-aarch64-linux-gnu, libraries unpacked by tools/scripts/arm_sysroot,
# tests under qemu-user. Programs are linked statically: the same file runs on any aarch64 Linux and under
# qemu-aarch64 without a library path. With QTX_ARM_SHARED they are linked as on the build machine: the Python package.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)

# The folder of arm64 libraries: cache variable, environment, or where the script puts it.
if(NOT QTX_ARM_SYSROOT)
  if(DEFINED ENV{QTX_ARM_SYSROOT})
    set(QTX_ARM_SYSROOT $ENV{QTX_ARM_SYSROOT})
  else()
    get_filename_component(QTX_ARM_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build-arm64/sysroot ABSOLUTE)
  endif()
endif()
set(QTX_ARM_SYSROOT ${QTX_ARM_SYSROOT} CACHE PATH "Folder of unpacked arm64 packages")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES QTX_ARM_SYSROOT)
if(NOT EXISTS ${QTX_ARM_SYSROOT}/usr)
  message(FATAL_ERROR "${QTX_ARM_SYSROOT}: no arm64 libraries; run tools/scripts/arm_sysroot")
endif()

# Not CMAKE_SYSROOT: the cross compiler brings its own C and C++ libraries. It looks in these folders last, as a compiler of
# the machine does in its /usr/include.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${QTX_ARM_SYSROOT}/usr/include/aarch64-linux-gnu ${QTX_ARM_SYSROOT}/usr/include)
set(CMAKE_FIND_ROOT_PATH ${QTX_ARM_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES QTX_ARM_SHARED)
if(NOT QTX_ARM_SHARED)
  set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
  set(Protobuf_USE_STATIC_LIBS ON)
endif()
find_program(Protobuf_PROTOC_EXECUTABLE protoc)  # code generation runs on the build machine
