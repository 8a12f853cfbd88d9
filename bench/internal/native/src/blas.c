// blas LIBRARY THREADS: any library with the CBLAS interface (OpenBLAS, BLIS, MKL).
#define _GNU_SOURCE
#include "driver.h"
#include <dlfcn.h>

enum { RowMajor = 101, NoTrans = 111, Trans = 112, BMatrix = 162, Packed = 151 };

typedef void (*sgemm_fn)(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
typedef void (*sgemv_fn)(int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
typedef void (*batch_fn)(int, int, int, int, int, int, float, const float *, int, int, const float *, int, int, float, float *, int, int, int);
typedef size_t (*packsize_fn)(int, int, int, int);
typedef void (*pack_fn)(int, int, int, int, int, int, float, const float *, int, float *);
typedef void (*compute_fn)(int, int, int, int, int, int, const float *, int, const float *, int, float, float *, int);

static void *lib;
static sgemm_fn sgemm;
static sgemv_fn sgemv;
static batch_fn sbatch;
static packsize_fn packsize;
static pack_fn pack;
static compute_fn compute;

// sym finds a symbol, also under the prefix of the builds in the Python registry.
static void *sym(const char *name) {
  void *p = dlsym(lib, name);
  if (!p) {
    char prefixed[128];
    snprintf(prefixed, sizeof prefixed, "scipy_%s", name);
    p = dlsym(lib, prefixed);
  }
  return p;
}

static int peer_init(int argc, char **argv, char *version, size_t size) {
  if (argc < 3) return fail("usage: blas LIBRARY THREADS");
  lib = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (!lib) return fail("%s", dlerror());
  sgemm = (sgemm_fn)sym("cblas_sgemm");
  sgemv = (sgemv_fn)sym("cblas_sgemv");
  sbatch = (batch_fn)sym("cblas_sgemm_batch_strided");
  packsize = (packsize_fn)sym("cblas_sgemm_pack_get_size");
  pack = (pack_fn)sym("cblas_sgemm_pack");
  compute = (compute_fn)sym("cblas_sgemm_compute");
  if (!sgemm || !sgemv) return fail("%s has no cblas_sgemm", argv[1]);
  int n = atoi(argv[2]);
  void (*setint)(int) = (void (*)(int))sym("openblas_set_num_threads");
  if (!setint) setint = (void (*)(int))dlsym(lib, "MKL_Set_Num_Threads");
  void (*setlong)(long) = (void (*)(long))dlsym(lib, "bli_thread_set_num_threads");
  if (setint) setint(n);
  else if (setlong) setlong(n);
  else return fail("no way to set the number of threads");
  char *(*config)(void) = (char *(*)(void))sym("openblas_get_config");
  char *(*core)(void) = (char *(*)(void))sym("openblas_get_corename");
  const char *(*blis)(void) = (const char *(*)(void))dlsym(lib, "bli_info_get_version_str");
  void (*mkl)(char *, int) = (void (*)(char *, int))dlsym(lib, "MKL_Get_Version_String");
  if (config) {
    char number[64] = "?";
    sscanf(config(), "OpenBLAS %63s", number);
    snprintf(version, size, "%s %s", number, core ? core() : "");
  } else if (blis) {
    snprintf(version, size, "%s", blis());
  } else if (mkl) {
    char text[256] = "", number[64] = "?";
    mkl(text, sizeof text - 1);
    char *p = strstr(text, "Version ");
    if (p) sscanf(p, "Version %63s", number);
    snprintf(version, size, "%s", number);
  }
  return 0;
}

static struct {
  int h, m, n, k, trans;
  enum { GEMM, GEMV, BATCH, PACKED } how;
  float *a, *b, *c, *packed;
} g;

static int peer_open(Case *c) {
  memset(&g, 0, sizeof g);
  int batched = is(c->op, "bgemm_nn") || is(c->op, "bgemm_nt");
  g.trans = is(c->op, "gemm_nt") || is(c->op, "bgemm_nt");
  if (!batched && !is(c->op, "gemm_nn") && !g.trans && !is(c->op, "gemm_packed")) return fail("no such operation");
  const long *d = c->d;
  g.h = batched ? *d++ : 1;
  g.m = d[0], g.n = d[1], g.k = d[2];
  g.a = c->in[0], g.b = c->in[1];
  c->outlen = (size_t)g.h * g.m * g.n;
  g.c = c->out = floats(c->outlen);
  if (is(c->op, "gemm_packed") != is(c->variant, "pack")) return fail("no such variant");
  if (is(c->variant, "sgemm")) {
    g.how = GEMM;
  } else if (is(c->variant, "sgemv") && g.m == 1 && g.h == 1) {
    g.how = GEMV;
  } else if (is(c->variant, "batch") && batched && sbatch) {
    g.how = BATCH;
  } else if (is(c->variant, "pack") && packsize && pack && compute) {
    g.how = PACKED;
    g.packed = floats(packsize(BMatrix, g.m, g.n, g.k) / sizeof(float) + 16);
    pack(RowMajor, BMatrix, NoTrans, g.m, g.n, g.k, 1, g.b, g.n, g.packed);
  } else {
    return fail("no such variant");
  }
  return 0;
}

static int peer_run(void) {
  int tb = g.trans ? Trans : NoTrans, ldb = g.trans ? g.k : g.n;
  switch (g.how) {
  case GEMM:
    for (int i = 0; i < g.h; i++)
      sgemm(RowMajor, NoTrans, tb, g.m, g.n, g.k, 1, g.a + (size_t)i * g.m * g.k, g.k, g.b + (size_t)i * g.k * g.n, ldb, 0, g.c + (size_t)i * g.m * g.n, g.n);
    break;
  case GEMV:  // c = op(B)^T a
    if (g.trans) sgemv(RowMajor, NoTrans, g.n, g.k, 1, g.b, g.k, g.a, 1, 0, g.c, 1);
    else sgemv(RowMajor, Trans, g.k, g.n, 1, g.b, g.n, g.a, 1, 0, g.c, 1);
    break;
  case BATCH:
    sbatch(RowMajor, NoTrans, tb, g.m, g.n, g.k, 1, g.a, g.k, g.m * g.k, g.b, ldb, g.k * g.n, 0, g.c, g.n, g.m * g.n, g.h);
    break;
  case PACKED:
    compute(RowMajor, NoTrans, Packed, g.m, g.n, g.k, g.a, g.k, g.packed, g.n, 0, g.c, g.n);
    break;
  }
  return 0;
}

static void peer_close(void) { free(g.packed); }

int main(int argc, char **argv) { return peer_main(argc, argv); }
