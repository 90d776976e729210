/* Stands for zklock where only the package around it matters: a static build of the real one takes minutes. */
#include <stdio.h>
#include <string.h>

int main(int count, char **words) {
    if (count == 2 && strcmp(words[1], "--version") == 0) {
        puts("zklock " VERSION);
    } else {
        for (int i = 1; i < count; i++) puts(words[i]);
    }
    return 0;
}
