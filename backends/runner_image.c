/*
 * The runner's program as bytes of this one, for where no file of it is installed: one file is
 * enough. The bytes begin a page of their own, so that a start that does not need them does not
 * load them.
 */
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "backends/backends.h"

#include "base/banned.h"

/* Not in every C library: fcntl(2), memfd_create(2). */
#ifndef F_ADD_SEALS
# define F_ADD_SEALS 1033
#endif

enum {
	MEMFD_CLOEXEC = 1,
	MEMFD_ALLOW_SEALING = 2,
	MEMFD_EXEC = 16,  /* Linux 6.3: said, where the host wants it to be said */
	SEALS_ALL = 0x0f, /* against sealing more, shrinking, growing and writing */
};

__asm__(".pushsection .rodata.runner_image, \"a\", %progbits\n"
	".balign 4096\n"
	".globl runner_image_begin\n"
	".hidden runner_image_begin\n"
	"runner_image_begin:\n"
	".incbin \"build/hermes-runner\"\n"
	".globl runner_image_end\n"
	".hidden runner_image_end\n"
	"runner_image_end:\n"
	".popsection\n");

extern const char runner_image_begin[], runner_image_end[];

const char *
runner_image(size_t *ret_len)
{
	*ret_len = (size_t)(runner_image_end - runner_image_begin);
	return runner_image_begin;
}

static int
make_file(void)
{
	static const char name[] = "hermes-runner";
	const unsigned flags = MEMFD_CLOEXEC | MEMFD_ALLOW_SEALING;

	int fd = (int)syscall(SYS_memfd_create, name, flags | MEMFD_EXEC);
	if (fd < 0 && errno == EINVAL)
		fd = (int)syscall(SYS_memfd_create, name, flags);
	return fd;
}

int
runner_image_open(struct hl_err *err)
{
	HL_AUTO_FD int fd = make_file();
	size_t len;
	const char *bytes = runner_image(&len);

	if (fd < 0) {
		hl_err_sys(err, HLB_22, "cannot make a file in memory for the runner");
		return hl_err_help(err, "sysctl vm.memfd_noexec=0, or install hermes-runner beside "
					"hermes-launch");
	}
	if (hl_write_full(fd, bytes, len) != 0 || fcntl(fd, F_ADD_SEALS, SEALS_ALL) != 0)
		return hl_err_sys(err, HLB_22, "cannot fill a file in memory with the runner");
	return hl_take_fd(&fd);
}
