/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct table {
	unsigned columns;
	const bool *right;
	char **cells;
	size_t n, room;
	bool failed;
};

struct table *table_create(unsigned n, const bool *right)
{
	struct table *table = calloc(1, sizeof(*table));

	if (table) {
		table->columns = n;
		table->right = right;
	}
	return table;
}

void table_destroy(struct table *table)
{
	for (size_t i = 0; table && i < table->n; i++)
		free(table->cells[i]);
	if (table)
		free(table->cells);
	free(table);
}

static bool grow(struct table *table)
{
	size_t room = table->room ? 2 * table->room : 64;
	char **cells;

	if (table->n < table->room)
		return true;
	cells = realloc(table->cells, room * sizeof(*cells));
	if (!cells)
		return false;
	table->cells = cells;
	table->room = room;
	return true;
}

/*
 * Bytes of a control character that begins there, or 0: ASCII's; and those of ISO 8859-1, as UTF-8
 * has them, C2 80 to C2 9F.
 */
static unsigned obeyed(const unsigned char *c)
{
	if (*c < 0x20 || *c == 0x7f)
		return 1;
	return c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f ? 2 : 0;
}

static void make_safe(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++)
		for (unsigned n = obeyed(c); n > 0; n--)
			c[n - 1] = '?';
}

void table_add(struct table *table, const char *text)
{
	char *copy;

	if (!table)
		return;
	copy = grow(table) ? strdup(text) : NULL;
	if (!copy) {
		table->failed = true;
		return;
	}
	make_safe(copy);
	table->cells[table->n++] = copy;
}

/* Characters of UTF-8, as a terminal shows most of them. */
static size_t width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static size_t widest(const struct table *table, unsigned column)
{
	size_t whole = table->n - table->n % table->columns, most = 0;

	for (size_t i = column; i < whole; i += table->columns) {
		size_t n = width(table->cells[i]);

		most = n > most ? n : most;
	}
	return most;
}

static void print_row(const struct table *table, size_t first, const size_t *widths, FILE *out)
{
	size_t blanks = 0;

	for (unsigned c = 0; c < table->columns; c++) {
		const char *text = table->cells[first + c];
		size_t rest = widths[c] - width(text);

		blanks += table->right[c] ? rest : 0;
		if (*text)
			fprintf(out, "%*s%s", (int)blanks, "", text);
		blanks = (*text ? 0 : blanks) + (table->right[c] ? 0 : rest) + 2;
	}
	fputc('\n', out);
}

int table_print(const struct table *table, FILE *out)
{
	size_t *widths;

	if (!table || table->failed)
		return -ENOMEM;
	widths = calloc(table->columns, sizeof(*widths));
	if (!widths)
		return -ENOMEM;
	for (unsigned c = 0; c < table->columns; c++)
		widths[c] = widest(table, c);
	for (size_t i = 0; i + table->columns <= table->n; i += table->columns)
		print_row(table, i, widths, out);
	free(widths);
	return 0;
}

void print_safe(const char *text, FILE *out)
{
	const unsigned char *c = (const unsigned char *)text;

	while (*c) {
		unsigned n = obeyed(c);

		fputc(n ? '?' : *c, out);
		c += n ? n : 1;
	}
}
