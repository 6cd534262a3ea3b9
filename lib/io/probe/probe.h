/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A packet that an operator wants to probe. Parses the operator's words to a frame, and converts
 * between a frame and the text of a request. Input is not trusted. Pure; any thread.
 */
#ifndef WEIR_PROBE_PROBE_H
#define WEIR_PROBE_PROBE_H

#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

#define PROBE_FRAME   1900 /* bytes at the start of a frame that fit into a request */
#define PROBE_WHY     160
#define PROBE_REQUEST 4096 /* bytes of a request's text, with its NUL */
#define PROBE_ANY     (-1)

struct probe_packet {
	char wire[CONFIG_NAME_MAX]; /* "": the first */
	enum direction direction;   /* DIRECTION_ANY: a to b */
	int worker;                 /* or PROBE_ANY */
	uint32_t len;               /* bytes of the whole frame, without its FCS */
	uint32_t bytes;             /* bytes in frame[]; the rest of the frame is 0 */
	uint8_t frame[PROBE_FRAME];
};

/* Sets the defaults, with an empty frame. */
void probe_init(struct probe_packet *probe);

/*
 * Parses "wire=NAME direction=a-to-b worker=N length=N hex=0011..." in any order. "hex" is
 * required. Returns 0, or -EINVAL and the reason.
 */
int probe_parse(const char *text, struct probe_packet *probe, char why[PROBE_WHY]);

/* Writes a probe as such a text; false if it does not fit. */
bool probe_format(const struct probe_packet *probe, char *text, size_t room);

/*
 * Sets a probe from one word such as "wire=NAME", except "hex". Returns 0; -ENOENT: an unknown
 * word; -EINVAL and the reason.
 */
int probe_set(struct probe_packet *probe, const char *word, char why[PROBE_WHY]);

/*
 * Appends hexadecimal bytes to the frame: digits in pairs, optionally separated by spaces, colons
 * or newlines, with an optional 0x prefix. Returns 0, or -EINVAL and the reason.
 */
int probe_add_hex(struct probe_packet *probe, const char *text, char why[PROBE_WHY]);

/*
 * Makes the frame of "SRC DST PROTO [SPORT DPORT]", n words. After them can follow vlan=, dscp=,
 * flags= (syn, ack, ...) and the words of probe_set(). The default length is 1500 bytes of IP.
 * Returns 0, or -EINVAL and the reason.
 */
int probe_tuple(
	struct probe_packet *probe, const char *const *words, unsigned n, char why[PROBE_WHY]);

/* Packets that are described in part, such as all packets to or from an address or a prefix. */
struct probe_question {
	struct prefix where;
	struct match match;         /* other fields; its addresses and its wire are not set */
	char wire[CONFIG_NAME_MAX]; /* "": any */
};

/*
 * Parses "ADDRESS|PREFIX", which can be followed by proto=, sport=, dport=, vlan=, dscp=, wire= and
 * direction=: n words. Returns 0, or -EINVAL and the reason.
 */
int probe_question(
	struct probe_question *question, const char *const *words, unsigned n, char why[PROBE_WHY]);

#endif
