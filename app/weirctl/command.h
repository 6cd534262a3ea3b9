/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What weirctl can be asked. A command gathers one JSON document from a limiter, and prints it: so
 * that what scripts get is what operators see, and each half can be tested by itself.
 */
#ifndef WEIR_WEIRCTL_COMMAND_H
#define WEIR_WEIRCTL_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "ask/source.h"
#include "view.h"

struct options;

/* What of a limiter's a word may name. */
enum names {
	NAMES_NONE,
	NAMES_POLICIES,
	NAMES_PEERS,
};

/* Options that not every command takes: bits of command.options. */
enum {
	OPTION_SORT = 1,
	OPTION_INTERVAL = 2,
	OPTION_COUNT = 4,
	OPTION_THRESHOLD = 8,
	OPTION_OUTPUT = 16,
	OPTION_FOLLOW = 32,
	OPTION_WITHIN = 64,
	OPTION_CAPTURE = 128,
	OPTION_TALKERS = 256,
	OPTION_FORGET = 512,
};

#define THRESHOLDS_MAX 32

/* "losing=100", as it was written, of --warning or --critical. */
struct threshold {
	const char *text;
	bool critical;
};

struct request {
	const char *word;         /* behind the command: a name, or how many; NULL */
	const char *const *words; /* all that stands behind a command that takes many */
	unsigned n_words;
	unsigned within_s; /* --confirm-within; 0: none */
	const char *sort;  /* --sort; NULL: as they come */
	double interval_s;
	unsigned long count;                                  /* 0: without end */
	const char *policy, *reason, *seconds, *rate, *write; /* of a capture; or NULL */
	bool whole;
	const char *by;           /* what talkers are told apart by; NULL */
	unsigned for_s;           /* how long they are heard; 0: as the limiter likes */
	unsigned long top;        /* how many of them; 0: some */
	bool unmatched, unparsed; /* those alone */
	bool all_unused;
	bool follow;
	struct threshold thresholds[THRESHOLDS_MAX];
	unsigned n_thresholds;
};

struct command {
	const char *name;
	const char *words;   /* for the usage: "[N]" */
	const char *help;    /* a line */
	const char *more;    /* for "weirctl help COMMAND", beyond that line; NULL */
	const char *example; /* what to write behind "weirctl" */
	const char
		*absent; /* why there is nothing to say, other than that the server is old; NULL */
	bool wants, takes;  /* a word: must be there, may be */
	bool many;          /* words, as many as there are: request->words */
	bool counts;        /* the word is how many */
	bool changes;       /* it does something: not to be done again and again */
	bool takes_a_while; /* it pauses by itself */
	unsigned options;
	enum names names; /* of which the word is one */

	const char *asks;  /* "/weir/peers": with the word, if there is one; NULL: gather() asks */
	const char *lists; /* the reply's array that comes in pages; NULL: it comes at once */

	/* As command_gather(), where more than one thing has to be asked. */
	int (*gather)(struct source *source, const struct request *request, json_t **document);

	/* 0 or -ENOMEM. */
	int (*print)(const json_t *document, struct view *view);

	/* Whether what it asked for was refused; `err` is told why, if it is one. NULL: never. */
	bool (*refused)(const json_t *document, FILE *err);

	/* The exit status that a document means. NULL: 0. */
	int (*verdict)(const json_t *document);

	/*
	 * Says what is wrong with the request, on standard error, before anything is asked. NULL:
	 * nothing can be.
	 */
	bool (*check)(const struct request *request);

	/* Does all by itself, and returns the exit status. NULL: it is gathered and printed. */
	int (*run)(const struct options *options);
};

/* All, ended by one without a name. */
extern const struct command commands[];

/* NULL: there is none of that name. */
const struct command *command_find(const char *name);

/*
 * The one of that name, or the only one that begins so; NULL: there is none, and `err` is told
 * which may have been meant.
 */
const struct command *command_meant(const struct command *all, const char *name, FILE *err);

/* The document: 0; -EINVAL (what was asked makes no sense), or what source.h says. */
int command_gather(const struct command *command, struct source *source,
	const struct request *request, json_t **document);

/* What makes sense behind "policies": of --sort; and how many, all of them without a word. */
bool policies_sort_known(const char *sort);
bool policies_count(const char *word, size_t *n);
bool policies_words_check(const struct request *request);

int status_gather(struct source *source, const struct request *request, json_t **document);
int status_print(const json_t *document, struct view *view);
int status_verdict(const json_t *document);

int check_gather(struct source *source, const struct request *request, json_t **document);
bool check_thresholds(const struct request *request);
int check_run(const struct options *options);

int policies_gather(struct source *source, const struct request *request, json_t **document);
int policies_print(const json_t *document, struct view *view);
int policy_print(const json_t *document, struct view *view);
int limits_print(const json_t *document, struct view *view);

bool override_check(const struct request *request);
int override_gather(struct source *source, const struct request *request, json_t **document);
bool override_refused(const json_t *document, FILE *err);

int rates_gather(struct source *source, const struct request *request, json_t **document);
int rates_print(const json_t *document, struct view *view);

int trials_gather(struct source *source, const struct request *request, json_t **document);
int trials_print(const json_t *document, struct view *view);

int placement_gather(struct source *source, const struct request *request, json_t **document);
int placement_print(const json_t *document, struct view *view);

int peers_gather(struct source *source, const struct request *request, json_t **document);
int peers_print(const json_t *document, struct view *view);
int gossip_print(const json_t *document, struct view *view);
int drops_print(const json_t *document, struct view *view);
int balance_print(const json_t *document, struct view *view);
int workers_print(const json_t *document, struct view *view);
int process_print(const json_t *document, struct view *view);
int ports_print(const json_t *document, struct view *view);

bool ledger_words_check(const struct request *request);
bool ledger_refused(const json_t *document, FILE *err);
int ledger_gather(struct source *source, const struct request *request, json_t **document);
int ledger_print(const json_t *document, struct view *view);
int quota_gather(struct source *source, const struct request *request, json_t **document);
int quota_print(const json_t *document, struct view *view);
int tree_print(const json_t *document, struct view *view);
int etcd_print(const json_t *document, struct view *view);

int events_print(const json_t *document, struct view *view);
bool log_check(const struct request *request);
int log_gather(struct source *source, const struct request *request, json_t **document);
int log_print(const json_t *document, struct view *view);
bool log_refused(const json_t *document, FILE *err);

bool capture_check(const struct request *request);
int capture_run(const struct options *options);

bool talkers_check(const struct request *request);
int talkers_gather(struct source *source, const struct request *request, json_t **document);
int talkers_print(const json_t *document, struct view *view);
bool talkers_refused(const json_t *document, FILE *err);

bool match_check(const struct request *request);
int match_gather(struct source *source, const struct request *request, json_t **document);
int match_print(const json_t *document, struct view *view);
bool match_refused(const json_t *document, FILE *err);

bool explain_check(const struct request *request);
int explain_gather(struct source *source, const struct request *request, json_t **document);
int explain_print(const json_t *document, struct view *view);
bool explain_refused(const json_t *document, FILE *err);

int config_print(const json_t *document, struct view *view);
int reload_gather(struct source *source, const struct request *request, json_t **document);
bool reload_refused(const json_t *document, FILE *err);

int policy_gather(struct source *source, const struct request *request, json_t **document);
int policy_or_change_print(const json_t *document, struct view *view);
bool policy_change_check(const struct request *request);
int change_print(const json_t *document, struct view *view);
bool change_refused(const json_t *document, FILE *err);
int apply_gather(struct source *source, const struct request *request, json_t **document);
int confirm_gather(struct source *source, const struct request *request, json_t **document);
int rollback_gather(struct source *source, const struct request *request, json_t **document);
int history_gather(struct source *source, const struct request *request, json_t **document);
int history_print(const json_t *document, struct view *view);
int diff_gather(struct source *source, const struct request *request, json_t **document);
int diff_print(const json_t *document, struct view *view);

int names_gather(struct source *source, const struct request *request, json_t **document);
int names_print(const json_t *document, struct view *view);
bool names_check(const struct request *request);

bool top_check(const struct request *request);
int top_run(const struct options *options);
int hand_over_run(const struct options *options);
int help_run(const struct options *options);

#endif
