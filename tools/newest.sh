#!/usr/bin/env bash
# Runs the end-to-end tests of Claude Code and of Codex against the newest version
# that the registry has of each, where it is not the pinned one: "newest.sh", or
# "newest.sh claude VERSION". They are installed outside of e2e/agents, so that the
# pins stay what they are.
set -euo pipefail
cd "$(dirname "$0")/.."

# try AGENT PACKAGE TESTS [VERSION]
try() {
  local pinned version dir
  pinned=$(sed -n "s|.*\"$2\": \"\\([^\"]*\\)\".*|\\1|p" e2e/agents/package.json)
  version=${4:-$(npm view "$2" version)}
  if [ "$version" = "$pinned" ]; then
    echo "$2 $pinned is pinned and the newest: make e2e has run it"
    return
  fi
  dir=$PWD/.cache/newest/$1-$version
  mkdir -p "$dir"
  npm install --prefix "$dir" --no-audit --no-fund --loglevel=error "$2@$version"
  echo "== $2 $version (pinned: $pinned)"
  # Without the 200 turns: what differs between versions shows in the first.
  AGENTLAB_PATH=$dir/node_modules/.bin go test -count=1 -timeout 20m -run "$3" -skip 'LongSession|Faults|Nested|Bugs|Program' ./e2e
}

case ${1:-} in
"")
  try claude @anthropic-ai/claude-code '^TestClaude'
  try codex @openai/codex '^TestCodex'
  ;;
claude) try claude @anthropic-ai/claude-code '^TestClaude' "${2:-}" ;;
codex) try codex @openai/codex '^TestCodex' "${2:-}" ;;
*) echo "newest.sh: want claude or codex, got $1" >&2; exit 2 ;;
esac
