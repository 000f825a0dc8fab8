"""Files as users have them: strict JSON and YAML, and files that are written whole or not at all."""
