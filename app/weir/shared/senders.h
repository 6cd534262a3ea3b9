/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Addresses from which limiters of the roster send. An alarm about two limiters with one name
 * shows them, so that an operator finds both machines. Control thread.
 */
#ifndef WEIR_APP_SENDERS_H
#define WEIR_APP_SENDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/time.h"
#include "policy/value.h"

/* An address is forgotten after so long without a datagram. */
#define SENDERS_RECENT_NS (60 * SECOND_NS)
/* Two addresses that took turns so often in so long belong to two machines. */
#define SENDERS_TURNS    4
#define SENDERS_TURNS_NS (10 * SECOND_NS)
#define SENDERS_TEXT     (2 * ADDRESS_TEXT_MAX + sizeof(" and "))

struct senders;

/* Returns 0 or -ENOMEM. senders_destroy() accepts NULL. */
int senders_create(unsigned n_roster, struct senders **out);
void senders_destroy(struct senders *senders);

/*
 * Notes an authentic datagram of a limiter (index in the roster). Two addresses of each limiter are
 * kept; a third one replaces the address that has been silent for longer. Returns true if
 * senders_two() is true from now on.
 */
bool senders_note(struct senders *senders, unsigned limiter, const struct sockaddr_storage *from,
	uint64_t now_ns);

/*
 * Returns true if the limiter has sent from addresses in turn in the last SENDERS_TURNS_NS. A
 * limiter that moves to another address does not.
 */
bool senders_two(const struct senders *senders, unsigned limiter, uint64_t now_ns);

/*
 * Writes "ADDRESS", "ADDRESS and ADDRESS", or "an unknown address", as when senders is NULL. Returns
 * text.
 */
const char *senders_write(
	const struct senders *senders, unsigned limiter, uint64_t now_ns, char text[SENDERS_TEXT]);

#endif
