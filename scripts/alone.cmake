# Files that cannot be compiled together with others of their library: they have static names that another one
# has, too, or change what a header means, or a test replaces them (a call
# within one compiled file cannot be replaced).
function(ct_alone library)
	set_source_files_properties(${ARGN} TARGET_DIRECTORY ${library} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
ct_alone(ct_trace ${PROJECT_SOURCE_DIR}/src/trace/jsonl_input.c)
ct_alone(ct_collect ${PROJECT_SOURCE_DIR}/src/collect/tickclock.c ${PROJECT_SOURCE_DIR}/src/collect/lane_reader.c
	${PROJECT_SOURCE_DIR}/src/collect/lane_scan.c ${PROJECT_SOURCE_DIR}/src/collect/snapshot.c)
ct_alone(ct_export ${PROJECT_SOURCE_DIR}/src/export/libpq_loader.c ${PROJECT_SOURCE_DIR}/src/export/libmariadb_loader.c)
ct_alone(ct_memory ${PROJECT_SOURCE_DIR}/runtime/memory/sys.c ${PROJECT_SOURCE_DIR}/runtime/memory/block_maker.c
	${PROJECT_SOURCE_DIR}/runtime/memory/container_writer.c)
ct_alone(ct_frames_live ${PROJECT_SOURCE_DIR}/src/frames/live/counters.c)
# Generated: there may be none yet when clang-tidy looks at the others.
ct_alone(ct_frames ${PROJECT_BINARY_DIR}/src/frames/templates.c)
ct_alone(ct_page ${PROJECT_BINARY_DIR}/src/page/page_data.c)
ct_alone(corotracer_tool ${PROJECT_BINARY_DIR}/tool/completion_scripts.c)
# Tests replace several of their functions.
set_target_properties(ct_fleet ct_ship ct_top PROPERTIES UNITY_BUILD OFF)
# Each command has its options.
file(GLOB commands ${PROJECT_SOURCE_DIR}/tool/cmd_*.c)
ct_alone(corotracer_tool ${commands} ${PROJECT_SOURCE_DIR}/tool/legacy_export.c)
