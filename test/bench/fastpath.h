/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The parts of the fast path's benchmark (fastpath.c): traffic, contenders, and the rounds in which
 * they take turns. One process, one thread that measures; other threads are documented below.
 *
 * Functions of set-up end the program with a message when they fail, because no result is valid
 * then.
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
#define PORTS_MAX    4    /* ports of an instance: two wires */
#define PIPES        4096 /* pipes of rte_sched's port */
#define SECOND_LCORE 2    /* lcore next to the measuring one */
#define TUPLES_MAX   100000

/* Prints a message, like printf, and ends the program. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* Returns true if a list with commas has the name. */
bool is_named(const char *names, const char *name);

/* Returns zeroed memory, or ends the program. */
void *need(size_t bytes);

/* ---- traffic (fastpath_traffic.c) ---- */

enum frame_kind {
	FRAME_V4,
	FRAME_V6,
	FRAME_OPTIONS,  /* IPv4 with 20 bytes of options */
	FRAME_FRAGMENT, /* IPv4, not the first of its packet */
	FRAME_SMALLEST, /* IPv4 without a payload */
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
	DRAW_ZIPF,   /* the k-th policy is 1/k as likely as the first */
	DRAW_CYCLE,  /* each policy once, then again: a line is never still in a cache */
	DRAW_FIRST,  /* always the first policy */
	DRAW_NONE,   /* addresses of no policy */
	DRAW_TUPLES, /* like uniform, one 5-tuple a policy */
	DRAW_SCAN,   /* one destination, each packet from the next source */
};

/* The packets and their order, the same for all contenders. Read-only once created. */
struct traffic {
	unsigned serial; /* unique */
	enum frame_kind kind;
	uint16_t frame_len;
	uint16_t address, ports; /* offsets at which the stand-in writes */
	unsigned n;              /* packets until it repeats: a power of two */
	uint64_t *words; /* a packet's IPv4 source and destination, or the IPv6 destination's two */
	uint8_t header[FRAME_BYTES];
};

struct traffic *traffic_make(
	const struct prefixes *prefixes, enum frame_kind kind, enum drawing draw, unsigned n);
void traffic_free(struct traffic *traffic);

/* Returns the source and destination of a policy's 5-tuple for DRAW_TUPLES. */
uint64_t traffic_tuple(const struct prefixes *prefixes, unsigned policy);

/* Writes the traffic's header into every buffer of a pool. */
void traffic_headers(const struct traffic *traffic, struct rte_mempool *pool);

/* Writes a frame with the header and the addresses of packet i. */
void traffic_frame(const struct traffic *traffic, unsigned i, struct rte_mbuf *mbuf);

/*
 * The stand-in for a wire: a receive callback that writes addresses into each packet of net_null,
 * whose buffer already has the header. On all queues of the ports, from packet `at` on.
 */
void stand_in_attach(
	const struct port *ports, unsigned n_ports, const struct traffic *traffic, unsigned at);
void stand_in_detach(const struct port *ports, unsigned n_ports);

/*
 * A stand-in for packets that circulate in rings: a transmit callback writes the next addresses
 * into each packet. When a packet returns, it is not in a near cache any more.
 */
void stand_in_attach_send(
	const struct port *ports, unsigned n_ports, const struct traffic *traffic, unsigned at);
void stand_in_detach_send(const struct port *ports, unsigned n_ports);

/* ---- contenders ---- */

/* A thread that runs next to the measuring one. Zeroed before use. */
struct companion {
	clockid_t clock; /* CPU time of the thread */
	bool told;       /* atomics only */
};

/* Called by the thread before it runs: publishes its CPU clock. */
void companion_publish(struct companion *companion);

struct contender {
	const char *name;
	void *self;
	const struct port *ports;
	unsigned n_ports;
	const struct traffic *traffic; /* traffic of the stand-in; NULL: none */
	bool on_send;                  /* the stand-in writes on transmission */
	/* Forwards a burst in each direction. */
	void (*turn)(void *self);
	/* Returns the packets received and dropped so far. */
	void (*counted)(const void *self, uint64_t *received, uint64_t *dropped);
	/* Warms it up before it counts; NULL: not needed. */
	void (*commit)(void *self, unsigned ms);
	/*
	 * Adapts it after a slice in which it dropped this share of the packets; NULL: not needed.
	 */
	void (*adapt)(void *self, double dropped);
	/* Called around each of its slices; either can be NULL. */
	void (*begin)(void *self);
	void (*end)(void *self);
	void (*close)(void *self);
	const struct companion *companion; /* a thread that shares the work, or NULL */
	unsigned longer;                   /* factor of the slice's length; 0: 1 */

	/* results */
	double *cycles; /* cycles a packet, in each round */
	uint64_t received, dropped, steps;
};

/* Bare forwarding, and forwarders on other libraries (fastpath_peers.c). */
struct contender io_contender(const struct port *ports, const struct traffic *traffic);
/*
 * Forwarding by two threads, each on its own two ports and queues. The second uses the ports from
 * `apart` on, or queue 1 of the same ports if that is 0.
 */
struct contender io_two_contender(
	const struct port *ports, unsigned apart, const struct traffic *traffic);

struct contender mac_contender(const struct port *ports, const struct traffic *traffic);

/* rte_lpm_lookupx4 and rte_meter's srTCM; the share `over` of the policies drops all. */
struct contender library_contender(const struct port *ports, const struct traffic *traffic,
	const struct prefixes *prefixes, double over);

/* The library with rte_hash on the 5-tuple, an exact match, in place of the prefix. */
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
	unsigned policies;               /* number of the first prefixes used */
	bool v6;
	unsigned clients;  /* a customer, and customers a link: 3 levels; 0: one */
	bool sources;      /* each policy limits each source separately */
	double over;       /* share of the policies that drop nearly all */
	const char *limit; /* limit of the others; NULL: one that is never reached */
	const char *burst; /* burst of the others; NULL: one that is never used up */
	const char *meter; /* meter of all; NULL: a token bucket */
	const char *keys;  /* additional keys of each policy, or NULL */
	const char *allocator;
	unsigned workers;
	unsigned cpu[2];       /* CPUs of the workers; control runs on the other one */
	const char *directory; /* for its socket */
	const char *gossip;    /* key "gossip" and its value, or NULL: a group of one */
};

/* Returns true if policy i is one of the share that drops nearly all. */
static inline bool policy_is_over(unsigned i, double share)
{
	return (unsigned)((double)(i + 1) * share) != (unsigned)((double)i * share);
}

/* An instance of Weir whose workers run only when called. */
struct bench_instance {
	struct config *config;
	struct instance inst;
	struct instance_params params;
	struct around *around;      /* sum over the slices: drops missing to the target share */
	struct companion companion; /* the second worker, if launched */
	bool launched;              /* the second worker runs too, on its lcore */
	bool stop;
	double pressed;           /* limit of each policy under pressure, bytes a second */
	double lacking;           /* sum over the slices of the share that it did not drop */
	double load_s, prepare_s; /* CPU time: to read the configuration, to set up */
};

/* Returns the CPU seconds of this thread: sleeps and other processes do not count. */
double cpu_seconds(void);

struct bench_instance *bench_instance_open(const struct instance_params *params);
void bench_instance_close(void *self);

/*
 * Called around a time in which the measuring thread runs the first worker. Starts and stops the
 * second worker and the activity around them.
 */
void bench_instance_begin(void *self);
void bench_instance_end(void *self);

/* Its workers, the first of them on the measuring thread. */
struct contender instance_contender(
	const char *name, struct bench_instance *bench, const struct traffic *traffic);

/* Makes all later instances use only instructions that every CPU has. */
void bench_instance_portable(void);

/* Returns true if this CPU has instructions that only some CPUs have, and Weir uses them. */
bool bench_has_vectors(void);

/* An instance without optional instructions; another contender prepares and closes it. */
struct contender portable_contender(struct bench_instance *bench, const struct traffic *traffic);

/* Only its classifier. */
struct contender classify_contender(struct bench_instance *bench, const struct traffic *traffic);

/* Returns an instance's configuration as text; free() it. */
char *config_text(const struct instance_params *params, size_t *len);

/* ---- pressure (fastpath_pressure.c) ---- */

/* Part of the packets that an instance under pressure drops. */
#define PRESSED_SHARE 0.5

/* An instance with one worker whose limits follow its rate, so that it drops that share. */
struct contender pressed_contender(struct bench_instance *bench, const struct traffic *traffic);

/* ---- activity around an instance (fastpath_around.c) ---- */

enum {
	AROUND_CONTROL = 1, /* the control loop and its telemetry socket, on control's CPU */
	AROUND_READERS = 2, /* three clients that each send ten requests a second */
	AROUND_PEER = 4,    /* another limiter, on loopback, whose demand changes */
};

/* Starts this activity in every slice of the instance's contenders from now on. */
void around_open(struct bench_instance *bench, int what, const char *key_file, uint16_t peer_port);
void around_close(struct bench_instance *bench);
void around_begin(struct around *around);
void around_end(struct around *around);

/* Runs the instance with its control loop. */
void around_commit(struct bench_instance *bench, unsigned ms);

/* Returns a free UDP port of loopback. */
uint16_t free_udp_port(void);

/* ---- memory (fastpath_memory.c) ---- */

/* Returns the process's memory in bytes: allocated in DPDK's heaps, and resident outside them. */
double memory_taken(void);

/*
 * Measures cycles of a line in 256 kB, if lines are adjacent ("packed") and if each has its own 4
 * kB ("spread") (fastpath_pages.c). With real huge pages both are equal.
 */
json_t *pages_measure(void);

/* ---- rounds (fastpath_rounds.c) ---- */

struct lab {
	unsigned rounds;
	uint64_t slice;   /* ticks */
	unsigned turns;   /* turns of a slice in place of ticks, if not 0 */
	const char *step; /* contenders whose instructions are counted, "all", or NULL */
	unsigned settle_ms;
	unsigned long_us;         /* slice in which the control loop ticks a few times */
	unsigned n_traffic;       /* packets until a stream repeats */
	unsigned policies, scale; /* policies of most instances; of the largest */
	unsigned cpu[2];
	unsigned cold, cached;       /* buffers in the rings of these questions */
	const char *directory;       /* for sockets and keys */
	struct bench_instance *null; /* holds the ports of net_null */
	const struct port *ports;    /* two wires, with a queue for each of two workers */
	json_t *pages, *questions, *once;
};

/* Runs n turns of a contender, to count its instructions. */
void counted_turns(const struct contender *c, unsigned n);

/* ---- instructions (fastpath_steps.c) ---- */

/*
 * Between these calls, this thread has a clock that advances equally in every run. Ends the program
 * with status 77 if the kernel does not hide the TSC, as on some virtual machines.
 */
void steps_begin(void);
void steps_end(void);

/* Returns the instructions of n turns; called between the two. */
uint64_t steps_of_turns(const struct contender *c, unsigned n);

/* ---- rounds, continued (fastpath_rounds.c) ---- */

/*
 * Lets the contenders of a question take turns, in both orders. Then closes them and puts their
 * cycles into lab->questions.
 */
void lab_ask(struct lab *lab, const char *question, struct contender *contenders, unsigned n);

/* ---- questions (fastpath_questions.c) ---- */

struct question {
	const char *name;
	void (*ask)(struct lab *lab);
};

extern const struct question questions[]; /* ends with an entry without a name */

/*
 * Delay of packets by load (fastpath_latency.c): writes to lab->once. `params` describes the
 * instance, except its ports.
 */
void ask_latency(
	struct lab *lab, const struct instance_params *params, const struct traffic *packets);

#endif
