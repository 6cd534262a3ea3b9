/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "view.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <libsmartcols.h>

#include "json/printable.h"

#define BETWEEN  2 /* terminal columns between two columns of a table */
#define ELLIPSIS "\xe2\x80\xa6"

/* Width of a control character, written as "\x1b". */
#define ESCAPED 4

/* Width that remains of a text while columns can be left out, and after that. */
#define TEXT_LEAST 13
#define TEXT_FLOOR 3

struct shown_table {
	enum table_kind kind;
	struct column columns[VIEW_COLUMNS + 1]; /* the first one names the limiter */
	unsigned n;
	size_t rows, room;
	char **cells; /* rows of n */
};

struct view {
	struct shown_table *tables;
	size_t n, current;
	size_t within; /* tables of this limiter so far */
	char *box;
	bool failed;
};

/* --- width of texts -------------------------------------------------------------------------- */

/* Returns the bytes of the first character of a text, and its columns. */
static size_t next_char(const char *text, unsigned *columns)
{
	wchar_t c;
	mbstate_t state = {0};
	size_t bytes = mbrtowc(&c, text, MB_CUR_MAX, &state);
	int width;

	if (bytes == 0 || bytes > MB_CUR_MAX) { /* not a character */
		*columns = ESCAPED;
		return 1;
	}
	width = wcwidth(c);
	if (text[0] == '\\' && text[1] == 'x')
		width = ESCAPED;
	*columns = width < 0 ? ESCAPED * (unsigned)bytes : (unsigned)width;
	return bytes;
}

unsigned view_width(const char *text)
{
	unsigned width = 0, columns;

	while (*text) {
		text += next_char(text, &columns);
		width += columns;
	}
	return width;
}

/* Returns the bytes of a text that take at most so many columns. */
static size_t head_bytes(const char *text, unsigned width)
{
	size_t used = 0, bytes;
	unsigned columns;

	while (text[used]) {
		bytes = next_char(text + used, &columns);
		if (columns > width)
			break;
		width -= columns;
		used += bytes;
	}
	return used;
}

char *view_shorten(const char *text, unsigned width, char out[VIEW_CELL_MAX])
{
	unsigned whole = view_width(text), tail = width > 1 ? (width - 1) / 2 : 0;
	size_t head;
	const char *rest = text;
	unsigned columns;

	if (whole <= width) {
		snprintf(out, VIEW_CELL_MAX, "%s", text);
		return out;
	}
	head = head_bytes(text, width > 1 ? width - 1 - tail : 0);
	while (*rest && whole > tail) {
		rest += next_char(rest, &columns);
		whole -= columns;
	}
	snprintf(out, VIEW_CELL_MAX, "%.*s%s%s", (int)head, text, width ? ELLIPSIS : "", rest);
	return out;
}

/* --- contents -------------------------------------------------------------------------------- */

struct view *view_new(void)
{
	return calloc(1, sizeof(struct view));
}

void view_free(struct view *view)
{
	if (!view)
		return;
	for (size_t i = 0; i < view->n; i++) {
		struct shown_table *table = &view->tables[i];

		for (size_t cell = 0; cell < table->rows * table->n; cell++)
			free(table->cells[cell]);
		free(table->cells);
	}
	free(view->tables);
	free(view->box);
	free(view);
}

void view_of_box(struct view *view, const char *box)
{
	free(view->box);
	view->box = box ? strdup(box) : NULL;
	view->failed |= box && !view->box;
	view->within = 0;
}

static bool same_table(const struct shown_table *table, enum table_kind kind,
	const struct column *columns, unsigned n)
{
	if (table->kind != kind || table->n != n + 1)
		return false;
	for (unsigned i = 0; kind == TABLE_LIST && i < n; i++)
		if (strcmp(table->columns[i + 1].head, columns[i].head) != 0)
			return false;
	return true;
}

void view_table(struct view *view, enum table_kind kind, const struct column *columns, unsigned n)
{
	struct shown_table *table;

	n = n < VIEW_COLUMNS ? n : VIEW_COLUMNS;
	view->current = view->within;
	while (view->current < view->n &&
		!same_table(&view->tables[view->current], kind, columns, n))
		view->current++;
	view->within = view->current + 1;
	if (view->current < view->n)
		return;
	table = reallocarray(view->tables, view->n + 1, sizeof(*table));
	if (!table) {
		view->failed = true;
		return;
	}
	view->tables = table;
	table = &view->tables[view->n++];
	*table = (struct shown_table){.kind = kind, .n = n + 1};
	table->columns[0].head = "BOX";
	for (unsigned i = 0; i < n; i++)
		table->columns[i + 1] = columns[i];
}

static bool grow_table(struct shown_table *table)
{
	size_t room = table->room ? 2 * table->room : 16;
	char **cells;

	if (table->rows < table->room)
		return true;
	cells = reallocarray(table->cells, room * table->n, sizeof(*cells));
	if (!cells)
		return false;
	table->cells = cells;
	table->room = room;
	return true;
}

void view_row(struct view *view, const char *const *cells)
{
	struct shown_table *table;
	char **row;

	if (view->failed || !grow_table(&view->tables[view->current])) {
		view->failed = true;
		return;
	}
	table = &view->tables[view->current];
	row = table->cells + table->rows++ * table->n;
	row[0] = printable_copy(view->box ? view->box : "", "\\u");
	view->failed |= !row[0];
	for (unsigned i = 1; i < table->n; i++) {
		row[i] = printable_copy(cells[i - 1], "\\u");
		view->failed |= !row[i];
	}
}

int view_error(const struct view *view)
{
	return view->failed ? -ENOMEM : 0;
}

/* --- layout ---------------------------------------------------------------------------------- */

struct layout {
	unsigned n;
	unsigned natural[VIEW_COLUMNS + 1], width[VIEW_COLUMNS + 1];
	bool hidden[VIEW_COLUMNS + 1];
	unsigned left_out;
};

static unsigned least_of(
	const struct shown_table *table, const struct layout *layout, unsigned column)
{
	unsigned head = view_width(table->columns[column].head);
	unsigned least = head > TEXT_LEAST ? head : TEXT_LEAST;

	if (table->columns[column].right || layout->natural[column] < least)
		return layout->natural[column];
	return least;
}

/* Returns the total width of the columns; `least`: their smallest width. */
static unsigned total_width(
	const struct shown_table *table, const struct layout *layout, bool least)
{
	unsigned total = 0, shown = 0;

	for (unsigned i = 0; i < layout->n; i++) {
		if (layout->hidden[i])
			continue;
		total += least ? least_of(table, layout, i) : layout->width[i];
		shown++;
	}
	return total + (shown > 1 ? BETWEEN * (shown - 1) : 0);
}

/* Leaves out the column of the highest rank, the last one of these. */
static bool leave_one_out(const struct shown_table *table, struct layout *layout)
{
	unsigned which = layout->n, rank = 1;

	for (unsigned i = 0; i < layout->n; i++) {
		if (!layout->hidden[i] && table->columns[i].rank >= rank) {
			rank = table->columns[i].rank;
			which = i;
		}
	}
	if (which == layout->n)
		return false;
	layout->hidden[which] = true;
	layout->left_out++;
	return true;
}

/* Takes a column of the widest text that is wider than `floor`. */
static bool narrow_one(const struct shown_table *table, struct layout *layout, unsigned floor)
{
	unsigned which = layout->n, widest = floor;

	for (unsigned i = 0; i < layout->n; i++) {
		if (layout->hidden[i] || table->columns[i].right || layout->width[i] <= widest)
			continue;
		widest = layout->width[i];
		which = i;
	}
	if (which == layout->n)
		return false;
	layout->width[which]--;
	return true;
}

/* Leaves out the last column of any kind: without room for two numbers there is room for one. */
static bool leave_last_out(struct layout *layout)
{
	unsigned last = layout->n - 1;

	while (last > 1 && layout->hidden[last])
		last--;
	if (last <= 1)
		return false;
	layout->hidden[last] = true;
	layout->left_out++;
	return true;
}

static void share_width(const struct shown_table *table, struct layout *layout, unsigned width)
{
	while (total_width(table, layout, true) > width && leave_one_out(table, layout))
		;
	while (total_width(table, layout, false) > width)
		if (!narrow_one(table, layout, TEXT_LEAST) &&
			!narrow_one(table, layout, TEXT_FLOOR) && !leave_last_out(layout))
			break;
}

static struct layout lay_out(const struct shown_table *table, bool boxes, unsigned width)
{
	struct layout layout = {.n = table->n};

	layout.hidden[0] = !boxes;
	for (unsigned i = 0; i < table->n; i++) {
		if (table->kind == TABLE_LIST)
			layout.natural[i] = view_width(table->columns[i].head);
		for (size_t row = 0; row < table->rows; row++) {
			unsigned cell = view_width(table->cells[row * table->n + i]);

			if (cell > layout.natural[i])
				layout.natural[i] = cell;
		}
		layout.width[i] = layout.natural[i];
	}
	if (width && table->kind == TABLE_LIST)
		share_width(table, &layout, width);
	return layout;
}

/* --- writing --------------------------------------------------------------------------------- */

static struct libscols_table *open_table(
	const struct shown_table *table, const struct layout *layout, FILE *out)
{
	struct libscols_table *cols = scols_new_table();
	bool failed = !cols || scols_table_set_column_separator(cols, "  ");

	for (unsigned i = 0; i < table->n && !failed; i++)
		if (!layout->hidden[i])
			failed = !scols_table_new_column(
				cols, NULL, 0, table->columns[i].right ? SCOLS_FL_RIGHT : 0);
	if (failed) {
		scols_unref_table(cols);
		return NULL;
	}
	scols_table_enable_noheadings(cols, 1);
	scols_table_enable_minout(cols, 1);
	scols_table_set_termforce(cols, SCOLS_TERMFORCE_NEVER);
	scols_table_set_stream(cols, out);
	return cols;
}

/* Prints the table unless something has failed. Returns 0 or -ENOMEM. */
static int close_table(struct libscols_table *cols, bool failed)
{
	int ret = failed || scols_print_table(cols) ? -ENOMEM : 0;

	scols_unref_table(cols);
	return ret;
}

/* Adds a line of cells, shortened to their widths. Returns true without memory. */
static bool add_line(struct libscols_table *cols, const struct layout *layout, char *const *cells)
{
	struct libscols_line *line = scols_table_new_line(cols, NULL);
	char text[VIEW_CELL_MAX];
	bool failed = !line;
	unsigned at = 0;

	for (unsigned i = 0; i < layout->n && !failed; i++)
		if (!layout->hidden[i])
			failed = scols_line_set_data(line, at++,
				layout->width[i] < layout->natural[i]
					? view_shorten(cells[i], layout->width[i], text)
					: cells[i]);
	return failed;
}

static int print_list(const struct shown_table *table, const struct layout *layout, FILE *out)
{
	struct libscols_table *cols = open_table(table, layout, out);
	char *heads[VIEW_COLUMNS + 1];
	bool failed = !cols;
	int ret;

	for (unsigned i = 0; i < table->n; i++)
		heads[i] = (char *)table->columns[i].head;
	failed = failed || add_line(cols, layout, heads);
	for (size_t row = 0; row < table->rows && !failed; row++)
		failed = add_line(cols, layout, table->cells + row * table->n);
	ret = close_table(cols, failed);
	if (ret == 0 && layout->left_out)
		fprintf(out, "(%u more column%s: --wide)\n", layout->left_out,
			layout->left_out == 1 ? "" : "s");
	return ret;
}

/* Returns the bytes of a text that fit into a line, up to a blank if there is one. */
static size_t line_bytes(const char *text, unsigned width)
{
	size_t fits = head_bytes(text, width), at = fits;

	if (!text[fits])
		return fits;
	while (at > 0 && text[at] != ' ')
		at--;
	return at ? at : strcspn(text, " ");
}

/*
 * Continues a value below itself. One word can be longer than the line: it is shortened in a
 * detail, but not in lines, because users might copy it.
 */
static bool add_wrapped(struct libscols_table *cols, const struct layout *layout,
	const struct shown_table *table, char *const *row, unsigned width)
{
	unsigned last = table->n - 1;
	char empty[] = "", *cells[VIEW_COLUMNS + 1] = {row[0], row[1], row[last]};
	const char *text = row[last];
	struct layout of = *layout;
	unsigned taken, room;

	if (width && of.width[0] > TEXT_LEAST)
		of.width[0] = TEXT_LEAST;
	taken = (of.hidden[0] ? 0 : of.width[0] + BETWEEN) + (last > 1 ? of.width[1] + BETWEEN : 0);
	room = width > taken + TEXT_FLOOR ? width - taken : TEXT_FLOOR;
	if (width && table->kind == TABLE_DETAIL && room < of.width[last])
		of.width[last] = room;
	do {
		size_t bytes = width ? line_bytes(text, room) : strlen(text);
		bool failed;

		cells[last] = strndup(text, bytes);
		failed = !cells[last] || add_line(cols, &of, cells);
		free(cells[last]);
		if (failed)
			return true;
		cells[1] = empty;
		text += bytes;
		text += strspn(text, " ");
	} while (*text);
	return false;
}

static int print_wrapped(
	const struct shown_table *table, const struct layout *layout, FILE *out, unsigned width)
{
	struct libscols_table *cols = open_table(table, layout, out);
	bool failed = !cols;

	for (size_t row = 0; row < table->rows && !failed; row++)
		failed = add_wrapped(cols, layout, table, table->cells + row * table->n, width);
	return close_table(cols, failed);
}

static bool names_boxes(const struct shown_table *table)
{
	for (size_t row = 0; row < table->rows; row++)
		if (table->cells[row * table->n][0])
			return true;
	return false;
}

int view_print(const struct view *view, FILE *out, unsigned width)
{
	if (view->failed)
		return -ENOMEM;
	for (size_t i = 0; i < view->n; i++) {
		const struct shown_table *table = &view->tables[i];
		struct layout layout = lay_out(table, names_boxes(table), width);
		int ret;

		if (i)
			fputc('\n', out);
		ret = table->kind == TABLE_LIST ? print_list(table, &layout, out)
						: print_wrapped(table, &layout, out, width);
		if (ret)
			return ret;
	}
	return 0;
}
