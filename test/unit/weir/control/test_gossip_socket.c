/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The socket of gossip, on addresses of this machine: the source address of sent datagrams, the
 * datagrams that it passes on, and its reports about failed sends.
 */
#include "check.h"
#include "scope.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <jansson.h>

#include "base/hash.h"
#include "base/time.h"
#include "base/wire.h"
#include "event.h"
#include "gossip_socket.h"
#include "policy/value.h"

#define LIMITERS    4
#define PATIENCE_MS 60000

/* Kernel calls that fail, the reported buffer size, and the requested ones. */
static struct {
	bool socket, force, filter;
	int room; /* 0: the real size; -1: the call fails */
	int forced, wanted;
} kernel;

int __real_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol);
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);

int __wrap_socket(int family, int type, int protocol)
{
	errno = EMFILE;
	return kernel.socket ? -1 : __real_socket(family, type, protocol);
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	bool refused = (name == SO_RCVBUFFORCE && kernel.force) ||
		       (name == SO_ATTACH_FILTER && kernel.filter);

	if (level == SOL_SOCKET && (name == SO_RCVBUFFORCE || name == SO_RCVBUF))
		*(name == SO_RCVBUF ? &kernel.wanted : &kernel.forced) = *(const int *)value;
	errno = ENOMEM;
	return level == SOL_SOCKET && refused ? -1 : __real_setsockopt(fd, level, name, value, len);
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	if (level != SOL_SOCKET || name != SO_RCVBUF || kernel.room == 0)
		return __real_getsockopt(fd, level, name, value, len);
	*(int *)value = kernel.room;
	return kernel.room < 0 ? -1 : 0;
}

static struct {
	int error; /* error of the first calls */
	unsigned times, calls;
} reading;

/*
 * Replaces the function of the C library. The first `times` calls fail, as with pending ICMP
 * errors.
 */
int recvmmsg(int fd, struct mmsghdr *messages, unsigned n, int flags, struct timespec *timeout)
{
	reading.calls++;
	if (reading.calls <= reading.times) {
		errno = reading.error;
		return -1;
	}
	return (int)syscall(SYS_recvmmsg, fd, messages, n, flags, timeout);
}

struct box {
	struct peer_config roster[LIMITERS];
	struct gossip_config config;
	struct gossip_socket *socket;
	int peers[LIMITERS]; /* sockets of the other limiters */
};

/* Parses an address, and lets the kernel choose the port. */
static void set_address(const char *text, struct sockaddr_storage *out, socklen_t *len)
{
	assert_int_equal(address_parse(text, out, len), 0);
	((struct sockaddr_in *)out)->sin_port = 0; /* sin6_port has the same offset */
}

/* Binds a socket to this address, and returns the address with its port in `at`. */
static int socket_at(struct sockaddr_storage *at, socklen_t len)
{
	int fd = socket(at->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)at, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &len), 0);
	return fd;
}

/*
 * Makes a roster of these addresses, with ports from the kernel. Limiter 0 is this one and has no
 * socket.
 */
static void make_roster(struct box *box, const char *const addresses[LIMITERS])
{
	*box = (struct box){.config = {.roster = box->roster,
				    .n_roster = LIMITERS,
				    .datagram_max = 1200,
				    .sources = SOURCES_ROSTER}};
	for (unsigned i = 0; i < LIMITERS; i++) {
		struct peer_config *peer = &box->roster[i];

		snprintf(peer->name, sizeof(peer->name), "limiter%u", i);
		set_address(addresses[i], &peer->address, &peer->address_len);
		box->peers[i] = i ? socket_at(&peer->address, peer->address_len) : -1;
	}
}

static void open_socket(struct box *box, const char *listen)
{
	socklen_t len;

	set_address(listen, &box->config.listen, &box->config.listen_len);
	assert_int_equal(gossip_socket_open(&box->config, NULL, &box->socket), 0);
	len = sizeof(box->config.listen);
	assert_int_equal(
		getsockname(box->socket->fd, (struct sockaddr *)&box->config.listen, &len), 0);
}

static void close_box(struct box *box)
{
	gossip_socket_close(box->socket);
	for (unsigned i = 1; i < LIMITERS; i++)
		close(box->peers[i]);
}

static const char *const four[LIMITERS] = {
	"127.0.0.2:1", "127.0.0.3:9", "127.0.0.4:9", "127.0.0.5:9"};

static size_t receive_from(int fd, uint8_t *buf, size_t room, struct sockaddr_storage *from)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	socklen_t len = sizeof(*from);
	ssize_t n;

	assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
	n = recvfrom(fd, buf, room, 0, (struct sockaddr *)from, &len);
	assert_true(n >= 0);
	return (size_t)n;
}

static const char *host_of(const struct sockaddr_storage *address)
{
	static char text[INET6_ADDRSTRLEN];

	if (address->ss_family == AF_INET)
		return inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text,
			sizeof(text));
	return inet_ntop(
		AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text, sizeof(text));
}

/* Returns the source address of datagrams to limiter 1. */
static const char *source_of_box(struct box *box)
{
	struct sockaddr_storage from;
	uint8_t buf[16];

	gossip_socket_send(box->socket, 1, (const uint8_t *)"news", 4);
	assert_int_equal(receive_from(box->peers[1], buf, sizeof(buf), &from), 4);
	assert_memory_equal(buf, "news", 4);
	assert_int_equal(((struct sockaddr_in *)&from)->sin_port,
		((struct sockaddr_in *)&box->config.listen)->sin_port);
	return host_of(&from);
}

/* The source address is the one in the roster, not that of the kernel's route. */
TEST(test_source)
{
	static const char *const six[LIMITERS] = {"[::1]:1", "[::1]:9", "[::1]:9", "[::1]:9"};
	static const char *const away[LIMITERS] = {
		"192.0.2.1:1", "127.0.0.3:9", "127.0.0.4:9", "127.0.0.5:9"};
	ENDED_BY(close_box) struct box box;

	make_roster(&box, four);
	open_socket(&box, "0.0.0.0:9");
	assert_true(box.socket->pins);
	assert_string_equal(source_of_box(&box), "127.0.0.2");
	close_box(&box);
	make_roster(&box, six);
	open_socket(&box, "[::]:9");
	assert_true(box.socket->pins);
	assert_string_equal(source_of_box(&box), "::1");
	close_box(&box);
	/* An address behind a translation (NAT) cannot be used as a source. */
	make_roster(&box, away);
	open_socket(&box, "0.0.0.0:9");
	assert_false(box.socket->pins);
	assert_string_equal(source_of_box(&box), "127.0.0.1");
	assert_int_equal(box.socket->send_errors, 0);
	close_box(&box);
	/* A socket that is bound to an address does not choose one. */
	make_roster(&box, four);
	open_socket(&box, "127.0.0.9:9");
	assert_false(box.socket->pins);
	assert_string_equal(source_of_box(&box), "127.0.0.9");
}

/*
 * Another process can use the roster's port here, because peers can see another port than the bound
 * one.
 */
TEST(test_port_taken)
{
	static const char *const rows[][2] = {{"127.0.0.2:9", "0.0.0.0:9"}, {"[::1]:9", "[::]:9"}};

	for (size_t r = 0; r < COUNT(rows); r++) {
		const char *const roster[LIMITERS] = {
			rows[r][0], rows[r][0], rows[r][0], rows[r][0]};
		struct box box;
		int taken;

		make_roster(&box, roster);
		taken = socket_at(&box.roster[0].address, box.roster[0].address_len);
		open_socket(&box, rows[r][1]);
		assert_true(box.socket->pins);
		close(taken);
		close_box(&box);
	}
}

/* Sends a datagram that names this limiter as its sender, from another socket. */
static void post_as(struct box *box, unsigned named, int from, size_t len)
{
	static uint8_t buf[DATAGRAM_MAX + 100];
	struct sockaddr_storage to = box->config.listen;

	memset(buf, 0x5a, sizeof(buf));
	if (named < LIMITERS)
		wire_put32(buf + DATAGRAM_SENDER, name_hash(box->roster[named].name));
	inet_pton(AF_INET, "127.0.0.2", &((struct sockaddr_in *)&to)->sin_addr);
	assert_int_equal(
		sendto(from, buf, len, 0, (struct sockaddr *)&to, box->config.listen_len), len);
}

static unsigned await_datagrams(struct box *box)
{
	struct pollfd fd = {.fd = box->socket->fd, .events = POLLIN};

	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	return gossip_socket_read(box->socket);
}

/*
 * A datagram is accepted if its source address is that of the named limiter. Gossip counts
 * datagrams without a sender.
 */
TEST(test_whose)
{
	static const struct {
		unsigned named, from;
		size_t len;
		bool fits;
	} rows[] = {
		{1, 1, 100, true},
		{1, 2, 100, false},
		{LIMITERS, 2, 100, true},
		{3, 2, DATAGRAM_NAMED, false},
		{3, 2, DATAGRAM_NAMED - 1, true}, /* too short for a sender */
		{2, 2, 0, true},
		{2, 2, DATAGRAM_MAX, true},
	};
	uint64_t wrong = 0;
	struct box box;
	size_t len;

	make_roster(&box, four);
	open_socket(&box, "0.0.0.0:9");
	assert_int_equal(gossip_socket_read(box.socket), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		const uint8_t *datagram;

		post_as(&box, rows[i].named, box.peers[rows[i].from], rows[i].len);
		assert_int_equal(await_datagrams(&box), 1);
		datagram = gossip_socket_datagram(box.socket, 0, &len);
		wrong += !rows[i].fits;
		if ((datagram != NULL) != rows[i].fits || box.socket->wrong_source != wrong)
			fail_msg("row %zu", i);
		assert_int_equal(len, rows[i].len);
		assert_int_equal(gossip_socket_source(box.socket, 0), rows[i].from);
	}
	/* A datagram above the maximum is reported with a length above it. */
	post_as(&box, 1, box.peers[1], DATAGRAM_MAX + 50);
	assert_int_equal(await_datagrams(&box), 1);
	(void)gossip_socket_datagram(box.socket, 0, &len);
	assert_true(len > DATAGRAM_MAX);
	assert_int_equal(gossip_socket_read(box.socket), 0);
	close_box(&box);
}

/* IPv6 addresses that have words in common with the roster. */
TEST(test_whose_ipv6)
{
	static const char *const six[LIMITERS] = {
		"[::1]:1", "[::1]:9", "[2001:db8::1]:7", "[::1]:9"};
	struct box box = {0};
	size_t len;

	box.config = (struct gossip_config){.roster = box.roster, .n_roster = LIMITERS};
	for (unsigned i = 0; i < LIMITERS; i++) {
		snprintf(box.roster[i].name, sizeof(box.roster[i].name), "limiter%u", i);
		set_address(six[i], &box.roster[i].address, &box.roster[i].address_len);
		box.peers[i] = i == 1 || i == 3 ? socket_at(&box.roster[i].address,
							  box.roster[i].address_len)
						: -1;
	}
	box.config.sources = SOURCES_ROSTER;
	box.config.datagram_max = 1200;
	open_socket(&box, "[::1]:9");
	for (unsigned named = 1; named < LIMITERS; named++) {
		uint8_t buf[DATAGRAM_NAMED] = {0};

		wire_put32(buf + DATAGRAM_SENDER, name_hash(box.roster[named].name));
		assert_int_equal(
			sendto(box.peers[3], buf, sizeof(buf), 0,
				(struct sockaddr *)&box.config.listen, box.config.listen_len),
			sizeof(buf));
		assert_int_equal(await_datagrams(&box), 1);
		assert_int_equal(gossip_socket_datagram(box.socket, 0, &len) != NULL, named != 2);
	}
	gossip_socket_close(box.socket);
	close(box.peers[1]);
	close(box.peers[3]);
}

/* All datagrams are read in batches, unchanged. */
TEST(test_batches)
{
	const unsigned n = GOSSIP_SOCKET_BATCH + 10;
	ENDED_BY(close_box) struct box box;
	size_t len;

	make_roster(&box, four);
	open_socket(&box, "0.0.0.0:9");
	for (unsigned i = 0; i < n; i++)
		post_as(&box, 1 + i % 3, box.peers[1 + i % 3], 20 + i);
	for (unsigned i = 0; i < n;) {
		unsigned got = await_datagrams(&box);

		assert_int_equal(got, i ? 10 : GOSSIP_SOCKET_BATCH);
		for (unsigned k = 0; k < got; k++, i++) {
			assert_non_null(gossip_socket_datagram(box.socket, k, &len));
			assert_int_equal(len, 20 + i);
			assert_int_equal(gossip_socket_source(box.socket, k), 1 + i % 3);
		}
	}
	assert_int_equal(gossip_socket_drops(box.socket), 0);
}

/* The filter drops datagrams of strangers, unless any source is allowed. */
TEST(test_strangers)
{
	for (unsigned any = 0; any < 2; any++) {
		struct sockaddr_storage at;
		struct box box;
		socklen_t at_len;
		size_t len;
		int stranger;

		(void)state;
		make_roster(&box, four);
		box.config.sources = any ? SOURCES_ANY : SOURCES_ROSTER;
		open_socket(&box, "0.0.0.0:9");
		assert_int_equal(box.socket->filtered, !any);
		set_address("127.0.0.77:9", &at, &at_len);
		stranger = socket_at(&at, at_len);
		post_as(&box, 1, stranger, 100);
		assert_int_equal(gossip_socket_drops(box.socket), !any);
		post_as(&box, 2, box.peers[2], 60);
		assert_int_equal(await_datagrams(&box), 1 + any);
		assert_non_null(gossip_socket_datagram(box.socket, any, &len));
		assert_int_equal(len, 60);
		if (any) {
			assert_non_null(gossip_socket_datagram(box.socket, 0, &len));
			assert_int_equal(gossip_socket_source(box.socket, 0), LIMITERS);
		}
		assert_int_equal(box.socket->wrong_source, 0);
		close(stranger);
		close_box(&box);
	}
}

/* Counts events of this name from this number on. */
static unsigned events_since(uint64_t number, const char *name)
{
	unsigned n = 0;

	for (; number < events_number(); number++) {
		json_t *row = events_get(number);

		n += row && strcmp(json_string_value(json_object_get(row, "event")), name) == 0;
		json_decref(row);
	}
	return n;
}

/*
 * Failed sends are counted. One event reports the first, and one that sends succeeded for a while.
 */
TEST(test_errors)
{
	uint64_t began = events_number();
	ENDED_BY(close_box) struct box box;
	uint8_t *large = test_calloc(1, 70000);

	make_roster(&box, four);
	open_socket(&box, "0.0.0.0:9");
	for (unsigned i = 0; i < 3; i++)
		assert_false(gossip_socket_send(box.socket, 1, large, 70000));
	assert_int_equal(box.socket->send_errors, 3);
	assert_int_equal(box.socket->last_error, EMSGSIZE);
	assert_int_equal(events_since(began, "gossip_send_failed"), 1);
	assert_true(gossip_socket_send(box.socket, 1, large, 10));
	assert_int_equal(box.socket->send_errors, 3);
	assert_int_equal(box.socket->last_error, EMSGSIZE);
	box.socket->failed_ns -= 5 * SECOND_NS; /* five seconds ago */
	gossip_socket_send(box.socket, 1, large, 10);
	assert_int_equal(box.socket->last_error, 0);
	assert_int_equal(events_since(began, "gossip_sends"), 1);
	gossip_socket_send(box.socket, 1, large, 10);
	assert_int_equal(events_since(began, "gossip_sends"), 1);
	gossip_socket_send(box.socket, 1, large, 70000);
	assert_int_equal(events_since(began, "gossip_send_failed"), 2);
	assert_int_equal(box.socket->send_errors, 4);
	test_free(large);
}

/*
 * An ICMP error is retried, a permanent error ends the reading after 16 calls, and EAGAIN ends it
 * immediately.
 */
TEST(test_errors_of_reading)
{
	static const struct {
		int error;
		unsigned times, calls, read;
	} rows[] = {
		{ECONNREFUSED, 0, 1, 1},
		{ECONNREFUSED, 1, 2, 1},
		{ECONNREFUSED, 15, 16, 1},
		{ECONNREFUSED, 16, 16, 0},
		{ENOMEM, 1000, 16, 0},
		{EAGAIN, 1, 1, 0},
	};
	ENDED_BY(close_box) struct box box;

	make_roster(&box, four);
	open_socket(&box, "127.0.0.2:9");
	for (size_t i = 0; i < COUNT(rows); i++) {
		assert_int_equal(
			sendto(box.peers[1], "text", 4, 0, (struct sockaddr *)&box.config.listen,
				box.config.listen_len),
			4);
		assert_int_equal(poll(&(struct pollfd){.fd = box.socket->fd, .events = POLLIN}, 1,
					 PATIENCE_MS),
			1);
		reading.error = rows[i].error;
		reading.times = rows[i].times;
		reading.calls = 0;
		assert_int_equal(gossip_socket_read(box.socket), rows[i].read);
		assert_int_equal(reading.calls, rows[i].calls);
		reading.times = 0;
		while (gossip_socket_read(box.socket) > 0)
			;
	}
}

/* An ICMP error is not a send error: the limiter at that port is just not running. */
TEST(test_nobody_listens)
{
	uint64_t began = events_number();
	ENDED_BY(close_box) struct box box;

	make_roster(&box, four);
	open_socket(&box, "0.0.0.0:9");
	close(box.peers[1]);
	for (unsigned i = 0; i < 10; i++)
		gossip_socket_send(box.socket, 1, (const uint8_t *)"news", 4);
	assert_int_equal(box.socket->last_error, 0);
	assert_int_equal(events_since(began, "gossip_send_failed"), 0);
	/* Other datagrams can still be read. */
	post_as(&box, 2, box.peers[2], 60);
	assert_int_equal(await_datagrams(&box), 1);
	box.peers[1] = dup(box.peers[2]);
}

/* A limiter that is alone, or has no listen address, has no socket. */
TEST(test_alone)
{
	struct box box;

	make_roster(&box, four);
	set_address("0.0.0.0:9", &box.config.listen, &box.config.listen_len);
	box.config.n_roster = 1;
	assert_int_equal(gossip_socket_try(&box.config), 0);
	assert_int_equal(gossip_socket_open(&box.config, NULL, &box.socket), 0);
	assert_int_equal(box.socket->fd, -1);
	assert_int_equal(gossip_socket_drops(box.socket), 0);
	gossip_socket_close(box.socket);
	box.config.n_roster = 2;
	box.config.listen_len = 0;
	assert_int_equal(gossip_socket_open(&box.config, NULL, &box.socket), 0);
	assert_int_equal(box.socket->fd, -1);
	gossip_socket_close(box.socket);
	set_address("0.0.0.0:9", &box.config.listen, &box.config.listen_len);
	assert_int_equal(gossip_socket_open(&box.config, NULL, &box.socket), 0);
	assert_true(box.socket->fd >= 0);
	close_box(&box);
	gossip_socket_close(NULL);
}

/* Sends to the first peer of the roster. */
static bool sends(struct box *box)
{
	static const uint8_t bytes[64] = {0};

	return gossip_socket_send(box->socket, 1, bytes, sizeof(bytes));
}

/*
 * An address in use is an error, also in a trial. An address that does not exist can be bound
 * later.
 */
TEST(test_not_bound)
{
	uint64_t began = events_number();
	struct sockaddr_storage at;
	ENDED_BY(close_box) struct box box;
	socklen_t len;
	int taken;

	make_roster(&box, four);
	set_address("127.0.0.2:9", &at, &len);
	taken = socket_at(&at, len);
	box.config.listen = at;
	box.config.listen_len = len;
	assert_int_equal(gossip_socket_try(&box.config), -EADDRINUSE);
	assert_int_equal(gossip_socket_open(&box.config, NULL, &box.socket), -EADDRINUSE);
	assert_null(box.socket);
	assert_int_equal(events_since(began, "gossip_not_bound"), 1);
	close(taken);
	assert_int_equal(gossip_socket_try(&box.config), 0); /* releases it */
	assert_int_equal(gossip_socket_open(&box.config, NULL, &box.socket), 0);
	gossip_socket_close(box.socket);
	set_address("192.0.2.1:9", &box.config.listen, &box.config.listen_len);
	assert_int_equal(gossip_socket_try(&box.config), -EADDRNOTAVAIL);
	assert_int_equal(gossip_socket_open(&box.config, NULL, &box.socket), 0);
	assert_false(box.socket->bound);
	assert_false(sends(&box)); /* the kernel would choose the source */
	gossip_socket_retry(box.socket, gossip_socket_next(box.socket));
	assert_false(box.socket->bound);
	set_address("127.0.0.2:9", &box.config.listen, &box.config.listen_len);
	gossip_socket_retry(box.socket, gossip_socket_next(box.socket) - 1);
	assert_false(box.socket->bound);
	gossip_socket_retry(box.socket, gossip_socket_next(box.socket));
	assert_true(box.socket->bound);
	assert_int_equal(gossip_socket_next(box.socket), UINT64_MAX);
	assert_int_equal(events_since(began, "gossip_bound"), 1);
	assert_true(sends(&box));
}

/* Returns the text of the last event of this name from this number on. */
static const char *said_since(uint64_t number, const char *name)
{
	static char text[256];

	text[0] = '\0';
	for (; number < events_number(); number++) {
		json_t *row = events_get(number);

		if (row && strcmp(json_string_value(json_object_get(row, "event")), name) == 0)
			snprintf(text, sizeof(text), "%s",
				json_string_value(json_object_get(row, "text")));
		json_decref(row);
	}
	return text;
}

#define WANTED (128 * (1200 + 512))

/*
 * The socket requests a buffer for the largest number of datagrams. An event reports a smaller one.
 */
TEST(test_room)
{
	static const struct {
		bool force;
		int room;
		const char *said;
	} rows[] = {
		{false, 2 * WANTED, ""},
		{true, 2 * WANTED, ""},
		{true, 2 * WANTED + 1, ""},
		{false, 2 * WANTED - 1,
			"gossip: room for 219135 bytes of datagrams, not 219136: raise "
			"net.core.rmem_max"},
		{true, 2000,
			"gossip: room for 1000 bytes of datagrams, not 219136: raise "
			"net.core.rmem_max"},
		{true, -1, ""},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t began = events_number();
		struct box box;

		make_roster(&box, four);
		memset(&kernel, 0, sizeof(kernel));
		kernel.force = rows[i].force;
		kernel.room = rows[i].room;
		open_socket(&box, "0.0.0.0:9");
		assert_int_equal(kernel.forced, WANTED);
		assert_int_equal(kernel.wanted, rows[i].force ? WANTED : 0);
		assert_string_equal(said_since(began, "gossip_buffer_small"), rows[i].said);
		close_box(&box);
	}
	memset(&kernel, 0, sizeof(kernel));
}

/* Without the filter, datagrams of strangers are dropped later. An event has the reason. */
TEST(test_no_filter)
{
	uint64_t began = events_number();
	ENDED_BY(close_box) struct box box;

	make_roster(&box, four);
	kernel.filter = true;
	open_socket(&box, "0.0.0.0:9");
	kernel.filter = false;
	assert_false(box.socket->filtered);
	assert_string_equal(said_since(began, "gossip_no_filter"),
		"gossip: no filter in the kernel for 4 limiters: Cannot allocate memory; strangers "
		"cost this limiter time");
}

TEST(test_no_socket)
{
	uint64_t began = events_number();
	ENDED_BY(close_box) struct box box;

	make_roster(&box, four);
	set_address("127.0.0.2:9", &box.config.listen, &box.config.listen_len);
	kernel.socket = true;
	assert_int_equal(gossip_socket_try(&box.config), -EMFILE);
	assert_int_equal(gossip_socket_open(&box.config, NULL, &box.socket), -EMFILE);
	kernel.socket = false;
	assert_null(box.socket);
	assert_string_equal(said_since(began, "gossip_not_bound"),
		"gossip.listen: cannot bind 127.0.0.2:0: Too many open files");
}
