include(CMakePackageConfigHelpers)
# A static library's dependencies must reach the consumer's link line; the config file finds them again.
install(TARGETS spinloom EXPORT spinloom)
install(TARGETS spinloom_formats spinloom_warnings EXPORT spinloom)
if(SPINLOOM_CLI)
  install(TARGETS spinloom_command)
endif()
install(DIRECTORY include/spinloom DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/spinloom)
install(EXPORT spinloom NAMESPACE spinloom:: FILE spinloom-targets.cmake DESTINATION ${package_folder})
configure_package_config_file(cmake/spinloom-config.cmake.in spinloom-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(spinloom-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/spinloom-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/spinloom-config-version.cmake
  DESTINATION ${package_folder})
