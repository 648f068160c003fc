/*
 * docker.client: cli, where the engine is asked by a client of it instead of its API: which parts
 * of a plan that leaves out, and the words of its create command, which are those of explain. The
 * body of the API's call is made all the same: by it hl-engine compares what the client has made.
 */
#include <string.h>

#include "backends/docker/dialect.h"
#include "backends/docker/protocol.h"
#include "backends/docker/settings.h"

#include "base/banned.h"

int
docker_client_check(const struct plan *plan, struct hl_err *err)
{
	if (plan->client == NULL)
		return 0;
	/* Its create does not know --passwd (podman 4), and it looks through what is written to a
	 * container for the keys that detach a terminal. */
	if (docker_dialect(plan)->id != BACKEND_DOCKER) {
		hl_err_set(err, HLB_67, "docker.client: cli is for backend docker, not for %s",
		    plan->backend);
		return hl_err_help(err, "let the policy say docker.client: api");
	}
	/* A pull wants credentials, and a client takes them from a configuration that it has not.
	 */
	if (plan->pull == PLAN_PULL_ALWAYS) {
		hl_err_set(err, HLB_67,
		    "docker.client: cli pulls nothing, and image.pull is always");
		return hl_err_help(err, "let the policy say image.pull: never, and pull it first");
	}
	if (plan->keep.is_kept) {
		hl_err_set(err, HLB_67,
		    "docker.client: cli keeps no container, and session.persist is task");
		return hl_err_help(err, "let the policy say docker.client: api");
	}
	return 0;
}

int
docker_client_words(const struct docker_settings *settings, const char *image,
    struct hl_strv *ret_words, struct hl_err *err)
{
	hl_strv_init(ret_words, ENGINE_WORDS_MAX);
	for (size_t i = 0; i < settings->len; i++)
		docker_setting_argv(&settings->items[i], ret_words);
	hl_strv_add(ret_words, image);
	hl_strv_add(ret_words, RUNNER_STDIO);
	return hl_strv_check(ret_words, "words of the client", err);
}
