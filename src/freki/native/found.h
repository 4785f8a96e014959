/* What a page says, as two blocks of text: fields that end with NUL, which no page read here holds.
 *
 * Anchors are the address, text and rel of the first one of each address. Names are kind,
 * key, value and rel of each element that names something, and at the end language, base, title
 * and the number of all anchors. */
#ifndef FREKI_FOUND_H
#define FREKI_FOUND_H

#include <stdio.h>
#include <stdlib.h>

#include "words.h"

#define MAX_TELLING 4000 /* as the walk through a tree has it */
#define MAX_TEXT 200
#define MAX_KNOWN 100000 /* anchors; as the walk has it */
#define FIRST_SLOTS 256
#define MAX_STEPS 16 /* for each address on average, that another one is in its slot */

struct room {
  char *start, *at, *limit;
};

struct found {
  struct room anchors, names;
  struct value lang, xml_lang, base;
  char title[MAX_TITLE * 4 + 8];
  size_t title_length;
  int has_title, has_noscript;
  unsigned telling, anchor_count;
  uint32_t *slots, *old; /* where in the room the known addresses begin, plus one */
  size_t slot_count, known, steps;
};

static void put(struct page *page, struct room *room, const char *bytes, size_t length) {
  if ((size_t)(room->limit - room->at) < length) give_up(page);
  memcpy(room->at, bytes, length);
  room->at += length;
}

static void end_field(struct page *page, struct room *room) {
  put(page, room, "", 1);
}

/* An attribute as it is. */
static void put_value(struct page *page, struct room *room, struct value value) {
  while (value.at < value.end) {
    const char *even = value.at;
    while (even < value.end && !(classes[(unsigned char)*even] & UNEVEN)) even++;
    put(page, room, value.at, (size_t)(even - value.at));
    value.at = even;
    if (even == value.end) return;
    unsigned char byte = (unsigned char)*value.at;
    char made[8];
    size_t length = 0, read = 0;
    if (byte == '&') read = reference_at(value.at, value.end, 1, made, &length);
    if (read) {
      put(page, room, made, length);
    } else if (byte == '\r') {
      read = value.end - value.at > 1 && value.at[1] == '\n' ? 2 : 1;
      put(page, room, "\n", 1);
    } else {
      read = character_at(value.at, value.end);
      if (read == 0) give_up(page);
      put(page, room, value.at, read);
    }
    value.at += read;
  }
}

static void put_field(struct page *page, struct room *room, struct value value) {
  put_value(page, room, value);
  end_field(page, room);
}

static void put_text(struct page *page, struct room *room, struct text *text, size_t kept) {
  if (text->is_broken || (size_t)(room->limit - room->at) < kept * 4 + 8) give_up(page);
  room->at += text_collapse(text, kept, room->at);
}

static void put_collapsed(struct page *page, struct room *room, struct value value) {
  text_start(&page->text, MAX_TEXT);
  text_add(&page->text, value.at, value.end, 1, 1);
  put_text(page, room, &page->text, MAX_TEXT);
}

/* An element that names something. */
static void tell(struct page *page, const char *kind, struct value key, struct value value,
                 struct value rel) {
  struct room *names = &page->found->names;
  if (page->words.is_wanted) return;
  put(page, names, kind, strlen(kind) + 1);
  put_field(page, names, key);
  put_field(page, names, value);
  put_field(page, names, rel);
}

/* Anybody can make addresses that all want the same slot; a page full of them is given up. */
static size_t slot_for(struct page *page, const char *address) {
  struct found *found = page->found;
  uint64_t hash = 0, part;
  size_t left = strlen(address);
  const char *at = address;
  for (; left > 8; left -= 8, at += 8) {
    memcpy(&part, at, 8);
    hash = (hash ^ part) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 32;
  }
  part = left;
  for (size_t k = 0; k < left; k++) part = part << 8 | (unsigned char)at[k];
  hash = (hash ^ part) * UINT64_C(0x9E3779B97F4A7C15);
  size_t slot = (size_t)(hash ^ hash >> 32) & (found->slot_count - 1);
  while (found->slots[slot] && strcmp(found->anchors.start + found->slots[slot] - 1, address) != 0) {
    slot = (slot + 1) & (found->slot_count - 1);
    if (++found->steps > MAX_STEPS * (found->known + FIRST_SLOTS)) give_up(page);
  }
  return slot;
}

static void grow_slots(struct page *page, struct found *found) {
  uint32_t *old = found->old = found->slots;
  size_t count = found->slot_count;
  uint32_t *grown = calloc(count ? count * 2 : FIRST_SLOTS, sizeof *grown);
  found->slots = NULL;
  if (!grown) give_up(page);
  found->slots = grown;
  found->slot_count = count ? count * 2 : FIRST_SLOTS;
  for (size_t k = 0; k < count; k++)
    if (old[k]) found->slots[slot_for(page, found->anchors.start + old[k] - 1)] = old[k];
  free(old);
  found->old = NULL;
}

/* Puts the address of an anchor; 0 where it leads nowhere or is known. What is behind "#" leads to
 * the same page. */
static int put_address(struct page *page, struct value href) {
  struct found *found = page->found;
  struct room *room = &found->anchors;
  if (!href.at || page->words.is_wanted) return 0;
  char *address = room->at;
  put_field(page, room, href);
  char *mark = strchr(address, '#');
  if (mark > address && (unsigned char)mark[-1] > ' ') *mark = 0, room->at = mark + 1;
  room->at = *address && mark != address ? room->at : address;
  if (room->at == address) return 0;
  if (found->known * 2 >= found->slot_count) grow_slots(page, found);
  size_t slot = slot_for(page, address);
  if (found->slots[slot]) {
    room->at = address;
    return 0;
  }
  found->slots[slot] = (uint32_t)(address - room->start) + 1;
  found->known++;
  return 1;
}

static void put_rest(struct page *page, struct room *room) {
  struct found *found = page->found;
  char number[16];
  int length = snprintf(number, sizeof number, "%u", found->anchor_count);
  struct value lang = found->lang.at != found->lang.end ? found->lang : found->xml_lang;
  put_field(page, room, lang);
  put_field(page, room, found->base);
  put(page, room, found->title, found->title_length);
  end_field(page, room);
  put(page, room, number, (size_t)length + 1);
}

#endif
