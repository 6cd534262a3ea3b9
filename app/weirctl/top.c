/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "top": policies with their present rates, on a terminal that is redrawn, or as a
 * series of tables.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers.h"
#include "follow.h"
#include "human.h"
#include "policies.h"
#include "field.h"
#include "terminal.h"
#include "top.h"

#define MS_PER_S 1000.0

/* Lines of a terminal around the rows: sums, an empty one, heads, columns left out. */
#define AROUND 4

/* Widths of numbers, so that columns stay in place. */
#define RATE_WIDTH "%11s"

struct top_order {
	const char *name;
	int key;
	const char *by[3]; /* members of which a policy has one */
};

static const struct top_order orders[] = {
	{"dropping", 'd', {"dropped_pps", NULL, NULL}},
	{"demand", 'm', {"demand_bps", "demand_per_s", NULL}},
	{"share", 's', {"share", NULL, NULL}},
	{"passing", 'p', {"passed_pps", NULL, NULL}},
	{"name", 'n', {NULL, NULL, NULL}},
};
#define ORDERS (sizeof(orders) / sizeof(*orders))

struct top {
	const struct options *options;
	const struct targets *targets;
	const struct top_order *order;
	size_t most, from;
	unsigned rows;    /* policies that the terminal has room for */
	size_t n;         /* policies in the last picture */
	bool interactive; /* keys are read, and a screen is redrawn */
};

/* --- requests -------------------------------------------------------------------------------- */

static void add_part(struct source *source, json_t *document, const char *key, const char *request)
{
	json_t *value = NULL;

	if (source_get(source, request, &value) == 0)
		json_object_set_new(document, key, value);
}

/* Gathers the rates until the next look; the first time also looks before that. */
static int query_rates(struct target *target, const void *context, json_t **document)
{
	const struct options *options = context;
	struct source *source = &target->client.source;
	json_t *now;
	int ret = 0;

	if (!target->memory)
		ret = look_at_policies(source, SIZE_MAX, &target->memory);
	if (ret == 0) {
		source->pause(source, (unsigned)(options->request.interval_s * MS_PER_S));
		ret = look_at_policies(source, SIZE_MAX, &now);
	}
	if (ret)
		return ret;
	*document = json_pack("{s:o}", "policies", look_rates(target->memory, now));
	json_decref(target->memory);
	target->memory = now;
	add_part(source, *document, "process", "/weir/process");
	add_part(source, *document, "health", "/weir/health");
	return 0;
}

/* --- order ----------------------------------------------------------------------------------- */

static double weight_of(const json_t *policy, const struct top_order *order)
{
	for (unsigned i = 0; order->by[i]; i++)
		if (json_is_number(json_object_get(policy, order->by[i])))
			return json_number_value(json_object_get(policy, order->by[i]));
	return -1;
}

/* Largest first; equal ones by name. */
static int compare_top_rows(const void *a, const void *b)
{
	const struct top_row *left = a, *right = b;
	int names;

	if (left->weight != right->weight)
		return left->weight < right->weight ? 1 : -1;
	names = strcmp(left->name, right->name);
	return names ? names : strcmp(left->box, right->box);
}

struct top_row *top_rows(const struct targets *targets, const char *order, size_t *n)
{
	const struct top_order *by = orders;
	struct top_row *rows;
	size_t room = 1, i;
	json_t *policy;

	while (by + 1 < orders + ORDERS && order && strcmp(by->name, order) != 0)
		by++;
	for (unsigned b = 0; b < targets->n; b++)
		room += json_array_size(
			json_object_get(targets->each[b].last.document, "policies"));
	rows = calloc(room, sizeof(*rows));
	*n = 0;
	for (unsigned b = 0; rows && b < targets->n; b++) {
		const struct target *target = &targets->each[b];

		json_array_foreach (json_object_get(target->last.document, "policies"), i, policy) {
			const char *name = json_string_value(json_object_get(policy, "name"));

			rows[(*n)++] = (struct top_row){
				target->name, name ? name : "?", weight_of(policy, by), policy};
		}
	}
	if (rows)
		qsort(rows, *n, sizeof(*rows), compare_top_rows);
	return rows;
}

/* --- contents -------------------------------------------------------------------------------- */

/* A column, and a member that some policy must have for it; NULL: the column is always shown. */
struct top_column {
	enum policy_number_id number;
	enum { TOP_NUMBER, TOP_PPS, TOP_SHARE } what; /* packets of a counter; part of it */
	unsigned rank;
	const char *of;
};

static const struct top_column top_columns[] = {
	{NUMBER_name_TEXT, TOP_NUMBER, 0, NULL},
	{NUMBER_parent_TEXT, TOP_NUMBER, 8, "parent"},
	{NUMBER_limit_RATE, TOP_NUMBER, 6, NULL},
	{NUMBER_share_RATE, TOP_NUMBER, 6, "share"},
	{NUMBER_peak_RATE, TOP_NUMBER, 7, "peak"},
	{NUMBER_local_limit_RATE, TOP_NUMBER, 5, NULL},
	{NUMBER_local_peak_RATE, TOP_NUMBER, 5, "peak"},
	{NUMBER_local_limit_RATE, TOP_SHARE, 3, NULL},
	{NUMBER_demand_RATE, TOP_NUMBER, 2, NULL},
	{NUMBER_global_demand_RATE, TOP_NUMBER, 6, "global_demand"},
	{NUMBER_passed_VOLUME, TOP_NUMBER, 1, NULL},
	{NUMBER_passed_PACKETS, TOP_PPS, 7, NULL},
	{NUMBER_dropped_VOLUME, TOP_NUMBER, 4, NULL},
	{NUMBER_dropped_PACKETS, TOP_PPS, 0, NULL},
};
#define TOP_COLUMNS (sizeof(top_columns) / sizeof(*top_columns))

static struct field top_field(const struct top_column *column)
{
	static const struct field share = {"SHARE", "share", KIND_SHARE};

	if (column->what == TOP_SHARE)
		return share;
	return column->what == TOP_PPS ? number_pps_fields[column->number]
				       : number_field(column->number);
}

/* Returns true if some policy of the rows has a value in that column, a text or a rate. */
static bool any_has(const struct top_row *rows, size_t n, const struct top_column *column)
{
	const struct field rate = {"", column->of ? column->of : "", KIND_RATE};
	char text[FIELD_TEXT_MAX];

	for (size_t i = 0; column->of && i < n; i++)
		if (json_is_string(json_object_get(rows[i].policy, column->of)) ||
			strcmp(field_text(rows[i].policy, &rate, text), "-") != 0)
			return true;
	return !column->of;
}

static void add_top_row(struct view *view, const struct top_row *row,
	const struct top_column *const *shown, unsigned n)
{
	char text[TOP_COLUMNS][FIELD_TEXT_MAX], value[FIELD_TEXT_MAX];
	const char *cells[TOP_COLUMNS];

	for (unsigned k = 0; k < n; k++) {
		const struct field field = top_field(shown[k]);
		bool padded = field.kind != KIND_TEXT && field.kind != KIND_SHARE;

		field_text(row->policy, &field, value);
		snprintf(text[k], sizeof(text[k]), padded ? RATE_WIDTH : "%s", value);
		cells[k] = text[k];
	}
	view_row(view, cells);
}

/* Shows the columns that some policy on the screen has. */
static void add_rows(struct view *view, const struct top_row *rows, size_t n, bool boxes)
{
	const struct top_column *shown[TOP_COLUMNS];
	struct column columns[TOP_COLUMNS];
	unsigned n_shown = 0;

	for (size_t k = 0; k < TOP_COLUMNS; k++)
		if (any_has(rows, n, &top_columns[k])) {
			const struct field field = top_field(&top_columns[k]);

			columns[n_shown] = (struct column){
				field.head, top_columns[k].rank, field.kind != KIND_TEXT};
			shown[n_shown++] = &top_columns[k];
		}
	for (size_t i = 0; i < n || i == 0; i++) {
		if (i == 0 || boxes) {
			view_of_box(view, boxes && n ? rows[i].box : NULL);
			view_table(view, TABLE_LIST, columns, n_shown);
		}
		if (i < n)
			add_top_row(view, &rows[i], shown, n_shown);
	}
}

/* Returns the names of policies with children. */
static json_t *names_of_parents(const json_t *policies)
{
	json_t *parents = json_object();
	const json_t *policy;
	size_t i;

	json_array_foreach (policies, i, policy) {
		const char *parent = json_string_value(json_object_get(policy, "parent"));

		if (parent)
			json_object_set_new(parents, parent, json_true());
	}
	return parents;
}

/*
 * Returns passed packets a second. A parent also counts those of its children, which are left out.
 */
static double passed_of(const json_t *policies)
{
	const json_t *policy;
	double sum = 0;
	size_t i;

	json_array_foreach (policies, i, policy)
		if (!json_is_string(json_object_get(policy, "parent")))
			sum += json_number_value(json_object_get(policy, "passed_pps"));
	return sum;
}

/* Returns dropped packets a second. A child also counts drops by its parent, which is left out. */
static double dropped_of(const json_t *policies)
{
	json_t *parents = names_of_parents(policies);
	const json_t *policy;
	double sum = 0;
	size_t i;

	json_array_foreach (policies, i, policy) {
		const char *name = json_string_value(json_object_get(policy, "name"));

		if (name && !json_object_get(parents, name))
			sum += json_number_value(json_object_get(policy, "dropped_pps"));
	}
	json_decref(parents);
	return sum;
}

/* Returns the sum of all limiters that have answered. */
static double sum_of(const struct targets *targets, double (*of)(const json_t *policies))
{
	double sum = 0;

	for (unsigned b = 0; b < targets->n; b++)
		sum += of(json_object_get(targets->each[b].last.document, "policies"));
	return sum;
}

/* "ams: up 3 d 4 h, 3 policies; worker 1 is stuck", or since when it is gone. */
static void add_box_line(json_t *lines, const struct target *target)
{
	const struct field uptime = {"", "process.uptime_s", KIND_SECONDS};
	const struct field alarm = {"", "health.alarms", KIND_TEXT};
	char up[FIELD_TEXT_MAX], alarms[FIELD_TEXT_MAX];
	size_t n = json_array_size(json_object_get(target->last.document, "policies"));
	const json_t *health = json_object_get(target->last.document, "health");
	bool wrong = json_array_size(json_object_get(health, "alarms")) > 0;

	if (target->last.silent_since)
		json_array_append_new(lines, json_sprintf("%s: %s", target->name,
						     target->last.why ? target->last.why : "gone"));
	else if (target->last.document)
		json_array_append_new(lines,
			json_sprintf("%s: up %s, %zu %s%s%s", target->name,
				field_text(target->last.document, &uptime, up), n,
				n == 1 ? "policy" : "policies", wrong ? "; " : "",
				wrong ? field_text(target->last.document, &alarm, alarms) : ""));
}

static json_t *head_lines(const struct top *top)
{
	double pass_pps = sum_of(top->targets, passed_of);
	double drop_pps = sum_of(top->targets, dropped_of);
	char passes[HUMAN_MAX], drops[HUMAN_MAX];
	json_t *lines = json_array();

	for (unsigned i = 0; i < top->targets->n; i++)
		add_box_line(lines, &top->targets->each[i]);
	json_array_append_new(
		lines, json_sprintf("policies pass %s, drop %s; sorted by %s%s",
			       human_amount(pass_pps, "pkt/s", passes),
			       human_amount(drop_pps, "pkt/s", drops), top->order->name,
			       top->interactive ? " (keys: d m s p n, q)" : ""));
	return lines;
}

/* Writes the rows that a terminal has room for, from the scroll position on. */
static void write_picture(struct top *top, FILE *out, unsigned columns, unsigned lines)
{
	struct view *view = view_new();
	json_t *head = head_lines(top);
	size_t taken = json_array_size(head) + AROUND, n, i;
	struct top_row *rows = top_rows(top->targets, top->order->name, &n);
	char text[VIEW_CELL_MAX];
	const json_t *line;

	top->rows = lines > taken ? lines - (unsigned)taken : 1;
	top->n = n < top->most ? n : top->most;
	if (top->from + top->rows > top->n)
		top->from = top->n > top->rows ? top->n - top->rows : 0;
	n = top->n - top->from < top->rows ? top->n - top->from : top->rows;
	json_array_foreach (head, i, line)
		fprintf(out, "%s\n", view_shorten(json_string_value(line), columns, text));
	fputc('\n', out);
	if (view && rows)
		add_rows(view, rows + top->from, n, top->targets->n > 1);
	if (view)
		view_print(view, out, columns);
	view_free(view);
	json_decref(head);
	free(rows);
}

/* Redraws each line in its place, and clears the rest of it, so that nothing flickers. */
static int draw_screen(struct top *top)
{
	unsigned columns = 0, lines = 0, line = 0;
	char *text = NULL, *frame = NULL;
	size_t size, frame_size;
	FILE *out = open_memstream(&text, &size), *screen = open_memstream(&frame, &frame_size);
	int ret = out && screen ? 0 : -ENOMEM;

	terminal_size(&columns, &lines);
	if (ret == 0)
		write_picture(top, out, top->options->wide ? UINT16_MAX : columns, lines);
	if (out)
		fclose(out);
	if (screen)
		fputs("\033[H", screen);
	for (char *at = text; ret == 0 && *at && line < lines; line++) {
		size_t n = strcspn(at, "\n");

		fprintf(screen, "%s%.*s\033[K", line ? "\r\n" : "", (int)n, at);
		at += n + (at[n] == '\n');
	}
	if (screen) {
		fputs("\033[J", screen);
		fclose(screen);
	}
	if (ret == 0 && fwrite(frame, 1, frame_size, stdout) != frame_size)
		ret = -EIO;
	free(text);
	free(frame);
	return ret || fflush(stdout) ? -EIO : 0;
}

static int show_top(void *context, const struct targets *targets)
{
	struct top *top = context;
	unsigned columns = 0, lines;
	int ret = 0;

	top->targets = targets;
	if (top->interactive) {
		ret = draw_screen(top);
	} else if (top->options->json) {
		ret = answers_write_documents(targets, stdout);
	} else {
		if (top->options->wide || !terminal_size(&columns, &lines))
			columns = 0;
		write_picture(top, stdout, columns ? columns : UINT16_MAX, UINT32_MAX);
		fputc('\n', stdout);
	}
	return ret || fflush(stdout) ? -EIO : 0;
}

/* --- keys ------------------------------------------------------------------------------------ */

/* Returns false if the user ends the program. */
static bool obey_key(struct top *top, int key)
{
	size_t page = top->rows > 1 ? top->rows - 1 : 1, last = top->n ? top->n - 1 : 0;

	for (size_t i = 0; i < ORDERS; i++)
		if (orders[i].key == key)
			top->order = &orders[i];
	if (key == KEY_UP || key == 'k')
		top->from -= top->from > 0;
	else if (key == KEY_DOWN || key == 'j')
		top->from++;
	else if (key == KEY_PAGE_UP || key == 'b')
		top->from -= top->from < page ? top->from : page;
	else if (key == KEY_PAGE_DOWN || key == ' ')
		top->from += page;
	else if (key == KEY_HOME || key == 'g')
		top->from = 0;
	else if (key == KEY_END || key == 'G')
		top->from = last;
	return key != 'q';
}

/* Returns false if the user ends the program, or standard input has ended. */
static bool read_keys(void *context)
{
	struct top *top = context;
	char text[64];
	ssize_t n = read(STDIN_FILENO, text, sizeof(text));

	for (unsigned at = 0, used; at < (unsigned)(n > 0 ? n : 0); at += used)
		if (!obey_key(top, terminal_key(text + at, (unsigned)n - at, &used)))
			return false;
	return n > 0;
}

bool top_check(const struct request *request)
{
	size_t n;

	if (!policies_count(request->word, &n)) {
		fprintf(stderr, "weirctl: %s: expected how many\n", request->word);
		return false;
	}
	for (size_t i = 0; request->sort && i < ORDERS; i++)
		if (strcmp(orders[i].name, request->sort) == 0)
			return true;
	if (request->sort)
		fprintf(stderr, "weirctl: %s: expected dropping, demand, share, passing or name\n",
			request->sort);
	return !request->sort;
}

int top_run(const struct options *options)
{
	struct top top = {.options = options, .order = orders};
	unsigned columns, lines;
	struct follow_view view = {.query = query_rates, .show = show_top};

	for (size_t i = 0; options->request.sort && i < ORDERS; i++)
		if (strcmp(orders[i].name, options->request.sort) == 0)
			top.order = &orders[i];
	policies_count(options->request.word, &top.most);
	top.interactive = !options->json && terminal_size(&columns, &lines) && isatty(STDIN_FILENO);
	if (top.interactive)
		view.read_keys = read_keys;
	return follow_run(options, &view, &top);
}
