"""Guided search: evaluate only states that would lower the expected minimum cost, where a surrogate accepts them."""
