/* Reads the files it is told one by one, each from memory that ends where the file ends. */
#include <stdio.h>

#include "reader.c"

#define MOST 1024

static void check(const char *body, size_t length, size_t size) {
  char *names = malloc(size + 1), *anchors = malloc(size + 1);
  uint32_t left_out[2] = {1, 2}, *found = malloc(MOST * sizeof *found);
  size_t lengths[2];
  freki_read_page(body, length, names, anchors, size, lengths);
  long words = freki_read_words(body, length, names, size);
  if (words >= 0) {
    long count = freki_phrases(names, (size_t)words, left_out, 2, found, MOST);
    if (count < 0) abort();
    freki_fingerprint(found, (size_t)count, 0xF1357AEB);
  }
  freki_phrases(body, length, left_out, 0, found, MOST);
  free(names), free(anchors), free(found);
}

int main(int count, char **paths) {
  for (int k = 1; k < count; k++) {
    FILE *file = fopen(paths[k], "rb");
    if (!file) return 1;
    fseek(file, 0, SEEK_END);
    size_t length = (size_t)ftell(file);
    rewind(file);
    char *body = malloc(length + !length);
    if (fread(body, 1, length, file) != length) return 1;
    fclose(file);
    /* Little room now and then, so that it comes to its end as well. */
    check(body, length, k % 3 ? 2 * length + 4096 : length / 4);
    free(body);
  }
  return 0;
}
