"""Whole populations: people a second, what more workers bring, memory, and where the time goes."""
