"""Guided search: ask only about states that would lower the expected minimum cost, where a surrogate accepts them."""
