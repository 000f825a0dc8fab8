"""Compiled array functions: codes and tables in, arrays out. No pandas, no classes, no policy.

Every array's shape stands beside its name: P people, W walkers, F features, V slots, M samples, N options, K clauses.
`reference` holds a slow, obvious twin of each kernel; the tests compare the two.
"""
