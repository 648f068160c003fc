/*
 * Devices of the plan: which are given, and which never, by number and by name. As root the test
 * makes nodes of its own in /dev, since a name tells little; what needs them is skipped elsewhere.
 */
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <sched.h>

#include "plan_fixture.h"

#define ANY UINT32_MAX

static const struct {
	uint32_t major, last_major, minor, last_minor;
	const char *name, *reason;
} rows[] = {
#define DEVICE(major, last_major, minor, last_minor, name, reason) \
 { major, last_major, minor, last_minor, name, reason },
#include "launcher/devices.def"
#undef DEVICE
};

static const char *
devices_text(const char *path)
{
	static char text[PATH_MAX + 64];

	snprintf(text, sizeof(text), "fs: {devices: [\"%s\"]}\n", path);
	return text;
}

/* "/dev/hl-test-PID-name", and gone when the program ends as it should. */
static char *
node_of(char path[128], const char *name)
{
	snprintf(path, 128, "/dev/hl-test-%d-%s", (int)getpid(), name);
	return path;
}

static bool
make_node(char path[128], const char *name, mode_t kind, dev_t number)
{
	return mknod(node_of(path, name), kind | 0666, number) == 0;
}

static void
skip_without_nodes(void)
{
	/* Anything else is no property of this host: one that an earlier test has left, say. */
	if (errno != EPERM && errno != EACCES && errno != EROFS)
		fail_msg("a node in /dev: %s", strerror(errno));
	print_message("# SKIP no node can be made in /dev here: %s\n", strerror(errno));
	skip();
}

static void
test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < HL_ARRAY_SIZE(rows); i++) {
		assert_true(rows[i].major <= rows[i].last_major);
		assert_true(rows[i].minor <= rows[i].last_minor);
		assert_true(rows[i].reason[0] != '\0');
		assert_true(rows[i].major != 0 || rows[i].name[0] != '\0');
		if (i == 0)
			continue;
		assert_true(rows[i - 1].major <= rows[i].major);
		if (rows[i - 1].major == rows[i].major && rows[i].major != 0)
			assert_true(rows[i - 1].last_minor < rows[i].minor);
		if (rows[i].major == 0)
			assert_true(strcmp(rows[i - 1].name, rows[i].name) < 0);
	}
}

/* Names alone are enough, whether this host has them or not. */
static void
test_never(void **state)
{
	static const char *const names[] = { "/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg",
		"/dev/nvme0", "/dev/sg0", "/dev/input/event0", "/dev/hidraw0", "/dev/console",
		"/dev/tty1", "/dev/i2c-1", "/dev/mei0", "/dev/tpmrm0", "/dev/loop-control",
		"/dev/userfaultfd", "/dev/watchdog0", "/dev/null" };
	static const char *const places[] = { "/dev/pts/0", "/dev/shm/x", "/dev/fd/0",
		"/dev/stdin" };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < HL_ARRAY_SIZE(names); i++)
		assert_refused(fixture, devices_text(names[i]), HLC_76, names[i]); /* HLC-76 */
	for (size_t i = 0; i < HL_ARRAY_SIZE(places); i++)
		assert_refused(fixture, devices_text(places[i]), HLC_76, "of its own");
	assert_refused(fixture, devices_text("/dev/hl-no-such-device"), HLU_10, "cannot use");
	assert_planned(fixture, "fs: {devices: []}\n");
	assert_int_equal(fixture->plan.devices_len, 0);
}

/* Under a name that says nothing. */
static void
test_numbers(void **state)
{
	static const struct {
		mode_t kind;
		unsigned major, minor;
		const char *word; /* NULL: given */
	} nodes[] = {
		{ S_IFCHR, 1, 1, "memory" },
		{ S_IFCHR, 1, 11, "log" },
		{ S_IFCHR, 4, 1, "console" },
		{ S_IFCHR, 7, 128, "consoles" },
		{ S_IFCHR, 9, 128, "tape" },
		{ S_IFCHR, 10, 130, "restarts" },
		{ S_IFCHR, 10, 184, "processor" },
		{ S_IFCHR, 10, 223, "keyboard" },
		{ S_IFCHR, 10, 237, "disks" },
		{ S_IFCHR, 13, 65, "keyboards" },
		{ S_IFCHR, 21, 3, "disks" },
		{ S_IFCHR, 137, 5, "terminal" },
		{ S_IFCHR, 180, 97, "keyboards" },
		{ S_IFCHR, 229, 0, "console" },
		{ S_IFBLK, 8, 0, "disk" },
		{ S_IFBLK, 253, 0, "disk" },
		{ S_IFBLK, 259, 1, "disk" },
		{ S_IFBLK, 7, 200, NULL },
		{ S_IFCHR, 10, 200, NULL },
		{ S_IFCHR, 10, 229, NULL },
		{ S_IFCHR, 226, 128, NULL },
	};
	struct fixture *fixture = *state;
	char path[128];

	for (size_t i = 0; i < HL_ARRAY_SIZE(nodes); i++) {
		dev_t number = makedev(nodes[i].major, nodes[i].minor);
		if (!make_node(path, "node", nodes[i].kind, number))
			skip_without_nodes();
		int status = plan_of(fixture, devices_text(path));
		unlink(path);
		if (nodes[i].word == NULL && status != 0)
			fail_msg("%u:%u: %s", nodes[i].major, nodes[i].minor, fixture->err.msg);
		if (nodes[i].word == NULL) {
			assert_int_equal(fixture->plan.devices_len, 1);
			assert_string_equal(fixture->plan.devices[0].dst, path);
			assert_string_equal(fixture->plan.devices[0].src, path);
			assert_int_equal(fixture->plan.devices[0].rdev, number);
			continue;
		}
		if (status == 0)
			fail_msg("%u:%u was given", nodes[i].major, nodes[i].minor);
		assert_int_equal(fixture->err.code, HLC_76);
		assert_non_null(strstr(fixture->err.msg, nodes[i].word));
	}
}

/* What is in /dev and no device, and what is not in /dev. */
static void
test_places(void **state)
{
	struct fixture *fixture = *state;
	char file[128], link[128], node[128];

	if (mkdir(node_of(file, "dir"), 0755) != 0)
		skip_without_nodes();
	int status = plan_of(fixture, devices_text(file));
	rmdir(file);
	assert_int_equal(status, -1);
	assert_int_equal(fixture->err.code, HLC_76);
	assert_non_null(strstr(fixture->err.msg, "not a device"));

	assert_int_equal(symlink("/etc/passwd", node_of(link, "link")), 0);
	status = plan_of(fixture, devices_text(link));
	unlink(link);
	assert_int_equal(status, -1);
	assert_int_equal(fixture->err.code, HLC_76);
	assert_non_null(strstr(fixture->err.msg, "out of /dev"));

	/* A link that stays in /dev: the device is what it leads to, under the name that is asked.
	 */
	if (!make_node(node, "node", S_IFCHR, makedev(10, 200)))
		skip_without_nodes();
	assert_int_equal(symlink(strrchr(node, '/') + 1, link), 0);
	status = plan_of(fixture, devices_text(link));
	unlink(link);
	assert_int_equal(status, 0);
	assert_string_equal(fixture->plan.devices[0].src, node);
	assert_string_equal(fixture->plan.devices[0].dst, link);

	/* What fs.deny covers is not given. */
	char text[512];
	snprintf(text, sizeof(text), "fs: {deny: [\"%s\"], devices: [\"%s\"]}\n", node, node);
	status = plan_of(fixture, text);
	unlink(node);
	assert_int_equal(status, -1);
	assert_int_equal(fixture->err.code, HLC_72);
}

/* The caller's terminal, by its number: names of it there can be many. */
static void
test_terminal(void **state)
{
	struct fixture *fixture = *state;
	struct stat st;
	char path[128];
	int saved = dup(0);
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
		print_message("# SKIP no terminal can be made here: %s\n", strerror(errno));
		skip();
	}
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0 && saved >= 0 && fstat(slave, &st) == 0);
	if (!make_node(path, "tty", S_IFCHR, st.st_rdev)) {
		close(slave);
		close(master);
		skip_without_nodes();
	}
	assert_int_equal(plan_of(fixture, devices_text(path)), -1);
	assert_non_null(strstr(fixture->err.msg, "a terminal of somebody"));
	assert_int_equal(dup2(slave, 0), 0);
	int status = plan_of(fixture, devices_text(path));
	assert_int_equal(dup2(saved, 0), 0);
	unlink(path);
	close(slave);
	close(master);
	close(saved);
	assert_int_equal(status, -1);
	assert_int_equal(fixture->err.code, HLC_76);
	assert_non_null(strstr(fixture->err.msg, "the terminal of the caller"));
}

enum {
	NOTHING_MOUNTED = 77
};

/* In a child: an empty directory in the place of the host's. */
static void
empty_place(const char *place)
{
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", place, "tmpfs", 0, NULL) != 0)
		_exit(NOTHING_MOUNTED);
}

static void
unlink_when_done(pid_t child, const char *path)
{
	int status;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	unlink(path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOTHING_MOUNTED) {
		print_message("# SKIP nothing can be mounted here\n");
		skip();
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A row that goes by the kernel's name is not passed over because there is no reading it. */
static void
test_no_names_of_the_kernel(void **state)
{
	struct fixture *fixture = *state;
	char path[128];

	if (!make_node(path, "node", S_IFCHR, makedev(10, 200)))
		skip_without_nodes();
	assert_int_equal(plan_of(fixture, devices_text(path)), 0);
	pid_t child = fork();
	if (child == 0) {
		empty_place("/sys");
		if (plan_of(fixture, devices_text(path)) == 0 || fixture->err.code != HLU_10)
			_exit(1);
		if (mkdir("/sys/dev", 0755) != 0 || mkdir("/sys/dev/char", 0755) != 0)
			_exit(2);
		_exit(plan_of(fixture, devices_text(path)) == 0 || fixture->err.code != HLU_10);
	}
	unlink_when_done(child, path);
}

/* That there is no terminal is told by two errors; any other says that there is no telling. */
static void
test_no_telling_the_terminal(void **state)
{
	struct fixture *fixture = *state;
	char path[128];

	if (!make_node(path, "node", S_IFCHR, makedev(10, 200)))
		skip_without_nodes();
	pid_t child = fork();
	if (child == 0) {
		if (setsid() < 0 || plan_of(fixture, devices_text(path)) != 0)
			_exit(1);
		empty_place("/dev");
		if (!make_node(path, "node", S_IFCHR, makedev(10, 200)))
			_exit(2);
		_exit(plan_of(fixture, devices_text(path)) == 0 || fixture->err.code != HLU_10);
	}
	unlink_when_done(child, path);
}

/* A serial line is given, unless the kernel uses it as a console. */
static void
test_serial_consoles(void **state)
{
	struct fixture *fixture = *state;
	char active[256] = "", file[300], path[128];
	unsigned major, minor, refused = 0;
	FILE *list = fopen("/sys/class/tty/console/active", "re");

	/* ttyS190, which nobody has as a console */
	if (!make_node(path, "line", S_IFCHR, makedev(4, 254)))
		skip_without_nodes();
	int status = plan_of(fixture, devices_text(path));
	unlink(path);
	assert_int_equal(status, 0);
	bool has_console = list != NULL && fgets(active, sizeof(active), list) != NULL;
	if (list != NULL)
		fclose(list);
	if (!has_console) {
		print_message("# SKIP this host has no console\n");
		skip();
	}
	for (char *name = strtok(active, " \n"); name != NULL; name = strtok(NULL, " \n")) {
		snprintf(file, sizeof(file), "/sys/class/tty/%s/dev", name);
		FILE *dev = fopen(file, "re");
		if (dev == NULL)
			continue;
		assert_int_equal(fscanf(dev, "%u:%u", &major, &minor), 2);
		fclose(dev);
		if (!make_node(path, "line", S_IFCHR, makedev(major, minor)))
			skip_without_nodes();
		status = plan_of(fixture, devices_text(path));
		unlink(path);
		assert_int_equal(status, -1);
		assert_int_equal(fixture->err.code, HLC_76);
		assert_non_null(strstr(fixture->err.msg, "a console of this host"));
		refused++;
	}
	assert_true(refused > 0);
}

/* ------------------------------------------------------------------------------------------------
 * Graphics processors
 */
static const struct {
	const char *path;
	unsigned major, minor;
} gpu_nodes[] = {
	{ "/dev/nvidia61", 195, 61 }, { "/dev/nvidia62", 195, 62 }, { "/dev/nvidiactl", 195, 255 },
	{ "/dev/nvidia-uvm", 511, 0 }, { "/dev/nvidia-other", 511, 9 },
	{ "/dev/dri/renderD190", 226, 190 }, { "/dev/dri/card61", 226, 61 }, { "/dev/kfd", 510, 0 },
	{ "/dev/tty", 5, 0 }, /* which the plan asks for the terminal of the caller */
};

/* A /dev of the test's own, so that it is the same where the host has graphics processors. */
static void
make_gpus(void)
{
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", "/dev", "tmpfs", 0, "mode=0755") != 0)
		skip_without_nodes();
	bool is_made = mkdir("/dev/dri", 0755) == 0;
	for (size_t i = 0; is_made && i < HL_ARRAY_SIZE(gpu_nodes); i++)
		is_made = mknod(gpu_nodes[i].path, S_IFCHR | 0666,
			      makedev(gpu_nodes[i].major, gpu_nodes[i].minor)) == 0;
	if (is_made)
		return;
	int saved = errno;
	(void)umount2("/dev", MNT_DETACH);
	errno = saved;
	skip_without_nodes();
}

static const struct {
	const char *list;
	const char *nodes; /* that are given, sorted; NULL: none, and the launch is refused */
	const char *word;
} gpu_cases[] = {
	{ "gpu:all",
	    "/dev/dri/renderD190 /dev/kfd /dev/nvidia-uvm /dev/nvidia61 /dev/nvidia62 "
	    "/dev/nvidiactl ",
	    NULL },
	{ "gpu:61", "/dev/nvidia-uvm /dev/nvidia61 /dev/nvidiactl ", NULL },
	{ "gpu:62", "/dev/dri/renderD190 /dev/kfd /dev/nvidia-uvm /dev/nvidia62 /dev/nvidiactl ",
	    NULL },
	{ "/dev/nvidia61, gpu:61", "/dev/nvidia-uvm /dev/nvidia61 /dev/nvidiactl ", NULL },
	{ "\"gpu:none\"", "", NULL },
	{ "gpu:61, gpu:60", NULL, "'gpu:60'" },
};

static void
test_gpus_of_this_host(void **state)
{
	struct fixture *fixture = *state;

	make_gpus();
	for (size_t i = 0; i < HL_ARRAY_SIZE(gpu_cases); i++) {
		char text[256], given[512] = "";
		snprintf(text, sizeof(text), "fs: {devices: [%s]}\n", gpu_cases[i].list);
		int status = plan_of(fixture, text);
		for (size_t j = 0; status == 0 && j < fixture->plan.devices_len; j++)
			snprintf(given + strlen(given), sizeof(given) - strlen(given), "%s ",
			    fixture->plan.devices[j].dst);
		bool is_right = gpu_cases[i].nodes != NULL
				    ? status == 0 && strcmp(given, gpu_cases[i].nodes) == 0
				    : status != 0 && fixture->err.code == HLU_10 &&
					  strstr(fixture->err.msg, gpu_cases[i].word) != NULL &&
					  fixture->err.help[0] != '\0';
		if (is_right && fixture->plan.gpus.numbers == 0 && !fixture->plan.gpus.is_all)
			continue;
		assert_int_equal(umount2("/dev", MNT_DETACH), 0);
		fail_msg("%s: %d %s %s", gpu_cases[i].list, status, given, fixture->err.msg);
	}
	int status = plan_of(fixture, "fs: {deny: [/dev/nvidiactl], devices: [gpu:61]}\n");
	enum hl_code code = fixture->err.code;
	int on_engine = plan_of(fixture,
	    "backends: [docker]\nfs: {deny: [/dev/nvidia61], devices: [gpu:61]}\n");
	enum hl_code code_on_engine = fixture->err.code;
	int other = plan_of(fixture,
	    "backends: [docker]\nfs: {deny: [/dev/nvidia61], devices: [gpu:62]}\n");
	assert_int_equal(umount2("/dev", MNT_DETACH), 0);
	assert_int_equal(status, -1);
	assert_int_equal(code, HLC_72);
	assert_int_equal(on_engine, -1);
	assert_int_equal(code_on_engine, HLC_72);
	assert_int_equal(other, 0);
}

/* A host that has none is no reason to run without; an engine is asked all the same. */
static void
test_gpus_that_are_not_there(void **state)
{
	struct fixture *fixture = *state;

	assert_refused(fixture, "fs: {devices: [gpu:63]}\n", HLU_10, "no device of 'gpu:63'");
	assert_planned(fixture, "backends: [docker]\nfs: {devices: [gpu:63, gpu:0]}\n");
	assert_int_equal(fixture->plan.devices_len, 0);
	assert_true(fixture->plan.gpus.numbers == (UINT64_C(1) << 63 | 1));
	assert_false(fixture->plan.gpus.is_all);
	/* A driver makes some of its nodes later: on an engine a name is denied without being
	 * there. */
	static const char *const denied[] = { "gpu:63], deny: [/dev/nvidia63",
		"gpu:all], deny: [/dev/nvidia63", "gpu:63], deny: [\"/dev/nvidia*\"",
		"gpu:63], deny: [/dev/nvidia-uvm-tools", "gpu:63], deny: [/dev/dri",
		"gpu:63], deny: [\"/dev/nvidia-caps/*\"",
		"gpu:63], deny: [\"/dev/**/renderD191\"" };
	for (size_t i = 0; i < HL_ARRAY_SIZE(denied); i++) {
		char text[256];
		snprintf(text, sizeof(text), "backends: [docker]\nfs: {devices: [%s]}\n",
		    denied[i]);
		assert_refused(fixture, text, HLC_72, "is covered by '/dev/");
	}
	assert_planned(fixture,
	    "backends: [docker]\nfs: {devices: [gpu:63], deny: [/dev/nvidia6, /dev/dri/renderD190]}\n");
	assert_planned(fixture, "backends: [docker]\nfs: {devices: [gpu:63, gpu:all]}\n");
	assert_true(fixture->plan.gpus.is_all);
	assert_true(fixture->plan.gpus.numbers == 0);
	assert_planned(fixture, "backends: [docker]\nfs: {devices: [\"gpu:none\"]}\n");
	assert_false(fixture->plan.gpus.is_all);
	assert_true(fixture->plan.gpus.numbers == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test_setup_teardown(test_never, setup, teardown),
		cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_serial_consoles, setup, teardown),
		cmocka_unit_test_setup_teardown(test_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_terminal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_names_of_the_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_telling_the_terminal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gpus_of_this_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gpus_that_are_not_there, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
