/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Commands of weirctl. A command gathers one JSON document from a limiter, and prints it. So
 * scripts get the same data as operators, and each half can be tested alone.
 */
#ifndef WEIR_WEIRCTL_COMMAND_H
#define WEIR_WEIRCTL_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "ask/source.h"
#include "view.h"

struct options;

/*
 * Exit statuses, in addition to EXIT_SUCCESS, and EXIT_FAILURE for refusals and failures. The
 * command "check" has those of Nagios.
 */
#define EXIT_USAGE     2 /* wrong usage */
#define EXIT_UNHEALTHY 3 /* something is wrong with a limiter that answers */

/* Kind of names that a word of the command can have. */
enum names {
	NAMES_NONE,
	NAMES_POLICIES,
	NAMES_PEERS,
};

/* Options that only some commands take: bits of command.options. */
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
	OPTION_GROUP = 1024,
};

#define THRESHOLDS_MAX 32

/* Argument of --warning or --critical, as typed: "losing=100". */
struct threshold {
	const char *text;
	bool critical;
};

struct request {
	const char *word;         /* after the command: a name or a number; NULL */
	const char *const *words; /* all words after a command that takes many */
	unsigned n_words;
	unsigned within_s; /* --confirm-within; 0: none */
	const char *sort;  /* --sort; NULL: the limiter's order */
	double interval_s;
	unsigned long count;                                  /* 0: without end */
	const char *policy, *reason, *seconds, *rate, *write; /* options of a capture; or NULL */
	bool whole;
	const char *by;           /* --by: key of talkers; NULL */
	unsigned for_s;           /* --for: duration of the sample; 0: the limiter's default */
	unsigned long top;        /* number of talkers; 0: the default */
	bool unmatched, unparsed; /* only these packets */
	bool all_unused;
	bool dead; /* the limiter to remove has ended */
	bool yes;  /* without confirmation */
	bool follow;
	struct threshold thresholds[THRESHOLDS_MAX];
	unsigned n_thresholds;
};

struct command {
	const char *name;
	const char *words;   /* for the usage: "[N]" */
	const char *help;    /* one line */
	const char *more;    /* more text for "weirctl help COMMAND"; NULL */
	const char *example; /* words after "weirctl" */
	const char *absent;  /* error of an empty reply, unless the server is old; NULL */
	bool wants, takes;   /* a word: required, optional */
	bool many;           /* any number of words: request->words */
	bool counts;         /* the word is a number */
	bool changes;        /* has an effect: must not be repeated */
	bool verb_changes;   /* the same if a verb is before the name: "policy set video" */
	bool takes_a_while;  /* pauses by itself */
	unsigned options;
	enum names names; /* kind of names of the word */

	const char *asks;  /* such as "/weir/peers"; a word is appended; NULL: see gather() */
	const char *lists; /* array of the reply that has pages; NULL: one page */

	/* Gathers more than one reply; like command_gather(). */
	int (*gather)(struct source *source, const struct request *request, json_t **document);

	/* Returns 0 or -ENOMEM. */
	int (*print)(const json_t *document, struct view *view);

	/*
	 * Returns true if the request was refused; writes the reason to `err` unless NULL. NULL:
	 * never.
	 */
	bool (*refused)(const json_t *document, FILE *err);

	/* Returns the exit status for a document. NULL: 0. */
	int (*verdict)(const json_t *document);

	/*
	 * Checks the request before anything is sent; reports errors on standard error. NULL:
	 * nothing to check.
	 */
	bool (*check)(const struct request *request);

	/* Does everything by itself; returns the exit status. NULL: gather and print. */
	int (*run)(const struct options *options);
};

/* All commands; the last has no name. */
extern const struct command commands[];

/* Returns NULL if there is no command of that name. */
const struct command *command_find(const char *name);

/*
 * Returns the command of that name, or the only one that begins with it. NULL: none; `err` gets
 * suggestions.
 */
const struct command *command_meant(const struct command *all, const char *name, FILE *err);

/* Gathers the document. Returns 0, -EINVAL (invalid request), or an error of source.h. */
int command_gather(const struct command *command, struct source *source,
	const struct request *request, json_t **document);

/* Returns true if the limiter denied the request, and writes that to `err` unless NULL. */
bool request_denied(const json_t *document, FILE *err);

/*
 * Check the words of "policies": the value of --sort, and the number, which is all without a word.
 */
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

bool group_words_check(const struct request *request);
int group_gather(struct source *source, const struct request *request, json_t **document);
bool group_refused(const json_t *document, FILE *err);
int group_print(const json_t *document, struct view *view);

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
int watch_run(const struct options *options);
int events_follow(const struct options *options);
int hand_over_run(const struct options *options);
int help_run(const struct options *options);

/* Gets an array of the names. Returns 0, or an error of source.h. */
int names_of(struct source *source, enum names kind, json_t **names);

/*
 * Returns a similar name, or the only one that begins with the text: for free(). NULL: none, or no
 * answer.
 */
char *names_meant(struct source *source, enum names kind, const char *text);

#endif
