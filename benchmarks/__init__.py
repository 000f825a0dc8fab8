"""Speed and quality against the references, as code. Each module is one command: ``python -m benchmarks.cols``."""
