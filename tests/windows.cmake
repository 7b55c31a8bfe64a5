# What is asked of Windows is compiled (not run) by a cross compiler where there is one; tools/check-windows does more.
if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB files ${SOURCE}/src/runtime/os/windows/*.cpp)
  foreach(file ${files} ${SOURCE}/src/runtime/cache_folder.cpp ${SOURCE}/src/runtime/dynamic_library.cpp)
    execute_process(
      COMMAND ${COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra -Wshadow -Werror -I${SOURCE}/include -I${SOURCE}/src ${file}
      RESULT_VARIABLE failed)
    if(failed)
      message(FATAL_ERROR "${file} does not compile for Windows")
    endif()
  endforeach()
  return()
endif()

find_program(SPINLOOM_MINGW x86_64-w64-mingw32-g++-posix)
if(SPINLOOM_MINGW)
  add_test(NAME Windows.ItsPartOfTheSystemLayerCompiles
    COMMAND ${CMAKE_COMMAND} -DCOMPILER=${SPINLOOM_MINGW} -DSOURCE=${PROJECT_SOURCE_DIR} -P ${CMAKE_CURRENT_LIST_FILE})
else()
  add_test(NAME Windows.ItsPartOfTheSystemLayerCompiles
    COMMAND ${CMAKE_COMMAND} -E echo "skipped: g++-mingw-w64-x86-64-posix is not installed")
endif()
