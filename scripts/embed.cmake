# embed.cmake - cmake -DOUT=container_file.c -DHEADER=a/b.h -DPREFIX=page -DFILES=a;b -P embed.cmake: files as arrays of bytes.
#
# With PREFIX template, template/ppt.h.in becomes template_ppt_h[] and template_ppt_h_size.
set(text "/* Made by embed.cmake. */\n#include \"${HEADER}\"\n")
foreach(path ${FILES})
	get_filename_component(name ${path} NAME)
	string(REGEX REPLACE "[.]in$" "" name ${name})
	string(MAKE_C_IDENTIFIER "${PREFIX}_${name}" name)
	file(READ ${path} hex HEX)
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
	string(APPEND text "const unsigned char ${name}[] = { ${bytes} };\n"
		"const size_t ${name}_size = sizeof(${name});\n")
endforeach()
file(WRITE ${OUT} "${text}")
