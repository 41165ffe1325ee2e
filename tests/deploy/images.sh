# What the tests of images share: a base from debootstrap, sizes, and the rights that deploy/ gives. To be sourced.
# As root, with Debian's buildah, podman and runc, which need no daemon.
source "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"

version=$(sed -n 's/^project(salient VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
debian=localhost/debian:bookworm-slim
hardened=(--runtime runc --ulimit nofile=20000:20000 --ulimit nproc=4096:4096 --network=host --read-only --cap-drop=all
  --security-opt no-new-privileges)

# import_debian: makes the image $debian, unless it is there.
import_debian() {
  podman image exists "$debian" && return
  say "Making a base by debootstrap"
  local root
  root=$(mktemp -d)
  debootstrap --variant=minbase bookworm "$root" >"$root.log" || { tail "$root.log" >&2; die "debootstrap"; }
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  tar -C "$root" -c . | podman import - "$debian" >/dev/null
  rm -rf "$root" "$root.log"
}

# megabytes IMAGE: its size, with its base.
megabytes() { echo $(($(podman image inspect --format '{{.Size}}' "$1") / 1000000)); }

# inspect IMAGE FORMAT
inspect() { podman image inspect --format "$2" "$1"; }

# check_configuration IMAGE: the user, the stop signal, the health check and the version's label.
check_configuration() {
  [ "$(inspect "$1" '{{.Config.User}}')" = 65532:65532 ] || die "the image runs as root"
  [ "$(inspect "$1" '{{.Config.StopSignal}}')" = SIGTERM ] || die "the stop signal"
  [[ "$(inspect "$1" '{{.HealthCheck}}')" == *"/usr/lib/salient/healthcheck"* ]] || die "no health check"
  [ "$(inspect "$1" '{{index .Config.Labels "org.opencontainers.image.version"}}')" = "$version" ] ||
    die "the version's label"
}

# check_sbom IMAGE PACKAGE...: its SPDX list names the packages.
check_sbom() {
  podman run --rm "${hardened[@]}" --entrypoint cat "$1" /usr/share/doc/salient-server/sbom.spdx.json 2>/dev/null |
    python3 -c '
import json, sys
packages = json.load(sys.stdin)["packages"]
names = {package["name"] for package in packages}
assert len({package["SPDXID"] for package in packages}) == len(packages)
assert set(sys.argv[1:]) <= names, names
print(f"  {len(names)} packages in its SPDX list")
' "${@:2}" || die "the list of packages"
}
