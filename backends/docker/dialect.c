/*
 * docker and podman as data. A setting that one of them needs and the other has not is a row here,
 * and no condition elsewhere.
 */
#include "backends/docker/dialect.h"

#include <string.h>

#include "base/banned.h"

/* What podman does unless it is told not to: it hands on the proxy variables of whoever started it,
 * puts file systems without a size over /run, /tmp and /var/tmp of a read-only root, mounts what an
 * init system wants and the volumes of the image, with no limit, and files of accounts that the
 * image does not have, and hands on the socket at which a service manager waits. Its own limits of
 * open files and processes are as high as they go, which a service without CAP_SYS_RESOURCE may not
 * set; processes are counted by the control group as well. */
static const struct docker_fixed podman_fixed[] = {
	{ DOCKER_HTTP_PROXY, "", 0 },
	{ DOCKER_READ_ONLY_TMPFS, "", 0 },
	{ DOCKER_SYSTEMD, "false", 0 },
	{ DOCKER_IMAGE_VOLUME, "ignore", 0 },
	{ DOCKER_PASSWD, "", 0 },
	{ DOCKER_SDNOTIFY, "ignore", 0 },
	{ DOCKER_ULIMIT, "nofile", 4096 },
	{ DOCKER_ULIMIT, "nproc", 8192 },
};

static const struct docker_dialect dialects[] = {
	{
	    .name = "docker",
	    .id = BACKEND_DOCKER,
	    .address = "-H",
	    .engine = DOCKER_ENGINES_DOCKER,
	    .has_tmpfs_owner = true,
	    .tmpfs = "",
	    .gpus = DOCKER_GPUS,
	    .tells_all = true,
	    .body = docker_body,
	    .has_place = docker_has_place,
	},
	{
	    .name = "podman",
	    .id = BACKEND_PODMAN,
	    .address = "--url",
	    .engine = DOCKER_ENGINES_PODMAN,
	    .fixed = podman_fixed,
	    .fixed_len = HL_ARRAY_SIZE(podman_fixed),
	    /* What the image has at the place is not copied into it: that would count as its size.
	     */
	    .tmpfs = ",notmpcopyup",
	    .can_keep_id = true,
	    .host_network_binds_sys = true,
	    /* Its --gpus came with version 5 and is written for docker's callers; a name of the
	     * Container Device Interface it takes as a device since 4.1. */
	    .gpus = DOCKER_DEVICE,
	    /* Not told are rights of devices, what of /proc is masked, sysctls, the filter of
	     * system calls. */
	    .tells_all = false,
	    .body = podman_spec,
	    .has_place = podman_has_place,
	},
};

const struct docker_dialect *
docker_dialect(const struct plan *plan)
{
	for (size_t i = 0; i < HL_ARRAY_SIZE(dialects); i++)
		if (strcmp(dialects[i].name, plan->backend) == 0)
			return &dialects[i];
	hl_bug(__FILE__, __LINE__, "a backend without a dialect");
}
