/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Gossip's UDP socket, and the filter of its datagrams. Control thread; nothing here blocks.
 */
#ifndef WEIR_APP_GOSSIP_SOCKET_H
#define WEIR_APP_GOSSIP_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/filter.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "gossip/datagram.h"
#include "policy/config.h"
#include "members/members.h"

/* Most datagrams in one read, before control runs its other tasks. */
#define GOSSIP_SOCKET_BATCH 64

struct gossip_batch;
struct refusals;
struct senders;

/* A datagram of a limiter that was a member. */
struct gossip_stray {
	uint32_t id; /* name_hash() of its name */
	struct sockaddr_storage from;
	socklen_t from_len;
	size_t len; /* 0: there is none */
	uint8_t bytes[DATAGRAM_MAX];
};

struct gossip_socket {
	int fd; /* -1: a roster of one */
	const struct gossip_config *config;
	struct roster *roster;         /* its limiters */
	const struct members *members; /* previous ones, too; NULL: none */
	struct gossip_stray stray;     /* the last one */
	struct gossip_batch *batch;
	struct refusals *refusals; /* rejected datagrams, by the limiter with their address */
	bool bound;                /* false until its address is on this machine */
	uint64_t tried_ns;         /* time of the last attempt */
	bool filtered;             /* the kernel drops datagrams of strangers */
	bool pins;                 /* datagrams are sent from our address in the roster */
	uint64_t send_errors;      /* datagrams that the kernel did not take */
	uint64_t wrong_source;     /* datagrams from another address than the named limiter's */
	int last_error;            /* errno of the last failure, logged if it changes; 0: none */
	uint64_t failed_ns;        /* time of the last failure */
};

/* Datagrams that the kernel keeps for control: enough for one tick of a large group. */
#define GOSSIP_SOCKET_ROOM 128

/*
 * Returns 0, or a negative errno, logged. If no interface has the address, nothing is sent or
 * received until gossip_socket_retry() finds it. Closing NULL does nothing. `members` is borrowed,
 * or NULL.
 */
int gossip_socket_open(const struct gossip_config *config, const struct members *members,
	struct gossip_socket **out);
void gossip_socket_close(struct gossip_socket *socket);

/* Binds the address and closes the socket again, as a test. Returns 0 or a negative errno. */
int gossip_socket_try(const struct gossip_config *config);

/*
 * Follows the configuration's roster, which has changed. Takes both over, and destroys the former
 * ones.
 */
void gossip_socket_regroup(
	struct gossip_socket *socket, struct roster *roster, struct refusals *refusals);

/* Returns when gossip_socket_retry() is due, or UINT64_MAX. */
uint64_t gossip_socket_next(const struct gossip_socket *socket);
void gossip_socket_retry(struct gossip_socket *socket, uint64_t now_ns);

/* Sends to a peer of the roster. Returns true if the datagram has left. */
bool gossip_socket_send(
	struct gossip_socket *socket, unsigned peer, const uint8_t *buf, size_t len);

/* Sends to any address. */
void gossip_socket_send_to(struct gossip_socket *socket, const struct sockaddr_storage *to,
	socklen_t to_len, const uint8_t *buf, size_t len);

/*
 * Reads waiting datagrams, at most GOSSIP_SOCKET_BATCH, and returns their number. Then call
 * gossip_socket_datagram() for each of them. It returns NULL, and counts the datagram, if the
 * limiter that it names has another address. The bytes can be changed until the next read.
 */
unsigned gossip_socket_read(struct gossip_socket *socket);
uint8_t *gossip_socket_datagram(struct gossip_socket *socket, unsigned i, size_t *len);

/*
 * Keeps a datagram whose sender is not in the roster, if that was a member and has its address.
 * Call it before the bytes are changed. Until gossip_socket_drop_stray(), socket->stray is that
 * datagram, and others are not kept.
 */
void gossip_socket_keep_stray(struct gossip_socket *socket, unsigned i);
void gossip_socket_drop_stray(struct gossip_socket *socket);

/* Returns the limiter of the roster whose address a datagram came from, or n_roster. */
unsigned gossip_socket_source(const struct gossip_socket *socket, unsigned i);

/*
 * Notes the address of an authentic datagram that names a limiter of the roster. Returns that
 * limiter if it has begun to send from two addresses in turn, otherwise n_roster.
 */
unsigned gossip_socket_note_sender(
	const struct gossip_socket *socket, unsigned i, struct senders *senders, uint64_t now_ns);

/* Returns the datagrams that the kernel dropped: from strangers, or because the buffer was full. */
uint64_t gossip_socket_drops(const struct gossip_socket *socket);

/* --- filter of addresses ---------------------------------------------------------------------- */

/*
 * A program for the kernel that accepts, at a UDP socket, only datagrams from the addresses of a
 * roster and of the last members that have left. So datagrams of strangers cost no room in the
 * socket's buffer and no turn of control. It checks addresses, not ports.
 */

/* Most instructions that kernels accept with their default net.core.optmem_max of 20 kB. */
#define SOURCE_FILTER_MOST 1000

/* Previous members whose datagrams are accepted: the last ones. */
#define SOURCE_FILTER_ENDED 16

/*
 * Writes the program, at most SOURCE_FILTER_MOST instructions, to `code`. Returns their number; or
 * -E2BIG (too large a roster: some 300 addresses of IPv4, 100 of IPv6), -EAFNOSUPPORT (IPv4
 * addresses written as IPv6) or -ENOMEM. `members` can be NULL.
 */
int source_filter_build(const struct gossip_config *gossip, const struct members *members,
	struct sock_filter *code);

/* --- a member as the configuration has it ----------------------------------------------------- */

/* Any thread. */
struct member_address member_address_of(const struct peer_config *peer);

/* Returns its public key, or NULL. */
const uint8_t *peer_key(const struct peer_config *peer);

struct peer_config peer_of_member(const struct member_entry *member);

#endif
