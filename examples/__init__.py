"""Small runnable programs; a test runs each."""
