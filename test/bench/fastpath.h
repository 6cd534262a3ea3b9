/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The parts of the fast path's benchmark (fastpath.c): traffic, contenders, and the rounds in which
 * they take turns. One process, one thread that measures; whatever else runs is said where it is.
 *
 * Functions of set-up end the program with a message when they fail: nothing is measured then.
 */
#ifndef WEIR_BENCH_FASTPATH_H
#define WEIR_BENCH_FASTPATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <jansson.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/prng.h"
#include "start.h"
#include "totals.h"

#define FRAME_BYTES  64   /* on net_null */
#define TURN_PACKETS 64   /* a turn is a burst in each direction */
#define PORTS_MAX    4    /* of a box: two wires */
#define PIPES        4096 /* of rte_sched's port */
#define SECOND_LCORE 2    /* beside the measuring one */
#define TUPLES_MAX   100000

/* Prints why, as printf does, and ends the program. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* Returns true if a list with commas has the name. */
bool is_named(const char *names, const char *name);

/* Zeroed memory, or the end. */
void *need(size_t bytes);

/* ---- traffic (fastpath_traffic.c) ---- */

enum frame_kind {
	FRAME_V4,
	FRAME_V6,
	FRAME_OPTIONS,  /* IPv4 with 20 bytes of options */
	FRAME_FRAGMENT, /* IPv4, not the first of its packet */
	FRAME_SMALLEST, /* IPv4 and nothing in it */
	FRAME_HASHED,   /* IPv4, with a hash from the device */
};

/* The destinations of n policies, of an IP version each: a prefix for a policy, in random order. */
struct prefixes {
	unsigned n;
	uint32_t *v4; /* host order */
	uint8_t *length;
	uint64_t *v6; /* host order: the first 64 bits of a /48 */
};

void prefixes_make(struct prefixes *prefixes, unsigned n);
void prefixes_free(struct prefixes *prefixes);

enum drawing {
	DRAW_UNIFORM,
	DRAW_ZIPF,   /* the k-th policy 1/k as often as the first */
	DRAW_CYCLE,  /* each policy once, then each again: a line is never still in a cache */
	DRAW_FIRST,  /* always the first policy */
	DRAW_NONE,   /* addresses of no policy */
	DRAW_TUPLES, /* as uniform, of one 5-tuple a policy */
	DRAW_SCAN,   /* one destination, each packet from the next source */
};

/* What packets there are, in which order: all contenders see the same. Read-only once made. */
struct traffic {
	unsigned serial; /* no two have the same */
	enum frame_kind kind;
	uint16_t frame_len;
	uint16_t address, ports; /* where the stand-in stores */
	unsigned n;              /* packets until it repeats: a power of two */
	uint64_t *words; /* a packet's IPv4 source and destination, or the IPv6 destination's two */
	uint8_t header[FRAME_BYTES];
};

struct traffic *traffic_make(
	const struct prefixes *prefixes, enum frame_kind kind, enum drawing draw, unsigned n);
void traffic_free(struct traffic *traffic);

/* The packet's 5-tuple source and destination of a policy, as DRAW_TUPLES has them. */
uint64_t traffic_tuple(const struct prefixes *prefixes, unsigned policy);

/* Writes the traffic's header into every buffer of a pool. */
void traffic_headers(const struct traffic *traffic, struct rte_mempool *pool);

/* A frame with the header and the addresses of packet i. */
void traffic_frame(const struct traffic *traffic, unsigned i, struct rte_mbuf *mbuf);

/*
 * The stand-in for a wire: a receive callback that gives each packet of net_null, whose header was
 * written into its buffer before, its addresses. On all queues of the ports, from packet `at` on.
 */
void stand_in_attach(
	const struct port *ports, unsigned n_ports, const struct traffic *traffic, unsigned at);
void stand_in_detach(const struct port *ports, unsigned n_ports);

/*
 * A stand-in for packets that go round in rings: a transmit callback stores the next addresses in
 * each packet that is sent. No near cache has the packet any more when it comes back.
 */
void stand_in_attach_send(
	const struct port *ports, unsigned n_ports, const struct traffic *traffic, unsigned at);
void stand_in_detach_send(const struct port *ports, unsigned n_ports);

/* ---- contenders ---- */

/* A thread that turns beside the measuring one. Zeroed before use. */
struct beside {
	clockid_t clock; /* of its CPU time */
	bool told;       /* atomics only */
};

/* The thread itself, before it turns: how to know what it has had of a CPU. */
void beside_tell(struct beside *beside);

struct contender {
	const char *name;
	void *self;
	const struct port *ports;
	unsigned n_ports;
	const struct traffic *traffic; /* of the stand-in; NULL: none */
	bool on_send;                  /* the stand-in writes packets that are sent */
	/* A burst in each direction. */
	void (*turn)(void *self);
	/* Packets received and dropped so far. */
	void (*counted)(const void *self, uint64_t *received, uint64_t *dropped);
	/* Runs it for a while before it counts, however it gets into its stride; NULL: just so. */
	void (*commit)(void *self, unsigned ms);
	/* After a slice in which it dropped this share of the packets; NULL: nothing. */
	void (*adapt)(void *self, double dropped);
	/* Around each of its slices; either may be NULL. */
	void (*begin)(void *self);
	void (*end)(void *self);
	void (*close)(void *self);
	const struct beside *beside; /* who shares in the work, or NULL */
	unsigned longer;             /* slices are so many times as long; 0: once */

	/* results */
	double *cycles; /* a packet, in each round */
	uint64_t received, dropped, steps;
};

/* Bare forwarding, and what others build on it (fastpath_peers.c). */
struct contender io_contender(const struct port *ports, const struct traffic *traffic);
/* Forwarding by two threads, each on two ports and queues of its own: the second on those from
 * `apart` ports on, or on queue 1 of the same if that is 0. */
struct contender io_two_contender(
	const struct port *ports, unsigned apart, const struct traffic *traffic);

struct contender mac_contender(const struct port *ports, const struct traffic *traffic);

/* rte_lpm_lookupx4 and rte_meter's srTCM; of the policies a share `over` drops all. */
struct contender library_contender(const struct port *ports, const struct traffic *traffic,
	const struct prefixes *prefixes, double over);

/* The library with an exact match of the 5-tuple by rte_hash in place of the prefix. */
struct contender hash_contender(
	const struct port *ports, const struct traffic *traffic, const struct prefixes *prefixes);

/* A hierarchical scheduler: rte_sched with a pipe for each of PIPES destinations. */
struct contender sched_contender(const struct port *ports, const struct traffic *traffic);

/* ---- the appliance (fastpath_instance.c) ---- */

struct instance_params {
	const struct port *ports;        /* borrowed; NULL: net_null's, its own */
	const char *const *devices;      /* two a wire */
	unsigned wires;                  /* 0: one */
	const struct prefixes *prefixes; /* NULL: one policy that matches everything */
	unsigned policies;               /* the first so many of them */
	bool v6;
	unsigned clients;  /* of a customer, and those of a link: three levels; 0: one */
	bool sources;      /* each policy limits each source by itself */
	double over;       /* share of the policies that drop nearly all */
	const char *limit; /* of the others; NULL: one that is never reached */
	const char *burst; /* likewise; NULL: one that is never used up */
	const char *meter; /* of all; NULL: a token bucket */
	const char *keys;  /* of each policy beside all these, or NULL */
	const char *allocator;
	unsigned workers;
	unsigned cpu[2];       /* of the workers; cpu of control is the other one */
	const char *directory; /* for its socket */
	const char *gossip;    /* the key "gossip" and its value, or NULL: a group of one */
};

/* Whether policy i is one of the share that drops nearly all. */
static inline bool policy_is_over(unsigned i, double share)
{
	return (unsigned)((double)(i + 1) * share) != (unsigned)((double)i * share);
}

/* One of the appliance's boxes; its workers turn when they are told. */
struct bench_instance {
	struct config *config;
	struct instance inst;
	struct instance_params params;
	struct around *around; /* what happens beside it in its slices, or NULL */
	struct beside beside;  /* the second worker, if launched */
	bool launched;         /* the second worker turns too, on its lcore */
	bool stop;
	double pressed;           /* limit of each policy that is pressed on, bytes a second */
	double lacking;           /* sum over the slices of the share that it did not drop */
	double load_s, prepare_s; /* of CPU: to read the configuration, to set up the box */
};

/* Seconds of CPU that this thread has used: sleeps and neighbours do not count. */
double cpu_seconds(void);

struct bench_instance *bench_instance_open(const struct instance_params *params);
void bench_instance_close(void *self);

/* Around a time in which the measuring thread turns the first worker: all that runs beside it. */
void bench_instance_begin(void *self);
void bench_instance_end(void *self);

/* Its workers, the first of them on the measuring thread. */
struct contender instance_contender(
	const char *name, struct bench_instance *bench, const struct traffic *traffic);

/* All boxes from now on use no instructions that only some CPUs have. */
void bench_instance_portable(void);

/* Returns true if this CPU has instructions that only some CPUs have, and Weir uses them. */
bool bench_has_vectors(void);

/* A box without what only some CPUs have, which another contender prepares and closes. */
struct contender portable_contender(struct bench_instance *bench, const struct traffic *traffic);

/* Only its classifier. */
struct contender classify_contender(struct bench_instance *bench, const struct traffic *traffic);

/* The configuration of a box as text; free() it. */
char *config_text(const struct instance_params *params, size_t *len);

/* ---- pressure (fastpath_pressure.c) ---- */

/* Part of the packets that a pressed box drops. */
#define PRESSED_SHARE 0.5

/* A box with one worker whose limits follow its rate, so that it drops that share. */
struct contender pressed_contender(struct bench_instance *bench, const struct traffic *traffic);

/* ---- what happens around a box (fastpath_around.c) ---- */

enum {
	AROUND_CONTROL = 1, /* the control loop and its telemetry socket, on control's CPU */
	AROUND_READERS = 2, /* three clients that each ask ten times a second */
	AROUND_PEER = 4,    /* another limiter, on loopback, whose demand changes */
};

/* Makes these happen in every slice of the box's contenders from now on. */
void around_open(struct bench_instance *bench, int what, const char *key_file, uint16_t peer_port);
void around_close(struct bench_instance *bench);
void around_begin(struct around *around);
void around_end(struct around *around);

/* Runs the box with its control loop. */
void around_commit(struct bench_instance *bench, unsigned ms);

/* A free UDP port of loopback. */
uint16_t free_udp_port(void);

/* ---- memory (fastpath_memory.c) ---- */

/* Bytes that the process has in use: allocated in DPDK's heaps, and resident beside them. */
double memory_taken(void);

/*
 * Cycles that a line of 256 kB takes, where lines are side by side ("packed") and where each has
 * 4 kB of its own ("spread") (fastpath_pages.c). Where huge pages are whole both are the same.
 */
json_t *pages_measure(void);

/* ---- rounds (fastpath_rounds.c) ---- */

struct lab {
	unsigned rounds;
	uint64_t slice;   /* ticks */
	unsigned turns;   /* instead, if it is not 0 */
	const char *step; /* contenders whose instructions count, "all", or NULL */
	unsigned settle_ms;
	unsigned long_us;         /* of slices in which the control loop ticks a few times */
	unsigned n_traffic;       /* packets until a stream repeats */
	unsigned policies, scale; /* of most boxes; of the largest */
	unsigned cpu[2];
	unsigned cold, cached;       /* buffers in the rings of these questions */
	const char *directory;       /* for sockets and keys */
	struct bench_instance *null; /* holds the ports of net_null */
	const struct port *ports;    /* of two wires, a queue for each of two workers */
	json_t *pages, *questions, *once;
};

/* So many turns of a contender, for those who count its instructions. */
void counted_turns(const struct contender *c, unsigned n);

/* ---- instructions (fastpath_steps.c) ---- */

/*
 * Between these, this thread has a clock that advances in the same way in every run. Ends the
 * program with status 77 if the kernel does not hide the TSC, as on some virtual machines.
 */
void steps_begin(void);
void steps_end(void);

/* Instructions of n turns, between the two. */
uint64_t steps_of_turns(const struct contender *c, unsigned n);

/* ---- rounds, continued (fastpath_rounds.c) ---- */

/*
 * The contenders of a question take turns, in both orders; then they are closed and their cycles
 * are in lab->questions.
 */
void lab_ask(struct lab *lab, const char *question, struct contender *contenders, unsigned n);

/* ---- questions (fastpath_questions.c) ---- */

struct question {
	const char *name;
	void (*ask)(struct lab *lab);
};

extern const struct question questions[]; /* ended by one without a name */

/*
 * What packets wait by load (fastpath_latency.c): into lab->once. params: of a box, but for ports.
 */
void ask_latency(
	struct lab *lab, const struct instance_params *params, const struct traffic *packets);

#endif
