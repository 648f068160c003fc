/*
 * HLB-53: what podman tells of a container against what it was asked. One good pair; then each part
 * of it is told otherwise, left out or added to, and each is found. An engine that does what it is
 * asked is in tests/run/podman_run.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "backends/docker/engine/engine.h"
#include "tests/unit/backends/quoted_json.h"

#include "base/banned.h"

static const char asked_text[] =
    "{'image':'sha256:1','command':['--stdio'],'terminal':false,'entrypoint':['/.hermes-runner'],"
    "'cap_add':['CHOWN','FOWNER'],'cap_drop':['ALL'],'groups':['5'],'hostname':'box',"
    "'devices':[{'path':'/dev/a:/dev/b:rwm'},{'path':'/dev/c:/dev/d:rwm'}],"
    "'ipcns':{'nsmode':'private'},'netns':{'nsmode':'none'},'labels':{'managed':'1'},"
    "'log_configuration':{'driver':'none'},'name':'hermes-launch-1','no_new_privileges':true,"
    "'oom_score_adj':500,'r_limits':[{'type':'nofile','hard':64,'soft':64}],"
    "'read_only_filesystem':true,'sdnotifyMode':'ignore','shm_size':8388608,'stdin':true,"
    "'resource_limits':{'cpu':{'period':100000,'quota':50000},'memory':{'limit':1048576,'swap':"
    "1048576},'pids':{'limit':64}},'user':'1000:1000','work_dir':'/',"
    "'mounts':[{'destination':'/w','type':'bind','source':'/home/w','options':['rw','bind']},"
    "{'destination':'/tmp','type':'tmpfs','source':'tmpfs','options':['rw','nosuid','size=1024',"
    "'notmpcopyup']}]}";

static const char kept_text[] =
    "{'Name':'hermes-launch-1','BoundingCaps':['CAP_CHOWN','CAP_FOWNER'],"
    "'Mounts':[{'Type':'bind','Source':'/home/w','Destination':'/w','RW':true}],"
    "'Config':{'Cmd':['--stdio'],'Entrypoint':'/.hermes-runner','Hostname':'box','Labels':{"
    "'managed':'1'},'sdNotifyMode':'ignore','OpenStdin':true,'Tty':false,'User':'1000:1000',"
    "'WorkingDir':'/'},"
    "'HostConfig':{'GroupAdd':['5'],'Devices':[{'PathOnHost':'/dev/other','PathInContainer':"
    "'/dev/d','CgroupPermissions':''},{'PathOnHost':'/dev/a','PathInContainer':'/dev/b'}],"
    "'IpcMode':'shareable','NetworkMode':'none','LogConfig':{'Type':'none'},'OomScoreAdj':500,"
    "'Ulimits':[{'Name':'RLIMIT_NOFILE','Hard':64,'Soft':64},{'Name':'RLIMIT_NPROC','Hard':9,"
    "'Soft':9}],'ReadonlyRootfs':true,'CpuPeriod':100000,'CpuQuota':50000,'Memory':1048576,"
    "'MemorySwap':1048576,'PidsLimit':64,'ShmSize':8388608,'SecurityOpt':['no-new-privileges'],"
    "'Tmpfs':{'/tmp':'rw,nosuid,size=1024'},'Privileged':false,'PidMode':'private','UTSMode':"
    "'private','UsernsMode':''}}";

/* path is set to value, or taken out where value is "". */
static int
compare_with(const char *path, const char *value, struct hl_err *err)
{
	json_t *asked = read_json(asked_text), *kept = read_json(kept_text);
	const char *dot = strrchr(path, '.');
	const char *name = dot != NULL ? dot + 1 : path;
	char above[64] = "";

	memset(err, 0, sizeof(*err));
	if (dot != NULL)
		memcpy(above, path, (size_t)(dot - path));
	json_t *object = inspect_part(kept, above);
	if (name[0] == '\0')
		assert_int_equal(value[0], '\0');
	else if (value[0] == '\0')
		assert_int_equal(json_object_del(object, name), 0);
	else
		assert_int_equal(json_object_set_new(object, name, read_json(value)), 0);
	char part[KEPT_PART_MAX] = "";
	int status = inspect_compare_podman(asked, kept, part, err);
	/* A name, which can be told where the engine's values must not be. */
	if (status != 0 && (part[0] != '\'' || strpbrk(part, "/,:= ") != NULL))
		fail_msg("%s: the part is %s", path, part);
	json_decref(asked);
	json_decref(kept);
	return status;
}

static void
test_what_was_asked_passes(void **state)
{
	struct hl_err err;

	(void)state;
	assert_int_equal(compare_with("", "", &err), 0);
	/* podman 5 writes it as the list that it is. */
	assert_int_equal(compare_with("Config.Entrypoint", "['/.hermes-runner']", &err), 0);
	assert_int_equal(compare_with("HostConfig.IpcMode", "'private'", &err), 0);
}

static const struct {
	const char *path, *value;
} lies[] = {
	{ "Name", "'another'" },
	{ "BoundingCaps", "" },
	{ "BoundingCaps", "['CAP_CHOWN']" },
	{ "BoundingCaps", "['CAP_CHOWN','CAP_SYS_ADMIN']" },
	{ "BoundingCaps", "['CAP_CHOWN','CAP_FOWNER','CAP_SYS_ADMIN']" },
	{ "BoundingCaps", "[1,2]" },
	{ "Mounts", "[]" },
	{ "Mounts", "[{'Type':'bind','Source':'/etc','Destination':'/w','RW':true}]" },
	{ "Mounts", "[{'Type':'bind','Source':'/home/w','Destination':'/w','RW':false}]" },
	{ "Mounts", "[{'Type':'volume','Source':'/home/w','Destination':'/w','RW':true}]" },
	{ "Mounts", "[{'Type':'bind','Source':'/home/w','Destination':'/w','RW':true},"
		    "{'Type':'bind','Source':'/','Destination':'/host','RW':true}]" },
	{ "Config.Cmd", "['--other']" },
	{ "Config.Entrypoint", "'/bin/sh'" },
	{ "Config.Entrypoint", "['/bin/sh','/.hermes-runner']" },
	{ "Config.Hostname", "'host'" },
	{ "Config.Labels", "{}" },
	{ "Config.sdNotifyMode", "'container'" },
	{ "Config.OpenStdin", "false" },
	{ "Config.Tty", "true" },
	{ "Config.User", "'0:0'" },
	{ "Config.WorkingDir", "'/root'" },
	{ "HostConfig.GroupAdd", "['0']" },
	{ "HostConfig.Devices", "" },
	{ "HostConfig.Devices", "[{'PathInContainer':'/dev/b'}]" },
	{ "HostConfig.Devices", "[{'PathInContainer':'/dev/b'},{'PathInContainer':'/dev/sda'}]" },
	{ "HostConfig.Devices", "[{'PathInContainer':'/dev/b'},{'PathInContainer':'d'}]" },
	{ "HostConfig.Devices", "[{'PathInContainer':'/dev/b'},{'PathInContainer':''}]" },
	{ "HostConfig.Devices", "[{'PathInContainer':'/dev/b'},{'PathInContainer':'/dev/d'},"
				"{'PathInContainer':'/dev/kvm'}]" },
	{ "HostConfig.IpcMode", "'host'" },
	{ "HostConfig.NetworkMode", "'host'" },
	{ "HostConfig.LogConfig", "{'Type':'k8s-file'}" },
	{ "HostConfig.OomScoreAdj", "0" },
	{ "HostConfig.Ulimits", "" },
	{ "HostConfig.Ulimits", "[{'Name':'RLIMIT_NOFILE','Hard':65,'Soft':64}]" },
	{ "HostConfig.Ulimits", "[{'Name':'RLIMIT_NOFILE','Hard':64,'Soft':63}]" },
	{ "HostConfig.ReadonlyRootfs", "false" },
	{ "HostConfig.CpuPeriod", "1" },
	{ "HostConfig.CpuQuota", "" },
	{ "HostConfig.Memory", "2097152" },
	{ "HostConfig.MemorySwap", "-1" },
	{ "HostConfig.PidsLimit", "0" },
	{ "HostConfig.ShmSize", "1" },
	{ "HostConfig.SecurityOpt", "[]" },
	{ "HostConfig.SecurityOpt", "['no-new-privileges:false']" },
	{ "HostConfig.Tmpfs", "{}" },
	{ "HostConfig.Tmpfs", "{'/tmp':'rw,nosuid,size=10240'}" },
	{ "HostConfig.Tmpfs", "{'/tmp':'rw,size=1024'}" },
	{ "HostConfig.Tmpfs", "{'/tmp':'rw,nosuid,size=1024,tmpcopyup'}" },
	{ "HostConfig.Tmpfs", "{'/tmp':'rw,nosuid,size=1024','/run':'rw'}" },
	{ "HostConfig.Privileged", "true" },
	{ "HostConfig.AutoRemove", "true" },
	{ "HostConfig.VolumesFrom", "['other']" },
	{ "HostConfig.PidMode", "'host'" },
	{ "HostConfig.UTSMode", "'host'" },
	{ "HostConfig.UsernsMode", "'host'" },
};

static void
test_anything_else_is_found(void **state)
{
	struct hl_err err;

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(lies); i++) {
		if (compare_with(lies[i].path, lies[i].value, &err) == 0)
			fail_msg("passed: %s %s", lies[i].path, lies[i].value);
		assert_int_equal(err.code, HLB_53);
	}
}

/* A name of the Container Device Interface is not told again, and makes no room for another device.
 */
static void
test_described_devices(void **state)
{
	static const struct {
		const char *asked, *kept;
		bool is_kept;
	} cases[] = {
		{ "[{'path':'nvidia.com/gpu=0'}]", "[]", true },
		{ "[{'path':'nvidia.com/gpu=0'}]", "null", true },
		{ "[{'path':'nvidia.com/gpu=0'},{'path':'/dev/a:/dev/b:rwm'}]",
		    "[{'PathInContainer':'/dev/b'}]", true },
		{ "[{'path':'nvidia.com/gpu=0'}]", "[{'PathInContainer':'/dev/sda'}]", false },
		{ "[{'path':'nvidia.com/gpu=0'},{'path':'/dev/a:/dev/b:rwm'}]", "[]", false },
		{ "[{'path':'nvidia.com/gpu=0'},{'path':'/dev/a:/dev/b:rwm'}]",
		    "[{'PathInContainer':'/dev/b'},{'PathInContainer':'/dev/kvm'}]", false },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(cases); i++) {
		json_t *asked = read_json(asked_text), *kept = read_json(kept_text);
		char part[KEPT_PART_MAX];
		struct hl_err err = { 0 };
		json_object_set_new(asked, "devices", read_json(cases[i].asked));
		json_object_set_new(json_object_get(kept, "HostConfig"), "Devices",
		    read_json(cases[i].kept));
		int status = inspect_compare_podman(asked, kept, part, &err);
		if ((status == 0) != cases[i].is_kept)
			fail_msg("%zu: %s", i, err.msg);
		json_decref(asked);
		json_decref(kept);
	}
}

/* Without root: the caller's ids are themselves, in a namespace of the container's own. */
static void
test_kept_ids(void **state)
{
	static const struct {
		const char *mode, *uids, *gids;
		bool is_kept;
	} cases[] = {
		{ "'private'", "['0:1:1000','1000:0:1','1001:1001:64536']", "['1000:0:1']", true },
		{ "'private'", "['0:1:1000','1000:1000:1']", "['1000:0:1']", false },
		{ "'private'", "['0:0:65536']", "['1000:0:1']", false },
		{ "'private'", "['1000:0:1']", "['0:0:65536']", false },
		{ "'private'", "['11000:0:1']", "['1000:0:1']", false },
		{ "'private'", "['1000:0:100']", "['1000:0:1']", false },
		{ "'private'", "['1000:0:1']", "null", false },
		{ "'private'", "null", "['1000:0:1']", false },
		{ "''", "['1000:0:1']", "['1000:0:1']", false },
		{ "'host'", "['1000:0:1']", "['1000:0:1']", false },
	};

	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(cases); i++) {
		json_t *asked = read_json(asked_text), *kept = read_json(kept_text);
		json_t *host = json_object_get(kept, "HostConfig");
		char part[KEPT_PART_MAX] = "";
		struct hl_err err = { 0 };
		json_object_set_new(asked, "userns", read_json("{'nsmode':'keep-id'}"));
		json_object_set_new(host, "UsernsMode", read_json(cases[i].mode));
		json_object_set_new(host, "IDMappings", json_object());
		json_object_set_new(json_object_get(host, "IDMappings"), "UidMap",
		    read_json(cases[i].uids));
		json_object_set_new(json_object_get(host, "IDMappings"), "GidMap",
		    read_json(cases[i].gids));
		int status = inspect_compare_podman(asked, kept, part, &err);
		if ((status == 0) != cases[i].is_kept)
			fail_msg("%zu: %s", i, err.msg);
		if (status != 0)
			assert_int_equal(err.code, HLB_53);
		json_decref(asked);
		json_decref(kept);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_asked_passes),
		cmocka_unit_test(test_anything_else_is_found),
		cmocka_unit_test(test_described_devices),
		cmocka_unit_test(test_kept_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
