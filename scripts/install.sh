#!/bin/bash
# install.sh FEATURE...: make sure that the tools of each feature are installed.
#
# Missing Debian packages are installed when we may (root, or sudo without a
# password); otherwise one line says what to install, and the exit status is 1.
# Nothing that needs a missing tool is skipped silently.
set -euo pipefail

# packages FEATURE: prints lines of "FILE PACKAGE"; a package is missing if its file is.
packages() {
	case $1 in
	arm64) echo /usr/bin/qemu-aarch64-static qemu-user-static
		echo /usr/bin/aarch64-linux-gnu-as binutils-aarch64-linux-gnu ;;
	avx512) echo /usr/bin/x86_64-linux-gnu-as binutils-x86-64-linux-gnu
		echo /usr/bin/bochs-bin bochs
		echo /usr/lib/x86_64-linux-gnu/bochs/plugins/libbx_term_gui.so bochs-term
		echo /usr/share/bochs/BIOS-bochs-latest bochsbios
		echo /usr/share/vgabios/vgabios.bin vgabios
		echo /usr/lib/ISOLINUX/isolinux.bin isolinux
		echo /usr/lib/syslinux/modules/bios/ldlinux.c32 syslinux-common
		echo /usr/bin/xorriso xorriso
		echo /usr/bin/cpio cpio
		echo /usr/bin/script bsdutils ;;
	amx) echo /usr/bin/x86_64-linux-gnu-as binutils-x86-64-linux-gnu ;;
	browser) echo /usr/bin/chromium chromium ;;
	estimates) echo /usr/bin/llvm-mca-19 llvm-19 ;;
	namespaces) echo /usr/sbin/ip iproute2 ;;
	race) echo /usr/bin/gcc gcc
		echo /usr/include/stdlib.h libc6-dev ;;
	*) echo "install.sh: unknown feature $1" >&2; exit 2 ;;
	esac
}

missing=()
for feature; do
	list=$(packages "$feature")
	while read -r file package; do
		[ -e "$file" ] || missing+=("$package")
	done <<<"$list"
done
[ ${#missing[@]} -gt 0 ] || exit 0

install="apt-get install --no-install-recommends ${missing[*]}"
if ! command -v apt-get >/dev/null; then
	echo "install.sh: missing tools; on Debian: $install" >&2
	exit 1
fi
root=()
if [ "$(id -u)" != 0 ]; then
	if ! sudo -n true 2>/dev/null; then
		echo "install.sh: missing tools; run: sudo $install" >&2
		exit 1
	fi
	root=(sudo -n)
fi
echo "installing ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() { "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@"; }
if ! { apt update && apt install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
	tail -n 20 "$log" >&2
	echo "install.sh: failed: $install" >&2
	exit 1
fi
