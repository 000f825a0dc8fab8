"""From results to pages, in two steps: numbers are collected into one JSON file, and everything is drawn from that."""

from experiments.report.pages import collect, draw, render

__all__ = ["collect", "draw", "render"]
