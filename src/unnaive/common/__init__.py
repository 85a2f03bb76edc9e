"""COMMON: checks, words for numbers, threads and atomic files, which every room may use."""
