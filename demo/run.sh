#!/usr/bin/env bash
# Builds agenthost, installs one real agent, runs it and shows its stream: first
# the envelopes of one turn, then a readable view of another. Without GEMINI_API_KEY it
# runs against the scripted model, on loopback, with no key and no internet.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
say() { printf '\n\033[1m%s\033[0m\n' "$*" >&2; }

command -v npm >/dev/null || { echo "demo: npm is needed to install the agent; install Node.js 20 or newer" >&2; exit 2; }
say "Building agenthost"
make -s build
say "Installing the agent (Gemini CLI, pinned)"
(cd demo/agent && { [ -d node_modules ] && [ node_modules -nt package-lock.json ] || npm ci --no-audit --no-fund --loglevel=error; })

# run PROMPT FLAGS... runs one turn, and shows the command for it before.
run() {
  local prompt=$1
  shift
  printf '$ agenthost run gemini -p "%s"' "${prompt%%$'\n'*}" >&2
  printf " '%s'" "$@" | sed "s/'\(--[a-z-]*\|[a-z]*\)'/\1/g" >&2
  printf '\n  (starting Gemini CLI takes some seconds)\n' >&2
  "$root/bin/agenthost" run gemini --cwd "$demo/work" -p "$prompt" "$@"
}

# A home of its own, so that neither files nor logins of yours are touched. Not
# below /tmp: Gemini CLI ignores settings below a folder that others may write to.
umask 077
mkdir -p .cache
demo=$(mktemp -d "$root/.cache/demo.XXXXXX")
model=
cleanup() { [ -n "$model" ] && kill "$model" 2>/dev/null; rm -rf "$demo"; }
trap cleanup EXIT
mkdir -p "$demo/home" "$demo/work" "$demo/state"
echo "The answer is 41." >"$demo/work/answer.txt"
export PATH="$root/demo/agent/node_modules/.bin:$PATH" XDG_STATE_HOME="$demo/state"

if [ -n "${GEMINI_API_KEY:-}" ]; then
  say "GEMINI_API_KEY is set: running against the real model"
  first="Write the word hello into hello.txt, then say what you did in one sentence."
  second="Read answer.txt and say whether it is right."
else
  say "No GEMINI_API_KEY: running against the scripted model on loopback"
  export HOME="$demo/home" XDG_CONFIG_HOME="$demo/home/.config"
  "$root/bin/agenthost" dev model --listen 127.0.0.1:0 >"$demo/model" &
  model=$!
  for _ in $(seq 100); do
    url=$(sed -n 's/^scripted model at //p' "$demo/model")
    [ -n "$url" ] && break
    sleep 0.1
  done
  [ -n "$url" ] || { echo "demo: the scripted model did not start" >&2; exit 1; }
  export GEMINI_API_KEY=sk-scripted GOOGLE_GEMINI_BASE_URL="$url"
  first=$'Write hello into hello.txt.\nSCRIPT: think "**Planning** I shall write the file." ++ text I write the file. ++ write hello.txt hello\ntext I wrote hello into hello.txt.'
  second=$'Is answer.txt right?\nSCRIPT: text Let me look. ++ read answer.txt\nshell ls -l answer.txt\ntext It says 41; the right answer is 42.'
fi

say "1. The stream: session protocol v2 envelopes, one JSON object a line"
run "$first" --output envelopes --allow 'write(**)' --allow 'edit(**)'
say "2. Another turn, as a person reads it"
run "$second" --output text --allow 'read(**)' --allow 'bash(ls *)'
say "Done. The agent wrote hello.txt:"
printf '%s\n' "$(cat "$demo/work/hello.txt")"
say "Next: make build; bin/agenthost agents; README.md has the rest"
