"""Exact search: permitted states in order of cost, until the model accepts one."""
