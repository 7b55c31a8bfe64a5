# What the library stands on, all from the distribution; tools/install-dependencies names the packages.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED)
find_package(fmt REQUIRED)
find_package(hwy REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(fftw3 REQUIRED IMPORTED_TARGET fftw3)
pkg_check_modules(fftw3f REQUIRED IMPORTED_TARGET fftw3f)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)

# ISMRMRD's and NIfTI's own package files name folders of the machine that built them, so both are found by hand.
find_path(NIFTI_INCLUDE nifti2_io.h PATH_SUFFIXES nifti REQUIRED)
find_library(NIFTI2_LIBRARY nifti2 REQUIRED)
find_library(ZNZ_LIBRARY znz REQUIRED)

add_library(spinloom_formats INTERFACE)
if(SPINLOOM_MRD)
  find_package(HDF5 REQUIRED COMPONENTS C)
  find_package(pugixml REQUIRED)
  find_path(ISMRMRD_INCLUDE ismrmrd/ismrmrd.h REQUIRED)
  find_library(ISMRMRD_LIBRARY ismrmrd REQUIRED)
  target_include_directories(spinloom_formats SYSTEM INTERFACE
    $<BUILD_INTERFACE:${HDF5_C_INCLUDE_DIRS}> $<BUILD_INTERFACE:${ISMRMRD_INCLUDE}>)
  target_link_libraries(spinloom_formats INTERFACE ${ISMRMRD_LIBRARY} ${HDF5_C_LIBRARIES} pugixml::pugixml)
endif()
target_include_directories(spinloom_formats SYSTEM INTERFACE $<BUILD_INTERFACE:${NIFTI_INCLUDE}>)
target_link_libraries(spinloom_formats INTERFACE ${NIFTI2_LIBRARY} ${ZNZ_LIBRARY} PNG::PNG ZLIB::ZLIB)
