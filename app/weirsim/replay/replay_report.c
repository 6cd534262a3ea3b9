/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Output of a replay: a row of CSV for each packet, and a summary in JSON. doc/operate/replay.md
 * has the columns and keys.
 */
#include "replay_report.h"
#include "police/charge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "policy/trial.h"
#include "policy/value.h"

#define ROW_BUFFER (1U << 20)

/* Most bytes of a row: three numbers of 20 digits, a name, a prefix, two words, and separators. */
#define ROW_MAX (3 * 20 + CONFIG_NAME_MAX + 64 + 32 + 8)

static const char header[] = "index,time_ns,bytes,policy,source,verdict,reason\n";

int replay_report_init(struct replay_report *report, const struct config *config, FILE *rows)
{
	*report = (struct replay_report){.config = config, .rows = rows, .earliest_ns = UINT64_MAX};
	report->policies = calloc(config->n_policies + 1, sizeof(*report->policies));
	report->trials = calloc(config->n_policies + 1, sizeof(*report->trials));
	if (!report->policies || !report->trials)
		return -ENOMEM;
	if (!rows)
		return 0;
	report->row_buffer = malloc(ROW_BUFFER);
	if (!report->row_buffer)
		return -ENOMEM;
	setvbuf(rows, report->row_buffer, _IOFBF, ROW_BUFFER);
	fputs_unlocked(header, rows);
	return 0;
}

/* Appends a number. printf() takes longer for a row than everything else for its packet. */
static char *append_number(char *at, uint64_t number)
{
	char digits[20];
	unsigned n = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	while (n > 0)
		*at++ = digits[--n];
	*at++ = ',';
	return at;
}

static char *append_text(char *at, const char *text, char end)
{
	size_t n = strlen(text);

	memcpy(at, text, n);
	at[n] = end;
	return at + n + 1;
}

/* Names need no quotes: see name_valid() in lib/policy. */
static void write_row(const struct replay_report *report, const struct frame *frame,
	const struct decision *decision)
{
	char row[ROW_MAX], source[64] = "", *at = row;
	bool matched = decision->policy != CLASSIFY_NONE;

	if (decision->source.family)
		prefix_format(&decision->source, source, sizeof(source));
	at = append_number(at, frame->index);
	at = append_number(at, frame->time_ns);
	at = append_number(at, frame->bytes);
	at = append_text(at, matched ? report->config->policies[decision->policy].name : "", ',');
	at = append_text(at, source, ',');
	at = append_text(at, verdict_name(decision->verdict), ',');
	at = append_text(at, reason_name(decision->reason), '\n');
	fwrite_unlocked(row, 1, (size_t)(at - row), report->rows);
}

static void tally_add(struct tally *tally, uint64_t amount)
{
	tally->packets++;
	tally->amount += amount;
}

static void note_time(struct replay_report *report, uint64_t now_ns)
{
	uint64_t step = report->last_ns - now_ns;

	if (now_ns < report->last_ns) {
		report->steps_back++;
		if (step > report->longest_step_ns)
			report->longest_step_ns = step;
	}
	report->last_ns = now_ns;
	if (now_ns < report->earliest_ns)
		report->earliest_ns = now_ns;
	if (now_ns > report->latest_ns)
		report->latest_ns = now_ns;
}

void replay_report_add(
	struct replay_report *report, const struct frame *frame, const struct decision *decision)
{
	uint32_t at = decision->policy;

	tally_add(&report->total, frame->bytes);
	if (at == CLASSIFY_NONE)
		tally_add(decision->verdict == VERDICT_PASS ? &report->unmatched : &report->refused,
			frame->bytes);
	/* The policy and the parents that it reached, each by its own verdict. */
	for (unsigned k = 0; at != CLASSIFY_NONE && k < decision->n_levels; k++) {
		tally_add(&report->policies[at][decision->levels[k]], decision->cost);
		at = (uint32_t)report->config->policies[at].parent;
	}
	report->reasons[decision->reason]++;
	report->unparsed[decision->unparsed]++;
	report->cut += frame->cut;
	note_time(report, frame->time_ns);
	if (report->rows)
		write_row(report, frame, decision);
}

bool replay_report_failed(const struct replay_report *report)
{
	return report->rows && ferror_unlocked(report->rows);
}

int replay_report_finish(struct replay_report *report)
{
	FILE *rows = report->rows;
	bool failed = replay_report_failed(report);

	report->rows = NULL;
	if (!rows)
		return 0;
	errno = 0;
	if (fclose(rows) != 0 || failed)
		return errno ? -errno : -EIO;
	return 0;
}

static json_t *json_count_value(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *tally_json(const struct tally *tally, const char *amount)
{
	return json_pack("{s:o, s:o}", "packets", json_count_value(tally->packets), amount,
		json_count_value(tally->amount));
}

static json_t *reasons_json(const struct replay_report *report)
{
	static const enum reason shown[] = {REASON_CONFORMS, REASON_LIMIT, REASON_QUOTA,
		REASON_UNMATCHED, REASON_UNMARKABLE, REASON_UNPARSED, REASON_TRUNCATED};
	json_t *json = json_object();

	for (unsigned i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		json_object_set_new(
			json, reason_name(shown[i]), json_count_value(report->reasons[shown[i]]));
	return json;
}

static json_t *unparsed_json(const struct replay_report *report)
{
	json_t *json = json_object();

	for (unsigned i = UNPARSED_NONE + 1; i < UNPARSED_REASONS; i++)
		json_object_set_new(
			json, packet_unparsed_name(i), json_count_value(report->unparsed[i]));
	return json;
}

static json_t *trial_json(const struct policy_totals *totals)
{
	const struct tally passed = {totals->passed_packets, totals->passed_bytes};
	const struct tally dropped = {totals->dropped_packets, totals->dropped_bytes};

	return json_pack("{s:o, s:o}", "passed", tally_json(&passed, "charged"), "dropped",
		tally_json(&dropped, "charged"));
}

static json_t *policy_json(const struct replay_report *report, unsigned i)
{
	const struct policy *policy = &report->config->policies[i];
	const struct tally *tallies = report->policies[i];
	json_t *json = json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", policy->name, "passed",
		tally_json(&tallies[VERDICT_PASS], "charged"), "dropped",
		tally_json(&tallies[VERDICT_DROP], "charged"), "marked",
		tally_json(&tallies[VERDICT_MARK], "charged"), "counted",
		tally_json(&tallies[VERDICT_COUNT], "charged"));

	if (policy_has_trial(policy))
		json_object_set_new(json, "trial", trial_json(&report->trials[i]));
	return json;
}

/* Null without a packet, because there is no time. */
static json_t *time_json(const struct replay_report *report, uint64_t time_ns)
{
	return report->total.packets > 0 ? json_count_value(time_ns) : json_null();
}

static json_t *summary_json(const struct replay_report *report)
{
	json_t *policies = json_array();

	for (unsigned i = 0; i < report->config->n_policies; i++)
		json_array_append_new(policies, policy_json(report, i));
	return json_pack(
		"{s:b, s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"complete", report->complete, "packets", json_count_value(report->total.packets),
		"bytes", json_count_value(report->total.amount), "first_time_ns",
		time_json(report, report->earliest_ns), "last_time_ns",
		time_json(report, report->latest_ns), "steps_back", "packets",
		json_count_value(report->steps_back), "longest_ns",
		json_count_value(report->longest_step_ns), "unsupported",
		json_count_value(report->unsupported), "untimed", json_count_value(report->untimed),
		"cut", json_count_value(report->cut), "unmatched",
		tally_json(&report->unmatched, "bytes"), "refused",
		tally_json(&report->refused, "bytes"), "reasons", reasons_json(report), "unparsed",
		unparsed_json(report), "policies", policies);
}

int replay_report_summary(const struct replay_report *report, FILE *out)
{
	json_t *json = summary_json(report);
	int ret = 0;

	if (!json)
		return -ENOMEM;
	errno = 0;
	if (json_dumpf(json, out, JSON_INDENT(2)) != 0 || fputc('\n', out) == EOF ||
		fflush(out) != 0)
		ret = errno ? -errno : -EIO;
	json_decref(json);
	return ret;
}

void replay_report_free(struct replay_report *report)
{
	if (report->rows)
		fclose(report->rows);
	free(report->row_buffer);
	free(report->policies);
	free(report->trials);
	*report = (struct replay_report){0};
}
