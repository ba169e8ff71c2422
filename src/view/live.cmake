# live: views of a running program: the terminal view, and the server of the page.
# Each needs an optional library; without it, the command reports that it is not available.
find_package(PkgConfig REQUIRED)
pkg_check_modules(NCURSES IMPORTED_TARGET ncursesw)

add_library(ct_view_top STATIC src/view/top_picture.c src/view/top_place.c src/view/top_rows.c)
target_link_libraries(ct_view_top PUBLIC ct_ctp ct_analyze ct_trace ct_base corotracer_flags)
if(NCURSES_FOUND)
	target_sources(ct_view_top PRIVATE src/view/top.c src/view/top_screen.c src/view/top_details.c
		src/view/top_terminal.c src/view/ncursesw_loader.c)
	ct_load_on_use(ct_view_top NCURSES ncursesw)
else()
	message(STATUS "no ncursesw: 'corotracer top' prints one picture only")
	target_sources(ct_view_top PRIVATE src/view/top_without.c)
endif()

pkg_check_modules(MICROHTTPD IMPORTED_TARGET libmicrohttpd>=0.9.71)
find_package(Threads REQUIRED)
add_library(ct_view_server STATIC src/view/server_listen.c src/view/server_feed.c)
target_link_libraries(ct_view_server PUBLIC ct_view ct_trace ct_base corotracer_flags Threads::Threads)
if(MICROHTTPD_FOUND)
	target_sources(ct_view_server PRIVATE src/view/libmicrohttpd_loader.c src/view/server.c src/view/server_guests.c src/view/server_page.c
		src/view/server_stream.c)
	ct_load_on_use(ct_view_server MICROHTTPD microhttpd)
else()
	message(STATUS "no libmicrohttpd: 'corotracer serve' is left out")
	target_sources(ct_view_server PRIVATE src/view/server_without.c)
endif()
