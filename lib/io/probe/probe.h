/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A packet that somebody asks about: from what he writes to a frame, and from one to the text of a
 * request and back. What is read may come from anybody. Pure; any thread.
 */
#ifndef WEIR_PROBE_PROBE_H
#define WEIR_PROBE_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

#define PROBE_FRAME   1900 /* bytes of a frame's beginning that a request has room for */
#define PROBE_WHY     160
#define PROBE_REQUEST 4096 /* that a request's text fits into */
#define PROBE_ANY     (-1)

struct probe_packet {
	char wire[CONFIG_NAME_MAX]; /* "": the first */
	enum direction direction;   /* DIRECTION_ANY: a to b */
	int worker;                 /* or PROBE_ANY */
	uint32_t len;               /* of the whole frame, without its FCS */
	uint32_t bytes;             /* of them, that are in frame[]; the others are 0 */
	uint8_t frame[PROBE_FRAME];
};

/* Asks for nothing in particular, with an empty frame. */
void probe_init(struct probe_packet *probe);

/*
 * "wire=NAME direction=a-to-b worker=N length=N hex=0011…" in any order, of which hex must be there.
 * 0, or -EINVAL and why.
 */
int probe_parse(const char *text, struct probe_packet *probe, char why[PROBE_WHY]);

/* Writes a probe as that text, in so many bytes; false if it does not fit. */
bool probe_format(const struct probe_packet *probe, char *text, size_t room);

/*
 * Takes one of those words but for hex, `word` being all of "wire=NAME". 0; -ENOENT: it begins like
 * none of them; -EINVAL and why.
 */
int probe_set(struct probe_packet *probe, const char *word, char why[PROBE_WHY]);

/*
 * Adds bytes in hexadecimal to the frame: digits in pairs, with spaces, colons or new lines between
 * them, and an 0x before. 0, or -EINVAL and why.
 */
int probe_add_hex(struct probe_packet *probe, const char *text, char why[PROBE_WHY]);

/*
 * The frame of "SRC DST PROTO [SPORT DPORT]", n words, which may be followed by vlan=, dscp=,
 * flags= (syn, ack, ...) and those that probe_set() knows. Without a length it is a full frame of
 * 1500 bytes of IP. 0, or -EINVAL and why.
 */
int probe_tuple(
	struct probe_packet *probe, const char *const *words, unsigned n, char why[PROBE_WHY]);

#endif
