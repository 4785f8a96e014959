/* The words of a page, for comparing it with others: what a person would see of it, roughly. */
#ifndef FREKI_WORDS_H
#define FREKI_WORDS_H

#include "tree.h"

static inline void put_word(struct page *page, const char *at, size_t length) {
  struct words *words = &page->words;
  if ((size_t)(words->limit - words->at) < length + 1) give_up(page);
  if (words->is_new && words->at > words->start) *words->at++ = '\n';
  else if (words->is_apart && !words->is_new) *words->at++ = ' ';
  words->is_new = words->is_apart = 0;
  memcpy(words->at, at, length);
  words->at += length;
}

static void add_characters(struct page *page, const char *at, const char *end) {
  while (at < end) {
    const char *even = at;
    while (even < end && (signed char)*even > ' ') even++; /* no white space, and ASCII */
    if (even > at) put_word(page, at, (size_t)(even - at)), at = even;
    if (at == end) return;
    size_t white = white_at(at, end), length = white ? white : character_at(at, end);
    if (length == 0) give_up(page);
    if (white) page->words.is_apart = 1;
    else put_word(page, at, length);
    at += length;
  }
}

/* Text as it stands in the page. */
static void add_words(struct page *page, const char *at, const char *end, int has_references) {
  while (at < end) {
    const char *mark = has_references ? memchr(at, '&', (size_t)(end - at)) : NULL;
    char made[8];
    size_t length = 0, read = 0;
    if (mark) read = reference_at(mark, end, 0, made, &length);
    add_characters(page, at, mark ? mark + !read : end);
    if (!mark) return;
    if (read) add_characters(page, made, made + length);
    at = mark + (read ? read : 1);
  }
}

#endif
