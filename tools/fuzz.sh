#!/usr/bin/env bash
# Runs every fuzz target of the project for the given time each. Minimizing an
# input is bounded: by default it takes a minute of its own for each new one.
set -euo pipefail
cd "$(dirname "$0")/.."
for pkg in $(go list ./...); do
  dir=$(go list -f '{{.Dir}}' "$pkg")
  for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go 2>/dev/null | sed 's/^func //' | sort -u); do
    echo "== $pkg $target"
    go test "$pkg" -run '^$' -fuzz "^$target\$" -fuzztime "${1:-60s}" -fuzzminimizetime 10x
  done
done
