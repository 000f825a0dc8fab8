"""The paper's tables and figures, and some beyond it: a config each, results as data. Uses public names only."""
