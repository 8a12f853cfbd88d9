package configuration

// Fields of configurations that do not change what a model computes, whatever they say.

// Neutral is the reason for each field.
var Neutral = reasons(map[string][]string{
	"parts of activations are left out only in training": {
		"dropout", "dropout_rate", "hidden_dropout", "hidden_dropout_prob", "attention_dropout", "attention_probs_dropout_prob", "activation_dropout",
		"classifier_dropout", "classifier_dropout_prob", "qa_dropout", "seq_classif_dropout", "embd_pdrop", "attn_pdrop", "resid_pdrop",
		"embedding_dropout", "mlp_dropout", "encoder_layerdrop", "decoder_layerdrop", "layerdrop", "summary_first_dropout", "summary_last_dropout",
		"cls_dropout", "pooler_dropout", "drop_path_rate", "feat_proj_dropout", "feat_quantizer_dropout", "final_dropout", "moe_resid_pdrop",
		"dropout_positions",
	},
	"the weights are read, not drawn": {
		"initializer_range", "initializer_factor", "initializer_cutoff_factor", "init_std", "init_xavier_std", "logit_scale_init_value", "layerscale_value",
	},
	"sound is hidden only in training": {
		"apply_spec_augment", "mask_time_prob", "mask_time_length", "mask_time_min_masks", "mask_feature_prob", "mask_feature_length", "mask_feature_min_masks",
		"median_filter_width", "mask_channel_length", "mask_channel_min_space", "mask_channel_other", "mask_channel_prob", "mask_channel_selection",
		"mask_time_min_space", "mask_time_other", "mask_time_selection", "no_mask_channel_overlap", "no_mask_time_overlap",
	},
	"losses are for training":                                 {"router_aux_loss_coef", "router_jitter_noise", "sparse_prediction", "z_loss_coefficient", "sparse_pred_ignore_index", "label_smoothing", "use_xentropy", "reference_compile", "ctc_loss_reduction", "ctc_zero_infinity"},
	"of a head that completes images, which is not supported": {"encoder_stride"},
	"of what wav2vec 2.0 was trained with, and of heads and adapters that are not supported": {
		"num_codevectors_per_group", "num_codevector_groups", "contrastive_logits_temperature", "num_negatives", "codevector_dim", "proj_codevector_dim",
		"diversity_loss_weight", "use_weighted_layer_sum", "classifier_proj_size", "tdnn_dim", "tdnn_kernel", "tdnn_dilation", "xvector_output_dim",
		"adapter_kernel_size", "adapter_stride", "num_adapter_layers", "output_hidden_size",
	},
	"conv_dim says it": {"num_feat_extract_layers"},
	"how transformers 5 writes pad_token_id of Idefics 3 and SmolVLM, whose text has its own": {"_pad_token_id"},
	"says which outputs transformers returns": {
		"output_attentions", "output_hidden_states", "output_router_logits", "output_scores", "output_past", "return_dict", "use_return_dict", "return_dict_in_generate",
		"use_cache", "num_logits_to_keep", "keys_to_ignore_at_inference", "tie_last_hidden_states",
	},
	"the same numbers, computed another way": {
		"chunk_size_feed_forward", "gradient_checkpointing", "repad_logits_with_grad", "attn_implementation", "_attn_implementation", "_attn_implementation_autoset",
		"experts_implementation", "reorder_and_upcast_attn", "pretraining_tp", "deterministic_flash_attn", "fused_bias_fc", "fusion_config", "fused_dropout_add_ln", "use_flash_attn",
		"unpad_inputs", "mamba_chunk_size", "moe_impl", "use_memory_efficient_attention", "pack_qkv", "logn_attention_clip1",
	},
	"of a backbone, which gives the hidden states of several layers and is not supported": {
		"out_features", "out_indices", "stage_names", "apply_layernorm", "reshape_hidden_states",
	},
	"the file of weights says it": {"dtype", "torch_dtype"},
	"says where the checkpoint is from": {
		"transformers_version", "_name_or_path", "name_or_path", "_commit_hash", "auto_map", "finetuning_task", "task_specific_params",
		"transformers.js_config", "prefix", "language",
	},
	"names of labels, which id2label has": {"label2id", "_num_labels"},
	"the architecture says it":            {"is_encoder_decoder"},
	"of the head that GPT-2 has for multiple choice, which is not supported": {
		"summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels", "n_ctx",
	},
	"which token is which decides the tokenizer, and what reads it here asks for it": {
		"cls_token_id", "sep_token_id", "mask_token_id", "unk_token_id", "pad_token_id", "bos_token_id", "eos_token_id", "eod_token_id", "tokenizer_class",
	},
	"asked for where heads do not divide the width, which is an error here":        {"embedding_size"},
	"only one head of decoders asks for it, see Checkpoint.decoderModel":           {"token_classification_bias"},
	"of DeBERTa's convolution, which is not supported":                             {"conv_act", "conv_groups"},
	"which axis of an image turns which pair of features: in text, all turn alike": {"mrope_section", "mrope_interleaved"},
	"what the training of a rotary scaling was":                                    {"finetuned"},
	"layer_types says it":        {"_sliding_window_pattern"},
	"says how timm makes images": {"pretrained_cfg"},
	"of BERT in TensorFlow": {
		"directionality", "pooler_fc_size", "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type",
	},
	"read before, by the pipeline": {"sentence_transformers", "sbert_ce_default_activation_function"},
})

// reasons turns lists of fields by reason into reasons by field.
func reasons(by map[string][]string) map[string]string {
	of := map[string]string{}
	for reason, fields := range by {
		for _, f := range fields {
			of[f] = reason
		}
	}
	return of
}
