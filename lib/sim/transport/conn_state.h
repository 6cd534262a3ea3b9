/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Definition of struct conn, for code that stores many in an array. Only conn.c uses the fields.
 */
#ifndef WEIR_SIM_CONN_STATE_H
#define WEIR_SIM_CONN_STATE_H

#include <assert.h>

#include "transport/conn.h"
#include "transport/handshake.h"
#include "transport/quic.h"
#include "transport/stream.h"
#include "transport/tcp.h"

struct conn {
	enum transport transport;
	struct stream stream;
	struct handshake handshake;
	union {
		struct {
			struct tcp_sender sender;
			struct tcp_receiver receiver;
		} tcp;
		struct {
			struct quic_sender sender;
			struct quic_receiver receiver;
		} quic;
	};
};

static_assert(sizeof(struct conn) <= 1856, "tens of thousands of them are alive together");

#endif
