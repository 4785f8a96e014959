/* The elements that are open: as much of the tree of WHATWG HTML 13.2.6 as decides what is inside
 * of what. No nodes are made. A page whose tree would have to be rearranged is given up. */
#ifndef FREKI_TREE_H
#define FREKI_TREE_H

#include <setjmp.h>

#include "tokens.h"

#define MAX_OPEN 400 /* the parser of trees has a limit of its own at 512 */
#define MAX_FORMATTING 200
#define MAX_ALIKE 3 /* of one kind; more are merged by their attributes, which are not compared */

enum mode {
  INITIAL, BEFORE_HTML, BEFORE_HEAD, IN_HEAD, IN_HEAD_NOSCRIPT, AFTER_HEAD, IN_BODY, IN_TABLE,
  IN_CAPTION, IN_COLUMNS, IN_TABLE_BODY, IN_ROW, IN_CELL
};

enum quirks { NO_QUIRKS, QUIRKS, UNKNOWN_QUIRKS };

struct open {
  enum tag tag;
  int is_svg;
  unsigned number; /* of a formatting element, which may be open several times over */
  const char *name;
  size_t length;
};

/* An entry of the list of active formatting elements; tag_unknown is a marker. */
struct formatting {
  enum tag tag;
  unsigned number;
  int is_open;
};

/* Where the words of the page go, if they are wanted: those of each text on a line of their own. */
struct words {
  char *start, *at, *limit;
  int is_wanted, is_new, is_apart; /* the next begins a text; blanks come before it */
};

struct anchor {
  int is_open, is_kept;   /* one is open at most; of each address the first is kept */
  int depth;              /* how many elements are open around it */
  struct value title, rel, picture;
  int has_picture;
};

struct page {
  const char *at, *end;
  jmp_buf given_up;
  enum mode mode;
  enum quirks quirks;
  struct open open[MAX_OPEN];
  int depth;
  unsigned short count[TAG_COUNT]; /* open elements of HTML, by tag */
  struct formatting list[MAX_FORMATTING];
  int listed;
  unsigned numbered;
  unsigned form; /* the number of the open form; 0 is none */
  struct anchor anchor;
  struct text text; /* of the open anchor */
  struct words words;
  int is_behind_body, has_late_comment;
  struct found *found;
};

static void anchor_closed(struct page *page);

_Noreturn static void give_up(struct page *page) {
  longjmp(page->given_up, 1);
}

/* What comes next is another text than what came before. */
static inline void text_ended(struct page *page) {
  page->words.is_new = 1;
}

static inline struct open *top(struct page *page) {
  return &page->open[page->depth - 1];
}

static inline int is_in_svg(const struct page *page) {
  return page->depth > 0 && page->open[page->depth - 1].is_svg;
}

static void push_named(struct page *page, enum tag tag, int is_svg, const char *name,
                       size_t length) {
  if (page->depth == MAX_OPEN) give_up(page);
  page->open[page->depth++] = (struct open){tag, is_svg, 0, name, length};
  text_ended(page);
  if (!is_svg) page->count[tag]++;
}

static void push(struct page *page, enum tag tag) {
  push_named(page, tag, 0, NULL, 0);
}

static struct formatting *entry_of(struct page *page, unsigned number) {
  for (int k = page->listed - 1; k >= 0; k--)
    if (page->list[k].number == number) return &page->list[k];
  return NULL;
}

static void leave(struct page *page, const struct open *gone) {
  if (!gone->is_svg) page->count[gone->tag]--;
  if (gone->number && gone->tag != tag_form) {
    struct formatting *entry = entry_of(page, gone->number);
    if (entry) entry->is_open = 0;
  }
}

static void pop(struct page *page) {
  if (page->depth <= 1) give_up(page); /* html stays */
  leave(page, top(page));
  page->depth--;
  text_ended(page);
  if (page->anchor.is_open && page->depth <= page->anchor.depth) anchor_closed(page);
}

static void pop_until(struct page *page, enum tag tag) {
  while (top(page)->tag != tag) pop(page);
  pop(page);
}

/* Takes a form out, which may have elements open inside. */
static void remove_open(struct page *page, int place) {
  if (place == page->depth - 1) {
    pop(page);
    return;
  }
  if (page->anchor.is_open && place < page->anchor.depth) page->anchor.depth--;
  leave(page, &page->open[place]);
  memmove(&page->open[place], &page->open[place + 1],
          (size_t)(page->depth - place - 1) * sizeof *page->open);
  page->depth--;
}

/* "Has an element in scope": `also` and `too` end the search beside the elements that always do. */
static int is_in_scope(const struct page *page, enum tag tag, enum tag also, enum tag too) {
  if (!page->count[tag]) return 0;
  for (int k = page->depth - 1; k >= 0; k--) {
    enum tag open = page->open[k].tag;
    if (open == tag) return 1;
    if ((tags[open].flags & SCOPE) || (open && (open == also || open == too))) return 0;
  }
  return 0;
}

static int in_scope(const struct page *page, enum tag tag) {
  return is_in_scope(page, tag, tag_unknown, tag_unknown);
}

static int in_button_scope(const struct page *page, enum tag tag) {
  return is_in_scope(page, tag, tag_button, tag_unknown);
}

static int in_list_scope(const struct page *page, enum tag tag) {
  return is_in_scope(page, tag, tag_ol, tag_ul);
}

static int in_table_scope(const struct page *page, enum tag tag) {
  if (!page->count[tag]) return 0;
  for (int k = page->depth - 1; k >= 0; k--) {
    enum tag open = page->open[k].tag;
    if (open == tag) return 1;
    if (open == tag_html || open == tag_table) return 0;
  }
  return 0;
}

static void close_implied(struct page *page, enum tag except) {
  for (enum tag tag; (tags[tag = top(page)->tag].flags & IMPLIED) && tag != except;) pop(page);
}

static void close_until(struct page *page, enum tag tag) {
  close_implied(page, tag);
  pop_until(page, tag);
}

static void close_p(struct page *page) {
  if (in_button_scope(page, tag_p)) close_until(page, tag_p);
}

static void mark(struct page *page) {
  if (page->listed == MAX_FORMATTING) give_up(page);
  page->list[page->listed++] = (struct formatting){tag_unknown, 0, 0};
}

static void clear_to_mark(struct page *page) {
  while (page->listed > 0 && page->list[--page->listed].tag != tag_unknown) continue;
}

/* Opens a formatting element; `entry` is its place in the list. */
static void open_formatting(struct page *page, enum tag tag, int entry) {
  push(page, tag);
  unsigned number = ++page->numbered;
  top(page)->number = number;
  page->list[entry] = (struct formatting){tag, number, 1};
}

static void list_formatting(struct page *page, enum tag tag) {
  int alike = 0;
  for (int k = page->listed - 1; k >= 0 && page->list[k].tag; k--) alike += page->list[k].tag == tag;
  if (alike >= MAX_ALIKE || page->listed == MAX_FORMATTING) give_up(page);
  open_formatting(page, tag, page->listed++);
}

/* "Reconstruct the active formatting elements": an anchor that is opened again leads where its
 * first one leads, which is the one that counts. */
static void reconstruct(struct page *page) {
  int k = page->listed;
  while (k > 0 && page->list[k - 1].tag && !page->list[k - 1].is_open) k--;
  for (; k < page->listed; k++) open_formatting(page, page->list[k].tag, k);
}

static void end_other(struct page *page, const struct token *token) {
  if (!page->count[token->tag]) return;
  for (int k = page->depth - 1; k >= 0; k--) {
    struct open *open = &page->open[k];
    if (open->tag == token->tag &&
        (open->tag || (open->length == token->length &&
                       is_same_name(open->name, token->name, token->length)))) {
      close_implied(page, token->tag);
      while (page->depth > k) pop(page);
      return;
    }
    if (tags[open->tag].flags & SPECIAL) return;
  }
}

static void unlist(struct page *page, struct formatting *entry) {
  size_t behind = (size_t)(page->list + page->listed - entry - 1);
  memmove(entry, entry + 1, behind * sizeof *entry);
  page->listed--;
}

/* The adoption agency, where nothing has to be adopted. */
static void end_formatting(struct page *page, enum tag tag) {
  struct formatting *entry = NULL;
  for (int k = page->listed - 1; k >= 0 && page->list[k].tag && !entry; k--)
    if (page->list[k].tag == tag) entry = &page->list[k];
  if (!entry) {
    for (int k = page->depth - 1; !(tags[page->open[k].tag].flags & SPECIAL); k--)
      if (page->open[k].tag == tag) give_up(page);
    return;
  }
  if (!entry->is_open) {
    if (top(page)->tag == tag) give_up(page);
    unlist(page, entry);
    return;
  }
  int place = page->depth - 1;
  for (; page->open[place].number != entry->number; place--)
    if (tags[page->open[place].tag].flags & (SPECIAL | SCOPE)) give_up(page);
  while (page->depth > place) pop(page);
  unlist(page, entry);
}

static void reset_mode(struct page *page) {
  for (int k = page->depth - 1; k >= 0; k--) {
    switch (page->open[k].tag) {
      case tag_td: case tag_th: page->mode = IN_CELL; return;
      case tag_tr: page->mode = IN_ROW; return;
      case tag_tbody: case tag_thead: case tag_tfoot: page->mode = IN_TABLE_BODY; return;
      case tag_caption: page->mode = IN_CAPTION; return;
      case tag_colgroup: page->mode = IN_COLUMNS; return;
      case tag_table: page->mode = IN_TABLE; return;
      case tag_body: page->mode = IN_BODY; return;
      default: break;
    }
  }
  give_up(page);
}

#endif
