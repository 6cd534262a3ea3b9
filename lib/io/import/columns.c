/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "import/columns.h"
#include "json/suggest.h"

enum way { BOTH_WAYS, DOWNLOAD, UPLOAD };

struct title {
	const char *title;
	int column; /* COLUMNS: it is known, and says nothing that a policy has */
	enum way way;
	bool required;
};

static const struct title own_titles[] = {
	{"name", COLUMN_NAME, BOTH_WAYS, true},
	{"addresses", COLUMN_ADDRESSES, BOTH_WAYS, true},
	{"limit", COLUMN_LIMIT, BOTH_WAYS, false},
	{"download", COLUMN_LIMIT, DOWNLOAD, false},
	{"upload", COLUMN_LIMIT, UPLOAD, false},
	{"guaranteed", COLUMN_GUARANTEED, BOTH_WAYS, false},
	{"parent", COLUMN_PARENT, BOTH_WAYS, false},
	{"note", COLUMN_NOTE, BOTH_WAYS, false},
	{"burst", COLUMN_BURST, BOTH_WAYS, false},
	{"weight", COLUMN_WEIGHT, BOTH_WAYS, false},
	{"accounting", COLUMN_ACCOUNTING, BOTH_WAYS, false},
	{"action", COLUMN_ACTION, BOTH_WAYS, false},
	{0},
};

static const struct title libreqos_titles[] = {
	{"Circuit ID", COLUMN_NAME, BOTH_WAYS, true},
	{"Circuit Name", COLUMN_NOTE, BOTH_WAYS, false},
	{"Device ID", COLUMNS, BOTH_WAYS, false},
	{"Device Name", COLUMNS, BOTH_WAYS, false},
	{"Parent Node", COLUMN_PARENT, BOTH_WAYS, false},
	{"MAC", COLUMNS, BOTH_WAYS, false},
	{"IPv4", COLUMN_ADDRESSES, BOTH_WAYS, true},
	{"IPv6", COLUMN_ADDRESSES6, BOTH_WAYS, false},
	{"Download Min Mbps", COLUMN_GUARANTEED, DOWNLOAD, false},
	{"Upload Min Mbps", COLUMN_GUARANTEED, UPLOAD, false},
	{"Download Max Mbps", COLUMN_LIMIT, DOWNLOAD, true},
	{"Upload Max Mbps", COLUMN_LIMIT, UPLOAD, true},
	/* LibreQoS goes by position, and its own integrations leave the unit out. */
	{"Download Min", COLUMN_GUARANTEED, DOWNLOAD, false},
	{"Upload Min", COLUMN_GUARANTEED, UPLOAD, false},
	{"Download Max", COLUMN_LIMIT, DOWNLOAD, false},
	{"Upload Max", COLUMN_LIMIT, UPLOAD, false},
	{"Comment", COLUMNS, BOTH_WAYS, false},
	{"sqm", COLUMNS, BOTH_WAYS, false},
	{0},
};

/* Without the blanks around it: some write "name, addresses". */
static bool is_titled(const char *field, const char *title)
{
	size_t len = strlen(title);

	field += strspn(field, " \t");
	return strncasecmp(field, title, len) == 0 &&
	       field[len + strspn(field + len, " \t")] == '\0';
}

static const struct title *find_title(const struct title *titles, const char *field)
{
	while (titles->title != NULL && !is_titled(field, titles->title))
		titles++;
	return titles->title != NULL ? titles : NULL;
}

static void refuse_header(struct diagnostics *diagnostics, const char *file, unsigned line,
	const char *found, const char *expected, const char *remedy)
{
	if (diagnostics_count(diagnostics, false))
		diagnostic_write(diagnostics, &(struct diagnostic){.file = file,
						      .line = line,
						      .place = "header",
						      .found = found,
						      .expected = expected,
						      .remedy = remedy});
}

/* Later releases of LibreQoS add columns; a mistake in ours would be a key that is not obeyed. */
static void refuse_title(struct diagnostics *diagnostics, const char *file, unsigned line,
	const struct title *titles, const char *field)
{
	char remedy[SUGGEST_REMEDY_MAX], found[80];
	struct suggestion near = {0};

	for (const struct title *each = titles; each->title != NULL; each++)
		suggest_offer(&near, field, each->title);
	snprintf(found, sizeof(found), "\"%.70s\"", field);
	if (titles == own_titles)
		refuse_header(diagnostics, file, line, found, "a known column",
			suggest_remedy(near.word, remedy));
	else if (diagnostics_count(diagnostics, true))
		diagnostic_write(diagnostics, &(struct diagnostic){.warning = true,
						      .file = file,
						      .line = line,
						      .place = "header",
						      .found = found,
						      .text = "not a column that is understood"});
}

static bool goes_this_way(const struct title *title, bool upload)
{
	return title->way == BOTH_WAYS || title->way == (upload ? UPLOAD : DOWNLOAD);
}

/* Whether there is something to say; of two columns of one meaning neither is taken. */
static bool take_title(
	struct columns *columns, const struct title *title, unsigned field, const char *text)
{
	if (title->column == COLUMNS)
		return true;
	if (columns->at[title->column] >= 0)
		return false;
	columns->at[title->column] = (int)field;
	columns->title[title->column] = text;
	return true;
}

static void refuse_missing(const struct csv_row *header, const struct title *titles, bool upload,
	const char *file, struct diagnostics *diagnostics, const struct columns *columns)
{
	char expected[80];

	for (const struct title *each = titles; each->title != NULL; each++) {
		bool required = each->required || each->column == COLUMN_LIMIT;

		if (!required || !goes_this_way(each, upload) || each->column == COLUMNS ||
			columns->at[each->column] >= 0)
			continue;
		if (each->column == COLUMN_LIMIT && !columns->libreqos && each->way == BOTH_WAYS)
			snprintf(expected, sizeof(expected), "a column \"limit\" or \"%s\"",
				upload ? "upload" : "download");
		else if (each->required)
			snprintf(expected, sizeof(expected), "a column \"%s\"", each->title);
		else
			continue;
		refuse_header(diagnostics, file, header->line, NULL, expected, NULL);
	}
}

int columns_find(const struct csv_row *header, bool upload, const char *file,
	struct diagnostics *diagnostics, struct columns *columns)
{
	const struct title *titles = own_titles;
	unsigned errors = diagnostics->errors;

	*columns = (struct columns){.n = header->n};
	for (unsigned i = 0; i < COLUMNS; i++)
		columns->at[i] = -1;
	for (unsigned i = 0; i < header->n; i++)
		if (is_titled(header->field[i], "Circuit ID"))
			titles = libreqos_titles;
	columns->libreqos = titles == libreqos_titles;
	for (unsigned i = 0; i < header->n; i++) {
		const struct title *title = find_title(titles, header->field[i]);

		if (title == NULL)
			refuse_title(diagnostics, file, header->line, titles, header->field[i]);
		else if (goes_this_way(title, upload) &&
			 !take_title(columns, title, i, title->title))
			refuse_header(diagnostics, file, header->line, title->title,
				"one column that says so", NULL);
	}
	refuse_missing(header, titles, upload, file, diagnostics, columns);
	return diagnostics->errors == errors ? 0 : -EINVAL;
}

const char *columns_field(
	const struct columns *columns, const struct csv_row *row, enum column column)
{
	int at = columns->at[column];

	return at >= 0 && (unsigned)at < row->n ? row->field[at] : "";
}
