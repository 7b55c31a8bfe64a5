# What differs on Windows, where the compiler is GCC of MinGW-w64 (MSYS2, or as a cross compiler).
if(MSVC)
  message(FATAL_ERROR "spinloom needs GCC of MinGW-w64 on Windows: Microsoft's compiler has no vector extensions and no 128-bit "
    "integers; see docs/windows.md")
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC does not keep the stack aligned to 32 bytes there, but moves vectors of AVX as if it did (GCC's bug 54412).
  add_compile_options(-Wa,-muse-unaligned-vector-move)
else()
  message(WARNING "On Windows spinloom was built by GCC of MinGW-w64 only; ${CMAKE_CXX_COMPILER_ID} was never tried")
endif()
# psapi: peak memory; shell32: the command line in UTF-16; advapi32: the processor's name.
set(SPINLOOM_SYSTEM_LIBRARIES psapi shell32 advapi32)
