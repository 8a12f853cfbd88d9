// The line protocol that every native peer speaks with the Go side (package native).
//
// Standard input holds commands, standard output one answer a line:
//
//	case OP VARIANT DIR D0 D1 ...   read DIR/in0 DIR/in1 ... (raw float32), prepare, run once,
//	                                write DIR/out; answers "ok" or "no REASON"
//	time REPS                       one untimed call, then REPS timed ones; answers their nanoseconds
//	free                            release the case; answers "ok"
//
// One case is open at a time. A program defines peer_init, peer_open, peer_run and peer_close and
// calls peer_main. It prints "ready VERSION" or "error MESSAGE" before it reads anything.
#pragma once
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_DIMS = 8, MAX_INPUTS = 40 };

static char peer_error[512];  // why the last call failed
static int fail(const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  vsnprintf(peer_error, sizeof peer_error, format, ap);
  va_end(ap);
  for (char *p = peer_error; *p; p++)
    if (*p == '\n') *p = ' ';
  return -1;
}

typedef struct {
  char op[64], variant[64], dir[400];
  long d[MAX_DIMS];
  int nd;
  float *in[MAX_INPUTS];  // page-aligned copies of the inputs
  size_t len[MAX_INPUTS];
  int nin;
  float *out;
  size_t outlen;
} Case;

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static float *floats(size_t n) {
  void *p = NULL;
  if (posix_memalign(&p, 4096, (n * sizeof(float) + 4095) & ~(size_t)4095)) abort();
  memset(p, 0, n * sizeof(float));
  return (float *)p;
}

// load_inputs reads in0, in1, ... until one is missing.
static int load_inputs(Case *c) {
  for (c->nin = 0; c->nin < MAX_INPUTS; c->nin++) {
    char path[512];
    snprintf(path, sizeof path, "%s/in%d", c->dir, c->nin);
    FILE *f = fopen(path, "rb");
    if (!f) break;
    fseek(f, 0, SEEK_END);
    size_t n = (size_t)ftell(f) / sizeof(float);
    rewind(f);
    c->in[c->nin] = floats(n);
    c->len[c->nin] = n;
    size_t got = fread(c->in[c->nin], sizeof(float), n, f);
    fclose(f);
    if (got != n) return fail("short read of %s", path);
  }
  return c->nin ? 0 : fail("no inputs in %s", c->dir);
}

static int store_output(const Case *c) {
  char path[512];
  snprintf(path, sizeof path, "%s/out", c->dir);
  FILE *f = fopen(path, "wb");
  if (!f) return fail("cannot write %s", path);
  size_t put = fwrite(c->out, sizeof(float), c->outlen, f);
  return fclose(f) || put != c->outlen ? fail("short write of %s", path) : 0;
}

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int peer_init(int argc, char **argv, char *version, size_t size);
static int peer_open(Case *c);  // sets c->out and c->outlen
static int peer_run(void);      // one call of the operation, finished on return
static void peer_close(void);

static void release(Case *c) {
  for (int i = 0; i < MAX_INPUTS; i++) free(c->in[i]);
  free(c->out);
  memset(c, 0, sizeof *c);
}

static int peer_main(int argc, char **argv) {
  static Case c;
  char version[256] = "?", line[1024];
  int open = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (peer_init(argc, argv, version, sizeof version)) {
    printf("error %s\n", peer_error);
    return 1;
  }
  printf("ready %s\n", version);
  while (fgets(line, sizeof line, stdin)) {
    long reps;
    int used;
    if (open && (strncmp(line, "case ", 5) == 0 || strncmp(line, "free", 4) == 0)) {
      peer_close();
      release(&c);
      open = 0;
    }
    if (sscanf(line, "case %63s %63s %399s%n", c.op, c.variant, c.dir, &used) == 3) {
      for (char *p = line + used; c.nd < MAX_DIMS && *p && *p != '\n';) c.d[c.nd++] = strtol(p, &p, 10);
      if (load_inputs(&c) || peer_open(&c)) {
        release(&c);
        printf("no %s\n", peer_error);
        continue;
      }
      open = 1;
      printf(peer_run() || store_output(&c) ? "no %s\n" : "ok\n", peer_error);
    } else if (sscanf(line, "time %ld", &reps) == 1 && open) {
      peer_run();
      long long t = now_ns();
      for (long i = 0; i < reps; i++) peer_run();
      printf("%lld\n", now_ns() - t);
    } else {
      printf(strncmp(line, "free", 4) ? "no such command, or no open case\n" : "ok\n");
    }
  }
  return 0;
}
