/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Datagrams of NetFlow version 9 (RFC 3954) and of IPFIX (RFC 7011), which is its version 10.
 */
#include "netflow/netflow.h"

#include <stdbool.h>
#include <string.h>

#include "base/wire.h"

#define V9_HEADER    20
#define IPFIX_HEADER 16
#define SET_HEADER   4
#define SETS_OF(n)   ((n)*SET_HEADER)
#define ALIGNMENT    4

#define USER_DEFINED 6 /* engine that classifies: RFC 6759, section 4 */
#define VARIABLE     65535

/*
 * Numbers of templates in both versions: first one for each unit of records, then names and the
 * domain.
 */
#define TEMPLATE_RECORDS 256
#define TEMPLATE_NAMES   (TEMPLATE_RECORDS + NETFLOW_UNITS)
#define TEMPLATE_DOMAIN  (TEMPLATE_NAMES + 1)

/* A field of a record in each version; 0 bytes: the version does not have it. */
struct element {
	struct {
		uint16_t id, bytes;
	} v9, ipfix;
};

struct record_template {
	uint16_t id;
	bool options; /* its first field is the scope of the others */
	struct element elements[7];
};

#define PACKETS              \
	{                    \
		{2, 8},      \
		{            \
			2, 8 \
		}            \
	}
#define START                  \
	{                      \
		{22, 4},       \
		{              \
			152, 8 \
		}              \
	} /* v9: ms since boot; IPFIX: ms since 1970 */
#define END                    \
	{                      \
		{21, 4},       \
		{              \
			153, 8 \
		}              \
	}
#define STATUS                \
	{                     \
		{89, 1},      \
		{             \
			89, 1 \
		}             \
	}
#define APPLICATION           \
	{                     \
		{95, 4},      \
		{             \
			95, 4 \
		}             \
	}
#define TEXT(id, most)               \
	{                            \
		{id, (most) + 1},    \
		{                    \
			id, VARIABLE \
		}                    \
	}

static const struct record_template templates[] = {
	{TEMPLATE_RECORDS + NETFLOW_OCTETS, false,
		{{{1, 8}, {1, 8}}, PACKETS, START, END, STATUS, APPLICATION}},
	{TEMPLATE_RECORDS + NETFLOW_NOTHING, false, {PACKETS, START, END, STATUS, APPLICATION}},
	{TEMPLATE_RECORDS + NETFLOW_FLOWS, false,
		{{{3, 8}, {3, 8}}, PACKETS, START, END, STATUS, APPLICATION}},
	{TEMPLATE_NAMES, true,
		{{{1, 4}, {0, 0}}, APPLICATION, TEXT(96, NETFLOW_NAME),
			TEXT(94, NETFLOW_DESCRIPTION)}},
	{TEMPLATE_DOMAIN, true, {{{1, 4}, {149, 4}}, TEXT(300, NETFLOW_NAME)}},
};

#define TEMPLATES (sizeof(templates) / sizeof(*templates))

/* --- datagrams and their sets ----------------------------------------------------------------- */

void netflow_open(
	struct netflow *netflow, enum netflow_version version, uint32_t domain, uint64_t now_ms)
{
	*netflow = (struct netflow){
		.version = version, .domain = domain, .boot_ms = now_ms - now_ms % 1000};
	netflow_begin(netflow, NETFLOW_LEAST);
}

void netflow_begin(struct netflow *netflow, size_t most)
{
	netflow->most = most;
	netflow->length = netflow->version == NETFLOW_V9 ? V9_HEADER : IPFIX_HEADER;
	netflow->set = 0;
	netflow->records = netflow->templates = 0;
}

static size_t padding_bytes(size_t length)
{
	return -length % ALIGNMENT;
}

static void close_set(struct netflow *netflow)
{
	size_t padding = padding_bytes(netflow->length);

	if (!netflow->set)
		return;
	memset(netflow->bytes + netflow->length, 0, padding);
	netflow->length += padding;
	wire_put16(netflow->bytes + netflow->set + 2, (uint16_t)(netflow->length - netflow->set));
	netflow->set = 0;
}

/* Returns room for a record in a set of that number, which the caller fills; NULL: no room. */
static uint8_t *add_to_set(struct netflow *netflow, uint16_t set_id, size_t bytes)
{
	bool open = netflow->set && netflow->set_id == set_id;
	size_t before = open ? 0 : padding_bytes(netflow->length) + SET_HEADER;
	uint8_t *at;

	if (netflow->length + before + bytes + ALIGNMENT - 1 > netflow->most)
		return NULL;
	if (!open) {
		close_set(netflow);
		netflow->set = netflow->length;
		netflow->set_id = set_id;
		wire_put16(netflow->bytes + netflow->length, set_id);
		netflow->length += SET_HEADER;
	}
	at = netflow->bytes + netflow->length;
	netflow->length += bytes;
	netflow->records++;
	return at;
}

/*
 * Both numbers are whole seconds of one moment, so a receiver that adds up times of records is
 * exact.
 */
static void put_v9_header(struct netflow *netflow, uint64_t now_ms)
{
	uint64_t seconds = now_ms / 1000, up_ms = seconds * 1000 - netflow->boot_ms;
	uint8_t *at = wire_put16(netflow->bytes, NETFLOW_V9);

	at = wire_put16(at, (uint16_t)netflow->records);
	at = wire_put32(at, (uint32_t)up_ms);
	at = wire_put32(at, (uint32_t)seconds);
	at = wire_put32(at, netflow->sequence);
	wire_put32(at, netflow->domain);
	netflow->sequence++;
}

static void put_ipfix_header(struct netflow *netflow, uint64_t now_ms)
{
	uint8_t *at = wire_put16(netflow->bytes, NETFLOW_IPFIX);

	at = wire_put16(at, (uint16_t)netflow->length);
	at = wire_put32(at, (uint32_t)(now_ms / 1000));
	at = wire_put32(at, netflow->sequence);
	wire_put32(at, netflow->domain);
	netflow->sequence += netflow->records - netflow->templates;
}

size_t netflow_end(struct netflow *netflow, uint64_t now_ms)
{
	if (!netflow->records)
		return 0;
	close_set(netflow);
	if (netflow->version == NETFLOW_V9)
		put_v9_header(netflow, now_ms);
	else
		put_ipfix_header(netflow, now_ms);
	return netflow->length;
}

/* --- templates -------------------------------------------------------------------------------- */

/* Returns the size of an element in the stream's version, in bytes; 0: it does not have it. */
static uint16_t element_bytes(const struct netflow *netflow, const struct element *element)
{
	return netflow->version == NETFLOW_V9 ? element->v9.bytes : element->ipfix.bytes;
}

/*
 * Options have one more number: the count of scope fields, or in version 9 the bytes of scopes and
 * the bytes of other fields.
 */
static uint8_t *put_head(const struct netflow *netflow, uint8_t *at,
	const struct record_template *template, uint16_t n)
{
	at = wire_put16(at, template->id);
	if (template->options && netflow->version == NETFLOW_V9) {
		at = wire_put16(at, SETS_OF(1));
		return wire_put16(at, (uint16_t)SETS_OF(n - 1));
	}
	at = wire_put16(at, n);
	return template->options ? wire_put16(at, 1) : at;
}

static bool add_template(struct netflow *netflow, const struct record_template *template)
{
	const bool is_v9 = netflow->version == NETFLOW_V9;
	uint16_t set = is_v9 ? 0 : 2, n = 0;
	uint8_t *at;

	for (const struct element *element = template->elements; element->v9.bytes; element++)
		n += element_bytes(netflow, element) > 0;
	if (template->options)
		set++;
	/* Some collectors read only the first options template of a set. */
	if (template->options)
		close_set(netflow);
	at = add_to_set(netflow, set, (template->options ? 6u : 4u) + SETS_OF(n));
	if (!at)
		return false;
	netflow->templates++;
	at = put_head(netflow, at, template, n);
	for (const struct element *element = template->elements; element->v9.bytes; element++)
		if (element_bytes(netflow, element)) {
			at = wire_put16(at, is_v9 ? element->v9.id : element->ipfix.id);
			at = wire_put16(at, element_bytes(netflow, element));
		}
	return true;
}

bool netflow_add_templates(struct netflow *netflow)
{
	for (size_t i = 0; i < TEMPLATES; i++)
		if (!add_template(netflow, &templates[i]))
			return false;
	return true;
}

/* --- records ---------------------------------------------------------------------------------- */

/* A text in the version's form: padded to a fixed length, or after its length. */
struct text_field {
	uint8_t text[NETFLOW_NAME + 1];
	size_t used, bytes; /* bytes of the text; bytes of the whole field */
};

static struct text_field make_text(const struct netflow *netflow, const char *text, size_t most)
{
	struct text_field field = {.used = 0};

	field.used = netflow_text(field.text, most, text);
	field.bytes = 1 + (netflow->version == NETFLOW_V9 ? most : field.used);
	return field;
}

static uint8_t *put_text(const struct netflow *netflow, uint8_t *at, const struct text_field *field)
{
	if (netflow->version == NETFLOW_V9) {
		memcpy(at, field->text, field->bytes);
	} else {
		at[0] = (uint8_t)field->used;
		memcpy(at + 1, field->text, field->used);
	}
	return at + field->bytes;
}

bool netflow_add_domain(struct netflow *netflow, const char *name)
{
	struct text_field field = make_text(netflow, name, NETFLOW_NAME);
	uint8_t *at = add_to_set(netflow, TEMPLATE_DOMAIN, 4 + field.bytes);

	if (!at)
		return false;
	put_text(netflow, wire_put32(at, netflow->domain), &field);
	return true;
}

static uint8_t *put_application(uint8_t *at, uint32_t application)
{
	return wire_put32(at, (uint32_t)USER_DEFINED << 24 | application);
}

bool netflow_add_name(
	struct netflow *netflow, uint32_t application, const char *name, const char *description)
{
	struct text_field names = make_text(netflow, name, NETFLOW_NAME);
	struct text_field descriptions = make_text(netflow, description, NETFLOW_DESCRIPTION);
	size_t scope = netflow->version == NETFLOW_V9 ? 4 : 0;
	uint8_t *at = add_to_set(
		netflow, TEMPLATE_NAMES, scope + 4 + names.bytes + descriptions.bytes);

	if (!at)
		return false;
	if (scope)
		at = wire_put32(at, netflow->domain);
	at = put_application(at, application);
	at = put_text(netflow, at, &names);
	put_text(netflow, at, &descriptions);
	return true;
}

static uint8_t *put_time(const struct netflow *netflow, uint8_t *at, uint64_t ms)
{
	if (netflow->version == NETFLOW_V9)
		return wire_put32(at, (uint32_t)(ms - netflow->boot_ms));
	return wire_put64(at, ms);
}

bool netflow_add_record(struct netflow *netflow, const struct netflow_record *record)
{
	size_t times = netflow->version == NETFLOW_V9 ? 2 * 4 : 2 * 8;
	size_t counts = record->unit == NETFLOW_NOTHING ? 8 : 2 * 8;
	uint8_t *at = add_to_set(
		netflow, (uint16_t)(TEMPLATE_RECORDS + record->unit), counts + times + 1 + 4);

	if (!at)
		return false;
	if (record->unit != NETFLOW_NOTHING)
		at = wire_put64(at, record->units);
	at = wire_put64(at, record->packets);
	at = put_time(netflow, at, record->start_ms);
	at = put_time(netflow, at, record->end_ms);
	*at++ = (uint8_t)record->status;
	put_application(at, record->application);
	return true;
}

/* --- text ------------------------------------------------------------------------------------- */

#define DELETE 0x7f

/*
 * Returns the length in bytes of a UTF-8 character that begins with this byte; 0: invalid or
 * control.
 */
static unsigned bytes_begun(uint8_t first)
{
	if (first < 0x80)
		return first >= ' ' && first != DELETE;
	if (first < 0xc2 || first > 0xf4)
		return 0;
	return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
}

/*
 * Returns the bytes of the printable character at `at`, or 0 if there is none. Stops at the final
 * NUL.
 */
static unsigned character_bytes(const uint8_t *at)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned n = bytes_begun(at[0]);
	uint32_t code;

	if (n < 2)
		return n;
	code = at[0] & (0x7fu >> n);
	for (unsigned i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	/* Rejects encodings longer than necessary, UTF-16 surrogates and codes above 0x10ffff. */
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return n;
}

size_t netflow_text(uint8_t *out, size_t most, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t length = 0;

	while (*at) {
		unsigned n = character_bytes(at), taken = n ? n : 1;

		if (length + taken > most)
			break;
		if (n)
			memcpy(out + length, at, n);
		else
			out[length] = '?';
		length += taken;
		at += taken;
	}
	return length;
}
