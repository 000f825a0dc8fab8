"""Stored cases that pin what the package decides and says, byte for byte."""
