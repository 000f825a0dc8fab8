"""Many people: people per second, the effect of more workers, memory, and where the time goes."""
