# shellcheck shell=bash
# Sourced by gluster, moosefs and sshfs. ENGINE [KIND] COMMAND [ARG...] starts a network file system on this machine, mounts it with
# three clients and runs COMMAND. Processes, mounts and network are in namespaces of their own, which end with COMMAND.
#   CLIPPER_MOUNTS    the three directories: /media/a:/media/b:/media/c
#   CLIPPER_DISTURB   a program with the verbs server-down, server-up, full, room, unmount N, mount N; N is 0 to 2
#   CLIPPER_SECONDS   time limit, after which everything is killed (default: 3600)
#   CLIPPER_DISK      size of each server's disk, which is in memory (default: 512M)
# The engine's script defines an array `kinds`, empty if there is only one, an array `needed` of packages, and these functions:
#   start KIND, attach N DIRECTORY (which writes the client's pid to $room/N.pid), server_down, server_up
# Its last line is: volume "$@"
set -euo pipefail
engine=$(realpath "$0")
# shellcheck source=scripts/setup disable=SC2034 # packages is not used here
source "$(dirname "$engine")/../../scripts/setup"
room=/media # systems.py uses /mnt
mounts=("$room"/{a,b,c})

say() { echo "${engine##*/}: $*" >&2; }

# skipped REASON: prints a row of figures in which scripts/torture shows the reason.
skipped() {
  say "$*"
  printf '{"what": "%s", "cases": 0, "violations": 0, "skipped": "%s"}\n' "${engine##*/}" "$*"
}

volume() {
  case ${1-} in
    --inside) inside "${@:2}" ;;
    --disturb) disturb "${@:2}" ;;
    *) [[ -n ${kinds-} ]] || set -- '' "$@"; outside "$@" ;;
  esac
}

# outside KIND COMMAND...: runs this script again in namespaces.
outside() {
  # shellcheck disable=SC2154 # the engine's script defines it
  if (($# < 2)) || [[ " ${kinds[*]} " != *" $1 "* ]]; then
    say "usage: ${engine##*/} ${kinds:+KIND }COMMAND [ARG...]${kinds:+, KIND one of ${kinds[*]}}"
    exit 2
  fi
  ((EUID == 0)) || { skipped 'needs root'; exit 1; }
  [[ -e /dev/fuse && -e /dev/loop-control ]] || { skipped 'no /dev/fuse or no /dev/loop-control'; exit 1; }
  # shellcheck disable=SC2154
  install e2fsprogs iproute2 util-linux "${needed[@]}" || { skipped "cannot be installed: ${needed[*]}"; exit 1; }
  # unshare ignores SIGTERM
  setpriv --pdeathsig KILL unshare --mount --net --pid --fork --kill-child --mount-proc "$engine" --inside "$@" <&0 &
  trap 'kill -KILL $!' HUP INT TERM
  wait $!
}

# inside KIND COMMAND...: runs as the first process of its PID namespace.
inside() {
  local number status=0
  trap 'tail --quiet --lines=5 "$room"/log/* >&2; skipped "$1 CANNOT BE STARTED, see the end of its logs"' EXIT
  mount -t tmpfs -o mode=755 tmpfs "$room"
  mkdir "$room/log" "${mounts[@]}"
  watch &
  ip link set lo up
  ip address add 10.9.0.1/24 dev lo # servers refuse localhost as their address
  start "$1" </dev/null >"$room/log/start" 2>&1
  for number in "${!mounts[@]}"; do disturb mount "$number"; done
  trap - EXIT
  printf '#!/bin/sh\nexec %q --disturb "$@"\n' "$engine" >"$room/disturb"
  chmod +x "$room/disturb"
  CLIPPER_MOUNTS=$(IFS=:; echo "${mounts[*]}") CLIPPER_DISTURB=$room/disturb "${@:2}" || status=$?
  exit "$status"
}

watch() {
  sleep "${CLIPPER_SECONDS:-3600}"
  say "TIME LIMIT of ${CLIPPER_SECONDS:-3600} s exceeded, everything is killed"
  kill -KILL -1 # all processes in this namespace, except the first
}

# private DIRECTORY...: mounts an empty directory over each.
private() {
  local directory
  for directory; do
    mkdir -p "$directory" "$room/private$directory"
    mount --bind "$room/private$directory" "$directory"
  done
}

# disks NUMBER: makes file systems $room/disk0, ... of CLIPPER_DISK. Not tmpfs, which has no user attributes.
disks() {
  local number
  for ((number = 0; number < $1; number++)); do
    truncate --size="${CLIPPER_DISK:-512M}" "$room/image$number"
    mkfs.ext4 -q -m 0 "$room/image$number"
    mkdir "$room/disk$number"
    mount -o loop "$room/image$number" "$room/disk$number"
  done
}

# within SECONDS COMMAND...: repeats COMMAND until it succeeds.
within() {
  local end=$((SECONDS + $1))
  until "${@:2}"; do
    ((SECONDS < end)) || { say "still not after $1 s: ${*:2}"; return 1; }
    sleep 0.1
  done
}

# serve NAME PROGRAM...: starts a program that outlives its caller. Its pid is in $room/NAME.pid, its output in $room/log/NAME.
serve() {
  setsid "${@:2}" </dev/null >>"$room/log/$1" 2>&1 &
  echo $! >"$room/$1.pid"
  disown
}

# listens ADDRESS PORT: whether a server accepts connections there.
listens() { (: <>"/dev/tcp/$1/$2") 2>/dev/null; }

ended() { [[ ! -d /proc/$1 ]]; }

disturb() {
  case $1 in
    server-down) server_down ;;
    server-up) server_up ;;
    full) make_full ;;
    room) make_room ;;
    unmount) kill_now "$room/$2.pid"; umount --lazy "${mounts[$2]}" ;;
    mount) attach "$2" "${mounts[$2]}" ;;
    *) say "unknown verb $1"; exit 2 ;;
  esac
}

# An engine may redefine make_full and make_room.
make_full() { for disk in "$room"/disk?; do fill "$disk/filler"; done; }

make_room() {
  rm -f "$room"/disk?/filler
  sleep "${settling:-0}"
}

# kill_now FILE: kills the process whose pid is in FILE and waits for its end.
kill_now() {
  kill -KILL "$(<"$1")"
  within 20 ended "$(<"$1")"
}

# fill FILE: allocates all free blocks of its file system. Writes no data, to save memory.
fill() {
  local unit end
  touch "$1"
  for unit in 64M 1M 4K; do
    while end=$(stat --format=%s "$1") && fallocate --offset "$end" --length $unit "$1" 2>/dev/null; do :; done
  done
}
