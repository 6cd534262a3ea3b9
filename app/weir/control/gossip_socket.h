/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Gossip's UDP socket. Control thread; nothing here blocks.
 */
#ifndef WEIR_APP_GOSSIP_SOCKET_H
#define WEIR_APP_GOSSIP_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "gossip/datagram.h"
#include "policy/config.h"

/* Datagrams that are read at once, before control looks at its other tasks again. */
#define GOSSIP_SOCKET_BATCH 64

struct gossip_batch;
struct refusals;
struct senders;

struct gossip_socket {
	int fd; /* -1: a roster of one */
	const struct gossip_config *config;
	struct roster *roster; /* its limiters */
	struct gossip_batch *batch;
	struct refusals *refusals; /* what was not believed, by whose address it came from */
	bool bound;                /* false until its address is on this machine */
	uint64_t tried_ns;         /* when that was last tried */
	bool filtered;             /* the kernel keeps strangers out */
	bool pins;                 /* what is sent is to come from our address in the roster */
	uint64_t send_errors;      /* datagrams that the kernel did not take */
	uint64_t wrong_source;     /* that came from another address than the limiter's they name */
	int last_error;            /* errno of the latest, logged when it changes; 0: it is over */
	uint64_t failed_ns;        /* when that was */
};

/* Datagrams that the kernel keeps until control looks: what a tick of a large group brings. */
#define GOSSIP_SOCKET_ROOM 128

/*
 * Returns 0, or a negative errno, logged; NULL is none to close. If no interface has the address,
 * nothing is sent or received until gossip_socket_retry() finds it.
 */
int gossip_socket_open(const struct gossip_config *config, struct gossip_socket **out);
void gossip_socket_close(struct gossip_socket *socket);

/* Whether its address could be bound, and is then let go: 0 or a negative errno. */
int gossip_socket_try(const struct gossip_config *config);

/* When the next try is due, or UINT64_MAX; and that try. */
uint64_t gossip_socket_next(const struct gossip_socket *socket);
void gossip_socket_retry(struct gossip_socket *socket, uint64_t now_ns);

/* To a peer of the roster; whether it has left. */
bool gossip_socket_send(
	struct gossip_socket *socket, unsigned peer, const uint8_t *buf, size_t len);

/*
 * Reads what has come, at most GOSSIP_SOCKET_BATCH datagrams, and says how many. Then each of them:
 * NULL for one that names a limiter of the roster and has not come from its address, which is
 * counted. It may be written to, until the next read.
 */
unsigned gossip_socket_read(struct gossip_socket *socket);
uint8_t *gossip_socket_datagram(struct gossip_socket *socket, unsigned i, size_t *len);

/* The limiter of the roster whose address that datagram came from, or n_roster. */
unsigned gossip_socket_source(const struct gossip_socket *socket, unsigned i);

/* Notes the address of an authentic datagram that names a limiter of the roster. */
void gossip_socket_note_sender(
	const struct gossip_socket *socket, unsigned i, struct senders *senders, uint64_t now_ns);

/* Datagrams that the kernel threw away: strangers', and what the buffer had no room for. */
uint64_t gossip_socket_drops(const struct gossip_socket *socket);

#endif
