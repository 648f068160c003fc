/*
 * hl-engine is started while the launcher still decides, since loading its libraries takes longer
 * than most requests; and what it is told of the engine and the image is asked once, for probe and
 * for start, so that what was judged is what runs.
 */
#include <stdlib.h>

#include "backends/docker/start.h"

#include "base/banned.h"

int
docker_early_begin(const struct plan *plan, struct backend_early **ret_early, struct hl_err *err)
{
	struct backend_early *early = calloc(1, sizeof(*early));

	if (early == NULL)
		return hl_err_oom(err);
	if (docker_helper_start(&early->helper, plan->helper_path, plan->cancel_fd, err) < 0) {
		free(early);
		return -1;
	}
	*ret_early = early;
	return 0;
}

int
docker_early_open(struct backend_early *early, const struct plan *plan, struct hl_err *err)
{
	if (early->is_open)
		return 0;
	if (docker_helper_open(&early->helper, plan, &early->opened, err) < 0)
		return -1;
	early->is_open = true;
	return 0;
}

void
docker_early_end(struct backend_early *early)
{
	if (early == NULL)
		return;
	docker_helper_end(&early->helper);
	if (early->is_open)
		docker_opened_done(&early->opened);
	free(early);
}
