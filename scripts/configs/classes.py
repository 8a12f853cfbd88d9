"""Prints internal/pyclass/classes.txt: the fields of the classes of transformers, peft and sentence-transformers, with their defaults.

A class of images without a form for Pillow needs torchvision, which nothing else here may have: with it transformers computes other pixels."""

import peft
import sentence_transformers
import transformers

import class_configs
import class_files
import class_tokenizers


def main():
    print(f"Written by make config-table from transformers {transformers.__version__}, peft {peft.__version__}, sentence-transformers {sentence_transformers.__version__}.")
    for source in (class_configs, class_files, class_tokenizers):
        for name, lines in source.sections():
            print(f"\n[{name}]")
            for line in lines:
                print(line)


if __name__ == "__main__":
    main()
