/*
 * A main for fuzz targets that are built with an ordinary compiler: runs every file of the
 * directories that are named, so that the corpus is part of every check. A directory without a file
 * is an error: a corpus that got lost must not look like one that passed.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	INPUT_MAX = 16 << 20
};

static int
replay_file(const char *path)
{
	FILE *file = fopen(path, "rbe");
	uint8_t *bytes;
	size_t size;

	if (file == NULL) {
		perror(path);
		return -1;
	}
	bytes = malloc(INPUT_MAX);
	if (bytes == NULL) {
		fclose(file);
		return -1;
	}
	size = fread(bytes, 1, INPUT_MAX, file);
	fclose(file);
	/* Exactly as large as the input, so that the sanitizer sees one byte too many. */
	uint8_t *exact = malloc(size > 0 ? size : 1);
	if (exact != NULL) {
		memcpy(exact, bytes, size);
		LLVMFuzzerTestOneInput(exact, size);
	}
	free(bytes);
	free(exact);
	return exact != NULL ? 0 : -1;
}

static int
replay_directory(const char *directory)
{
	struct dirent **entries;
	int n = scandir(directory, &entries, NULL, alphasort);
	int done = 0, result = 0;

	if (n < 0) {
		perror(directory);
		return -1;
	}
	for (int i = 0; i < n; i++) {
		char path[4096];
		int len = snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.' && len > 0 && (size_t)len < sizeof(path)) {
			if (replay_file(path) != 0)
				result = -1;
			done++;
		}
		free(entries[i]);
	}
	free(entries);
	if (done == 0) {
		fprintf(stderr, "%s: no input\n", directory);
		result = -1;
	}
	printf("%s: %d inputs\n", directory, done);
	return result;
}

int
main(int argc, char **argv)
{
	int result = argc > 1 ? 0 : -1;

	for (int i = 1; i < argc; i++) {
		if (replay_directory(argv[i]) != 0)
			result = -1;
	}
	return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
