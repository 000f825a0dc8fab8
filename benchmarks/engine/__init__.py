"""The benchmark suite of the search engine: ``python -m benchmarks.engine``."""
