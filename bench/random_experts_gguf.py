"""Writes a GGUF file of random weights of a mixture of experts, four layers of it: qwen (Qwen3-30B-A3B, all in Q4_K) or oss
(gpt-oss-20b, experts in MXFP4 and the rest in Q8_0): python bench/random_experts_gguf.py qwen FILE.gguf. Needs Python's gguf and numpy."""
import sys, numpy as np, gguf
T=gguf.GGMLQuantizationType
rng=np.random.default_rng(1)
def q4k(rows,cols):
    n=rows*cols//256
    b=rng.integers(0,256,(n,144),dtype=np.uint8)
    s=0.02*np.ones(n,np.float16)*np.float16(1/ (15*30)*8); b[:,0:2]=s.view(np.uint8).reshape(n,2)
    m=(s*np.float16(7.5)).astype(np.float16); b[:,2:4]=m.view(np.uint8).reshape(n,2)
    return b.reshape(rows,-1)
def q8(rows,cols):
    n=rows*cols//32
    b=rng.integers(0,256,(n,34),dtype=np.uint8)
    s=np.full(n,0.02/64,np.float16); b[:,0:2]=s.view(np.uint8).reshape(n,2)
    return b.reshape(rows,-1)
def mx(rows,cols):
    n=rows*cols//32
    b=rng.integers(0,256,(n,17),dtype=np.uint8); b[:,0]=127-8
    return b.reshape(rows,-1)
def vocab(w,n):
    w.add_tokenizer_model("llama"); w.add_tokenizer_pre("default")
    w.add_token_list(["<unk>","<s>","</s>"]+[f"▁t{i}" for i in range(3,n)])
    w.add_token_scores([float(-i) for i in range(n)])
    w.add_token_types([2,3,3]+[1]*(n-3)); w.add_bos_token_id(1); w.add_eos_token_id(2)
kind,path=sys.argv[1:3]
L=4
if kind=="qwen":
    D,H,KV,HD,E,K,F,V=2048,32,4,128,128,8,768,151936
    w=gguf.GGUFWriter(path,"qwen3moe"); mat=lambda r,c:(q4k(r,c),T.Q4_K); ex=mat
    w.add_feed_forward_length(6144); w.add_rope_freq_base(1e6)
else:
    D,H,KV,HD,E,K,F,V=2880,64,8,64,32,4,2880,201088
    w=gguf.GGUFWriter(path,"gpt-oss"); mat=lambda r,c:(q8(r,c),T.Q8_0); ex=lambda r,c:(mx(r,c),T.MXFP4)
    w.add_feed_forward_length(F); w.add_rope_freq_base(150000.0); w.add_sliding_window(128)
    w.add_rope_scaling_type(gguf.RopeScalingType.YARN); w.add_rope_scaling_factor(32.0); w.add_rope_scaling_orig_ctx_len(4096)
w.add_context_length(32768); w.add_embedding_length(D); w.add_block_count(L); w.add_head_count(H); w.add_head_count_kv(KV)
w.add_layer_norm_rms_eps(1e-6); w.add_key_length(HD); w.add_value_length(HD); w.add_vocab_size(V)
w.add_expert_count(E); w.add_expert_used_count(K); w.add_expert_feed_forward_length(F)
vocab(w,V)
def f32(x): return np.ascontiguousarray(x,np.float32)
def add(name,r,c): d,t=mat(r,c); w.add_tensor(name,d,raw_dtype=t)
add("token_embd.weight",V,D); add("output.weight",V,D); w.add_tensor("output_norm.weight",f32(np.ones(D)))
for i in range(L):
    p=f"blk.{i}."
    w.add_tensor(p+"attn_norm.weight",f32(np.ones(D)))
    w.add_tensor(p+("ffn_norm.weight" if kind=="qwen" else "post_attention_norm.weight"),f32(np.ones(D)))
    add(p+"attn_q.weight",H*HD,D); add(p+"attn_k.weight",KV*HD,D); add(p+"attn_v.weight",KV*HD,D); add(p+"attn_output.weight",D,H*HD)
    w.add_tensor(p+"ffn_gate_inp.weight",f32(rng.normal(size=(E,D))*0.03))
    if kind=="qwen":
        w.add_tensor(p+"attn_q_norm.weight",f32(np.ones(HD))); w.add_tensor(p+"attn_k_norm.weight",f32(np.ones(HD)))
    else:
        for n,s in (("attn_q",H*HD),("attn_k",KV*HD),("attn_v",KV*HD),("attn_output",D),("ffn_gate_inp",E)): w.add_tensor(p+n+".bias",f32(rng.normal(size=s)*0.01))
        w.add_tensor(p+"attn_sinks.weight",f32(rng.normal(size=H)))
        for n,s in (("ffn_gate_exps",F),("ffn_up_exps",F),("ffn_down_exps",D)): w.add_tensor(p+n+".bias",f32(rng.normal(size=(E,s))*0.01))
    for n,r,c in (("ffn_gate_exps",F,D),("ffn_up_exps",F,D),("ffn_down_exps",D,F)):
        d,t=ex(E*r,c); w.add_tensor(p+n+".weight",d.reshape(E,r,-1),raw_dtype=t)
w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
