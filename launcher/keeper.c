/*
 * Named sessions: the keeper, a process of its own session without a terminal. It owns the sandbox,
 * takes connections of its own user, and ends when it is told to, when its sandbox does, or when
 * for a while nobody was attached and nothing ran.
 */
#include "launcher/keeper.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

static void watch_idle(struct keeper *keeper);

static bool
is_busy(const struct keeper *keeper)
{
	for (const struct call *call = keeper->serve.calls; call != NULL; call = call->next)
		if (!call->is_over)
			return true;
	return keeper->conns_len > 0;
}

static void
on_idle(void *context, uint32_t events)
{
	struct keeper *keeper = context;

	(void)events;
	keeper->idle = NULL;
	if (is_busy(keeper))
		watch_idle(keeper);
	else
		serve_close(&keeper->serve);
}

static void
watch_idle(struct keeper *keeper)
{
	struct hl_err err;
	const struct hl_watch watch = {
		.fd = -1,
		.when_ms = hl_now_mono_ms() + keeper->idle_ms,
		.fn = on_idle,
		.context = keeper,
	};

	hl_source_remove(keeper->idle);
	keeper->idle = NULL;
	/* A session that could not end by itself must not stay for ever. */
	if (hl_loop_add(keeper->loop, &watch, &keeper->idle, &err) != 0)
		serve_close(&keeper->serve);
}

/* ------------------------------------------------------------------------------------------------
 * Connections
 */
static void
drop_conn(struct keeper *keeper, struct conn *conn)
{
	struct conn **link = &keeper->conns;

	while (*link != conn)
		link = &(*link)->next;
	*link = conn->next;
	keeper->conns_len--;
	conn_free(conn);
	free(conn);
	watch_idle(keeper);
}

/* Not inside of its own callbacks: at the loop's next turn. */
static void
sweep(void *context, uint32_t events)
{
	struct keeper *keeper = context;
	struct conn *next;

	(void)events;
	for (struct conn *conn = keeper->conns; conn != NULL; conn = next) {
		next = conn->next;
		if (conn->on_done == NULL)
			drop_conn(keeper, conn);
	}
}

static void
on_conn_done(void *context, struct conn *conn)
{
	struct keeper *keeper = context;
	struct hl_source *source;
	struct hl_err err;
	const struct hl_watch watch = {
		.fd = -1,
		.when_ms = hl_now_mono_ms(),
		.fn = sweep,
		.context = keeper,
	};

	(void)conn;
	/* Without memory it waits for the next sweep. */
	if (hl_loop_add(keeper->loop, &watch, &source, &err) != 0)
		return;
}

static bool
is_own_user(int fd)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

static void
take_conn(struct keeper *keeper, int fd)
{
	struct hl_err err;
	int fds[2] = { fd, fcntl(fd, F_DUPFD_CLOEXEC, 3) };
	struct conn *conn = calloc(1, sizeof(*conn));

	if (conn == NULL || fds[1] < 0) {
		close(fd);
		if (fds[1] >= 0)
			close(fds[1]);
		free(conn);
		return;
	}
	*conn = (struct conn){
		.serve = &keeper->serve,
		.protocol = &protocol_hello,
		.has_readers_pace = true,
		.on_done = on_conn_done,
		.context = keeper,
	};
	if (conn_open(conn, fds, &err) != 0) {
		free(conn);
		return;
	}
	conn->next = keeper->conns;
	keeper->conns = conn;
	keeper->conns_len++;
}

static void
on_listener(void *context, uint32_t events)
{
	struct keeper *keeper = context;

	(void)events;
	int fd = accept4(keeper->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	if (!is_own_user(fd) || keeper->conns_len >= KEEPER_CONNS_MAX)
		close(fd);
	else
		take_conn(keeper, fd);
}

/* ------------------------------------------------------------------------------------------------
 * Begin, end
 */
static void
on_signal(void *context, uint32_t events)
{
	struct keeper *keeper = context;
	struct signalfd_siginfo info;

	(void)events;
	if (read(keeper->run->signal_fd, &info, sizeof(info)) == sizeof(info))
		serve_close(&keeper->serve);
}

static void
on_closed(void *context)
{
	struct keeper *keeper = context;

	for (struct conn *conn = keeper->conns; conn != NULL; conn = conn->next)
		line_flush(&conn->line, 500);
	hl_loop_stop(keeper->loop);
}

static int
watch_all(struct keeper *keeper, struct hl_err *err)
{
	const struct hl_watch listener = {
		.fd = keeper->listen_fd,
		.events = EPOLLIN,
		.fn = on_listener,
		.context = keeper,
	};
	const struct hl_watch signals = {
		.fd = keeper->run->signal_fd,
		.events = EPOLLIN,
		.fn = on_signal,
		.context = keeper,
	};

	if (hl_loop_add(keeper->loop, &listener, &keeper->listener, err) != 0 ||
	    hl_loop_add(keeper->loop, &signals, &keeper->signals, err) != 0)
		return -1;
	watch_idle(keeper);
	return 0;
}

static int
write_info(const struct keeper *keeper, struct hl_err *err)
{
	HL_AUTO(hl_buf_done) struct hl_buf text;
	char now[HL_ISO_TIME_SIZE];
	struct hl_json json;

	hl_iso_time(hl_now_real_us(), now);
	hl_buf_init(&text, 8192);
	hl_json_init(&json, &text);
	hl_json_object(&json);
	hl_json_key(&json, "v");
	hl_json_u64(&json, 1);
	hl_json_key(&json, "pid");
	hl_json_i64(&json, getpid());
	hl_json_key(&json, "run");
	hl_json_string(&json, keeper->run->run_id);
	hl_json_key(&json, "started");
	hl_json_string(&json, now);
	hl_json_key(&json, "backend");
	hl_json_string(&json, keeper->run->backend->name);
	record_put_effective(&json, "policy", keeper->run->policy);
	hl_json_key(&json, "directory");
	hl_json_string(&json, keeper->run->host.cwd);
	hl_json_end_object(&json);
	return hl_buf_check(&text, "info", err) != 0 ? -1
						     : keeper_info_write(keeper->place, &text, err);
}

static int
begin(struct keeper *keeper, struct hl_err *err)
{
	uint64_t idle_ms = KEEPER_IDLE_MS;
	const char *idle = keeper->run->request->idle;

	if (idle != NULL && hl_parse_duration(idle, &idle_ms, err) != 0) {
		err->code = HLU_01;
		return hl_err_wrap(err, "--idle");
	}
	keeper->idle_ms = idle_ms;
	keeper_fingerprint(keeper->run, keeper->fingerprint);
	if (hl_loop_new(&keeper->loop, err) != 0 ||
	    serve_open(&keeper->serve, keeper->loop, err) != 0)
		return -1;
	keeper->listen_fd = keeper_listen(keeper->place, err);
	if (keeper->listen_fd < 0)
		return -1;
	return watch_all(keeper, err) != 0 ? -1 : write_info(keeper, err);
}

static void
tell(int status_fd, const struct hl_err *err)
{
	/* Nobody reads it any more when the one who asked has been killed. */
	if (hl_write_full(status_fd, err, sizeof(*err)) != 0)
		errno = 0;
	close(status_fd);
}

/* Standard input and output before anything else, standard error when nothing is told any more. */
static int
leave_terminal(bool is_ready, struct hl_err *err)
{
	HL_AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= (is_ready ? 2 : 1); fd++)
		if (null < 0 || dup2(null, fd) < 0)
			return hl_err_sys(err, HLI_02, "the keeper cannot leave the terminal");
	return 0;
}

/* What the caller had open is the caller's: a lock or a pipe of theirs must not live as long as we
 * do. Ours are close-on-exec from birth, and nothing that came over an exec is. */
static int
leave_descriptors(struct run *run, struct hl_err *err)
{
	struct hl_err ignored;
	const struct dirent *entry;
	DIR *dir HL_AUTO_DIR = opendir("/proc/self/fd");
	int more;

	if (dir == NULL)
		return hl_err_sys(err, HLB_27, "cannot read '/proc/self/fd'");
	while ((more = hl_dir_next(dir, &entry)) > 0) {
		uint64_t number;
		if (hl_parse_u64(entry->d_name, STDERR_FILENO + 1, INT_MAX, &number, &ignored) != 0)
			continue;
		int flags = fcntl((int)number, F_GETFD);
		if (flags >= 0 && (flags & FD_CLOEXEC) == 0)
			close((int)number);
	}
	if (more < 0)
		return hl_err_sys(err, HLB_27, "cannot read '/proc/self/fd'");
	/* The one who made us writes the result. */
	if (run->result_fd >= 0)
		close(hl_take_fd(&run->result_fd));
	return 0;
}

static void
finish(struct keeper *keeper)
{
	struct hl_err err;

	while (keeper->conns != NULL) {
		struct conn *conn = keeper->conns;
		keeper->conns = conn->next;
		conn_free(conn);
		free(conn);
	}
	if (serve_end(&keeper->serve, &err) != 0)
		report_error(&err);
	keeper_place_remove(keeper->run->host.state_dir, keeper->serve.name, keeper->place);
	run_done(keeper->run);
}

void
keeper_main(struct run *run, struct keeper_place *place, int status_fd)
{
	static struct keeper keeper; /* its conflicts are too large for a stack */
	struct hl_err err = { 0 };

	/* No terminal of the caller's can send it signals, and its end ends nothing of the
	 * caller's.
	 */
	setsid();
	/* Nor does the command line of who happened to come first stay to be read. */
	args_hide(&run->request->args, run->request->name.text);
	keeper.run = run;
	keeper.place = place;
	keeper.listen_fd = -1;
	keeper.serve = (struct serve){
		.run = run,
		.face = "keeper",
		.name = run->request->name.text,
		.on_closed = on_closed,
		.context = &keeper,
	};
	int status = leave_terminal(false, &err);
	if (status == 0 && chdir("/") != 0)
		status = hl_err_sys(&err, HLI_02, "the keeper cannot leave the directory");
	if (status == 0)
		status = leave_descriptors(run, &err);
	if (status == 0)
		status = begin(&keeper, &err);
	/* Standard error is the caller's for as long as something can be told on it. */
	if (status == 0)
		status = leave_terminal(true, &err);
	tell(status_fd, &err);
	if (status != 0) {
		finish(&keeper);
		_exit(1);
	}
	status = hl_loop_run(keeper.loop, &err);
	finish(&keeper);
	_exit(status == 0 ? 0 : 1);
}
