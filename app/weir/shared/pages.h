/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Arrays that may grow in place, since workers hold pointers into them: address space for the most
 * that there may be, and memory only where somebody has written. Control.
 *
 * What is in use from the start lies in huge pages as far as it fills any, if EAL has them; what
 * follows later in those that the kernel makes of ordinary ones, if it does. A page comes with its
 * first write, which is control's: a worker is led to nothing that control has not written.
 */
#ifndef WEIR_APP_PAGES_H
#define WEIR_APP_PAGES_H

#include <stddef.h>

#define PAGES_HUGE ((size_t)2 << 20)

/*
 * Zeroed, aligned to a page, on a NUMA node if there are several (SOCKET_ID_ANY: wherever); `used`
 * of the bytes from the start. NULL if there is not so much.
 */
void *pages_alloc(size_t bytes, size_t used, int socket);

/* Frees as many bytes as at pages_alloc(). NULL is nothing. */
void pages_free(void *memory, size_t bytes);

#endif
