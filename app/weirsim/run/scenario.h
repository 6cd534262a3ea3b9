/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A scenario as written: limiters, policies, the network between them, faults and their times, and
 * traffic. Read and checked like weir's configuration; documented in doc/operate/weirsim.md and
 * config/scenario.schema.json.
 */
#ifndef WEIR_SIM_SCENARIO_H
#define WEIR_SIM_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "json/read.h"
#include "transport/conn.h"
#include "config/group.h"
#include "world/simnet.h"

#define SCENARIO_LIMITERS_MAX 16384
#define SCENARIO_TRAFFIC_MAX  65536
#define SCENARIO_FLOWS_MAX    1000000
#define SCENARIO_FAULTS_MAX   4096
#define SCENARIO_PAIRS_MAX    256
#define SCENARIO_EXPECT_MAX   64
#define SCENARIO_BINS_MAX     1000000             /* intervals of a run */
#define SCENARIO_CELLS_MAX    (UINT64_C(1) << 30) /* intervals of all limiters and flows */

#define LIMITER_EACH   (-1) /* traffic at every limiter */
#define LIMITER_RANDOM (-2) /* each flow at a random limiter */

struct limiter_config {
	char name[CONFIG_NAME_MAX];
	uint64_t offset_ns; /* its clock: offset + time × (1 + drift / 1e6) */
	double drift_ppm;
};

enum fault_kind {
	FAULT_PARTITION,
	FAULT_HEAL,
	FAULT_CRASH,
	FAULT_RESTART,
	FAULT_PAUSE,
	FAULT_NETWORK,
	FAULT_LIMIT,
};

struct fault {
	uint64_t at_ns;
	enum fault_kind kind;
	uint32_t *side;   /* partition: by limiter */
	unsigned limiter; /* crash, restart, pause */
	uint64_t for_ns;  /* pause */
	struct network network;
	unsigned policy;          /* limit: of this policy */
	struct limit_terms terms; /* the new limit and burst */
	unsigned *limiters;       /* n_limiters: get it in this order */
	unsigned n_limiters;
	uint64_t every_ns; /* time from one to the next */
	/* Texts of the scenario. */
	json_t *partition, *changed, *limit, *burst;
	char policy_name[CONFIG_NAME_MAX];
	bool heal;
	char crash[CONFIG_NAME_MAX], restart[CONFIG_NAME_MAX], pause[CONFIG_NAME_MAX];
};

enum traffic_kind {
	TRAFFIC_TCP,
	TRAFFIC_QUIC,
	TRAFFIC_CBR,
	TRAFFIC_POISSON,
	TRAFFIC_ON_OFF,
	TRAFFIC_WEB,
};

/* A link before the limiter. */
struct bottleneck {
	uint64_t rate_bps; /* 0: none */
	uint64_t queue_bytes;
	bool shared;      /* one link for all flows of the entry; false: one a flow */
	uint64_t from_ns; /* begin of the link */
};

/* Bounded Pareto distribution of the answers' sizes, bytes. */
struct sizes {
	double alpha; /* shape */
	uint64_t least, most;
};

struct traffic {
	char name[CONFIG_NAME_MAX];
	enum traffic_kind kind;
	unsigned count; /* flows; at each limiter if LIMITER_EACH */
	char limiter_name[CONFIG_NAME_MAX], policy_name[CONFIG_NAME_MAX];
	int limiter;
	unsigned policy;
	enum transport transport;
	bool ecn;                       /* tcp, web: ECN-capable */
	uint64_t rtt_ns, rtt_spread_ns; /* each flow's is drawn from [rtt, rtt + spread] */
	uint64_t jitter_ns;             /* a packet's delay at its sender, drawn from [0, jitter] */
	uint64_t start_ns, every_ns; /* flow k starts at start + k × every + [0, start_spread] */
	uint64_t start_spread_ns;
	uint64_t stop_ns;       /* 0: at the end */
	uint64_t last_ns;       /* duration of every flow; 0: until stop_ns */
	uint64_t size_bytes;    /* tcp, quic: 0: endless */
	uint64_t rate_bps;      /* cbr; poisson: mean; on-off: while on */
	uint32_t packet_bytes;  /* IP packet of cbr, poisson, on-off; full packet of the others */
	uint64_t on_ns, off_ns; /* on-off: means of exponential times */
	double requests;        /* web: a second, Poisson */
	struct sizes sizes;     /* web */
	struct bottleneck bottleneck;
};

/* Bounds of a number of the summary for the run to pass. */
struct expectation {
	char key[CONFIG_NAME_MAX]; /* key of the summary */
	double least, most;
};

struct scenario {
	char name[CONFIG_NAME_MAX];
	uint64_t seed;
	uint64_t duration_ns, warmup_ns, interval_ns; /* interval of the series */
	struct limiter_config *limiters;
	unsigned n_limiters;
	unsigned n_workers;          /* workers of each limiter */
	struct group group;          /* policies and gossip, as in weir */
	struct ledger_config ledger; /* overlay, lease, promise and drift, as in weir */
	uint64_t commit_ns; /* until a record is on the disk, and the workers have the limits */
	struct network network;
	struct fault *faults;
	unsigned n_faults;
	struct traffic *traffic;
	unsigned n_traffic;
	struct expectation *expect;
	unsigned n_expect;
};

/*
 * Report every error to err with its place, like config_load(). Return 0, -EINVAL, -ENOMEM or an
 * errno of the file.
 */
int scenario_load(const char *path, FILE *err, struct scenario **out);
int scenario_parse(
	const char *text, size_t len, const char *name, FILE *err, struct scenario **out);
void scenario_free(struct scenario *scenario);

/* The key table of a scenario. */

/* Keys of a struct scenario. */
extern const struct key scenario_keys[];

/* Reads a network: keys that are missing keep their values. */
void read_network(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Reads a link between some limiters: keys that are missing keep their values. */
void read_pair(
	struct reader *reader, const struct json_path *path, json_t *value, struct network *link);

#define EXPECTED_BETWEEN "two arrays of limiters such as [[\"l1\"], [\"l2\", \"l3\"]]"

/* Sets the defaults. */
void scenario_init(struct reader *reader, struct scenario *scenario);

/* Returns true for numbers of the summary for which a scenario can have bounds. */
bool summary_has(const char *name);

/*
 * Returns true if the traffic of a policy is a ratio of its limit: it limits bytes, of all sources.
 */
bool summary_has_ratio(const struct policy *policy);
const char *summary_names(void);

#endif
