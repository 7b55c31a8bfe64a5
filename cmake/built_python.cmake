# A wheel of a package that another build folder has compiled: nothing is left but to install it. Used by `make python`
# and by the test of the wheel, which would compile the whole library a second time otherwise.
set(SPINLOOM_PYTHON_BUILT "" CACHE PATH "Folder BUILD/python of a build with SPINLOOM_PYTHON=ON")
if(SPINLOOM_PYTHON_BUILT)
  file(GLOB extension ${SPINLOOM_PYTHON_BUILT}/spinloom/_core*.so ${SPINLOOM_PYTHON_BUILT}/spinloom/_core*.pyd)
  if(NOT extension)
    message(FATAL_ERROR "${SPINLOOM_PYTHON_BUILT}/spinloom holds no compiled _core; build spinloom_python_package first")
  endif()
  install(FILES ${extension} ${SPINLOOM_PYTHON_BUILT}/spinloom/_core.pyi DESTINATION spinloom COMPONENT python)
  foreach(target spinloom_python spinloom_python_stub)
    add_custom_target(${target})
  endforeach()
endif()
