/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Gossip's UDP socket.
 */
#include "gossip_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sock_diag.h>

#include "base/time.h"
#include "base/wire.h"
#include "clock.h"
#include "group/roster.h"
#include "event.h"
#include "members/members.h"
#include "differs.h"
#include "senders.h"
#include "secret/group_keys.h"
#include "policy/value.h"

#define HEADERS 512 /* bytes, including the kernel's overhead for small datagrams */

/* After this time without an error, sending works again. */
#define SENDS_AGAIN_NS (5 * SECOND_NS)

/* Time between two attempts to bind an address that is missing. */
#define RETRY_NS SECOND_NS

/* The kernel doubles the size, which is about its own overhead for the datagrams. */
static void grow_receive_buffer(int fd, unsigned datagram_max)
{
	int wanted = (int)(GOSSIP_SOCKET_ROOM * (datagram_max + HEADERS)), got = 0;
	socklen_t len = sizeof(got);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &wanted, sizeof(wanted)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &wanted, sizeof(wanted));
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &len) == 0 && got / 2 < wanted)
		event(GOSSIP_BUFFER_SMALL, event_count("bytes", (uint64_t)got / 2),
			event_count("wanted", (uint64_t)wanted));
}

/* The byte after the longest datagram shows that one is too long. */
struct gossip_batch {
	struct mmsghdr messages[GOSSIP_SOCKET_BATCH];
	struct iovec at[GOSSIP_SOCKET_BATCH];
	struct sockaddr_storage from[GOSSIP_SOCKET_BATCH];
	uint8_t bytes[GOSSIP_SOCKET_BATCH][DATAGRAM_MAX + 1];
};

/*
 * Lets the kernel drop datagrams from addresses that are not the roster's. If it cannot, Weir still
 * rejects them, but each takes control's time.
 */
static void filter_sources(struct gossip_socket *gs)
{
	const struct gossip_config *config = gs->config;
	struct sock_fprog program;
	struct sock_filter *code;
	int n, none = 0;

	if (config->sources != SOURCES_ROSTER)
		return;
	code = calloc(SOURCE_FILTER_MOST, sizeof(*code));
	n = code ? source_filter_build(config, gs->members, code) : -ENOMEM;
	if (n == -E2BIG) /* the present members matter more */
		n = source_filter_build(config, NULL, code);
	program = (struct sock_fprog){.len = (unsigned short)(n > 0 ? n : 0), .filter = code};
	if (n > 0 && setsockopt(gs->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)))
		n = -errno;
	free(code);
	gs->filtered = n >= 0;
	if (gs->filtered)
		return;
	/* The filter of a previous roster would drop the datagrams of new limiters. */
	setsockopt(gs->fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none));
	event(GOSSIP_NO_FILTER, event_count("limiters", config->n_roster),
		event_word("why", strerror(-n)));
}

/*
 * Returns true if the source address can be set. A socket that listens on all addresses might send
 * from any of them, but peers expect the roster's.
 */
static bool can_pin(const struct gossip_config *config)
{
	struct sockaddr_storage own = config->roster[config->self].address;
	int fd;
	bool local;

	if (!address_is_any(&config->listen))
		return false;
	if (own.ss_family == AF_INET)
		((struct sockaddr_in *)&own)->sin_port = 0;
	else
		((struct sockaddr_in6 *)&own)->sin6_port = 0;
	fd = socket(own.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	local = fd >= 0 &&
		bind(fd, (struct sockaddr *)&own, config->roster[config->self].address_len) == 0;
	if (fd >= 0)
		close(fd);
	return local;
}

/* Called before it is bound, so that no stranger's datagram is in the buffer. */
static int prepare_socket(struct gossip_socket *gs)
{
	const struct gossip_config *config = gs->config;
	int ret = group_keys_roster(config, &gs->roster);

	gs->batch = calloc(1, sizeof(*gs->batch));
	if (ret == 0 && !gs->batch)
		ret = -ENOMEM;
	if (ret)
		return ret;
	for (unsigned i = 0; i < GOSSIP_SOCKET_BATCH; i++) {
		gs->batch->at[i] = (struct iovec){gs->batch->bytes[i], sizeof(gs->batch->bytes[i])};
		gs->batch->messages[i].msg_hdr = (struct msghdr){.msg_name = &gs->batch->from[i],
			.msg_iov = &gs->batch->at[i],
			.msg_iovlen = 1};
	}
	filter_sources(gs);
	gs->pins = can_pin(config);
	grow_receive_buffer(gs->fd, config->datagram_max);
	return 0;
}

static bool is_alone(const struct gossip_config *config)
{
	return config->listen_len == 0 || config->n_roster < 2;
}

static int new_gossip_socket(const struct gossip_config *config)
{
	int type = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
	int fd = socket(config->listen.ss_family, type, 0);

	return fd < 0 ? -errno : fd;
}

static int bind_gossip(int fd, const struct gossip_config *config)
{
	const struct sockaddr *listen = (const struct sockaddr *)&config->listen;

	return bind(fd, listen, config->listen_len) ? -errno : 0;
}

int gossip_socket_try(const struct gossip_config *config)
{
	int fd, ret;

	if (is_alone(config))
		return 0;
	fd = new_gossip_socket(config);
	if (fd < 0)
		return fd;
	ret = bind_gossip(fd, config);
	close(fd);
	return ret;
}

int gossip_socket_open(const struct gossip_config *config, const struct members *members,
	struct gossip_socket **out)
{
	struct gossip_socket *gs = calloc(1, sizeof(*gs));
	int ret;
	char text[ADDRESS_TEXT_MAX];

	*out = gs;
	if (!gs)
		return -ENOMEM;
	*gs = (struct gossip_socket){.fd = -1, .config = config, .members = members, .bound = true};
	if (refusals_create(config, &gs->refusals)) {
		gossip_socket_close(gs);
		*out = NULL;
		return -ENOMEM;
	}
	if (is_alone(config))
		return 0;
	gs->fd = new_gossip_socket(config);
	ret = gs->fd < 0 ? gs->fd : prepare_socket(gs);
	if (ret == 0)
		ret = bind_gossip(gs->fd, config);
	gs->bound = ret == 0;
	if (ret == 0)
		return 0;
	event(GOSSIP_NOT_BOUND,
		event_word("address", address_format(&config->listen, text, sizeof(text))),
		event_word("why", strerror(-ret)));
	if (ret == -EADDRNOTAVAIL)
		return 0; /* gossip_socket_retry() tries again */
	gossip_socket_close(gs);
	*out = NULL;
	return ret;
}

void gossip_socket_regroup(
	struct gossip_socket *gs, struct roster *roster, struct refusals *refusals)
{
	roster_destroy(gs->roster);
	refusals_destroy(gs->refusals);
	gs->roster = roster;
	gs->refusals = refusals;
	filter_sources(gs);
	gs->pins = can_pin(gs->config);
}

uint64_t gossip_socket_next(const struct gossip_socket *gs)
{
	bool waits = gs->fd >= 0 &&
		     (!gs->bound || (!gs->pins && address_is_any(&gs->config->listen)));

	return waits ? gs->tried_ns + RETRY_NS : UINT64_MAX;
}

void gossip_socket_retry(struct gossip_socket *gs, uint64_t now_ns)
{
	char text[ADDRESS_TEXT_MAX];

	if (now_ns < gossip_socket_next(gs))
		return;
	gs->tried_ns = now_ns;
	if (gs->bound) {
		gs->pins = can_pin(gs->config);
	} else if (bind_gossip(gs->fd, gs->config) == 0) {
		gs->bound = true;
		event(GOSSIP_BOUND, event_word("address", address_format(&gs->config->listen, text,
								  sizeof(text))));
	}
}

void gossip_socket_close(struct gossip_socket *gs)
{
	if (!gs)
		return;
	if (gs->fd >= 0)
		close(gs->fd);
	roster_destroy(gs->roster);
	refusals_destroy(gs->refusals);
	free(gs->batch);
	free(gs);
}

/* Room for the control message with the source address. */
union source_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
};

static void pin_source(const struct gossip_socket *gs, struct msghdr *message)
{
	const struct sockaddr_storage *own = &gs->config->roster[gs->config->self].address;
	bool v6 = own->ss_family == AF_INET6;
	struct in_pktinfo info = {.ipi_spec_dst = ((const struct sockaddr_in *)own)->sin_addr};
	struct in6_pktinfo info6 = {.ipi6_addr = ((const struct sockaddr_in6 *)own)->sin6_addr};
	size_t size = v6 ? sizeof(info6) : sizeof(info);
	struct cmsghdr *control = message->msg_control;

	control->cmsg_level = v6 ? IPPROTO_IPV6 : IPPROTO_IP;
	control->cmsg_type = v6 ? IPV6_PKTINFO : IP_PKTINFO;
	control->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(control), v6 ? (const void *)&info6 : &info, size);
	message->msg_controllen = CMSG_SPACE(size);
}

/* Ends a failure after a time without errors. A port without a listener is not a failure. */
static void note_sending(struct gossip_socket *gs, int error)
{
	uint64_t now;

	if (error == ECONNREFUSED || (!error && !gs->last_error))
		return;
	now = control_now();
	if (error) {
		gs->last_error = error;
		gs->failed_ns = now;
	} else if (now - gs->failed_ns >= SENDS_AGAIN_NS) {
		gs->last_error = 0;
		event(GOSSIP_SENDS, event_count("quiet_s", SENDS_AGAIN_NS / SECOND_NS));
	}
}

/* Returns 0, or the errno of the failure. */
static int send_datagram(struct gossip_socket *gs, const struct sockaddr_storage *to,
	socklen_t to_len, const uint8_t *buf, size_t len)
{
	struct iovec at = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
	union source_control control = {0};
	struct msghdr message = {.msg_name = (void *)(uintptr_t)to,
		.msg_namelen = to_len,
		.msg_iov = &at,
		.msg_iovlen = 1,
		.msg_control = &control};

	if (gs->pins)
		pin_source(gs, &message);
	else
		message.msg_control = NULL;
	if (sendmsg(gs->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	gs->send_errors++;
	return errno;
}

bool gossip_socket_send(struct gossip_socket *gs, unsigned peer, const uint8_t *buf, size_t len)
{
	const struct peer_config *to = &gs->config->roster[peer];
	int error;

	if (!gs->bound) /* the kernel would choose another address */
		return false;
	error = send_datagram(gs, &to->address, to->address_len, buf, len);
	/*
	 * Log an error only if it is not the last one. A port without a listener causes
	 * ECONNREFUSED at every second datagram, which is not logged.
	 */
	if (error && error != gs->last_error && error != ECONNREFUSED)
		event(GOSSIP_SEND_FAILED, event_word("peer", to->name),
			event_word("why", strerror(error)));
	note_sending(gs, error);
	return error == 0;
}

void gossip_socket_send_to(struct gossip_socket *gs, const struct sockaddr_storage *to,
	socklen_t to_len, const uint8_t *buf, size_t len)
{
	if (gs->bound)
		send_datagram(gs, to, to_len, buf, len);
}

unsigned gossip_socket_read(struct gossip_socket *gs)
{
	for (unsigned i = 0; i < GOSSIP_SOCKET_BATCH; i++)
		gs->batch->messages[i].msg_hdr.msg_namelen = sizeof(gs->batch->from[i]);
	/* ICMP errors of other peers end one call, not the reading; a persistent error ends it. */
	for (int tries = 0; tries < 16; tries++) {
		int n = recvmmsg(
			gs->fd, gs->batch->messages, GOSSIP_SOCKET_BATCH, MSG_DONTWAIT, NULL);

		if (n >= 0)
			return (unsigned)n;
		if (errno == EAGAIN || errno == EWOULDBLOCK)
			break;
	}
	return 0;
}

static bool same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)b;
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
}

/* Returns the limiter that a datagram names, or roster->n if it is not in the roster. */
static unsigned named_sender(const struct gossip_socket *gs, unsigned i)
{
	if (gs->batch->messages[i].msg_len < DATAGRAM_NAMED)
		return gs->roster->n;
	return roster_find(gs->roster, read_be32(gs->batch->bytes[i] + DATAGRAM_SENDER));
}

void gossip_socket_keep_stray(struct gossip_socket *gs, unsigned i)
{
	const struct msghdr *message = &gs->batch->messages[i].msg_hdr;
	const struct sockaddr_storage *from = &gs->batch->from[i];
	unsigned len = gs->batch->messages[i].msg_len;
	const struct member_entry *ended;
	struct peer_config peer;
	uint32_t id;

	if (!gs->members || gs->stray.len > 0 || len < DATAGRAM_MIN || len > DATAGRAM_MAX)
		return;
	id = read_be32(gs->batch->bytes[i] + DATAGRAM_SENDER);
	ended = members_ended(gs->members, id);
	if (!ended)
		return;
	peer = peer_of_member(ended);
	if (gs->config->sources == SOURCES_ROSTER && !same_host(&peer.address, from))
		return;
	gs->stray.id = id;
	gs->stray.from = *from;
	gs->stray.from_len = message->msg_namelen;
	gs->stray.len = len;
	memcpy(gs->stray.bytes, gs->batch->bytes[i], len);
}

void gossip_socket_drop_stray(struct gossip_socket *gs)
{
	gs->stray.len = 0;
}

uint8_t *gossip_socket_datagram(struct gossip_socket *gs, unsigned i, size_t *len)
{
	unsigned sender;

	*len = gs->batch->messages[i].msg_len;
	if (gs->config->sources == SOURCES_ANY)
		return gs->batch->bytes[i];
	/* If the name is not in the roster, gossip counts the datagram, at the same cost. */
	sender = named_sender(gs, i);
	if (sender == gs->roster->n ||
		same_host(&gs->batch->from[i], &gs->config->roster[sender].address))
		return gs->batch->bytes[i];
	gs->wrong_source++;
	return NULL;
}

unsigned gossip_socket_source(const struct gossip_socket *gs, unsigned i)
{
	return refusals_source(gs->refusals, &gs->batch->from[i], named_sender(gs, i));
}

unsigned gossip_socket_note_sender(
	const struct gossip_socket *gs, unsigned i, struct senders *senders, uint64_t now_ns)
{
	unsigned sender = named_sender(gs, i);

	return sender < gs->roster->n && senders_note(senders, sender, &gs->batch->from[i], now_ns)
		       ? sender
		       : gs->roster->n;
}

uint64_t gossip_socket_drops(const struct gossip_socket *gs)
{
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t len = sizeof(info);

	if (gs->fd < 0 || getsockopt(gs->fd, SOL_SOCKET, SO_MEMINFO, info, &len))
		return 0;
	return info[SK_MEMINFO_DROPS];
}
