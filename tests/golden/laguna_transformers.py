"""Writes laguna_transformers.json: the logits of transformers' own Laguna on folders of ours.

The folders are written by support.laguna_folder; arguments and venv are those of
lfm2_transformers.py. tests/engine/test_laguna_golden.py calls it with every folder.
"""

from lfm2_transformers import main

if __name__ == "__main__":
    main()
