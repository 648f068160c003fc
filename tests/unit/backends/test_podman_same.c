/*
 * Whether podman tells the same of a container that was started and of one that was made anew: what
 * the start brings is no difference, whatever else differs is one, also where we do not know what
 * it is. The pairs are as podman 4.3 tells them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "backends/docker/engine/engine.h"
#include "tests/unit/backends/quoted_json.h"

#include "base/banned.h"

static const char twin_text[] =
    "{'Id':'1','Name':'kept-01','Created':'2026-11-30T16:45:29Z','Image':'ade8','ImageName':'a:1',"
    "'Path':'/.hermes-runner','Args':['--stdio'],'OCIRuntime':'runc','OCIConfigPath':'',"
    "'AppArmorProfile':'','Pod':'','Dependencies':[],'ExecIDs':[],'State':{'Status':'created'},"
    "'MountLabel':'system_u:object_r:container_file_t:s0:c1,c2','BoundingCaps':['CAP_CHOWN',"
    "'CAP_FOWNER'],'Mounts':[{'Type':'bind','Source':'/a','Destination':'/w','RW':true},{'Type':"
    "'bind','Source':'/b','Destination':'/r','RW':false}],'NetworkSettings':{'EndpointID':'',"
    "'Networks':{'podman':{'NetworkID':'podman'}}},"
    "'Config':{'Cmd':['--stdio'],'Env':['PATH=/bin','container=podman','HOSTNAME=hermes'],"
    "'Image':'a:1','Labels':{'dev.hermes-launch.managed':'1','dev.hermes-launch.run':'2',"
    "'dev.hermes-launch.owner':'5:6'},'Annotations':{'io.podman.annotations.init':'FALSE'}},"
    "'HostConfig':{'Binds':['/a:/w:rw','/b:/r:ro'],'CapAdd':[],'CapDrop':['CAP_KILL','CAP_MKNOD'],"
    "'Devices':null,'Memory':0,'PidsLimit':4096,'Privileged':false,'SecurityOpt':["
    "'no-new-privileges'],'Ulimits':[{'Name':'RLIMIT_CORE','Hard':1,'Soft':1},{'Name':"
    "'RLIMIT_NPROC','Hard':8,'Soft':8}],'Tmpfs':{'/tmp':'rw,nosuid'}}}";

/* The same container after it has run, of another run of ours. */
static const char kept_text[] =
    "{'Id':'7','Name':'kept','Created':'2026-11-29T16:45:29Z','Image':'ade8','ImageName':'b:1',"
    "'Path':'/.hermes-runner','Args':['--stdio'],'OCIRuntime':'runc','OCIConfigPath':'/x/config',"
    "'AppArmorProfile':'','Pod':'','Dependencies':null,'ExecIDs':['3'],'State':{'Status':'exited'},"
    "'MountLabel':'system_u:object_r:container_file_t:s0:c7,c9','BoundingCaps':['CAP_FOWNER',"
    "'CAP_CHOWN'],'Mounts':[{'Type':'bind','Source':'/b','Destination':'/r','RW':false},{'Type':"
    "'bind','Source':'/a','Destination':'/w','RW':true}],'NetworkSettings':{'EndpointID':'e',"
    "'Networks':{'podman':{'NetworkID':'podman','IPAddress':'10.88.0.2'}}},"
    "'Config':{'Cmd':['--stdio'],'Env':['container=podman','PATH=/bin','HOSTNAME=hermes',"
    "'HOME=/root'],'Image':'b:1','Labels':{'dev.hermes-launch.managed':'1',"
    "'dev.hermes-launch.run':'3','dev.hermes-launch.owner':'8:9','dev.hermes-launch.session':'s',"
    "'dev.hermes-launch.profile':'p','dev.hermes-launch.place':'q',"
    "'dev.hermes-launch.lease':'60'},'Annotations':{'io.podman.annotations.init':'FALSE',"
    "'io.container.manager':'libpod','io.kubernetes.cri-o.Created':'2026-11-29T16:45:29Z',"
    "'org.opencontainers.image.stopSignal':'15'}},"
    "'HostConfig':{'Binds':['/b:/r:ro','/a:/w:rw'],'CapAdd':null,'CapDrop':['CAP_MKNOD',"
    "'CAP_KILL'],'Devices':[],'Memory':0,'PidsLimit':4096,'Privileged':false,'SecurityOpt':["
    "'no-new-privileges'],'Ulimits':[{'Name':'RLIMIT_NPROC','Hard':8,'Soft':8},{'Name':"
    "'RLIMIT_CORE','Hard':1,'Soft':1}],'Tmpfs':{'/tmp':'rw,nosuid'}}}";

/* path of the kept one is set to value, or taken out where value is "". */
static void
compare_with(const char *server, const char *path, const char *value, char part[KEPT_PART_MAX])
{
	json_t *twin = read_json(twin_text), *kept = read_json(kept_text);
	const char *dot = strrchr(path, '.');
	const char *name = dot != NULL ? dot + 1 : path;
	char above[64] = "";

	if (dot != NULL)
		memcpy(above, path, (size_t)(dot - path));
	json_t *object = inspect_part(kept, above);
	if (name[0] != '\0' && value[0] == '\0')
		assert_int_equal(json_object_del(object, name), 0);
	else if (name[0] != '\0')
		assert_int_equal(json_object_set_new(object, name, read_json(value)), 0);
	same_compare(dialect_find(server), twin, kept, part);
	json_decref(twin);
	json_decref(kept);
}

static void
test_what_the_start_brings_is_the_same(void **state)
{
	char part[KEPT_PART_MAX];

	(void)state;
	compare_with("Libpod/4.3.1", "", "", part);
	assert_string_equal(part, "");
	/* one that was never started, and later versions' own of each container */
	compare_with("Libpod/4.3.1", "Config.Annotations", "{'io.podman.annotations.init':'FALSE'}",
	    part);
	assert_string_equal(part, "");
	compare_with("Libpod/5.0.0", "LockNumber", "7", part);
	assert_string_equal(part, "");
}

static const struct {
	const char *path, *value, *part;
} changes[] = {
	{ "BoundingCaps", "['CAP_CHOWN','CAP_FOWNER','CAP_SYS_ADMIN']", "'BoundingCaps'" },
	{ "BoundingCaps", "['CAP_CHOWN','CAP_CHOWN']", "'BoundingCaps'" },
	{ "EffectiveCaps", "['CAP_CHOWN']", "'EffectiveCaps'" },
	{ "Mounts", "[{'Type':'bind','Source':'/','Destination':'/w','RW':true}]", "'Mounts'" },
	{ "Mounts", "", "'Mounts'" },
	{ "Args", "['--other']", "'Args'" },
	{ "Image", "'beef'", "'Image'" },
	{ "OCIRuntime", "'other'", "'OCIRuntime'" },
	{ "Pod", "'p'", "'Pod'" },
	{ "Rootfs", "'/'", "'Rootfs'" },
	{ "Dependencies", "['5']", "'Dependencies'" },
	{ "MountLabel", "'system_u:object_r:unconfined_t:s0:c1,c2'", "'MountLabel'" },
	{ "ProcessLabel", "'system_u:system_r:spc_t:s0'", "'ProcessLabel'" },
	{ "NetworkSettings.Networks", "{'podman':{},'other':{}}", "'NetworkSettings.Networks'" },
	{ "NetworkSettings.Networks", "{}", "'NetworkSettings.Networks'" },
	{ "Config.Cmd", "['--stdio','--stdio']", "'Config.Cmd'" },
	{ "Config.Env", "['PATH=/bin','container=podman','LD_PRELOAD=/x']", "'Config.Env'" },
	{ "Config.Env", "['PATH=/x','container=podman']", "'Config.Env'" },
	{ "Config.Env", "['container=podman','container=podman']", "'Config.Env'" },
	{ "Config.Labels", "{'dev.hermes-launch.managed':'1','x':'1'}", "'Labels'" },
	{ "Config.Annotations", "{'run.oci.keep_original_groups':'1'}", "'Config.Annotations'" },
	/* whatever podman's own client makes has it */
	{ "Config.CreateCommand", "['podman','create']", "'Config.CreateCommand'" },
	{ "Config.Secrets", "[{'Name':'s'}]", "'Config.Secrets'" },
	{ "HostConfig.Binds", "['/a:/w:rw','/b:/r:rw']", "'HostConfig.Binds'" },
	{ "HostConfig.CapAdd", "['CAP_SYS_ADMIN']", "'HostConfig.CapAdd'" },
	{ "HostConfig.CapDrop", "['CAP_KILL']", "'HostConfig.CapDrop'" },
	{ "HostConfig.Devices", "[{'PathInContainer':'/dev/kvm'}]", "'HostConfig.Devices'" },
	{ "HostConfig.Memory", "7", "'HostConfig.Memory'" },
	{ "HostConfig.PidsLimit", "0", "'HostConfig.PidsLimit'" },
	{ "HostConfig.Privileged", "true", "'HostConfig.Privileged'" },
	{ "HostConfig.SecurityOpt", "[]", "'HostConfig.SecurityOpt'" },
	{ "HostConfig.Tmpfs", "{'/tmp':'rw'}", "'HostConfig.Tmpfs'" },
	{ "HostConfig.Ulimits", "[{'Name':'RLIMIT_CORE','Hard':1,'Soft':1}]",
	    "'HostConfig.Ulimits'" },
	{ "HostConfig", "", "'HostConfig.Binds'" },
	/* of a version that we do not know */
	{ "SomethingNew", "true", "'SomethingNew'" },
	{ "HostConfig.SomethingNew", "'x'", "'HostConfig.SomethingNew'" },
	/* a name of the engine's that is none is not told to anybody */
	{ "HostConfig.\x1b[2J", "'x'", "'HostConfig'" },
	{ "\x1b[2J", "'x'", "a setting" },
};

static void
test_every_change_is_found_and_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(changes); i++) {
		char part[KEPT_PART_MAX];
		compare_with("Libpod/4.3.1", changes[i].path, changes[i].value, part);
		if (strcmp(part, changes[i].part) != 0)
			fail_msg("%s = %s: %s, not %s", changes[i].path, changes[i].value, part,
			    changes[i].part);
	}
}

/* docker keeps lists in their order, and has of its own what we do not know. */
static void
test_docker_has_rows_of_its_own(void **state)
{
	char part[KEPT_PART_MAX];

	(void)state;
	compare_with("Docker/28.2.2", "", "", part);
	assert_string_equal(part, "'Config.Env'");
	compare_with("Docker/28.2.2", "Config.Env",
	    "['PATH=/bin','container=podman','HOSTNAME=hermes']", part);
	assert_string_not_equal(part, "'Config.Env'");
	compare_with("Docker/28.2.2", "Args", "['--other']", part);
	assert_string_equal(part, "'Args'");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_start_brings_is_the_same),
		cmocka_unit_test(test_every_change_is_found_and_named),
		cmocka_unit_test(test_docker_has_rows_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
