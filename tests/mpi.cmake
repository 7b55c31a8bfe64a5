# One program, started by mpirun with 1, 2 and 4 ranks. Containers have few cores and no user but root; Open MPI is told
# that this is meant, and that ranks which wait make room. Other MPIs do not look at these variables.
set(mpi_environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none OMP_WAIT_POLICY=passive)
if(SPINLOOM_SANITIZE)
  list(APPEND mpi_environment ASAN_OPTIONS=detect_leaks=0)  # Open MPI and its daemons leave memory behind
endif()
if(TARGET spinloom_mpi AND SPINLOOM_MPIRUN)
  add_executable(mpi_ranks stencil/mpi_ranks.cpp)
  target_include_directories(mpi_ranks PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(mpi_ranks PRIVATE spinloom spinloom_warnings GTest::gtest)
  add_dependencies(mpi_ranks spinloom_mpi)
  foreach(ranks 1 2 4)
    add_test(NAME Mpi.GivesTheBitsOfOneRankOn${ranks} COMMAND ${SPINLOOM_MPIRUN} -n ${ranks} $<TARGET_FILE:mpi_ranks>)
    set_tests_properties(Mpi.GivesTheBitsOfOneRankOn${ranks} PROPERTIES
      ENVIRONMENT "${mpi_environment}" TIMEOUT 120 PROCESSORS 2)
  endforeach()
else()
  add_test(NAME Mpi.GivesTheBitsOfOneRank COMMAND ${CMAKE_COMMAND} -E echo "skipped: CMake found no MPI")
  set_tests_properties(Mpi.GivesTheBitsOfOneRank PROPERTIES SKIP_REGULAR_EXPRESSION "skipped:")
endif()

spinloom_command_test(stencil_command cli/stencil_ranks_test.cpp)
if(TARGET test_stencil_command)
  if(TARGET spinloom_mpi)
    add_dependencies(test_stencil_command spinloom_mpi)
    target_compile_definitions(test_stencil_command PRIVATE SPINLOOM_MPIRUN="${SPINLOOM_MPIRUN}")
  else()
    target_compile_definitions(test_stencil_command PRIVATE SPINLOOM_MPIRUN="")
  endif()
endif()
