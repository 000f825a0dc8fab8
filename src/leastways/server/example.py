"""The commented `service.yaml` that `leastways serve --example` writes."""

from __future__ import annotations

EXAMPLE = """\
# What `leastways serve --config service.yaml` reads. Paths are relative to this file.

# The model that decides, on raw rows: a .skops or .onnx file, or 'module:object'.
model: model.skops
# true: load a .pkl or .joblib file, or types that skops does not know. Loading such a file runs code in it.
trust: false
# What each column is and how people may move in it: `leastways schema infer` writes a first one.
schema: schema.yaml
# The table that costs are fitted on: .csv or .parquet.
data: train.csv
# The label that is a yes, and the lowest probability of it that counts as one.
target: 1
threshold: 0.5

# How options are found. Every answer records these; `leastways replay` uses what was recorded.
n_options: 5
budget: 200
n_costs: 1000
seed: 0
distill: 0
# Searches at the same time; null: one for each core, at most 4.
threads: null

# Where answers are kept: a file for SQLite, or postgresql://user:password@host/name.
database: leastways.db
# After so many days a person and all answers to them are erased; null: never.
retention_days: 365
# Attributes that only the audit looks at, and the model never sees; callers send them under "groups".
groups: []

# Who can reach it. A host other than this machine needs API keys (`leastways keys create`) and, for 0.0.0.0 or ::,
# the names that callers use.
host: 127.0.0.1
port: 8000
# require_keys: true
# allowed_hosts: [recourse.example.org]
# The outside address, http or https; links begin with it. Without user, query or fragment.
# public_url: https://recourse.example.org
title: Ways to a yes
# A folder with other words, languages or a style sheet for the pages.
# texts: texts

limits:
  body_bytes: 4000000        # a request's body
  rows: 10000                # people in one request
  inline_rows: 20            # people answered at once; more become a job
  waiting_people: 400        # people of waiting requests; more get 503 and when to come back
  waiting_jobs: 50           # unfinished jobs
  requests_per_second: 100   # by key, or by address without one; more get 429
  burst: 200                 # requests that may come at once
  request_seconds: 30        # from a request to its answer; longer gets 504, and nothing is stored
  body_seconds: 20           # for a body to arrive
  refinements: 1000          # answers of one person; then the latest one stays
  grace_seconds: 20          # for running requests, when asked to stop
"""
