#!/bin/sh
# All tests of Foyer. It needs Go, and installs the rest when it may (root with
# apt): a C compiler for the race detector, Debian's chromium and axe-core (by
# npm) for the browser tests, e2fsprogs for a small disk,
# nginx and Caddy for the recipes of examples. What it cannot install it names and skips; with CI=true it
# fails instead. What needs root or FUSE is named and left out where there is none.
set -eu
cd "$(dirname "$0")"

skipped=""

skip() {
	if [ "${CI:-}" = true ]; then
		echo "check: $1" >&2
		exit 1
	fi
	echo "check: skipped: $1" >&2
	skipped="$skipped
  $1"
}

# left says what this machine cannot run, whoever runs it.
left() {
	echo "check: left out: $1" >&2
	skipped="$skipped
  $1"
}

# install PACKAGE... tries apt; it may fail, what is missing shows afterwards.
install() {
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		echo "check: installing $*"
		{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; } >/dev/null 2>&1 || true
	fi
}

step() { printf '\n== %s\n' "$*"; }

command -v go >/dev/null || { echo "check: Go is missing; see https://go.dev/doc/install" >&2; exit 1; }

step "tools"
race=-race
command -v "${CC:-gcc}" >/dev/null || command -v cc >/dev/null || install gcc libc6-dev
if ! command -v "${CC:-gcc}" >/dev/null && ! command -v cc >/dev/null; then
	skip "no C compiler, so the tests run without the race detector"
	race=""
fi
browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
browser >/dev/null || install chromium
command -v npm >/dev/null || install npm
browser >/dev/null || skip "no chromium, so the browser tests do not run"

command -v mkfs.ext4 >/dev/null || install e2fsprogs
command -v caddy >/dev/null || install caddy
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || install nginx
command -v caddy >/dev/null && { command -v nginx >/dev/null || [ -x /usr/sbin/nginx ]; } || skip "no nginx or no caddy, so the recipes of examples are not tried, and nothing behind a cache"
{ [ "$(id -u)" = 0 ] && [ -w /dev/fuse ]; } || left "no root or no /dev/fuse, so no power cuts and no broken disks are played"
{ [ "$(id -u)" = 0 ] && command -v mkfs.ext4 >/dev/null; } || left "no root or no mkfs.ext4, so no ext4 is filled to the brim"

# The accessibility rules of axe-core, from npm: a tool of the tests alone.
axe_version=4.14.1
axe_dir="${TMPDIR:-/tmp}/foyer-axe-$axe_version"
if [ ! -f "$axe_dir/package/axe.min.js" ] && command -v npm >/dev/null; then
	mkdir -p "$axe_dir"
	(cd "$axe_dir" && npm pack --silent "axe-core@$axe_version" >/dev/null 2>&1 && tar xzf "axe-core-$axe_version.tgz") || true
fi
if [ -f "$axe_dir/package/axe.min.js" ]; then
	export FOYER_AXE="$axe_dir/package/axe.min.js"
else
	skip "no axe-core (it needs npm), so the accessibility rules are not checked"
fi

step "gofmt"
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || { echo "gofmt would change:"; echo "$unformatted"; exit 1; }

step "go vet"
go vet ./...
go vet -tags failpoint ./...

step "staticcheck"
go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

step "tests"
# shellcheck disable=SC2086 # $race is one flag or none
go test $race -shuffle=on -count=1 -timeout 18m ./...

step "fuzzing, a few seconds each"
grep -rl --include='*_test.go' '^func Fuzz' . | sort | while read -r file; do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		amount="${FUZZTIME:-5s}"
		# Each input is a whole database: at the end of a time, go test takes one under way for a failure.
		[ "$target" = FuzzDamagedFile ] && amount="${FUZZFILES:-1000}x"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$amount" "./$(dirname "$file")"
	done
done

if [ -n "$skipped" ]; then
	printf '\nEverything that ran has passed. Skipped:%s\n' "$skipped"
else
	printf '\nEverything has passed.\n'
fi
