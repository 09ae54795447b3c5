#!/bin/sh
# install-artemis.sh: makes sure that the Artemis 2.40.0 distribution is in the cache and prints its home.
#
# The distribution comes from Maven, its checksum is pinned below. It brings every jar that the Java
# programs of the test suites compile against (JMS API, Core JMS client, Qpid JMS, activemq-client).
# Cache: $SARANGA_PEERS, else $XDG_CACHE_HOME/saranga-peers, else ~/.cache/saranga-peers.
# May be called by several processes at once: one installs, the others wait for its lock.
set -eu

version=2.40.0
sha512=9ddb9f25f967dd78b88e4ecac67f8aa3cf1e3caabfd58fb520dee8e691b7351c727f7c7b2ad603cf38261c1f05a3231db6f9aabe5b933aefef6f71f3d3f8eacb

cache=${SARANGA_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/saranga-peers}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
home=$cache/apache-artemis-$version

fail() { echo "install-artemis: $*" >&2; exit 1; }

unpack() {
	if command -v unzip >/dev/null 2>&1; then unzip -q "$1" -d "$2"; else (cd "$2" && jar xf "$1"); fi
}

install() {
	for tool in mvn java; do
		command -v $tool >/dev/null 2>&1 || fail "$tool is needed to fetch and run Artemis; install a JDK (17 or later) and Maven"
	done
	work=$(mktemp -d "$cache/.install.XXXXXX")
	trap 'rm -rf "$work"' EXIT INT TERM
	mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy \
		-Dartifact="org.apache.activemq:apache-artemis:$version:zip:bin" -DoutputDirectory="$work" >&2 ||
		fail "Maven could not fetch the distribution"
	zip=$work/apache-artemis-$version-bin.zip
	echo "$sha512  $zip" | sha512sum -c --quiet - >&2 || fail "the distribution's checksum is not the pinned one"
	mkdir "$work/unpacked"
	unpack "$zip" "$work/unpacked"
	chmod +x "$work/unpacked/apache-artemis-$version/bin/artemis"
	rm -rf "$home"
	mv "$work/unpacked/apache-artemis-$version" "$home"
	rm -rf "$work"
	trap - EXIT INT TERM
}

# The rename above is the last step, so a home that is there is complete and needs no lock.
if [ ! -x "$home/bin/artemis" ]; then
	exec 9>"$cache/.lock"
	flock 9
	[ -x "$home/bin/artemis" ] || install
	exec 9>&-
fi
echo "$home"
