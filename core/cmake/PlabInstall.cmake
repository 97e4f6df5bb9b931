# SPDX-License-Identifier: Apache-2.0
# `cmake --install`: headers, libraries and the package files, so that another project says
#   find_package(plab REQUIRED)
#   target_link_libraries(app PRIVATE plab::plab)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(plab_targets plab plab_flags)
foreach(layer base os shm tensor mp nn data parallel)
  list(APPEND plab_targets plab_${layer})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/core/plab/${layer}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plab COMPONENT plab FILES_MATCHING PATTERN "*.h")
endforeach()
set_target_properties(plab_flags PROPERTIES EXPORT_NAME flags)
install(TARGETS ${plab_targets} EXPORT plabTargets COMPONENT plab
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

set(plab_package ${CMAKE_INSTALL_LIBDIR}/cmake/plab)
install(EXPORT plabTargets NAMESPACE plab:: DESTINATION ${plab_package} COMPONENT plab)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/plabConfig.cmake.in ${PROJECT_BINARY_DIR}/plabConfig.cmake
  INSTALL_DESTINATION ${plab_package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/plabConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/plabConfig.cmake ${PROJECT_BINARY_DIR}/plabConfigVersion.cmake
  DESTINATION ${plab_package} COMPONENT plab)
