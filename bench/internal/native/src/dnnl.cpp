// dnnl THREADS: oneDNN 2.x and 3.x, built against the headers that lie beside the library.
#include "driver.h"
#include <cmath>
#include <sched.h>
#include <dnnl.hpp>
#include <unordered_map>
#include <vector>
using namespace dnnl;
using tag = memory::format_tag;
using dims = memory::dims;
static const auto f32 = memory::data_type::f32;

static engine *cpu;
static stream *queue;
struct Step {
  primitive op;
  std::unordered_map<int, memory> args;
};
static std::vector<Step> steps;

// pin leaves this process the last n of its CPUs: a runtime with no setting for its threads counts them.
static void pin(int n) {
  cpu_set_t all, few;
  CPU_ZERO(&few);
  if (sched_getaffinity(0, sizeof all, &all)) return;
  for (int i = CPU_SETSIZE - 1; i >= 0 && n > 0; i--)
    if (CPU_ISSET(i, &all)) CPU_SET(i, &few), n--;
  sched_setaffinity(0, sizeof few, &few);
}

static int peer_init(int argc, char **argv, char *version, size_t size) {
  if (argc < 2) return fail("usage: dnnl THREADS");
  if (getenv("BENCH_PIN")) pin(atoi(argv[1]));
  try {
    cpu = new engine(engine::kind::cpu, 0);
    queue = new stream(*cpu);
  } catch (error &e) {
    return fail("%s", e.what());
  }
  auto v = dnnl_version();
  snprintf(version, size, "%d.%d.%d", v->major, v->minor, v->patch);
  return 0;
}

static memory::desc desc(const dims &d, tag t) { return memory::desc(d, f32, t); }
static memory view(const memory::desc &d, float *p) { return memory(d, *cpu, p); }
static dims shape(const memory &m) {
#if DNNL_VERSION_MAJOR >= 3
  return m.get_desc().get_dims();
#else
  return m.get_desc().dims();
#endif
}

// matmul appends C = GELU(scale*A*B + bias) + residual; packed lets the library choose B's layout
// once, ahead of the timed calls.
struct Extra {
  bool packed = false, gelu = false;
  float scale = 1;
  const memory *bias = nullptr, *residual = nullptr;
};
static void add_matmul(const memory &a, const memory &b, const memory &c, const Extra &x) {
  memory::desc wd = x.packed ? desc(shape(b), tag::any) : b.get_desc();
  post_ops post;
  primitive_attr attr;
#if DNNL_VERSION_MAJOR >= 3
  if (x.scale != 1) post.append_eltwise(algorithm::eltwise_linear, x.scale, 0);
  if (x.gelu) post.append_eltwise(algorithm::eltwise_gelu_erf, 0, 0);
#else
  if (x.scale != 1) post.append_eltwise(1.f, algorithm::eltwise_linear, x.scale, 0);
  if (x.gelu) post.append_eltwise(1.f, algorithm::eltwise_gelu_erf, 0, 0);
#endif
  if (x.residual) post.append_binary(algorithm::binary_add, x.residual->get_desc());
  attr.set_post_ops(post);
#if DNNL_VERSION_MAJOR >= 3
  auto pd = x.bias ? matmul::primitive_desc(*cpu, a.get_desc(), wd, x.bias->get_desc(), c.get_desc(), attr)
                   : matmul::primitive_desc(*cpu, a.get_desc(), wd, c.get_desc(), attr);
#else
  auto pd = matmul::primitive_desc(x.bias ? matmul::desc(a.get_desc(), wd, x.bias->get_desc(), c.get_desc())
                                          : matmul::desc(a.get_desc(), wd, c.get_desc()), attr, *cpu);
#endif
  memory w = b;
  if (pd.weights_desc() != b.get_desc()) {
    w = memory(pd.weights_desc(), *cpu);
    memory from = b;
    reorder(from, w).execute(*queue, from, w);
    queue->wait();
  }
  Step s{matmul(pd), {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, c}}};
  if (x.bias) s.args.insert({DNNL_ARG_BIAS, *x.bias});
  if (x.residual) s.args.insert({DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, *x.residual});
  steps.push_back(s);
}

static void add_softmax(const memory &x, const memory &y, int axis) {
#if DNNL_VERSION_MAJOR >= 3
  auto pd = softmax_forward::primitive_desc(*cpu, prop_kind::forward_inference, algorithm::softmax_accurate, x.get_desc(), y.get_desc(), axis);
#else
  auto pd = softmax_forward::primitive_desc(softmax_forward::desc(prop_kind::forward_inference, x.get_desc(), axis), *cpu);
#endif
  steps.push_back({softmax_forward(pd), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}}});
}

static void add_layernorm(const memory &x, float *weight, float *bias, const memory &y, float eps) {
  long n = shape(x)[1];
#if DNNL_VERSION_MAJOR >= 3
  auto pd = layer_normalization_forward::primitive_desc(*cpu, prop_kind::forward_inference, x.get_desc(), y.get_desc(), eps,
                                                        normalization_flags::use_scale | normalization_flags::use_shift);
  auto vec = desc({n}, tag::a);
  steps.push_back({layer_normalization_forward(pd),
                   {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}, {DNNL_ARG_SCALE, view(vec, weight)}, {DNNL_ARG_SHIFT, view(vec, bias)}}});
#else
  auto pd = layer_normalization_forward::primitive_desc(
      layer_normalization_forward::desc(prop_kind::forward_inference, x.get_desc(), eps, normalization_flags::use_scale_shift), *cpu);
  memory both(pd.weights_desc(), *cpu);
  float *p = (float *)both.get_data_handle();
  memcpy(p, weight, n * sizeof(float));
  memcpy(p + n, bias, n * sizeof(float));
  steps.push_back({layer_normalization_forward(pd), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}, {DNNL_ARG_SCALE_SHIFT, both}}});
#endif
}

static void add_gelu(const memory &x, const memory &y) {
#if DNNL_VERSION_MAJOR >= 3
  auto pd = eltwise_forward::primitive_desc(*cpu, prop_kind::forward_inference, algorithm::eltwise_gelu_erf, x.get_desc(), y.get_desc(), 0.f, 0.f);
#else
  auto pd = eltwise_forward::primitive_desc(eltwise_forward::desc(prop_kind::forward_inference, algorithm::eltwise_gelu_erf, x.get_desc(), 0.f, 0.f), *cpu);
#endif
  steps.push_back({eltwise_forward(pd), {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}}});
}

static memory scratch(const memory::desc &d) { return memory(d, *cpu); }

// A post-norm encoder layer of matmuls with fused bias, GELU and residual, weights pre-packed.
static void add_encoder_layer(Case *c) {
  long B = c->d[0], L = c->d[1], n = c->d[2], H = c->d[3], F = c->d[4], D = n / H, R = B * L;
  auto rows = [&](long w) { return desc({R, w}, tag::ab); };
  auto strided = [&](float *p, const dims &d, const dims &st) { return memory(memory::desc(d, f32, st), *cpu, p); };
  float **in = c->in;  // x wqkv bqkv wo bo g1 b1 w1 c1 w2 c2 g2 b2
  memory x = view(rows(n), in[0]), y = view(rows(n), c->out);
  memory qkv = scratch(rows(3 * n)), scores = scratch(desc({B, H, L, L}, tag::abcd)), heads = scratch(rows(n)), sum = scratch(rows(n)),
         norm = scratch(rows(n)), hidden = scratch(rows(F));
  auto linear = [&](const memory &a, float *w, float *bias, long k, long m, const memory &o, bool gelu, const memory *residual) {
    memory bm = view(desc({1, m}, tag::ab), bias);
    Extra e;
    e.packed = true, e.gelu = gelu, e.bias = &bm, e.residual = residual;
    add_matmul(a, view(desc({k, m}, tag::ab), w), o, e);
  };
  linear(x, in[1], in[2], n, 3 * n, qkv, false, nullptr);
  float *p = (float *)qkv.get_data_handle();
  memory q = strided(p, {B, H, L, D}, {L * 3 * n, D, 3 * n, 1}), kt = strided(p + n, {B, H, D, L}, {L * 3 * n, D, 1, 3 * n}),
         v = strided(p + 2 * n, {B, H, L, D}, {L * 3 * n, D, 3 * n, 1}), o = strided((float *)heads.get_data_handle(), {B, H, L, D}, {L * n, D, n, 1});
  Extra scaled;
  scaled.scale = 1 / std::sqrt((float)D);
  add_matmul(q, kt, scores, scaled);
  add_softmax(scores, scores, 3);
  add_matmul(scores, v, o, Extra());
  linear(heads, in[3], in[4], n, n, sum, false, &x);
  add_layernorm(sum, in[5], in[6], norm, 1e-12f);
  linear(norm, in[7], in[8], n, F, hidden, true, nullptr);
  linear(hidden, in[9], in[10], F, n, sum, false, &norm);
  add_layernorm(sum, in[11], in[12], y, 1e-12f);
}

// add_int8 appends C = A*B of int8, B symmetric by columns and A with a scale that is known beforehand.
static void add_int8(const Case *c, long m, long n, long k, float *out) {
#if DNNL_VERSION_MAJOR >= 3
  const auto s8 = memory::data_type::s8;
  float top = 0;
  for (long i = 0; i < m * k; i++) top = std::fmax(top, std::fabs(c->in[0][i]));
  memory scale(desc({1}, tag::a), *cpu), scales(desc({n}, tag::a), *cpu);
  *(float *)scale.get_data_handle() = top / 127;
  memory plain(memory::desc({k, n}, s8, tag::ab), *cpu), a8(memory::desc({m, k}, s8, tag::ab), *cpu);
  int8_t *p = (int8_t *)plain.get_data_handle();
  for (long j = 0; j < n; j++) {
    float t = 0;
    for (long i = 0; i < k; i++) t = std::fmax(t, std::fabs(c->in[1][i * n + j]));
    ((float *)scales.get_data_handle())[j] = t / 127;
    for (long i = 0; i < k; i++) p[i * n + j] = (int8_t)std::nearbyint(c->in[1][i * n + j] * 127 / t);
  }
  memory a = view(desc({m, k}, tag::ab), c->in[0]), y = view(desc({m, n}, tag::ab), out);
  primitive_attr quantize, attr;
  quantize.set_scales_mask(DNNL_ARG_DST, 0);
  steps.push_back({reorder(reorder::primitive_desc(a, a8, quantize)), {{DNNL_ARG_FROM, a}, {DNNL_ARG_TO, a8}, {DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST, scale}}});
  attr.set_scales_mask(DNNL_ARG_SRC, 0);
  attr.set_scales_mask(DNNL_ARG_WEIGHTS, 1 << 1);
  matmul::primitive_desc pd(*cpu, a8.get_desc(), memory::desc({k, n}, s8, tag::any), y.get_desc(), attr);
  memory b(pd.weights_desc(), *cpu);
  reorder(plain, b).execute(*queue, plain, b);
  queue->wait();
  steps.push_back({matmul(pd), {{DNNL_ARG_SRC, a8}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, y}, {DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, scale},
                                {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, scales}}});
#else
  throw error(dnnl_unimplemented, "int8 by the interface of version 3 alone");
#endif
}

static int build(Case *c) {
  const long *d = c->d;
  auto out = [&](size_t n) { return c->out = floats(c->outlen = n); };
  bool packed = is(c->op, "gemm_packed"), linear = is(c->op, "linear_bias_gelu"), nt = is(c->op, "gemm_nt");
  if (packed || linear || nt || is(c->op, "gemm_nn")) {
    long m = d[0], n = d[1], k = d[2];
    Extra e;
    memory bias;
    e.packed = packed || linear;
    if (linear) bias = view(desc({1, n}, tag::ab), c->in[2]), e.bias = &bias, e.gelu = true;
    add_matmul(view(desc({m, k}, tag::ab), c->in[0]), view(desc({k, n}, nt ? tag::ba : tag::ab), c->in[1]), view(desc({m, n}, tag::ab), out(m * n)), e);
  } else if (is(c->op, "gemm_packed_int8")) {
    add_int8(c, d[0], d[1], d[2], out(d[0] * d[1]));
  } else if (is(c->op, "bgemm_nn") || is(c->op, "bgemm_nt")) {
    long h = d[0], m = d[1], n = d[2], k = d[3];
    add_matmul(view(desc({h, m, k}, tag::abc), c->in[0]), view(desc({h, k, n}, is(c->op, "bgemm_nt") ? tag::acb : tag::abc), c->in[1]),
               view(desc({h, m, n}, tag::abc), out(h * m * n)), Extra());
  } else if (is(c->op, "softmax")) {
    auto m = desc({d[0], d[1]}, tag::ab);
    add_softmax(view(m, c->in[0]), view(m, out(d[0] * d[1])), 1);
  } else if (is(c->op, "layernorm")) {
    auto m = desc({d[0], d[1]}, tag::ab);
    add_layernorm(view(m, c->in[0]), c->in[1], c->in[2], view(m, out(d[0] * d[1])), 1e-5f);
  } else if (is(c->op, "gelu_erf")) {
    auto m = desc({d[0], d[1]}, tag::ab);
    add_gelu(view(m, c->in[0]), view(m, out(d[0] * d[1])));
  } else if (is(c->op, "sdpa") || is(c->op, "sdpa_decode")) {
    long h = d[0] * d[1], lq = d[2], lk = d[3], w = d[4];
    memory s = scratch(desc({h, lq, lk}, tag::abc));
    Extra scaled;
    scaled.scale = 1 / std::sqrt((float)w);
    add_matmul(view(desc({h, lq, w}, tag::abc), c->in[0]), view(desc({h, w, lk}, tag::acb), c->in[1]), s, scaled);
    add_softmax(s, s, 2);
    add_matmul(s, view(desc({h, lk, w}, tag::abc), c->in[2]), view(desc({h, lq, w}, tag::abc), out(h * lq * w)), Extra());
  } else if (is(c->op, "encoder_layer")) {
    out(d[0] * d[1] * d[2]);
    add_encoder_layer(c);
  } else {
    return fail("no such operation");
  }
  return 0;
}

static int peer_open(Case *c) {
  steps.clear();
  try {
    return build(c);
  } catch (error &e) {
    return fail("%s", e.what());
  }
}

static int peer_run(void) {
  try {
    for (auto &s : steps) s.op.execute(*queue, s.args);
    queue->wait();
  } catch (error &e) {
    return fail("%s", e.what());
  }
  return 0;
}

static void peer_close(void) { steps.clear(); }

int main(int argc, char **argv) { return peer_main(argc, argv); }
