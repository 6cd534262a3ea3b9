/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Activity around the workers of an instance in production: the control loop, telemetry's clients,
 * a peer's gossip. Each is a thread on control's CPU that lives for a slice. The measuring thread
 * starts and ends them outside of its measurement.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "base/hash.h"
#include "clock.h"
#include "fastpath.h"
#include "gossip_socket.h"
#include "secret/secret_file.h"
#include "show.h"
#include "worker.h"

#define MS        UINT64_C(1000000) /* ns */
#define READERS   3
#define READ_MS   (100 / READERS) /* each reads ten times a second */
#define UPDATES   50              /* policies whose demand changes at the peer in a tick of 50 ms */
#define REPLY_MAX 65536
#define PEER_BPS  1e6 /* a policy's demand at the peer; twice as much after an update */

/* Another limiter of the group. */
struct other {
	int fd;
	struct sockaddr_in inst;
	struct roster *roster;
	struct limiter *limiter;
	struct limiter_policy *policies;
	uint8_t key[DATAGRAM_KEY];
	struct keyring *keyring;
	uint64_t *slots; /* all unused */
	uint64_t *arrived, measured_ns;
	unsigned n, turn;
};

struct around {
	struct bench_instance *bench;
	int what;
	char socket[CONFIG_PATH_MAX];
	int stop[2]; /* a pipe in place of control's signalfd */
	pthread_t control, readers, others;
	bool ending; /* for readers and peer: atomics only */
	struct other peer;
	uint64_t replies;
};

static void start_on_control_cpu(struct around *around, pthread_t *thread, void *(*body)(void *))
{
	pthread_attr_t attr;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(around->bench->config->control_cpu, &set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	if (pthread_create(thread, &attr, body, around))
		die("no thread");
	pthread_attr_destroy(&attr);
}

static bool around_is_over(const struct around *around)
{
	return __atomic_load_n(&around->ending, __ATOMIC_ACQUIRE);
}

/* ---- the control loop ---- */

static void *control_body(void *arg)
{
	struct around *around = arg;

	instance_run(&around->bench->inst, around->stop[0]);
	return NULL;
}

static void control_end(struct around *around)
{
	struct signalfd_siginfo info = {.ssi_signo = SIGTERM};

	if (write(around->stop[1], &info, sizeof(info)) != sizeof(info))
		die("the control loop cannot be told to end");
	pthread_join(around->control, NULL);
}

/* ---- telemetry's clients ---- */

static int connect_reader(const struct around *around)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char greeting[1024];
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", around->socket);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)))
		die("%s: %s", around->socket, strerror(errno));
	if (recv(fd, greeting, sizeof(greeting), 0) <= 0)
		die("%s: no greeting", around->socket);
	return fd;
}

static void *readers_body(void *arg)
{
	static const char *const requests[] = {
		"/weir/workers", "/weir/policy,p0", "/weir/policies"};
	static char reply[REPLY_MAX];
	struct around *around = arg;
	int fds[READERS];

	for (unsigned i = 0; i < READERS; i++)
		fds[i] = connect_reader(around);
	for (unsigned i = 0; !around_is_over(around); i++) {
		const char *request = requests[i / READERS % RTE_DIM(requests)];

		if (send(fds[i % READERS], request, strlen(request), 0) < 0 ||
			recv(fds[i % READERS], reply, sizeof(reply), 0) <= 0)
			die("telemetry does not answer");
		around->replies++;
		poll(NULL, 0, READ_MS);
	}
	for (unsigned i = 0; i < READERS; i++)
		close(fds[i]);
	return NULL;
}

/* ---- a peer ---- */

static void peer_measure(void *context, unsigned policy, struct limiter_sample *sample)
{
	struct other *peer = context;
	bool updated = policy % (peer->n / UPDATES + 1) == peer->turn % (peer->n / UPDATES + 1);
	double bytes = PEER_BPS / 8 * 0.05 * (updated ? 2 : 1);

	peer->arrived[policy] += (uint64_t)bytes;
	sample->arrived_bytes = peer->arrived[policy];
	sample->dropped_packets = 0;
	sample->slots = peer->slots;
}

static void peer_tick(struct other *peer)
{
	uint8_t buf[DATAGRAM_MAX + 1];
	unsigned to;
	size_t len;
	ssize_t n;

	while ((n = recv(peer->fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		limiter_receive(peer->limiter, control_now(), buf, (size_t)n);
	if (control_now() < limiter_next(peer->limiter))
		return;
	limiter_tick(peer->limiter, control_now(), peer_measure, peer);
	peer->turn++;
	while ((len = limiter_send(peer->limiter, buf, &to)) > 0)
		sendto(peer->fd, buf, len, 0, (struct sockaddr *)&peer->inst, sizeof(peer->inst));
}

static void *peer_body(void *arg)
{
	struct around *around = arg;

	while (!around_is_over(around)) {
		struct pollfd fd = {.fd = around->peer.fd, .events = POLLIN};

		peer_tick(&around->peer);
		poll(&fd, 1, 5);
	}
	return NULL;
}

static void peer_limiter(struct other *peer, const struct config *config)
{
	const struct gossip_config *gossip = &config->gossip;
	uint32_t ids[2] = {name_hash(gossip->roster[0].name), name_hash(gossip->roster[1].name)};
	struct keyring_params keys = {.self = !gossip->self, .n_keys = 1, .keys = &peer->key};
	struct limiter_params params = {
		.gossip = {.self = !gossip->self,
			.epoch = 1,
			.seed = 1,
			.branching = gossip->branching,
			.timeout_ns = gossip->timeout_ns,
			.datagram_max = gossip->datagram_max,
			.estimator = GOSSIP_STATE},
		.policies = peer->policies,
		.n_policies = config->n_policies,
		.n_workers = 1,
	};

	if (roster_create(ids, 2, &peer->roster))
		die("no roster");
	params.gossip.roster = keys.roster = peer->roster;
	if (keyring_create(&keys, &peer->keyring))
		die("no keys for the peer");
	params.gossip.keyring = peer->keyring;
	for (unsigned i = 0; i < config->n_policies; i++)
		peer->policies[i] = limit_profile_policy(&config->policies[i], 0);
	if (limiter_create(&params, control_now(), &peer->limiter))
		die("no limiter for the peer");
}

static void peer_open(struct around *around, const char *key_file, uint16_t port)
{
	const struct config *config = around->bench->config;
	const struct complaint_sink to = complaint_sink_of(stderr);
	struct other *peer = &around->peer;
	struct sockaddr_in own = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	peer->n = config->n_policies;
	peer->slots = need(FLOW_SLOTS * sizeof(*peer->slots));
	peer->arrived = need(peer->n * sizeof(*peer->arrived));
	peer->policies = need(peer->n * sizeof(*peer->policies));
	memcpy(&peer->inst, &config->gossip.listen, sizeof(peer->inst));
	peer->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (peer->fd < 0 || bind(peer->fd, (struct sockaddr *)&own, sizeof(own)))
		die("the peer's socket: %s", strerror(errno));
	if (secret_file_read(&(struct secret_file){"key", key_file, geteuid(), &to}, peer->key))
		die("no key");
	peer_limiter(peer, config);
}

static void peer_close(struct other *peer)
{
	close(peer->fd);
	limiter_destroy(peer->limiter);
	keyring_destroy(peer->keyring);
	roster_destroy(peer->roster);
	free(peer->policies);
	free(peer->arrived);
	free(peer->slots);
}

uint16_t free_udp_port(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) ||
		getsockname(fd, (struct sockaddr *)&address, &len))
		die("no UDP port: %s", strerror(errno));
	close(fd);
	return ntohs(address.sin_port);
}

/* ---- all together ---- */

void around_open(struct bench_instance *bench, int what, const char *key_file, uint16_t peer_port)
{
	static const struct telemetry_command *const tables[] = {show_commands};
	static unsigned serial;
	struct around *around = need(sizeof(*around));
	const struct telemetry_options options = {
		.path = around->socket,
		.tables = tables,
		.n_tables = RTE_DIM(tables),
		.context = &bench->inst,
		.now_ns = control_now,
		.budget_ns = UINT64_MAX / 2,
	};

	around->bench = bench;
	around->what = what;
	snprintf(around->socket, sizeof(around->socket), "%s/weir-bench-%d-%u.sock",
		bench->params.directory, (int)getpid(), serial++);
	if (pipe(around->stop))
		die("no pipe");
	if (telemetry_listen(&options, &bench->inst.telemetry))
		die("%s: cannot listen", around->socket);
	if (what & AROUND_PEER)
		peer_open(around, key_file, peer_port);
	bench->around = around;
}

void around_close(struct bench_instance *bench)
{
	struct around *around = bench->around;

	if (!around)
		return;
	telemetry_close(bench->inst.telemetry);
	if (around->what & AROUND_PEER)
		peer_close(&around->peer);
	close(around->stop[0]);
	close(around->stop[1]);
	free(around);
	bench->around = NULL;
}

void around_begin(struct around *around)
{
	__atomic_store_n(&around->ending, false, __ATOMIC_RELEASE);
	start_on_control_cpu(around, &around->control, control_body);
	if (around->what & AROUND_READERS)
		start_on_control_cpu(around, &around->readers, readers_body);
	if (around->what & AROUND_PEER)
		start_on_control_cpu(around, &around->others, peer_body);
}

void around_end(struct around *around)
{
	__atomic_store_n(&around->ending, true, __ATOMIC_RELEASE);
	if (around->what & AROUND_READERS)
		pthread_join(around->readers, NULL);
	if (around->what & AROUND_PEER)
		pthread_join(around->others, NULL);
	control_end(around);
}

void around_commit(struct bench_instance *bench, unsigned ms)
{
	uint64_t until = control_now() + ms * MS;
	bool had = bench->around != NULL;

	if (!had)
		around_open(bench, AROUND_CONTROL, NULL, 0);
	bench_instance_begin(bench);
	while (control_now() < until)
		worker_turn(&bench->inst.workers[0]);
	bench_instance_end(bench);
	if (!had)
		around_close(bench);
}
