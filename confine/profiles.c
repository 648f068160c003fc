/*
 * The seccomp profiles, compiled at build time (confine/gen/gen-seccomp.c).
 */
#include "profiles.h"

#include "confine/confine.h"

#include "base/banned.h"

struct profile {
	const struct confine_bpf *bpf;
	size_t len;
	const char *json;
};

static const struct profile profiles[CONFINE_PROFILE_MAX] = {
	[CONFINE_PROFILE_STRICT] = { seccomp_bpf_strict, HL_ARRAY_SIZE(seccomp_bpf_strict),
	    seccomp_json_strict },
	[CONFINE_PROFILE_DEFAULT] = { seccomp_bpf_default, HL_ARRAY_SIZE(seccomp_bpf_default),
	    seccomp_json_default },
	[CONFINE_PROFILE_BROAD] = { seccomp_bpf_broad, HL_ARRAY_SIZE(seccomp_bpf_broad),
	    seccomp_json_broad },
	[CONFINE_PROFILE_NONE] = { NULL, 0, NULL },
};

const struct confine_bpf *
confine_profile_bpf(enum confine_profile profile, size_t *ret_len)
{
	HL_BUG_ON((unsigned)profile >= CONFINE_PROFILE_MAX);
	*ret_len = profiles[profile].len;
	return profiles[profile].bpf;
}

const char *
confine_profile_json(enum confine_profile profile)
{
	HL_BUG_ON((unsigned)profile >= CONFINE_PROFILE_MAX);
	return profiles[profile].json;
}
