"""config.json of drafters that do not run here, as published, and what the refusal says of each.

Each names where its text was read. Only fields that nobody could tell them by are left out.
"""

_QWEN3_8B = {
    "attention_bias": False,
    "attention_dropout": 0.0,
    "bos_token_id": 151643,
    "eos_token_id": 151645,
    "head_dim": 128,
    "hidden_act": "silu",
    "hidden_size": 4096,
    "initializer_range": 0.02,
    "intermediate_size": 12288,
    "max_position_embeddings": 40960,
    "model_type": "qwen3",
    "num_attention_heads": 32,
    "num_hidden_layers": 5,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "use_cache": True,
    "use_sliding_window": False,
    "vocab_size": 151936,
}
_SPECFORGE = _QWEN3_8B | {
    "block_size": 16,
    "dtype": "bfloat16",
    "layer_types": ["full_attention"] * 5,
    "max_window_layers": 5,
    "num_target_layers": 36,
}
_ZLAB = {"mask_token_id": 151669, "target_layer_ids": [1, 9, 17, 25, 33]}
# z-lab/Qwen3-8B-DFlash-b16, which does run: as sgl-project/SpecForge's configs/qwen3-8b-dflash.json,
# which trains the same, with the fields that vllm-project/speculators' converter is tested with.
ZLAB_QWEN3_8B = _SPECFORGE | {
    "architectures": ["DFlashDraftModel"],
    "auto_map": {"AutoModel": "dflash.DFlashDraftModel"},
    "dflash_config": _ZLAB,
}


def _method(algorithm, tokens, verifier):
    """`speculators_config` as vLLM's speculators write it."""
    greedy = {"proposal_type": "greedy", "speculative_tokens": tokens, "verifier_accept_k": 1}
    return {
        "algorithm": algorithm,
        "default_proposal_method": "greedy",
        "proposal_methods": [{"accept_tolerance": 0.0} | greedy],
        "verifier": verifier,
    }


# What one person trained: vllm-project/speculators issue 1065.
SPECULATORS_EAGLE3 = {
    "architectures": ["Eagle3DraftModel"],
    "auto_map": {"": "config.Eagle3SpeculatorConfig"},
    "draft_vocab_size": 32000,
    "dtype": "bfloat16",
    "eagle_aux_hidden_state_layer_ids": [2, 46, 91, 93],
    "embed_requires_grad": False,
    "fc_norm": False,
    "norm_before_fc": True,
    "norm_before_residual": True,
    "norm_output": True,
    "speculators_config": _method(
        "eagle3", 3, {"architectures": ["Qwen3MoeForCausalLM"], "name_or_path": "/model/from_s3"}
    ),
    "speculators_model_type": "eagle3",
    "speculators_version": "0.8.0.dev0",
    "target_hidden_size": None,
    "tie_word_embeddings": False,
    "transformer_layer_config": {
        "attention_bias": False,
        "attention_dropout": 0.0,
        "head_dim": 128,
        "hidden_act": "silu",
        "hidden_size": 4096,
        "initializer_range": 0.02,
        "intermediate_size": 12288,
        "layer_types": ["sliding_attention"],
        "max_position_embeddings": 262144,
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": 64,
        "num_hidden_layers": 1,
        "num_key_value_heads": 4,
        "pretraining_tp": 1,
        "rms_norm_eps": 1e-06,
        "rope_scaling": None,
        "rope_theta": 5000000,
        "sliding_window": 2048,
        "use_cache": True,
        "use_sliding_window": True,
        "vocab_size": 151936,
    },
    "transformers_version": "4.57.6",
}
# RedHatAI/GLM-5.2-speculator.dspark: a fixture of a public engine that calls it the shipped shape.
SPECULATORS_DSPARK = {
    "speculators_model_type": "dspark",
    "block_size": 16,
    "markov_rank": 256,
    "markov_head_type": "vanilla",
    "enable_confidence_head": True,
    "confidence_head_with_markov": True,
    "draft_vocab_size": 154880,
    "mask_token_id": 154856,
    "max_anchors": 1024,
    "tie_word_embeddings": False,
    "aux_hidden_state_layer_ids": [8, 23, 39, 55, 70],
    "speculators_config": {
        "algorithm": "dspark",
        "proposal_methods": [{"proposal_type": "greedy", "speculative_tokens": 15}],
    },
    "transformer_layer_config": {
        "model_type": "qwen3",
        "num_hidden_layers": 5,
        "hidden_size": 6144,
        "num_attention_heads": 64,
        "num_key_value_heads": 64,
        "head_dim": 64,
        "intermediate_size": 12288,
        "rms_norm_eps": 1e-05,
        "vocab_size": 154880,
        "rope_parameters": {"rope_theta": 8000000, "rope_type": "default"},
    },
}
# RedHatAI/DeepSeek-V4-Flash-speculator.dflash, from a public note on its config.json.
SPECULATORS_DFLASH = {
    "architectures": ["DFlashDraftModel"],
    "speculators_model_type": "dflash",
    "speculators_version": "0.5.0.dev163",
    "speculators_config": _method("dflash", 7, {"name": "deepseek-ai/DeepSeek-V4-Flash"}),
    "block_size": 8,
    "max_anchors": 3072,
    "aux_hidden_state_layer_ids": [3, 13, 23, 32, 42],
    "draft_vocab_size": 32000,
    "transformer_layer_config": _QWEN3_8B,
    "torch_dtype": "bfloat16",
}
# sgl-project/SpecForge, configs/qwen3-8b-dspark.json and configs/qwen3-8b-domino.json.
SPECFORGE_DSPARK = _SPECFORGE | {
    "architectures": ["DSparkDraftModel"],
    "auto_map": {"AutoModel": "dspark.DSparkDraftModel"},
    "dflash_config": _ZLAB
    | {
        "projector_type": "dspark",
        "markov_rank": 256,
        "markov_head_type": "vanilla",
        "confidence_head_alpha": 1.0,
        "enable_confidence_head": True,
        "confidence_head_with_markov": True,
    },
}
SPECFORGE_DOMINO = _SPECFORGE | {
    "emb_dim": 256,
    "architectures": ["DFlashDraftModel"],
    "auto_map": {"AutoModel": "dflash.DFlashDraftModel"},
    "dflash_config": _ZLAB
    | {
        "projector_type": "domino",
        "pure_draft_prefix_len": 1,
        "emb_dim": 256,
        "gru_hidden_dim": 1024,
        "shift_label": True,
    },
}
_EAGLE = {"model_type": "llama", "max_window_layers": 36, "torch_dtype": "bfloat16"}
# sgl-project/SpecForge, configs/qwen3-4b-eagle3.json and configs/qwen3-8b-peagle.json.
EAGLE3 = (_QWEN3_8B | _EAGLE) | {
    "architectures": ["LlamaForCausalLMEagle3"],
    "head_dim": 80,
    "hidden_size": 2560,
    "intermediate_size": 9728,
    "num_hidden_layers": 1,
    "tie_word_embeddings": True,
    "draft_vocab_size": 32000,
}
PEAGLE = (_QWEN3_8B | _EAGLE) | {
    "architectures": ["PEagleDraftModel"],
    "num_hidden_layers": 4,
    "draft_vocab_size": 151936,
}
# nebius/EAGLE3-gpt-oss-20b calls itself an ordinary Llama; its fields as a public engine tests them.
EAGLE3_UNNAMED = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 1,
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "rms_norm_eps": 1e-05,
    "vocab_size": 201088,
    "truncated_vocab_size": 32000,
}
# z-lab/Qwen3.8-27B-DFlash2, a fixture of a public engine.
DFLASH2 = {
    "architectures": ["DFlash2DraftModel"],
    "model_type": "qwen3",
    "dtype": "bfloat16",
    "hidden_size": 5120,
    "num_hidden_layers": 5,
    "vocab_size": 248320,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 17408,
    "rms_norm_eps": 1e-06,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000000},
    "max_position_embeddings": 262144,
    "use_sliding_window": True,
    "sliding_window": 2048,
    "is_causal": False,
    "tie_word_embeddings": False,
    "num_target_layers": 64,
    "dflash_config": {
        "block_size": 8,
        "conv_group_size": 16,
        "conv_kernel_size": 2,
        "mask_token_id": 248070,
        "selector_rank": 256,
        "selector_top_k": 16,
        "target_layer_ids": [5, 19, 33, 47, 61],
    },
}
# MTP heads on their own: mlx-community/Qwen3.8-27B-MTP-bf16, as a public engine tests it, and
# sgl-project/SpecForge, configs/qwen3.5-122b-a10b-mtp.json, whose model_type is a served family's.
MTP_HEAD = {
    "block_size": 3,
    "model_type": "qwen3_5_mtp",
    "tie_word_embeddings": False,
    "text_config": {
        "model_type": "qwen3_5_text",
        "attn_output_gate": True,
        "full_attention_interval": 4,
        "head_dim": 256,
        "hidden_size": 5120,
        "intermediate_size": 17408,
        "mtp_num_hidden_layers": 1,
        "mtp_use_dedicated_embeddings": False,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "num_hidden_layers": 64,
        "rms_norm_eps": 1e-06,
    },
}
MTP_HEAD_SERVED = {
    "architectures": ["Qwen3MoeForCausalLMMTP"],
    "attention_bias": False,
    "decoder_sparse_step": 1,
    "head_dim": 256,
    "hidden_act": "silu",
    "hidden_size": 3072,
    "intermediate_size": 8192,
    "max_position_embeddings": 262144,
    "mlp_only_layers": [],
    "model_type": "qwen3_moe",
    "moe_intermediate_size": 1024,
    "norm_topk_prob": True,
    "num_attention_heads": 32,
    "num_experts": 256,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 1,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "rope_theta": 10000000,
    "tie_word_embeddings": False,
    "vocab_size": 248320,
    "mtp_layer_idx": 0,
}
# Google's MTP head for Gemma 4, by the name that Blaizzy/mlx-vlm knows it by.
MTP_ASSISTANT = {"model_type": "gemma4_assistant", "text_config": {"hidden_size": 2560}}
# Whole models with heads inside: deepseek-ai/DeepSeek-R1, GLM-4.5-Air, Qwen3.5 and
# DeepSeek-V4-Flash-0731, by the config.json of each.
DEEPSEEK_R1 = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"},
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "model_type": "deepseek_v3",
    "num_attention_heads": 128,
    "num_hidden_layers": 61,
    "num_nextn_predict_layers": 1,
    "quantization_config": {"fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]},
    "vocab_size": 129280,
}
GLM_AIR = {
    "architectures": ["Glm4MoeForCausalLM"],
    "model_type": "glm4_moe",
    "num_hidden_layers": 46,
    "num_nextn_predict_layers": 1,
    "vocab_size": 151552,
}
QWEN35 = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "model_type": "qwen3_5",
    "quantization_config": {"bits": 4, "group_size": 64, "mode": "affine"},
    "text_config": {
        "model_type": "qwen3_5_text",
        "hidden_size": 5120,
        "num_hidden_layers": 64,
        "mtp_num_hidden_layers": 1,
    },
}
DEEPSEEK_V4 = {
    "architectures": ["DeepseekV4ForCausalLM"],
    "model_type": "deepseek_v4",
    "hidden_size": 4096,
    "num_hidden_layers": 43,
    "vocab_size": 129280,
    "num_nextn_predict_layers": 1,
    "dspark_target_layer_ids": [40, 41, 42],
    "dspark_markov_rank": 256,
}
_INSIDE = "a whole model with a drafter inside"
# config and words of the refusal, by name.
PUBLISHED = {
    "speculators eagle3": (SPECULATORS_EAGLE3, "vLLM's speculators"),
    "speculators dspark": (SPECULATORS_DSPARK, "vLLM's speculators"),
    "speculators dflash": (SPECULATORS_DFLASH, "vLLM's speculators"),
    "specforge dspark": (SPECFORGE_DSPARK, "SpecForge's form (projector_type dspark)"),
    "specforge domino": (SPECFORGE_DOMINO, "SpecForge's form (projector_type domino)"),
    "eagle3": (EAGLE3, "it is LlamaForCausalLMEagle3, an EAGLE drafter"),
    "p-eagle": (PEAGLE, "it is PEagleDraftModel, an EAGLE drafter"),
    "eagle3 without its name": (EAGLE3_UNNAMED, 'a model with "truncated_vocab_size"'),
    "dflash 2": (DFLASH2, "it is DFlash2DraftModel, a DFlash drafter"),
    "mtp head": (MTP_HEAD, "it is qwen3_5_mtp, an MTP drafter"),
    "mtp head of a served family": (MTP_HEAD_SERVED, "Qwen3MoeForCausalLMMTP, an MTP drafter"),
    "mtp assistant": (MTP_ASSISTANT, "it is gemma4_assistant, and such drafters do not run here"),
    "deepseek r1": (DEEPSEEK_R1, _INSIDE),
    "glm-4.5 air": (GLM_AIR, _INSIDE),
    "qwen3.5": (QWEN35, _INSIDE),
    "deepseek v4 flash": (DEEPSEEK_V4, _INSIDE),
}
