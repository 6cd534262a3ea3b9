/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Whole limiters with their own threads and ports: one runs until a signal ends it, the others fail
 * in the last steps of the start. The ports receive nothing, so workers sleep.
 */
#include "check.h"
#include "scope.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_mempool.h>

#include <jansson.h>
#include <sodium.h>

#include "base/layer2.h"
#include "base/time.h"
#include "config/load.h"
#include "control_clock.h"
#include "event.h"
#include "police/charge.h"
#include "shape_mbuf.h"
#include "start.h"
#include "telemetry/server.h"

END_POINTER(config_free, struct config *)

#define PAIRS 11 /* pairs of ports; a closed port is gone, so each limiter needs a new pair */

#define FIRST         "{'name': 'first', 'match': {'vlan': 1}, 'limit': '1Mbit/s'}"
#define SECOND_POLICY "{'name': 'second', 'match': {'vlan': 2}, 'limit': '1Mbit/s'}"

/* Time to wait for other threads. They usually need milliseconds. */
#define TRIES    3000
#define MOMENT   (10 * MS_NS)
#define ANSWER_S 30

static char top[32];
static unsigned next_pair;

/* Stops the clock of waiting threads, or moves it by a step for each call. */
static void fake_time(uint64_t step_ns)
{
	__atomic_store_n(&clock_step_ns, step_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&clock_ns, clock_real(), __ATOMIC_RELAXED);
}

static void real_time(void)
{
	__atomic_store_n(&clock_ns, 0, __ATOMIC_RELAXED);
}

/* The port whose information fails with this error; 0: no port fails. */
static struct {
	uint16_t port;
	int error;
} silent;

int __real_rte_eth_dev_info_get(uint16_t port, struct rte_eth_dev_info *info);
int __wrap_rte_eth_dev_info_get(uint16_t port, struct rte_eth_dev_info *info);

int __wrap_rte_eth_dev_info_get(uint16_t port, struct rte_eth_dev_info *info)
{
	return silent.error && port == silent.port ? silent.error
						   : __real_rte_eth_dev_info_get(port, info);
}

/* Requested fields of every packet buffer, and the one that fails with this error. */
static struct {
	enum { NONE, FIELD, FLAG, TIME } refused;
	int error;
} registers;

static int refuse_register(unsigned asked)
{
	rte_errno = registers.error;
	return registers.refused == asked ? -1 : 0;
}

int __real_rte_mbuf_dynfield_register(const struct rte_mbuf_dynfield *field);
int __wrap_rte_mbuf_dynfield_register(const struct rte_mbuf_dynfield *field);
int __real_rte_mbuf_dynflag_register(const struct rte_mbuf_dynflag *flag);
int __wrap_rte_mbuf_dynflag_register(const struct rte_mbuf_dynflag *flag);
int __real_rte_mbuf_dyn_rx_timestamp_register(int *offset, uint64_t *flag);
int __wrap_rte_mbuf_dyn_rx_timestamp_register(int *offset, uint64_t *flag);

int __wrap_rte_mbuf_dynfield_register(const struct rte_mbuf_dynfield *field)
{
	return refuse_register(FIELD) ? -1 : __real_rte_mbuf_dynfield_register(field);
}

int __wrap_rte_mbuf_dynflag_register(const struct rte_mbuf_dynflag *flag)
{
	return refuse_register(FLAG) ? -1 : __real_rte_mbuf_dynflag_register(flag);
}

int __wrap_rte_mbuf_dyn_rx_timestamp_register(int *offset, uint64_t *flag)
{
	return refuse_register(TIME) ? -1 : __real_rte_mbuf_dyn_rx_timestamp_register(offset, flag);
}

static struct telemetry_options listened; /* settings of the last limiter */

int __real_telemetry_listen(const struct telemetry_options *options, struct telemetry_server **out);
int __wrap_telemetry_listen(const struct telemetry_options *options, struct telemetry_server **out);

int __wrap_telemetry_listen(const struct telemetry_options *options, struct telemetry_server **out)
{
	listened = *options;
	return __real_telemetry_listen(options, out);
}

static char *text_of(unsigned pair, const char *port, const char *wire, const char *policies)
{
	char *text;

	if (asprintf(&text,
		    "{'limiter': 'test', 'workers': [0, 1], 'idle': 'sleep', 'ports': {"
		    "'a': {'device': 'net_null%u'%s}, 'b': {'device': 'net_null%u'%s}}, "
		    "'wires': [{'name': 'w', 'a': 'a', 'b': 'b'%s}], "
		    "'control': {'socket': '%s/sock'}, 'policies': [%s]}",
		    2 * pair, port, 2 * pair + 1, port, wire, top, policies) < 0)
		abort();
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	return text;
}

static struct config *make_config(const char *port, const char *wire)
{
	char *text = text_of(next_pair++, port, wire, FIRST);
	struct config *config = NULL;

	assert_int_equal(config_parse(text, strlen(text), "run", stderr, &config), 0);
	free(text);
	return config;
}

/* Returns the text of the last event with this name, and counts them. NULL: none. */
static const char *said_since(uint64_t number, const char *name, unsigned *n)
{
	static char text[512];

	*n = 0;
	for (; number < events_number(); number++) {
		json_t *row = events_get(number);

		if (strcmp(json_string_value(json_object_get(row, "event")), name) == 0) {
			snprintf(text, sizeof(text), "%s",
				json_string_value(json_object_get(row, "text")));
			++*n;
		}
		json_decref(row);
	}
	return *n ? text : NULL;
}

/* Expects one event with this name and these parts in its text, in their order. */
#define expect_said(since, name, ...) \
	expect_parts(since, name, (const char *const[]){__VA_ARGS__, NULL})
static void expect_parts(uint64_t since, const char *name, const char *const *parts)
{
	unsigned n;
	const char *said = said_since(since, name, &n);

	assert_int_equal(n, 1);
	for (; *parts; parts++) {
		said = strstr(said, *parts);
		if (!said)
			fail_msg("event %s lacks \"%s\"", name, *parts);
		said += strlen(*parts);
	}
}

static bool is_running(unsigned lcore)
{
	return rte_eal_get_lcore_state(lcore) == RUNNING;
}

/* ---- a limiter that runs, and the operator that uses and ends it */

struct operator
{
	char file[64];
	int signals[2];
	unsigned pair;
	bool running; /* both workers were seen running */
	bool reloaded;
	pthread_t thread;
};

static json_t *ask(int client, const char *path)
{
	char reply[16384];
	ssize_t len;
	json_t *answer, *value;

	if (path && send(client, path, strlen(path), 0) < 0)
		return NULL;
	len = recv(client, reply, sizeof(reply), 0);
	if (len <= 0)
		return NULL;
	answer = json_loadb(reply, (size_t)len, 0, NULL);
	value = path ? json_incref(json_object_get(answer, path)) : json_incref(answer);
	json_decref(answer);
	return value;
}

static bool has_changed(int client)
{
	json_t *change = ask(client, "/weir/change");
	bool ok = json_is_true(json_object_get(json_object_get(change, "last"), "ok"));

	json_decref(change);
	return ok;
}

static void write_file(const struct operator* operator, const char * policies)
{
	ENDED_BY(free_at) char *text = text_of(operator->pair, "", "", policies);
	FILE *file = fopen(operator->file, "w");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

static void send_signal(const struct operator* operator, int number)
{
	struct signalfd_siginfo info = {.ssi_signo = (uint32_t)number, .ssi_uid = 77};

	if (write(operator->signals[1], &info, sizeof(info)) != sizeof(info))
		abort();
}

static int connect_to_box(void)
{
	struct timeval patience = {.tv_sec = ANSWER_S};
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/sock", top);
	setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(client, (struct sockaddr *)&at, sizeof(at)))
		abort();
	json_decref(ask(client, NULL)); /* the first message of the socket */
	return client;
}

/* An assertion cannot leave its thread, so the main thread checks the results. */
static void *operate(void *argument)
{
	const struct timespec moment = {.tv_nsec = MOMENT};
	struct operator* operator= argument;
	int client = connect_to_box();

	for (unsigned i = 0; i < TRIES && !operator->running; i++, nanosleep(&moment, NULL))
		operator->running = is_running(1) && is_running(2);
	write_file(operator, FIRST ", " SECOND_POLICY);
	send_signal(operator, SIGHUP);
	for (unsigned i = 0; i < TRIES && !operator->reloaded; i++, nanosleep(&moment, NULL))
		operator->reloaded = has_changed(client);
	close(client);
	send_signal(operator, SIGTERM);
	return NULL;
}

/* The limiter answers, reloads at SIGHUP, and releases everything at its end. */
TEST(test_run)
{
	struct operator operator= {.pair = next_pair};
	ENDED_BY(config_free_at) struct config *config = make_config("", "");
	uint64_t began = events_number();
	struct config *loaded;
	struct instance inst;
	struct stat st;
	char path[64];

	snprintf(operator.file, sizeof(operator.file), "%s/file", top);
	write_file(&operator, FIRST);
	assert_int_equal(pipe(operator.signals), 0);
	assert_int_equal(instance_start(&inst, config, operator.file, NULL, NULL), 0);
	assert_string_equal(listened.path, config->control_socket);
	assert_int_equal(listened.budget_ns, 2 * MS_NS);
	assert_ptr_equal(listened.context, &inst);
	listened.denied(7, "/weir/reload", 3);
	expect_said(began, "command_denied", "control.socket: ", "uid 7 ", "/weir/reload ", "=3 ");
	assert_int_equal(pthread_create(&operator.thread, NULL, operate, &operator), 0);
	assert_int_equal(instance_run(&inst, operator.signals[0]), SIGTERM);
	pthread_join(operator.thread, NULL);
	assert_true(operator.running);
	assert_true(operator.reloaded);
	assert_int_equal(inst.n_policies, 2);
	assert_string_equal(inst.policies[1].name, "second");
	loaded = inst.loaded;
	assert_non_null(loaded);
	fake_time(0); /* workers have unlimited time */
	instance_stop(&inst);
	real_time();
	assert_int_equal(inst.started, 0);
	assert_int_equal(inst.leaked, 0);
	assert_false(inst.abandoned);
	assert_false(is_running(1) || is_running(2));
	snprintf(path, sizeof(path), "%s/sock", top);
	assert_int_equal(stat(path, &st), -1);
	said_since(began, "worker_abandoned", &operator.pair);
	assert_int_equal(operator.pair, 0);
	close(operator.signals[0]);
	close(operator.signals[1]);
	unlink(operator.file);
}

/* ---- limiters that do not start */

static void expect_refused(struct config *config, int error, const char *module)
{
	uint64_t began = events_number();
	struct instance inst;

	fake_time(0);
	assert_int_equal(instance_start(&inst, config, NULL, NULL, NULL), error);
	real_time();
	assert_int_equal(inst.started, 0);
	assert_int_equal(inst.leaked, 0);
	assert_false(is_running(1) || is_running(2));
	if (module)
		expect_said(began, "not_started", module, strerror(-error), "weir --doctor CONFIG");
	config_free(config);
}

/* Workers that already run end again. */
TEST(test_no_socket)
{
	uint64_t began = events_number();
	struct config *config = make_config("", "");
	char text[sizeof(config->control_socket) + 128], file[64];

	snprintf(file, sizeof(file), "%s/plain", top);
	close(creat(file, 0600));
	snprintf(config->control_socket, sizeof(config->control_socket), "%s/sock", file);
	snprintf(text, sizeof(text), "control.socket: %s: %s", config->control_socket,
		strerror(ENOTDIR));
	expect_refused(config, -ENOTDIR, "telemetry");
	expect_said(began, "socket_failed", text);
	unlink(file);
}

TEST(test_no_group)
{
	struct config *config = make_config("", "");
	unsigned n;
	uint64_t began = events_number();

	snprintf(config->control_group, sizeof(config->control_group), "nobody-of-this-name");
	expect_refused(config, -ENOENT, "telemetry");
	said_since(began, "socket_failed", &n);
	assert_int_equal(n, 0);
}

TEST(test_no_port)
{
	struct config *config = make_config("", "");

	strcpy(config->ports[1].device, "net_null99");
	next_pair--;
	expect_refused(config, -ENODEV, NULL);
}

/*
 * Any port fails to open: the start returns its error and closes the other ports.
 */
TEST(test_port_refused)
{
	for (unsigned refused = 0; refused < 2; refused++) {
		struct config *config = make_config("", "");
		char names[2][RTE_MEMPOOL_NAMESIZE], devices[2][32];
		struct rte_mempool *in_the_way;

		for (unsigned i = 0; i < 2; i++) {
			uint16_t id;

			strcpy(devices[i], config->ports[i].device);
			assert_int_equal(rte_eth_dev_get_port_by_name(devices[i], &id), 0);
			snprintf(names[i], sizeof(names[i]), "weir-port-%u", id);
		}
		in_the_way = rte_mempool_create_empty(names[refused], 1, 64, 0, 0, 0, 0);
		assert_non_null(in_the_way);
		expect_refused(config, -EEXIST, "ports");
		assert_ptr_equal(rte_mempool_lookup(names[refused]), in_the_way);
		assert_null(rte_mempool_lookup(names[!refused]));
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(
				rte_eth_dev_get_port_by_name(devices[i], &(uint16_t){0}), -ENODEV);
		rte_mempool_free(in_the_way);
	}
}

/* A port without information fails the start too, and the earlier ports are closed. */
TEST(test_port_silent)
{
	for (unsigned asked = 0; asked < 2; asked++) {
		struct config *config = make_config("", "");
		uint16_t ids[2];

		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(
				rte_eth_dev_get_port_by_name(config->ports[i].device, &ids[i]), 0);
		silent.port = ids[asked];
		silent.error = -EIO;
		expect_refused(config, -EIO, "ports");
		silent.error = 0;
		for (unsigned i = 0; i < 2; i++) {
			bool closed = !rte_eth_dev_is_valid_port(ids[i]);

			assert_int_equal(closed, i <= asked);
			if (!closed)
				assert_int_equal(rte_eth_dev_close(ids[i]), 0);
		}
	}
}

/* The start fails without room for its fields in every packet buffer. */
TEST(test_no_room_in_buffers)
{
	static const int errors[] = {[FIELD] = ENOENT, [FLAG] = ENOSPC, [TIME] = EPERM};
	ENDED_BY(config_free_at) struct config *config = make_config("", "");

	for (registers.refused = FIELD; registers.refused <= TIME; registers.refused++) {
		struct instance inst;

		registers.error = errors[registers.refused];
		assert_int_equal(shape_mbuf_register(), -registers.error);
		assert_int_equal(instance_prepare(&inst, config, NULL), -ENOMEM);
		assert_int_equal(inst.started, 0);
	}
	registers.refused = NONE;
	assert_int_equal(shape_mbuf_register(), 0);
	next_pair--;
}

/* ---- limiters without threads */

/* A packet leaves the other port through the queue with the same number. */
static void expect_queues(const struct instance *inst, uint16_t n)
{
	assert_int_equal(inst->ports[0].queues, n);
	assert_int_equal(inst->ports[1].queues, n);
}

/* The size of a frame on the wire is that of the port with the largest MTU. */
TEST(test_largest_frame)
{
	static const uint16_t rows[][3] = {
		{1500, 9000, 9000}, {9000, 1500, 9000}, {1500, 1500, 1500}, {0, 0, 0}};
	struct config *config = make_config("", ""), other = *config;
	struct instance inst;

	assert_int_equal(instance_prepare(&inst, config, NULL), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct instance borrower;

		other.n_ports = rows[i][2] ? config->n_ports : 0;
		other.n_wires = rows[i][2] ? config->n_wires : 0;
		other.ports[0].mtu = rows[i][0];
		other.ports[1].mtu = rows[i][1];
		assert_int_equal(instance_prepare(&borrower, &other, inst.ports), 0);
		assert_int_equal(borrower.engine.frame, rows[i][2] + LAYER2_MAX + POLICE_WIRE);
		expect_queues(&inst, 2);
		instance_stop(&borrower);
	}
	instance_stop(&inst);
	assert_int_equal(inst.leaked, 0);
	config_free(config);
}

/* An event reports a wire with too few queues, unless "distribute" is set. */
TEST(test_few_queues)
{
	ENDED_BY(config_free_at) struct config *config = make_config(", 'queues': 1", "");
	uint64_t began = events_number();
	struct instance inst;

	assert_int_equal(instance_prepare(&inst, config, NULL), 0);
	expect_said(began, "few_queues", "wire w", "1 of 2 workers", "set \"distribute\"");
	assert_int_equal(inst.workers[0].n_paths, 2);
	assert_int_equal(inst.workers[1].n_paths, 0);
	assert_null(inst.workers[0].paths[0].rings);
	expect_queues(&inst, 1);
	instance_stop(&inst);
	assert_int_equal(inst.leaked, 0);
}

TEST(test_distributed)
{
	ENDED_BY(config_free_at)
	struct config *config = make_config(", 'queues': 1", ", 'distribute': true");
	uint64_t began = events_number();
	struct instance inst;
	unsigned n;

	assert_int_equal(instance_prepare(&inst, config, NULL), 0);
	said_since(began, "few_queues", &n);
	assert_int_equal(n, 0);
	for (unsigned w = 0; w < 2; w++) {
		assert_int_equal(inst.workers[w].n_paths, 2);
		for (unsigned p = 0; p < 2; p++) {
			const struct path *path = &inst.workers[w].paths[p];

			assert_non_null(path->rings);
			assert_int_equal(path->direction, p ? DIRECTION_B_TO_A : DIRECTION_A_TO_B);
			assert_ptr_equal(path->rings, inst.workers[0].paths[p].rings);
			if (w > 0)
				assert_true(path->rx_hash);
		}
	}
	assert_ptr_not_equal(inst.workers[0].paths[0].rings, inst.workers[0].paths[1].rings);
	instance_stop(&inst);
	assert_int_equal(inst.leaked, 0);
}

/* An event names the port of a missing buffer. */
TEST(test_missing_buffer)
{
	ENDED_BY(config_free_at) struct config *config = make_config("", "");
	uint64_t began = events_number();
	struct instance inst;

	assert_int_equal(instance_prepare(&inst, config, NULL), 0);
	expect_queues(&inst, 2);
	assert_non_null(rte_pktmbuf_alloc(inst.ports[1].pool));
	instance_stop(&inst);
	assert_int_equal(inst.leaked, 1);
	expect_said(began, "buffers_missing", "port b: 1 packet buffers");
}

/* ---- a worker that does not end */

static bool released;

static int hold_lcore(void *argument)
{
	const struct timespec moment = {.tv_nsec = MS_NS};

	while (!__atomic_load_n(&released, __ATOMIC_RELAXED))
		nanosleep(&moment, NULL);
	return 0;
}

/*
 * The stop waits a second and a half, then leaves the worker and its memory alone. This test is the
 * last one, because it leaves a limiter behind.
 */
TEST(test_abandoned)
{
	static struct instance inst;
	uint64_t began = events_number(), took;

	assert_int_equal(rte_eal_remote_launch(hold_lcore, NULL, 1), 0);
	fake_time(20 * MS_NS);
	took = clock_ns;
	assert_int_equal(instance_start(&inst, make_config("", ""), NULL, NULL, NULL), -EBUSY);
	took = clock_ns - took;
	real_time();
	__atomic_store_n(&released, true, __ATOMIC_RELAXED);
	rte_eal_wait_lcore(1);
	assert_in_range(took, 1500 * MS_NS, 2 * SECOND_NS);
	assert_int_equal(inst.started, 0);
	assert_true(inst.abandoned);
	expect_said(began, "worker_abandoned", "worker 0 (CPU 0) ", "stalled and does not end");
	assert_non_null(inst.workers);
	assert_true(inst.stop);
}

static int begin(void **state)
{
	char vdevs[2 * PAIRS + 6][32];
	const char *args[2 * PAIRS + 16] = {"run", "--no-huge", "-m", "256", "--no-pci",
		"--no-telemetry", "--no-shconf", "--log-level=1", "--lcores=(0-2)@0"};
	int n = 9;

	real_time();
	strcpy(top, "/tmp/weir-run-XXXXXX");
	for (unsigned i = 0; i < 2 * PAIRS + 4; i++) {
		snprintf(vdevs[i], sizeof(vdevs[i]), "--vdev=net_null%u,no-rx=1", i);
		args[n++] = vdevs[i];
	}
	return !mkdtemp(top) || sodium_init() < 0 || rte_eal_init(n, (char **)(uintptr_t)args) < 0;
}

static int end(void **state)
{
	rmdir(top);
	return rte_eal_cleanup();
}

TEST_GROUP(begin, end)
