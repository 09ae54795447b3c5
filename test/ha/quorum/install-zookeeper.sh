#!/bin/sh
# install-zookeeper.sh: makes sure that what runs a ZooKeeper 3.9.3 server is in the cache, and prints its Java class path.
#
# The Artemis distribution (its home is the argument) has the server's own jars; two that only a server needs come from Maven, their
# checksums are pinned below. Cache: $SARANGA_PEERS, else $XDG_CACHE_HOME/saranga-peers, else ~/.cache/saranga-peers.
# May be called by several processes at once: one installs, the others wait for its lock.
set -eu

home=${1:?home of the Artemis distribution}
cache=${SARANGA_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/saranga-peers}
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
jars=$cache/zookeeper-3.9.3

fail() { echo "install-zookeeper: $*" >&2; exit 1; }

# fetch GROUP:ARTIFACT:VERSION SHA512
fetch() {
	mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact="$1" -DoutputDirectory="$work" >&2 ||
		fail "Maven could not fetch $1"
	file=$work/$(echo "$1" | cut -d: -f2-3 | tr : -).jar
	echo "$2  $file" | sha512sum -c --quiet - >&2 || fail "the checksum of $1 is not the pinned one"
}

install() {
	for tool in mvn java; do
		command -v $tool >/dev/null 2>&1 || fail "$tool is needed to fetch and run ZooKeeper; install a JDK (17 or later) and Maven"
	done
	work=$(mktemp -d "$cache/.install.XXXXXX")
	trap 'rm -rf "$work"' EXIT INT TERM
	fetch io.dropwizard.metrics:metrics-core:4.1.12.1 5bbcae7dd5df21c35f377749d9ecb67673089f1574bad2855ee8f8a90862ffd60f5b475af30fdc771fbde03f59fa264e66c573a37c714d1f0fdcdf350f99276f
	fetch org.xerial.snappy:snappy-java:1.1.10.5 36c288aa84017b52362a49a20d1702151a16b9f58518b6877f11122941a549d94fab8d515f7f1ad6384fb94be569328abf862edaf970c10a16832498dfda853b
	rm -rf "$jars"
	mv "$work" "$jars"
	trap - EXIT INT TERM
}

# The rename above is the last step, so a folder that is there is complete and needs no lock.
if [ ! -d "$jars" ]; then
	exec 9>"$cache/.lock"
	flock 9
	[ -d "$jars" ] || install
	exec 9>&-
fi
ls "$home"/lib/zookeeper-3.9.3.jar >/dev/null || fail "$home has no ZooKeeper 3.9.3"
echo "$home/lib/*:$jars/*"
