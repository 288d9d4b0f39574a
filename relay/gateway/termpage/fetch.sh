#!/bin/sh
# Fetches xterm.js as its makers publish it, minified, with its license.
set -eu
VERSION=5.5.0
cd "$(dirname "$0")/assets"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(cd "$dir" && npm pack --silent "@xterm/xterm@$VERSION" >/dev/null && tar xzf ./*.tgz)
sed '/^\/\/# sourceMappingURL/d' "$dir/package/lib/xterm.js" >xterm.js
cp "$dir/package/css/xterm.css" xterm.css
cp "$dir/package/LICENSE" xterm.LICENSE
