/* Reads the files it is told one by one, each from memory that ends where the file ends. */
#include <stdio.h>

#include "reader.c"

int main(int count, char **paths) {
  for (int k = 1; k < count; k++) {
    FILE *file = fopen(paths[k], "rb");
    if (!file) return 1;
    fseek(file, 0, SEEK_END);
    size_t length = (size_t)ftell(file), lengths[2];
    rewind(file);
    char *body = malloc(length + !length);
    /* Little room now and then, so that it comes to its end as well. */
    size_t size = k % 3 ? 2 * length + 4096 : length / 4;
    char *names = malloc(size + 1), *anchors = malloc(size + 1);
    if (fread(body, 1, length, file) != length) return 1;
    fclose(file);
    freki_read_page(body, length, names, anchors, size, lengths);
    free(body), free(names), free(anchors);
  }
  return 0;
}
