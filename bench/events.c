/*
 * The least that reading a policy can cost: a bare loop over libyaml's events on a file's bytes. A
 * process of its own, with the allocator and the libyaml of the host.
 *
 *	events FILE
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <yaml.h>

static int
read_events(const unsigned char *bytes, size_t len)
{
	yaml_parser_t parser;
	yaml_event_t event;
	bool is_end = false;

	if (!yaml_parser_initialize(&parser))
		return 1;
	yaml_parser_set_input_string(&parser, bytes, len);
	while (!is_end) {
		if (!yaml_parser_parse(&parser, &event))
			return 1;
		is_end = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return 0;
}

int
main(int argc, char **argv)
{
	struct stat st;
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;

	if (fd < 0 || fstat(fd, &st) != 0)
		return 2;
	unsigned char *bytes = malloc((size_t)st.st_size + 1);
	if (bytes == NULL || read(fd, bytes, (size_t)st.st_size) != st.st_size)
		return 2;
	return read_events(bytes, (size_t)st.st_size);
}
