#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 8
#define LONGEST 64

struct entry {
    char word[LONGEST];
    struct entry *next;
};

static struct entry *table[BUCKETS];

static unsigned hash(const char *word) {
    unsigned h = 17;
    for (size_t i = 0; i < strlen(word); i++) {
        h = h * 31 + (unsigned char)word[i];
    }
    return h;
}

int main(void) {
    char word[LONGEST];
    long different = 0;
    while (scanf("%63s", word) == 1) {
        unsigned slot = hash(word) % BUCKETS;
        int found = 0;
        for (struct entry *e = table[slot]; e; e = e->next) {
            if (strcmp(e->word, word) == 0) {
                found = 1;
            }
        }
        if (!found) {
            struct entry *e = malloc(sizeof *e);
            strcpy(e->word, word);
            e->next = table[slot];
            table[slot] = e;
            different++;
        }
    }
    printf("%ld\n", different);
    return 0;
}
