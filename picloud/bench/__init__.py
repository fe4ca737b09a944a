"""Benchmarks: what `picloud bench` runs. Source of the form: every suite yields cases, every case a list of figures."""
