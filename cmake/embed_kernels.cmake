# embed_kernels(TARGET cuda/a.cu cuda/b.cu ...): makes each file's text part of TARGET, as the object
#   extern const spinloom::cuda::KernelSource spinloom::cuda::NAME_source;
# for a file NAME.cu. A line `#include "x.cuh"` in it is replaced by that file's text, so that the compiler at run time
# needs no folder to look in. The text is written when CMake runs, and CMake runs anew when a file changes: a custom
# command would belong to the folder and not to the target, which lives in the root.
function(embed_kernels target)
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME_WE)
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR}/${file} DIRECTORY)
    file(RELATIVE_PATH shown ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    file(READ ${file} text)
    string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
    foreach(include IN LISTS includes)
      string(REGEX REPLACE "#include \"([^\"]+)\"" "\\1" header "${include}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${header})
      file(READ ${folder}/${header} header_text)
      string(REPLACE "#pragma once" "" header_text "${header_text}")
      string(REPLACE "${include}" "${header_text}" text "${text}")
    endforeach()
    # Compilers may limit the length of one literal; adjacent ones are joined.
    string(REPLACE "\n}\n" "\n}\n)spinloom\" R\"spinloom(" text "${text}")
    set(embedded ${PROJECT_BINARY_DIR}/generated/kernels/${name}.cpp)
    set(content "#include \"runtime/cuda/compiler.hpp\"\n
namespace spinloom::cuda {
extern const KernelSource ${name}_source;
const KernelSource ${name}_source = {\"${shown}\", R\"spinloom(${text})spinloom\"};
}  // namespace spinloom::cuda\n")
    set(before "")
    if(EXISTS ${embedded})
      file(READ ${embedded} before)
    endif()
    if(NOT before STREQUAL content)
      file(WRITE ${embedded} "${content}")
    endif()
    target_sources(${target} PRIVATE ${embedded})
  endforeach()
endfunction()
