#!/bin/bash
# boot.sh TREE: run static linux/amd64 programs on an emulated CPU with AVX-512.
#
# Boots a Debian kernel in Bochs with the folder TREE as the guest's file system,
# runs the commands listed in it, prints their output and exits with the first
# exit status that is not zero. In addition to the programs and their data, TREE
# contains a file named commands, with a line for each command, split at spaces:
#
#   [!] DIRECTORY [NAME=VALUE]... PROGRAM [ARGUMENT]...
#
# A program after "!" has to fail. The environment has only the variables of the
# line. Files that the commands write to the guest's /out are copied to TREE/out;
# they must be text. Exit status 124: out of time. 125: the emulator or the guest
# failed.
#
# The CPU model is corei7_skylake_x: of AVX-512 it has only F, BW, DQ, VL and CD. With
# a model that has GFNI, Go's garbage collector scans with VGF2P8AFFINEQB, which
# Bochs 2.7 computes wrongly, and the heap is corrupted.
#
#   BOCHS_CPU       another model (`bochs --help cpu` lists them)
#   BOCHS_TIMEOUT   seconds of host time (3600)
#   BOCHS_VERBOSE   not empty: show the guest kernel's messages
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$1" && pwd)
cpu=${BOCHS_CPU:-corei7_skylake_x}
limit=${BOCHS_TIMEOUT:-3600}
ips=50000000 # instructions in a second of the guest's time, about what Bochs does
cache=${XDG_CACHE_HOME:-$HOME/.cache}/avoformer
die() { echo "boot.sh: $*" >&2; exit 125; }

"$here/../install.sh" avx512 || exit 125
mkdir -p "$cache"
work=$(mktemp -d)
# Bochs ends by no other signal than KILL, and script(1) moves it to another process group.
screen=
trap '[ ! -e "$work/pid" ] || kill -KILL "$(cat "$work/pid")" 2>/dev/null || :; kill $screen 2>/dev/null || :; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# The kernel is extracted from Debian's package; nothing is installed.
exec 9>"$cache/lock"
flock 9 # another boot.sh may be downloading
if [ ! -e "$cache/vmlinuz" ]; then
	package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: *//p' | head -n 1)
	[ -n "$package" ] || die "apt knows no linux-image-cloud-amd64: run apt-get update"
	mkdir "$work/deb"
	(cd "$work/deb" && apt-get -qq -o APT::Sandbox::User="$(id -un)" download "$package" && dpkg -x ./*.deb .) >&2 ||
		die "cannot download $package"
	cp "$work"/deb/boot/vmlinuz-* "$work/vmlinuz"
	mv "$work/vmlinuz" "$cache/vmlinuz"
fi
exec 9>&-

# The disk: a CD that starts the kernel with TREE and init as its initramfs.
token=$$-$RANDOM$RANDOM
cp -r "$tree" "$work/root"
rm -rf "$work/root/out"
echo "$token" >"$work/root/token"
(cd "$here/init" && GOFLAGS= GOOS=linux GOARCH=amd64 CGO_ENABLED=0 \
	go build -trimpath -ldflags='-s -w' -o "$work/root/init" .) || die "cannot build init"
mkdir -p "$work/iso/isolinux"
(cd "$work/root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet -R 0:0) >"$work/iso/isolinux/initrd"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$cache/vmlinuz" "$work/iso/isolinux/"
# clearcpuid: Bochs reports XSAVE sizes for pku, xsavec and xsaves that Linux
#   rejects, whereupon it turns AVX off and every test of it is skipped; with
#   fsrm the newer models die early. CPUID itself, which Go reads, is unchanged.
# cryptomgr.notests, initcall_blacklist: 60 % of the boot went into self-tests.
# tsc_early_khz: the models announce a real chip's clock, but their time stamp
#   counts emulated instructions.
cat >"$work/iso/isolinux/isolinux.cfg" <<END
DEFAULT linux
PROMPT 0
LABEL linux
KERNEL vmlinuz
INITRD initrd
APPEND console=ttyS0,115200 ${BOCHS_VERBOSE:+loglevel=7 }quiet panic=-1 mitigations=off nokaslr cryptomgr.notests initcall_blacklist=load_system_certificate_list,init_kprobe_trace tsc=reliable tsc_early_khz=$((ips / 1000)) clearcpuid=pku,xsavec,xsaves,fsrm
END
xorriso -as mkisofs -quiet -o "$work/disk.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat \
	-no-emul-boot -boot-load-size 4 -boot-info-table "$work/iso" 2>"$work/iso.log" ||
	{ cat "$work/iso.log" >&2; die "xorriso failed"; }
rm -rf "$work/root" "$work/iso"

cat >"$work/bochsrc" <<END
display_library: term
cpu: model=$cpu, count=1, ips=$ips, reset_on_triple_fault=0, ignore_bad_msrs=1
memory: guest=1024, host=1024
romimage: file=/usr/share/bochs/BIOS-bochs-latest, options=fastboot
vgaromimage: file=/usr/share/vgabios/vgabios.bin
pci: enabled=1, chipset=i440fx
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=$work/disk.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/serial
speaker: enabled=0
clock: sync=none
log: $work/log
panic: action=fatal
error: action=ignore
info: action=ignore
END
# Debian's Bochs is built with its debugger: these commands start the guest, and quit when the debugger prompts again.
printf 'c\nquit\n' >"$work/debugger"
: >"$work/serial"
: >"$work/term"
# The term display needs a terminal, which script(1) provides.
cat >"$work/emulator" <<END
echo \$\$ >"$work/pid"
exec bochs-bin -q -f "$work/bochsrc" -rc "$work/debugger"
END
status=0
TERM=xterm script -qec "timeout -s KILL $limit sh '$work/emulator'" /dev/null </dev/null >"$work/term" 2>&1 &
emulator=$! tty=
# Bochs shows the guest's screen on another terminal, which cat reads: Bochs would
# stop once that terminal's buffer was full.
while kill -0 "$emulator" 2>/dev/null; do
	tty=$(sed -n 's/.*connected to screen "\([^"]*\)".*/\1/p' "$work/term" | head -n 1)
	[ -z "$tty" ] || break
	sleep 0.1
done
if [ -n "$tty" ]; then
	cat "$tty" >/dev/null 2>&1 &
	screen=$!
fi
wait "$emulator" || status=$?
rm -f "$work/pid"

# Bochs buffers the output of the serial port, so it is shown at the end.
mkdir -p "$tree/out"
awk -v mark="@@$token" -v tree="$tree" -v work="$work" -v verbose="${BOCHS_VERBOSE:-}" '
	$1 == mark {
		file = ""
		if ($2 == "BEGIN") on = 1
		else if ($2 == "FILE") file = tree "/out/" $3
		else if ($2 == "EXIT") { print $3 >(work "/exit"); on = 0 }
		else if ($2 == "DONE") {
			line = $0
			sub(/^[^ ]* DONE [0-9]* /, "", line)
			sub(/ /, " s: ", line)
			print "emulator: " line
		}
		next
	}
	file != "" { print >file; next }
	on || verbose' "$work/serial"
[ ! -s "$work/exit" ] || exit "$(cat "$work/exit")"

tail -n 15 "$work/serial" | sed 's/^/guest: /' >&2
tail -n 5 "$work/log" | sed 's/^/bochs: /' >&2
if [ "$status" = 137 ]; then
	echo "boot.sh: out of time after $limit s" >&2
	exit 124
fi
die "the guest ended without an exit status (bochs: $status)"
