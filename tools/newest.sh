#!/usr/bin/env bash
# Runs the end-to-end tests of Claude Code against the newest version that the
# registry has, or the one given, when it is not the pinned one. It is installed
# outside of e2e/agents, so that the pin stays what it is.
set -euo pipefail
cd "$(dirname "$0")/.."
package=@anthropic-ai/claude-code
pinned=$(sed -n "s|.*\"$package\": \"\\([^\"]*\\)\".*|\\1|p" e2e/agents/package.json)
version=${1:-$(npm view "$package" version)}
if [ "$version" = "$pinned" ]; then
  echo "$package $pinned is pinned and the newest: make e2e has run it"
  exit 0
fi
dir=$PWD/.cache/newest/$version
mkdir -p "$dir"
npm install --prefix "$dir" --no-audit --no-fund --loglevel=error "$package@$version"
echo "== $package $version (pinned: $pinned)"
# Without the 200 turns: what differs between versions shows in the first.
AGENTLAB_PATH=$dir/node_modules/.bin go test -count=1 -timeout 20m -run '^TestClaude' -skip 'LongSession|Faults|Nested' ./e2e
