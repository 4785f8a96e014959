/* What `admit/likeness.py` asks of a text, and has in Python as well: see there for the reasons. */
#ifndef FREKI_LIKENESS_H
#define FREKI_LIKENESS_H

#include <stdlib.h>

#include "text.h"

#define LONG_PHRASE 120 /* bytes; a longer one is cut */
#define PHRASE_WORDS 8
#define MAX_HASH_STEPS 16

/* A set of hashes. Those that are in it from the beginning are never among the found. */
struct hashes {
  uint64_t *slots; /* a hash plus one, or 0 */
  size_t size, held;
  uint32_t *found;
  size_t count, room;
  size_t steps;
  int is_lost; /* no memory was left, or a text made for it has all in one slot */
};

static uint32_t crc_table[4][256];

/* CRC-32 as zlib has it, four bytes at a time. */
static void prepare_crc(void) {
  if (crc_table[0][1]) return;
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t sum = byte;
    for (int bit = 0; bit < 8; bit++) sum = sum & 1 ? sum >> 1 ^ 0xEDB88320u : sum >> 1;
    crc_table[0][byte] = sum;
  }
  for (int k = 1; k < 4; k++)
    for (int byte = 0; byte < 256; byte++) {
      uint32_t sum = crc_table[k - 1][byte];
      crc_table[k][byte] = sum >> 8 ^ crc_table[0][sum & 255];
    }
}

static uint32_t crc_of(const unsigned char *at, size_t length) {
  uint32_t sum = 0xFFFFFFFFu;
  for (; length >= 4; length -= 4, at += 4) {
    sum ^= at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    sum = crc_table[3][sum & 255] ^ crc_table[2][sum >> 8 & 255] ^ crc_table[1][sum >> 16 & 255] ^
          crc_table[0][sum >> 24];
  }
  for (; length; length--) sum = sum >> 8 ^ crc_table[0][(sum ^ *at++) & 255];
  return ~sum;
}

/* 1 where the hash was not in the set. */
static int slot_taken(uint64_t *slots, size_t size, uint32_t hash, size_t *steps) {
  size_t slot = (hash * 0x9E3779B1u) & (size - 1);
  for (; slots[slot]; slot = (slot + 1) & (size - 1), ++*steps)
    if (slots[slot] == (uint64_t)hash + 1) return 0;
  slots[slot] = (uint64_t)hash + 1;
  return 1;
}

static int add_hash(struct hashes *set, uint32_t hash) {
  if (set->is_lost) return 0;
  if (set->held * 2 >= set->size) {
    size_t size = set->size ? set->size * 2 : 1024;
    uint64_t *grown = calloc(size, sizeof *grown);
    if (!grown) return set->is_lost = 1, 0;
    for (size_t k = 0; k < set->size; k++)
      if (set->slots[k]) slot_taken(grown, size, (uint32_t)(set->slots[k] - 1), &set->steps);
    free(set->slots);
    set->slots = grown, set->size = size;
  }
  int is_new = slot_taken(set->slots, set->size, hash, &set->steps);
  set->held += (size_t)is_new;
  if (set->steps > MAX_HASH_STEPS * set->size) set->is_lost = 1;
  return is_new;
}

static void find_hash(struct hashes *set, const char *at, size_t length) {
  uint32_t hash = crc_of((const unsigned char *)at, length);
  if (!add_hash(set, hash)) return;
  if (set->count == set->room) {
    size_t room = set->room ? set->room * 2 : 1024;
    uint32_t *grown = realloc(set->found, room * sizeof *grown);
    if (!grown) {
      set->is_lost = 1;
      return;
    }
    set->found = grown, set->room = room;
  }
  set->found[set->count++] = hash;
}

/* A phrase, without the blanks around it: whole, or in pieces of a few words. */
static void find_phrase(struct hashes *set, char *at, char *end) {
  while (at < end && *at == ' ') at++;
  while (end > at && end[-1] == ' ') end--;
  if (at == end) return;
  if (end - at <= LONG_PHRASE) {
    find_hash(set, at, (size_t)(end - at));
    return;
  }
  char *to = at, *start = at; /* words are moved together, one blank between them */
  for (int words = 0; at < end;) {
    char *word = at;
    while (at < end && *at != ' ') at++;
    if (to > start) *to++ = ' ';
    memmove(to, word, (size_t)(at - word));
    to += at - word;
    while (at < end && *at == ' ') at++;
    if (++words < PHRASE_WORDS && at < end) continue;
    find_hash(set, start, (size_t)(to - start));
    to = start, words = 0;
  }
}

/* How many bytes of a mark that ends a phrase are at `at`; a letter is made lower-case. */
static size_t end_of_phrase(char *at, const char *end) {
  static const char wide[9][4] = {
    "\xE3\x80\x81", "\xE3\x80\x82", "\xEF\xBC\x81", "\xEF\xBC\x8C", "\xEF\xBC\x9F",
    "\xE2\x80\x94", "\xE2\x80\x9C", "\xE2\x80\x9D", "\xE2\x80\xA6",
  };
  unsigned char byte = (unsigned char)*at;
  if (byte < 0x80) {
    if (byte >= 'A' && byte <= 'Z') *at |= 32;
    return !(is_letter(byte) || byte == ' ' || byte == '\'');
  }
  if ((byte != 0xE2 && byte != 0xE3 && byte != 0xEF) || end - at < 3) return 0;
  for (int k = 0; k < 9; k++)
    if (memcmp(at, wide[k], 3) == 0) return 3;
  return 0;
}

static int by_size(const void *one, const void *other) {
  uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
  return (a > b) - (a < b);
}

/* The hashes of the phrases of a text that are not `left_out`: `most` at most, the smallest ones.
 * Gives their number, or -1 where it did not come to an end. */
long freki_phrases(const char *text, size_t length, const uint32_t *left_out, size_t count,
                   uint32_t *found, size_t most) {
  struct hashes set = {NULL, 0, 0, NULL, 0, 0, 0, 0};
  char *copy = malloc(length + !length);
  if (!copy) return -1;
  memcpy(copy, text, length);
  prepare_crc();
  for (size_t k = 0; k < count; k++) add_hash(&set, left_out[k]);
  char *start = copy, *at = copy, *end = copy + length;
  while (at < end) {
    size_t mark = end_of_phrase(at, end);
    if (mark) find_phrase(&set, start, at), start = at + mark;
    at += mark ? mark : 1;
  }
  find_phrase(&set, start, end);
  if (set.count > most) qsort(set.found, set.count, sizeof *set.found, by_size), set.count = most;
  if (set.count) memcpy(found, set.found, set.count * sizeof *found);
  free(set.slots), free(set.found), free(copy);
  return set.is_lost ? -1 : (long)set.count;
}

/* In each of 64 bits, what most of the hashes have there when they are spread over as many. */
uint64_t freki_fingerprint(const uint32_t *hashes, size_t count, uint64_t spread) {
  size_t votes[64] = {0};
  uint64_t print = 0;
  for (size_t k = 0; k < count; k++)
    for (int bit = 0; bit < 64; bit++) votes[bit] += hashes[k] * spread >> bit & 1;
  for (int bit = 0; bit < 64; bit++) print |= (uint64_t)(votes[bit] * 2 > count) << bit;
  return print;
}

#endif
