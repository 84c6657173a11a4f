// hold FILE, for wine.py: prints a line when it has the file open and shares it with nobody, and holds it until stdin ends.
#include <stdio.h>
#include <windows.h>

int main(int argc, char **argv) {
  (void)argc;
  if (CreateFileA(argv[1], GENERIC_READ, 0, NULL, OPEN_EXISTING, 0, NULL) == INVALID_HANDLE_VALUE) return 1;
  puts("held");
  fflush(stdout);
  return getchar() == EOF ? 0 : 1;
}
