# The SDK for vcpkg, from this checkout: vcpkg install corotracer --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES memory COROTRACER_BUILD_MEMORY)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
	OPTIONS ${features} -DCOROTRACER_BUILD_TOOL=OFF -DCOROTRACER_BUILD_TESTS=OFF -DCOROTRACER_BUILD_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME corotracer CONFIG_PATH lib/cmake/corotracer)
if("memory" IN_LIST FEATURES)
	vcpkg_cmake_config_fixup(PACKAGE_NAME cacheray CONFIG_PATH lib/cmake/cacheray)
endif()
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
