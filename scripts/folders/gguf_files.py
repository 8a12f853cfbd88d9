"""Files in the format of llama.cpp."""
