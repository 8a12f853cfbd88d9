// ort LIBRARY THREADS: ONNX Runtime through its C API.
//
// The model lies in DIR/model.onnx, written by the Go side (package onnx); its inputs are named
// i0, i1, ... and its output y, with fixed shapes in DIR/shapes: one line per input, then one for
// the output. OrtApi only ever grows at its end, so the entries needed are named here by their
// position and the program builds without ONNX Runtime's headers.
#define _GNU_SOURCE
#include "driver.h"
#include <dlfcn.h>
#include <stdint.h>

enum {  // positions in OrtApi, version 16
  GetErrorMessage = 2, CreateEnv = 3, CreateSession = 7, Run = 9, CreateSessionOptions = 10,
  SetSessionGraphOptimizationLevel = 23, SetIntraOpNumThreads = 24, SetInterOpNumThreads = 25,
  CreateTensorWithDataAsOrtValue = 49, CreateCpuMemoryInfo = 69, ReleaseStatus = 93,
  ReleaseSession = 95, ReleaseValue = 96, ReleaseSessionOptions = 100
};
enum { LogError = 3, EnableAll = 99, ArenaAllocator = 1, MemTypeDefault = 0, ElementFloat = 1 };

typedef struct {
  const void *(*GetApi)(uint32_t);
  const char *(*GetVersionString)(void);
} ApiBase;

static void *const *api;
static void *env, *meminfo;
static int threads;
#define CALL(slot, ...) ((void *(*)())api[slot])(__VA_ARGS__)

static int failed(void *status) {
  if (!status) return 0;
  fail("%s", (const char *)CALL(GetErrorMessage, status));
  CALL(ReleaseStatus, status);
  return 1;
}
#define CHECK(call) do { if (failed(call)) return -1; } while (0)

static int peer_init(int argc, char **argv, char *version, size_t size) {
  if (argc < 3) return fail("usage: ort LIBRARY THREADS");
  threads = atoi(argv[2]);
  void *lib = dlopen(argv[1], RTLD_NOW);
  if (!lib) return fail("%s", dlerror());
  const ApiBase *(*base)(void) = (const ApiBase *(*)(void))dlsym(lib, "OrtGetApiBase");
  if (!base) return fail("%s has no OrtGetApiBase", argv[1]);
  api = (void *const *)base()->GetApi(16);
  if (!api) return fail("no API of version 16");
  snprintf(version, size, "%s", base()->GetVersionString());
  CHECK(CALL(CreateEnv, LogError, "bench", &env));
  CHECK(CALL(CreateCpuMemoryInfo, ArenaAllocator, MemTypeDefault, &meminfo));
  return 0;
}

static struct {
  void *session;
  const void *value[MAX_INPUTS];
  char name[MAX_INPUTS][8];
  const char *names[MAX_INPUTS];
  int n;
  void *out;
} s;

static void peer_close(void) {
  for (int i = 0; i < s.n; i++) CALL(ReleaseValue, s.value[i]);
  if (s.out) CALL(ReleaseValue, s.out);
  if (s.session) CALL(ReleaseSession, s.session);
  memset(&s, 0, sizeof s);
}

static int tensor(float *data, const int64_t *d, size_t nd, void **value) {
  size_t n = 1;
  for (size_t i = 0; i < nd; i++) n *= d[i];
  CHECK(CALL(CreateTensorWithDataAsOrtValue, meminfo, data, n * sizeof(float), d, nd, ElementFloat, value));
  return 0;
}

static int prepare(Case *c) {
  char path[512], line[256];
  void *options = NULL;
  CHECK(CALL(CreateSessionOptions, &options));
  CHECK(CALL(SetIntraOpNumThreads, options, threads));
  CHECK(CALL(SetInterOpNumThreads, options, 1));
  CHECK(CALL(SetSessionGraphOptimizationLevel, options, EnableAll));
  snprintf(path, sizeof path, "%s/model.onnx", c->dir);
  int bad = failed(CALL(CreateSession, env, path, options, &s.session));
  CALL(ReleaseSessionOptions, options);
  if (bad) return -1;
  snprintf(path, sizeof path, "%s/shapes", c->dir);
  FILE *f = fopen(path, "r");
  if (!f) return fail("no %s", path);
  int status = 0;
  while (!status && fgets(line, sizeof line, f)) {
    int64_t d[MAX_DIMS];
    size_t nd = 0, n = 1;
    char kind = line[0];
    for (char *p = line + 1; nd < MAX_DIMS && *p && *p != '\n'; nd++) n *= d[nd] = strtol(p, &p, 10);
    if (kind == 'i') {
      snprintf(s.name[s.n], sizeof s.name[s.n], "i%d", s.n);
      s.names[s.n] = s.name[s.n];
      status = tensor(c->in[s.n], d, nd, (void **)&s.value[s.n]);
      if (!status) s.n++;
    } else {
      c->outlen = n;
      c->out = floats(n);
      status = tensor(c->out, d, nd, &s.out);
    }
  }
  fclose(f);
  return status;
}

static int peer_open(Case *c) {
  memset(&s, 0, sizeof s);
  if (prepare(c) == 0) return 0;
  peer_close();
  return -1;
}

static int peer_run(void) {
  static const char *outname[] = {"y"};
  CHECK(CALL(Run, s.session, NULL, s.names, s.value, (size_t)s.n, outname, (size_t)1, &s.out));
  return 0;
}

int main(int argc, char **argv) { return peer_main(argc, argv); }
